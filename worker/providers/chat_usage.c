/*
 * Usage objects. It must never take a count that makes no sense: what is negative, no number or
 * more than any model can have is left out.
 */
#include <config.h>

#include "worker/providers/chat_usage.h"

#include <math.h>

#define COUNT_MAX ((int64_t)1 << 40)

static const struct {
	const char *parent; /* NULL = the usage object itself */
	const char *key;
	size_t offset;
} counts[] = {
    {NULL, "prompt_tokens", offsetof(struct model_usage, input_tokens)},
    {NULL, "input_tokens", offsetof(struct model_usage, input_tokens)},
    {NULL, "completion_tokens", offsetof(struct model_usage, output_tokens)},
    {NULL, "output_tokens", offsetof(struct model_usage, output_tokens)},
    {NULL, "total_tokens", offsetof(struct model_usage, total_tokens)},
    {"completion_tokens_details", "reasoning_tokens",
	offsetof(struct model_usage, reasoning_tokens)},
    {"output_tokens_details", "reasoning_tokens",
	offsetof(struct model_usage, reasoning_tokens)},
    {NULL, "reasoning_tokens", offsetof(struct model_usage, reasoning_tokens)},
    {NULL, "prompt_cache_hit_tokens", offsetof(struct model_usage, cache_read_tokens)},
    {NULL, "cache_read_input_tokens", offsetof(struct model_usage, cache_read_tokens)},
    {"input_tokens_details", "cached_tokens", offsetof(struct model_usage, cache_read_tokens)},
    {"prompt_tokens_details", "cached_tokens", offsetof(struct model_usage, cache_read_tokens)},
    {NULL, "cache_creation_input_tokens", offsetof(struct model_usage, cache_write_tokens)},
    {"prompt_tokens_details", "cache_write_tokens",
	offsetof(struct model_usage, cache_write_tokens)},
};

void
chat_usage_clear(struct model_usage *usage)
{
	usage->input_tokens = usage->output_tokens = usage->total_tokens = -1;
	usage->reasoning_tokens = usage->cache_read_tokens = usage->cache_write_tokens = -1;
	usage->cost_told = false;
	usage->cost = 0;
}

void
chat_usage_take(struct model_usage *usage, struct json_object *object)
{
	struct json_object *parent;
	int64_t count;
	double cost;
	size_t i;

	for (i = 0; i < sizeof counts / sizeof counts[0]; i++) {
		parent = counts[i].parent != NULL ? json_member_object(object, counts[i].parent)
						  : object;
		if (json_member_integer(parent, counts[i].key, &count) && count >= 0 &&
		    count <= COUNT_MAX)
			*(int64_t *)((char *)usage + counts[i].offset) = count;
	}
	if (json_member_double(object, "cost", &cost) && isfinite(cost) && cost >= 0) {
		usage->cost_told = true;
		usage->cost = cost;
	}
}
