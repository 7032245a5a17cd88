/*
 * Words of rehearsal scripts and what they mean. It knows nothing of the script around them.
 */
#include <config.h>

#include "worker/providers/rehearsal_words.h"

#include "worker/providers/rehearsal_fault.h"

#include <stddef.h>
#include <string.h>

static const struct {
	const char *word;
	enum finish_reason finish;
} finish_words[] = {
    {"stop", FINISH_STOP},
    {"tool_calls", FINISH_TOOL_CALLS},
    {"length", FINISH_LENGTH},
    {"refusal", FINISH_REFUSAL},
};

static const struct {
	const char *word;
	enum model_error error;
} error_words[] = {
    {"connect", MODEL_ERROR_CONNECT},
    {"interrupted", MODEL_ERROR_INTERRUPTED},
    {"silent", MODEL_ERROR_SILENT},
    {"auth", MODEL_ERROR_AUTH},
    {"billing", MODEL_ERROR_BILLING},
    {"rate_limit", MODEL_ERROR_RATE_LIMIT},
    {"overloaded", MODEL_ERROR_OVERLOADED},
    {"server", MODEL_ERROR_SERVER},
    {"request", MODEL_ERROR_REQUEST},
    {"too_long", MODEL_ERROR_TOO_LONG},
    {"image", MODEL_ERROR_IMAGE},
    {"answer", MODEL_ERROR_ANSWER},
};

bool
rehearsal_words_parse_finish(const char *word, enum finish_reason *finish)
{
	size_t i;

	for (i = 0; i < sizeof finish_words / sizeof finish_words[0]; i++) {
		if (strcmp(finish_words[i].word, word) == 0) {
			*finish = finish_words[i].finish;
			return true;
		}
	}
	return false;
}

bool
rehearsal_words_parse_error(const char *word, enum model_error *error)
{
	size_t i;

	for (i = 0; i < sizeof error_words / sizeof error_words[0]; i++) {
		if (strcmp(error_words[i].word, word) == 0) {
			*error = error_words[i].error;
			return true;
		}
	}
	return false;
}

const char *
rehearsal_words_finish(const char *word)
{
	enum finish_reason finish;

	return rehearsal_words_parse_finish(word, &finish)
		   ? NULL
		   : "stop, tool_calls, length, refusal";
}

const char *
rehearsal_words_error(const char *word)
{
	enum model_error error;

	return rehearsal_words_parse_error(word, &error)
		   ? NULL
		   : "connect, interrupted, silent, auth, billing, rate_limit, overloaded, "
		     "server, "
		     "request, too_long, image, answer";
}

const char *
rehearsal_words_signal(const char *word)
{
	return rehearsal_fault_signal(word) != 0
		   ? NULL
		   : "ABRT, BUS, FPE, HUP, ILL, INT, KILL, PIPE, SEGV, STOP, TERM, USR1";
}

const char *
rehearsal_words_point(const char *word)
{
	enum rehearsal_fault_point point;

	return rehearsal_fault_point_parse(word, &point) ? NULL : "now, finish, after_finish";
}
