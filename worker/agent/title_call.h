/*
 * A model is asked for the title of a conversation, beside the turns. It shows nothing, offers
 * no tools, and is given up rather than waited for.
 */
#ifndef HERMES_WORKER_AGENT_TITLE_CALL_H
#define HERMES_WORKER_AGENT_TITLE_CALL_H

#include "worker/config/runtime.h"

#include <stdint.h>

#define TITLE_CALL_TASK "title_generation"

struct event_base;
struct model_usage;
struct title_call;

struct title_wanted {
	const struct runtime *runtime;		      /* copied */
	const char *session_id;			      /* must live as long as the call */
	const char *prompt, *language, *instructions; /* as for title_text_messages() */
	int64_t timeout_ms;
};

/* The end, once: `title` is NULL when there is none to be had, `usage` when nothing was told.
 * Both borrowed; `runtime` is the one that was asked. The call is gone afterwards. */
typedef void (*title_call_done)(const char *title, const struct model_usage *usage,
    const struct runtime *runtime, void *arg);

/* `done` is never called from within. */
struct title_call *title_call_start(struct event_base *base, const struct title_wanted *wanted,
    title_call_done done, void *arg);
/* Ends it without a word; NULL is fine. */
void title_call_cancel(struct title_call *call);

#endif
