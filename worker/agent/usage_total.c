/*
 * Sums of usage. A count that is not known must never count as something, and no sum overflows.
 */
#include <config.h>

#include "worker/agent/usage_total.h"
#include "worker/providers/provider.h"

static void
add(int64_t *sum, int64_t count)
{
	if (count > 0 && count <= INT64_MAX / 8 && *sum <= INT64_MAX / 8)
		*sum += count;
}

void
usage_total_add(
    struct usage_total *total, const struct model_usage *usage, const struct model_cost *cost)
{
	add(&total->input, model_usage_plain_input(usage));
	add(&total->output, usage->output_tokens);
	add(&total->cache_read, usage->cache_read_tokens);
	add(&total->cache_write, usage->cache_write_tokens);
	add(&total->reasoning, usage->reasoning_tokens);
	if (cost->known)
		total->dollars += cost->dollars;
	total->known |= cost->known;
	total->unknown |= !cost->known;
}

int64_t
usage_total_tokens(const struct usage_total *total)
{
	int64_t sum = 0;

	add(&sum, total->input);
	add(&sum, total->output);
	add(&sum, total->cache_read);
	add(&sum, total->cache_write);
	return sum;
}

bool
usage_total_cost_known(const struct usage_total *total)
{
	return total->known && !total->unknown;
}
