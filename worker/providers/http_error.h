/*
 * What an error answer of a model's server means, and what to tell the user about it. The
 * kind decides what is done next, so a wrong one costs the user either a pointless wait or
 * a turn that need not have failed.
 */
#ifndef HERMES_WORKER_PROVIDERS_HTTP_ERROR_H
#define HERMES_WORKER_PROVIDERS_HTTP_ERROR_H

#include "common/buffer.h"
#include "common/json.h"
#include "worker/providers/provider.h"

#include <time.h>

struct http_error {
	const char *label;	  /* who answered, for people */
	int status;		  /* 200 = the error stood within an answer */
	struct json_object *json; /* the body when it is JSON; may be NULL */
	const char *body;	  /* the body as it came; may be NULL */
	size_t body_length;
	const char *retry_after; /* header values; may be NULL */
	const char *retry_after_ms;
	const char *location;
};

/* Fills finish, error, status, message (a sentence, no secrets, at most about 700 bytes)
 * and retry_after_ms. */
void http_error_answer(const struct http_error *error, struct model_answer *answer);
/* The same for a failure that has no body: takes over nothing, masks secrets. */
void http_error_set(struct model_answer *answer, enum model_error kind, const char *message);

/* Milliseconds that a Retry-After value asks for: seconds (decimals allowed) or an HTTP
 * date, which counts from `now`; a date in the past is 0, anything else -1. */
int64_t http_error_retry_after(const char *value, time_t now);

#endif
