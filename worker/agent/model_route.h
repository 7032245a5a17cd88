/*
 * Where a turn goes when a model does not answer: the models of fallback_providers in
 * config.yaml, one after the other, for the rest of the turn. What a session has chosen stays
 * chosen; the next turn asks that one first.
 */
#ifndef HERMES_WORKER_AGENT_MODEL_ROUTE_H
#define HERMES_WORKER_AGENT_MODEL_ROUTE_H

#include "common/buffer.h"

#include <stdbool.h>

struct configuration;
struct model_answer;
struct model_route;
struct runtime;

/* The models that are named; what cannot be one is noted as a problem of the configuration. */
struct model_route *model_route_new(const struct configuration *configuration);
void model_route_free(struct model_route *route);
/* A new turn: nothing has failed yet. `route` may be NULL here and below. */
void model_route_restart(struct model_route *route);
/* `failed` gave this answer for good. True with the next model in `next` (the caller's) and a
 * line for the user in `notice`. False when the failure is not of the kind that another model
 * may heal, or when there is none left; model_route_failures() tells then. */
bool model_route_next(struct model_route *route, const struct runtime *failed,
    const struct model_answer *answer, struct runtime *next, struct buffer *notice);
/* What failed in this turn, in order and with reasons, when that was more than one; else
 * nothing. */
void model_route_failures(const struct model_route *route, struct buffer *text);

#endif
