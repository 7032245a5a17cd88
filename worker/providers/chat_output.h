/*
 * What a model's answer shows: text and thoughts, repaired to valid UTF-8, with thoughts
 * taken out of the text, passed on in one piece per network read.
 */
#ifndef HERMES_WORKER_PROVIDERS_CHAT_OUTPUT_H
#define HERMES_WORKER_PROVIDERS_CHAT_OUTPUT_H

#include "common/buffer.h"
#include "worker/providers/delta_text.h"
#include "worker/providers/think_tags.h"

/* Who gets text and thoughts: valid UTF-8, never empty. Pieces of one network read are
 * passed on as one. */
struct chat_sink {
	void (*text)(const char *bytes, size_t length, void *arg);
	void (*thought)(const char *bytes, size_t length, void *arg);
	void *arg;
};

struct chat_output {
	struct buffer thoughts; /* all thoughts so far; read only for the caller */
	/* Private. */
	struct chat_sink sink;
	struct think_tags tags;
	struct delta_text text_pending, thought_pending;
	struct buffer clean; /* one piece, repaired */
	struct buffer out;   /* collected for the sink … */
	bool out_thought;    /* … and what it is */
};

void chat_output_start(struct chat_output *output, const struct chat_sink *sink);
/* A piece of text or of a thought. `armoured`: from a text that delta_text_armour() changed. */
void chat_output_add(
    struct chat_output *output, bool thought, bool armoured, const char *bytes, size_t length);
/* Passes on what has been collected. */
void chat_output_flush(struct chat_output *output);
/* The end: what was held back is passed on as well. */
void chat_output_end(struct chat_output *output);
void chat_output_free(struct chat_output *output);
/* Repairs one piece of a text of its own and appends it to `out`. */
void chat_output_repair(struct delta_text *pending, bool armoured, const char *bytes,
    size_t length, struct buffer *out);

#endif
