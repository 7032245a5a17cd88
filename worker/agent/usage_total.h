/*
 * What a session has used, over all its requests.
 */
#ifndef HERMES_WORKER_AGENT_USAGE_TOTAL_H
#define HERMES_WORKER_AGENT_USAGE_TOTAL_H

#include "worker/providers/prices.h"

#include <stdint.h>

struct usage_total {
	/* Tokens. Input is without what a cache held; reasoning is part of the output. */
	int64_t input, output, cache_read, cache_write, reasoning;
	double dollars; /* of what is known */
	bool known;	/* the cost of some request */
	bool unknown;	/* the cost of some request is not known: nor is the sum */
};

/* Adds one request, whose counts below 0 are not known. */
void usage_total_add(
    struct usage_total *total, const struct model_usage *usage, const struct model_cost *cost);
/* All tokens, each once. */
int64_t usage_total_tokens(const struct usage_total *total);
/* True when the sum is what the session cost. */
bool usage_total_cost_known(const struct usage_total *total);

#endif
