/*
 * What a request to a model costs: as its server told, else by a table of list prices. What
 * neither knows is unknown; nothing is ever guessed from a name that is only similar.
 */
#ifndef HERMES_WORKER_PROVIDERS_PRICES_H
#define HERMES_WORKER_PROVIDERS_PRICES_H

#include <stdbool.h>

struct model_usage;
struct runtime;

struct model_cost {
	bool known;
	double dollars;	    /* 0 when it is not known */
	const char *status; /* "actual", "estimated" or "unknown"; a constant */
	const char *source; /* where it is from: a constant, NULL when it is not known */
};

/* `usage`: of one request to the model of `runtime`. */
void prices_cost(
    const struct runtime *runtime, const struct model_usage *usage, struct model_cost *cost);

#endif
