/*
 * What a turn tells the outside: events that know nothing of a protocol version. The upper
 * floor registers one struct of callbacks; every argument is borrowed.
 */
#ifndef HERMES_WORKER_AGENT_OUTPUT_H
#define HERMES_WORKER_AGENT_OUTPUT_H

#include "common/message.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct todo_list;
struct tool_run;
struct usage_total;

enum output_voice { OUTPUT_TEXT, OUTPUT_THOUGHT };

enum card_status { CARD_PENDING, CARD_IN_PROGRESS, CARD_COMPLETED, CARD_FAILED };

/* What the user said to a question. Everything but the first two means no. */
enum user_answer {
	USER_ALLOWS_ONCE,
	USER_ALLOWS_ALWAYS,
	USER_REJECTS_ONCE,
	USER_REJECTS_ALWAYS,
	USER_SAYS_NOTHING, /* no answer in time, or none that could be understood */
	USER_COUNT
};

/* How a turn ended: a reason, or with `code` != 0 a failure. */
struct turn_end {
	enum stop_reason reason;
	int code; /* JSON-RPC code */
	const char *message;
	const char *details;
};

struct output {
	/* A piece of streamed text; pieces of one message share its id. */
	void (*text)(enum output_voice voice, const char *message_id, const char *bytes,
	    size_t length, void *arg);
	/* Something of ours beside the conversation: not stored, and no part of an answer that
	 * somebody has to go on with. */
	void (*say)(enum output_voice voice, const char *message_id, const char *bytes,
	    size_t length, void *arg);
	/* A card appears (CARD_PENDING, from run->card) or changes (from run->shown). */
	void (*card)(const struct tool_run *run, enum card_status status, void *arg);
	/* A call that never became a run (unknown tool, unusable arguments). */
	void (*failed_call)(const char *call_id, const char *name, const char *text, void *arg);
	/* A card that a dead process opened ends; nothing happens when it is not open. */
	void (*lost_card)(const char *call_id, bool failed, const char *text, void *arg);
	/* The call's first side effect comes next. True when that has been written out; else
	 * `written` is called when it has. */
	bool (*started)(
	    const char *call_id, void (*written)(void *arg), void *written_arg, void *arg);
	/* Asks the user; `answered` is called once, unless unask() comes first. */
	void (*ask)(const struct tool_run *run, void (*answered)(enum user_answer, void *arg),
	    void *answered_arg, void *arg);
	void (*unask)(const struct tool_run *run, void *arg);
	void (*plan)(const struct todo_list *list, void *arg);
	/* Tokens in the context now, the window, and what the session has used. */
	void (*usage)(int64_t used, int64_t size, const struct usage_total *total, void *arg);
	/* Everything that was streamed until now is being saved: the number of pieces of text
	 * in the turn so far. And for each time that was called, in the same order: it is
	 * saved, or it could not be. */
	uint64_t (*saving)(void *arg);
	void (*saved)(bool done, void *arg);
	/* True when what was said still waits to be written: the stream should pause. */
	bool (*busy)(void *arg);
	void (*finished)(const struct turn_end *end, void *arg);
	void *arg;
};

#endif
