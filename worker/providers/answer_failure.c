/*
 * Failures within an answer. A second one must never hide the first, which is the cause.
 */
#include <config.h>

#include "worker/providers/answer_failure.h"
#include "worker/providers/http_error.h"
#include "worker/providers/http_error_words.h"
#include "common/alloc.h"

#include <stdlib.h>
#include <string.h>

#define EXCERPT_MAX 200 /* bytes of what came that are shown */

void
answer_failure_start(struct answer_failure *failure, const char *label)
{
	memset(failure, 0, sizeof *failure);
	failure->label = xstrdup(label);
	failure->answer.retry_after_ms = -1;
}

void
answer_failure_free(struct answer_failure *failure)
{
	free(failure->label);
	free(failure->answer.message);
	memset(failure, 0, sizeof *failure);
}

void
answer_failure_set(struct answer_failure *failure, enum model_error kind, const char *message)
{
	char *text;

	if (failure->failed)
		return;
	failure->failed = true;
	text = xasprintf("%s %s", failure->label, message);
	http_error_set(&failure->answer, kind, text);
	free(text);
}

void
answer_failure_not_json(
    struct answer_failure *failure, const char *reason, const char *data, size_t length)
{
	char *excerpt = http_error_excerpt(data, length, EXCERPT_MAX);
	char *message = xasprintf("sent an event that is not JSON (%s): %s", reason, excerpt);

	answer_failure_set(failure, MODEL_ERROR_ANSWER, message);
	free(message);
	free(excerpt);
}

void
answer_failure_text(struct answer_failure *failure, const char *text, size_t length)
{
	char *excerpt = http_error_excerpt(text, length, EXCERPT_MAX);
	char *message = excerpt[0] != '\0'
			    ? xasprintf("reported an error: %s", excerpt)
			    : xstrdup("reported an error that it did not explain");

	answer_failure_set(failure, MODEL_ERROR_SERVER, message);
	free(message);
	free(excerpt);
}

void
answer_failure_object(struct answer_failure *failure, struct json_object *object)
{
	struct http_error error = {.label = failure->label, .status = 200, .json = object};

	if (failure->failed)
		return;
	error.body = json_text(object, &error.body_length);
	failure->failed = true;
	http_error_answer(&error, &failure->answer);
}

void
answer_failure_move(struct answer_failure *failure, struct model_answer *answer)
{
	answer->error = failure->answer.error;
	answer->status = failure->answer.status;
	answer->retry_after_ms = failure->answer.retry_after_ms;
	answer->message = failure->answer.message;
	failure->answer.message = NULL;
}
