/*
 * The content blocks of an answer of the Messages API while it comes: text and thinking are
 * passed on, calls collected, and what the model wants back is kept in its order.
 */
#ifndef HERMES_WORKER_PROVIDERS_ANTHROPIC_BLOCKS_H
#define HERMES_WORKER_PROVIDERS_ANTHROPIC_BLOCKS_H

#include "worker/providers/chat_calls.h"
#include "worker/providers/chat_output.h"

#define ANTHROPIC_BLOCKS_MAX 4096	    /* blocks of one answer */
#define ANTHROPIC_SIGNATURES_MAX (4u << 20) /* bytes of signatures and redacted thinking */

enum anthropic_kind {
	ANTHROPIC_TEXT,
	ANTHROPIC_THOUGHT,
	ANTHROPIC_REDACTED,
	ANTHROPIC_CALL,
	ANTHROPIC_OTHER /* nothing that concerns us */
};

struct anthropic_block {
	enum anthropic_kind kind;
	int64_t index;
	size_t call;			   /* among the calls */
	struct json_object *input;	   /* arguments that came with the start; owned */
	bool has_pieces;		   /* … or in pieces, which count then */
	size_t offset, length;		   /* of a text within all text */
	struct buffer thinking, signature; /* `signature`: or redacted data */
	struct delta_text pending;	   /* half a character of the thinking */
};

struct anthropic_blocks {
	/* Read only for the caller. */
	struct chat_output output;
	struct chat_calls calls;
	const char *error; /* constant text: a limit was broken */
	bool payload;	   /* something came that belongs to an answer */
	/* Private. */
	struct anthropic_block *list;
	size_t count;
	size_t text_length, signatures;
	bool parted;	/* other blocks stand between the last text and the next one */
	bool open_line; /* the text so far does not end in a new line */
	bool armoured;	/* see delta_text_armour(); set by the caller per event */
};

void anthropic_blocks_start(struct anthropic_blocks *blocks, const struct chat_sink *sink);
void anthropic_blocks_free(struct anthropic_blocks *blocks);
/* Begins a block with what it brings; `index` -1 = not told. */
void anthropic_blocks_open(
    struct anthropic_blocks *blocks, int64_t index, struct json_object *block);
/* The newest block of that index (-1: the newest one) when it is of that kind, else NULL. */
struct anthropic_block *
anthropic_blocks_find(struct anthropic_blocks *blocks, int64_t index, enum anthropic_kind kind);
/* The same, but text and thinking whose start did not come get a block. */
struct anthropic_block *
anthropic_blocks_need(struct anthropic_blocks *blocks, int64_t index, enum anthropic_kind kind);
/* A piece of text, thinking or arguments, as the block is. */
void anthropic_blocks_add(struct anthropic_blocks *blocks, struct anthropic_block *block,
    const char *bytes, size_t length);
/* A piece of a thinking block's signature. */
void anthropic_blocks_sign(struct anthropic_blocks *blocks, struct anthropic_block *block,
    const char *bytes, size_t length);
/* Completes calls and thinking; nothing may be added any more. */
void anthropic_blocks_end(struct anthropic_blocks *blocks);
/* The thinking to be kept (see anthropic_kept.h), or NULL; the caller owns it. `model`: who
 * wrote it, "" = not told. */
struct json_object *
anthropic_blocks_details(struct anthropic_blocks *blocks, const char *model);

#endif
