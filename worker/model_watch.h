/*
 * Asks a provider's server for its models when nobody has asked lately, beside everything else.
 * A session waits for none of it.
 */
#ifndef HERMES_WORKER_MODEL_WATCH_H
#define HERMES_WORKER_MODEL_WATCH_H

struct configuration;
struct event_base;
struct model_watch;
struct runtime;

/* `changed` is called, never from within, when live_models.h knows of the runtime's provider
 * what it did not know before. The configuration is borrowed. */
struct model_watch *model_watch_new(struct event_base *base,
    const struct configuration *configuration, void (*changed)(void *arg), void *arg);
/* The runtime (copied) is the one that counts from now on; what was asked for another is broken
 * off. */
void model_watch_look(struct model_watch *watch, const struct runtime *runtime);
/* Ends it at once; NULL is fine. */
void model_watch_free(struct model_watch *watch);

#endif
