/*
 * Which model an agent talks to: the one that its session has chosen, and the one that is used
 * just now, which may be another while the chosen one does not answer.
 */
#ifndef HERMES_WORKER_AGENT_AGENT_MODEL_H
#define HERMES_WORKER_AGENT_AGENT_MODEL_H

#include <stdbool.h>
#include <stdint.h>

struct agent;
struct runtime;

/* The session's model from the next request on (`runtime` is taken over and left empty). What
 * runs goes on with the runtime that it was started with. */
void agent_choose_model(struct agent *agent, struct runtime *runtime);
/* How much the session's model thinks ("" = as it does by itself), from the next request on.
 * One that stands in for it goes on as it is. */
void agent_set_effort(struct agent *agent, const char *level);
/* The session has begun with its model: by some strategies the next session takes another key.
 */
void agent_note_credential(const struct agent *agent);
/* Another one for the next requests (copied); the session's model stays what it is. */
void agent_use_model(struct agent *agent, const struct runtime *runtime);
/* Back to the session's model. */
void agent_use_chosen_model(struct agent *agent);
/* The session's model holds so many tokens. */
void agent_set_window(struct agent *agent, int64_t tokens);
/* The next requests to the model in use begin with the key that `used`, a copy of its runtime,
 * ended with. */
void agent_keep_credential(struct agent *agent, const struct runtime *used);
/* True when a request to `runtime` went to the model that is used now. */
bool agent_uses_model(const struct agent *agent, const struct runtime *runtime);
void agent_clear_models(struct agent *agent);

#endif
