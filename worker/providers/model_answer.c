/*
 * Answers of a model, apart from how they are got: freeing them and naming their errors.
 */
#include <config.h>

#include "worker/providers/provider.h"

#include <stdlib.h>
#include <string.h>

static const char *const error_names[] = {
    [MODEL_ERROR_NONE] = "none",
    [MODEL_ERROR_CONNECT] = "connect",
    [MODEL_ERROR_INTERRUPTED] = "interrupted",
    [MODEL_ERROR_SILENT] = "silent",
    [MODEL_ERROR_AUTH] = "auth",
    [MODEL_ERROR_BILLING] = "billing",
    [MODEL_ERROR_RATE_LIMIT] = "rate_limit",
    [MODEL_ERROR_OVERLOADED] = "overloaded",
    [MODEL_ERROR_SERVER] = "server",
    [MODEL_ERROR_REQUEST] = "request",
    [MODEL_ERROR_TOO_LONG] = "too_long",
    [MODEL_ERROR_IMAGE] = "image",
    [MODEL_ERROR_THINKING] = "thinking",
    [MODEL_ERROR_ANSWER] = "answer",
};

int64_t
model_usage_plain_input(const struct model_usage *usage)
{
	int64_t input = usage->input_tokens;

	if (usage->cache_read_tokens > 0)
		input -= usage->cache_read_tokens;
	if (usage->cache_write_tokens > 0)
		input -= usage->cache_write_tokens;
	return usage->input_tokens < 0 || input >= 0 ? input : 0;
}

bool
model_usage_told(const struct model_usage *usage)
{
	return usage->input_tokens >= 0 || usage->output_tokens >= 0 ||
	       usage->total_tokens >= 0 || usage->cost_told;
}

const char *
model_error_name(enum model_error error)
{
	return (size_t)error < sizeof error_names / sizeof error_names[0] ? error_names[error]
									  : "unknown";
}

void
model_answer_clear(struct model_answer *answer)
{
	size_t i;

	for (i = 0; i < answer->call_count; i++) {
		free(answer->calls[i].id);
		free(answer->calls[i].name);
		free(answer->calls[i].arguments);
	}
	free(answer->calls);
	json_object_put(answer->extra);
	free(answer->message);
	memset(answer, 0, sizeof *answer);
	answer->retry_after_ms = -1;
}
