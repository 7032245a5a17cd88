/*
 * The failure that an answer itself reports, or that it is: kept until its end. The first one
 * counts.
 */
#ifndef HERMES_WORKER_PROVIDERS_ANSWER_FAILURE_H
#define HERMES_WORKER_PROVIDERS_ANSWER_FAILURE_H

#include "common/json.h"
#include "worker/providers/provider.h"

struct answer_failure {
	bool failed; /* read only for the caller */
	/* Private. */
	char *label;
	struct model_answer answer;
};

/* `label` names the server in errors; it is copied. */
void answer_failure_start(struct answer_failure *failure, const char *label);
void answer_failure_free(struct answer_failure *failure);
/* `message` goes on after the server's label. */
void
answer_failure_set(struct answer_failure *failure, enum model_error kind, const char *message);
/* An event that is not JSON, for the reason of json_parse(). */
void answer_failure_not_json(
    struct answer_failure *failure, const char *reason, const char *data, size_t length);
/* The server's error, as an object or as a text. */
void answer_failure_object(struct answer_failure *failure, struct json_object *object);
void answer_failure_text(struct answer_failure *failure, const char *text, size_t length);
/* Moves what failed into the answer. */
void answer_failure_move(struct answer_failure *failure, struct model_answer *answer);

#endif
