/*
 * One request to a language model: started, streamed, finished exactly once or cancelled.
 * The agent knows only this header; what stands on the wire is a row's own matter.
 */
#ifndef HERMES_WORKER_PROVIDERS_PROVIDER_H
#define HERMES_WORKER_PROVIDERS_PROVIDER_H

#include "common/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event_base;
struct runtime;
struct model_call;

enum finish_reason {
	FINISH_STOP,
	FINISH_TOOL_CALLS,
	FINISH_LENGTH,	/* the output limit cut the answer */
	FINISH_REFUSAL, /* refused by the model or a content filter */
	FINISH_ERROR	/* see `error` */
};

/* What kind of failure it was decides what is done about it. */
enum model_error {
	MODEL_ERROR_NONE,
	MODEL_ERROR_CONNECT,	 /* no connection, name not found, TLS */
	MODEL_ERROR_INTERRUPTED, /* the answer was cut off */
	MODEL_ERROR_SILENT,	 /* nothing came for too long */
	MODEL_ERROR_AUTH,	 /* 401, 403 */
	MODEL_ERROR_BILLING,	 /* 402, quota */
	MODEL_ERROR_RATE_LIMIT,	 /* 429 */
	MODEL_ERROR_OVERLOADED,	 /* 503, 529 */
	MODEL_ERROR_SERVER,	 /* other 5xx */
	MODEL_ERROR_REQUEST,	 /* other 4xx */
	MODEL_ERROR_TOO_LONG,	 /* the conversation is longer than the model's window */
	MODEL_ERROR_IMAGE,	 /* the model takes no images */
	MODEL_ERROR_THINKING,	 /* earlier thinking was sent that it does not take */
	MODEL_ERROR_ANSWER	 /* the answer made no sense */
};

struct model_usage {
	/* Input: all of it, with what a cache held. */
	int64_t input_tokens, output_tokens, total_tokens; /* -1 = not told */
	int64_t reasoning_tokens, cache_read_tokens, cache_write_tokens;
	bool cost_told; /* the server named a price: */
	double cost;	/* in its own unit */
};

/* A tool call as the model wrote it, merged from all its pieces. */
struct model_tool_call {
	char *id; /* "" when the model gave none */
	char *name;
	char *arguments; /* the raw text */
};

struct model_answer {
	enum finish_reason finish;
	struct model_tool_call *calls;
	size_t call_count;
	struct model_usage usage;
	/* Members to be stored with the assistant message and sent back where the provider
	 * wants them: reasoning, reasoning_content, reasoning_details … NULL when none. */
	struct json_object *extra;
	/* What went wrong, a sentence with the provider's own words; with FINISH_LENGTH: why it
	 * was ended, where that is not the output limit, or NULL. */
	char *message;
	/* FINISH_ERROR, all without secrets. */
	enum model_error error;
	int status;		/* HTTP status, 0 when there was none */
	int64_t retry_after_ms; /* -1 = not told */
};

struct model_callbacks {
	/* Visible text and thoughts as they come: valid UTF-8, never empty. */
	void (*text)(const char *bytes, size_t length, void *arg);
	void (*thought)(const char *bytes, size_t length, void *arg);
	/* The end; `answer` is borrowed. Not called after model_call_cancel(). */
	void (*finished)(const struct model_answer *answer, void *arg);
	/* A line for the user while the request waits ("rate limited, next try in 4 s"). */
	void (*notice)(const char *text, void *arg);
};

struct model_request {
	const struct runtime *runtime; /* where and as whom; copied */
	struct json_object *messages;  /* array in the Chat Completions form, system first */
	struct json_object *tools; /* array of {type:function, function:{…}}; may be NULL */
	const char *session_id;
	/* What it is asked for beside the conversation ("title_generation"), a constant; NULL =
	 * the conversation itself. Such a request is made once: nobody waits for it. */
	const char *task;
	unsigned
	    attempt; /* for rows: 0 at first; more = tried again, on a connection of its own */
};

/* A dialect: one row per way of talking to a model. */
struct api_mode {
	const char *name; /* chat_completions, rehearsal … */
	/* Returns the state of a running request. finished() is never called from within. */
	void *(*start)(struct event_base *base, const struct model_request *request,
	    const struct model_callbacks *callbacks, void *arg);
	void (*pause)(void *state, bool pause); /* stops reading the stream, or goes on */
	void (*cancel)(void *state);		/* no callback after this; frees the state */
	void (*release)(void *state);		/* frees after finished() */
};

/* Starts a request in the dialect of request->runtime. Never NULL: what fails at once ends
 * by finished() on the next turn of the loop. */
struct model_call *model_call_start(struct event_base *base,
    const struct model_request *request, const struct model_callbacks *callbacks, void *arg);
void model_call_pause(struct model_call *call, bool pause);
/* The runtime that it was started with. */
const struct runtime *model_call_runtime(const struct model_call *call);
/* Ends the request without a callback and frees it. */
void model_call_cancel(struct model_call *call);
/* Frees it after finished(). */
void model_call_free(struct model_call *call);

const struct api_mode *api_mode_find(const char *name);

/* The input without what a cache held, below 0 when not told. */
int64_t model_usage_plain_input(const struct model_usage *usage);
/* True when the server told anything. */
bool model_usage_told(const struct model_usage *usage);
/* For rows: clears an answer that it built. */
void model_answer_clear(struct model_answer *answer);
const char *model_error_name(enum model_error error);

#endif
