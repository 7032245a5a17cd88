/*
 * The state of an answer that is being put together, and merging one object into it. Private
 * to chat_assembler.c.
 */
#ifndef HERMES_WORKER_PROVIDERS_CHAT_MERGE_H
#define HERMES_WORKER_PROVIDERS_CHAT_MERGE_H

#include "worker/providers/answer_failure.h"
#include "worker/providers/chat_calls.h"
#include "worker/providers/chat_output.h"
#include "worker/providers/chat_reasoning.h"
#include "worker/providers/delta_pattern.h"
#include "worker/providers/delta_text.h"

/* What one event did; a single one of the first three can become a pattern. */
enum effect { EFFECT_TEXT = 1, EFFECT_THOUGHT = 2, EFFECT_ARGUMENTS = 4, EFFECT_OTHER = 8 };

struct chat_assembler {
	struct answer_failure failure;
	struct chat_output output;
	struct chat_calls calls;
	struct delta_text content_pending; /* of reasoning_content */
	struct chat_reasoning reasoning;
	struct model_usage usage;
	bool has_finish, done, started, payload, refused;
	enum finish_reason finish;
	/* Of the event at hand. */
	unsigned effects;
	bool armoured, single; /* `single`: its text was one plain string */
	const char *key;
	struct json_object *string;
	struct delta_pattern pattern;
	unsigned pattern_effect;
	bool pattern_content; /* the text belongs to reasoning_content too */
};

/* Merges one event's object, or a whole answer. */
void chat_merge_object(struct chat_assembler *assembler, struct json_object *object);
/* Text or a thought. */
void chat_merge_bytes(
    struct chat_assembler *assembler, bool thought, const char *bytes, size_t length);
/* A piece of the member reasoning_content, which is kept apart. */
void chat_merge_reasoning_content(
    struct chat_assembler *assembler, const char *bytes, size_t length);
/* Takes an error object within the answer; false when there is none. `certain`: the event
 * was named an error. */
bool
chat_merge_error(struct chat_assembler *assembler, struct json_object *object, bool certain);

#endif
