/*
 * One text of a Responses answer. It comes in pieces and then as a whole, several times over;
 * any of that may be missing or repeated. Each byte of it is passed on once.
 */
#ifndef HERMES_WORKER_PROVIDERS_RESPONSES_PART_H
#define HERMES_WORKER_PROVIDERS_RESPONSES_PART_H

#include "common/buffer.h"
#include "common/json.h"
#include "worker/providers/delta_text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum part_kind { PART_TEXT, PART_REFUSAL, PART_SUMMARY, PART_REASONING };

struct responses_part {
	enum part_kind kind;
	int64_t index;
	bool closed;  /* the whole came: nothing follows */
	bool started; /* something was passed on */
	bool gap;     /* a piece is missing: the rest waits for the whole */
	/* What was passed on: its length, and a hash instead of the text. */
	uint64_t length, hash;
	struct buffer waiting; /* behind a gap */
	struct delta_text pending;
};

void responses_part_start(struct responses_part *part, enum part_kind kind, int64_t index);
void responses_part_free(struct responses_part *part);
/* A piece. Appends what is to be passed on, valid UTF-8, to `out`. */
void responses_part_add(
    struct responses_part *part, bool armoured, struct json_object *string, struct buffer *out);
/* The whole: appends what of it has not been passed on. */
void responses_part_whole(
    struct responses_part *part, bool armoured, struct json_object *string, struct buffer *out);
/* The end without the whole: appends what was held back. */
void responses_part_end(struct responses_part *part, struct buffer *out);

#endif
