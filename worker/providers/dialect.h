/*
 * A way of talking to a model over HTTP: how a request is written and how an answer is put
 * together. The exchange itself (transfer, event stream, errors, what counts as an answer) is
 * the same for all and stands in dialect.c.
 */
#ifndef HERMES_WORKER_PROVIDERS_DIALECT_H
#define HERMES_WORKER_PROVIDERS_DIALECT_H

#include "worker/providers/chat_output.h"
#include "worker/providers/dialect_request.h"
#include "worker/providers/provider.h"

struct http_recording;

/* How an answer stands. */
enum answer_state {
	ANSWER_NOTHING,	 /* nothing came that belongs to an answer */
	ANSWER_PART,	 /* something came, but no end */
	ANSWER_COMPLETE, /* the server said that it is finished */
	ANSWER_FAILED	 /* the server reported an error, or the stream is broken */
};

struct dialect {
	const char *last; /* what ends a stream, for people: "a finish reason" */
	/* 0, or -1 with a sentence in `error` (no key in it); `built` is cleared in any case.
	 */
	int (*build)(const struct model_request *request, struct dialect_request *built,
	    struct buffer *error);
	/* The assembler of one answer, a structure of the dialect's own that the other
	 * functions get as it is. `label` names the server in errors; it is copied. */
	void *(*assembler_new)(const char *label, const struct chat_sink *sink);
	/* Tells the assembler what was asked; NULL where it does not matter. */
	void (*asked)(void *assembler, const struct model_request *request);
	void (*assembler_free)(void *assembler);
	/* Takes one event of the stream. False when nothing more is wanted. */
	bool (*event)(void *assembler, const char *name, const char *data, size_t length);
	/* Takes a whole answer that is no stream. Why it is not JSON, or NULL. */
	const char *(*body)(void *assembler, const char *data, size_t length);
	/* Passes on what has been collected; called after each network read. */
	void (*flush)(void *assembler);
	/* True once the answer is complete: only usage can follow. */
	bool (*finishing)(const void *assembler);
	/* Ends the answer: what was held back is passed on, `answer` filled (the caller clears
	 * it). With ANSWER_NOTHING and ANSWER_PART it is FINISH_ERROR, and the error is for the
	 * caller to set; what there is of calls may be cut off. */
	enum answer_state (*end)(void *assembler, struct model_answer *answer);
};

/* What a row of struct api_mode needs: start() with its dialect, pause(), and one function
 * for both cancel() and release(). */
void *dialect_start(const struct dialect *dialect, struct event_base *base,
    const struct model_request *request, const struct model_callbacks *callbacks, void *arg);
/* An exchange that was recorded, which is taken over; NULL = there is none, and `error` says
 * why. */
void *dialect_play(const struct dialect *dialect, struct event_base *base,
    const struct model_request *request, struct http_recording *recording, const char *error,
    const struct model_callbacks *callbacks, void *arg);
void dialect_pause(void *state, bool pause);
void dialect_free(void *state);

/* The row itself. */
#define DIALECT_API_MODE(mode_name, start_function)                                            \
	{                                                                                      \
		.name = mode_name, .start = start_function, .pause = dialect_pause,            \
		.cancel = dialect_free, .release = dialect_free                                \
	}

#endif
