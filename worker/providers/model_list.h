/*
 * The models that a provider's server has, by its /models. One request, beside everything else.
 */
#ifndef HERMES_WORKER_PROVIDERS_MODEL_LIST_H
#define HERMES_WORKER_PROVIDERS_MODEL_LIST_H

#include "common/json.h"

#include <stdint.h>

struct event_base;
struct model_list_call;
struct runtime;

/* How it ended. All borrowed and gone after the callback. */
struct model_list_answer {
	int status;		    /* of HTTP; 0 = there was no answer */
	const char *error;	    /* what went wrong, NULL = nothing did */
	struct json_object *models; /* [{id, context_length}], NULL with an error */
};

/* Asks the runtime's server with its key, for at most `timeout_ms`. `done` is called once,
 * never from within; the call is to be freed afterwards. */
struct model_list_call *
model_list_start(struct event_base *base, const struct runtime *runtime, int64_t timeout_ms,
    void (*done)(const struct model_list_answer *answer, void *arg), void *arg);
/* Ends it without a word; NULL is fine. */
void model_list_free(struct model_list_call *call);

#endif
