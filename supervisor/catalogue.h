/*
 * The catalogue worker: it reads the configuration (and later the database) so that the
 * supervisor need not. It is replaced when it dies.
 */
#ifndef HERMES_SUPERVISOR_CATALOGUE_H
#define HERMES_SUPERVISOR_CATALOGUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct catalogue;
struct event_base;
struct worker_list;

/* What SETTINGS told. */
struct settings {
	bool known;		/* they have come at least once */
	char *provider;		/* id, NULL when none is configured */
	char *label;		/* for people */
	int64_t worker_idle_ms; /* an idle worker ends after this time; 0 = never */
};

/* What the catalogue worker answers. `token` is that of catalogue_request(). */
struct catalogue_callbacks {
	/* SETTINGS have come, or none within a second. */
	void (*changed)(void *arg);
	void (*answered)(uint32_t token, const char *result, size_t length, void *arg);
	void (*failed)(uint32_t token, int code, const char *message, size_t message_length,
	    const char *data, size_t data_length, void *arg);
	/* A tail of this session was committed, or could not be: a worker may load it now. */
	void (*committed)(const char *session, void *arg);
	/* It died: what it was asked has no answer. A tail goes to the next one. */
	void (*gone)(const char *cause, void *arg);
};

/* `changed` is called with each SETTINGS, and once after a second without any. `setup` is
 * the payload of SETUP (copied). NULL when memory is out. */
struct catalogue *catalogue_new(struct event_base *base, struct worker_list *list,
    const char *setup, size_t length, const struct catalogue_callbacks *callbacks, void *arg);
void catalogue_free(struct catalogue *catalogue);
/* Sends a request; -1 when there is no catalogue worker now. */
int catalogue_request(struct catalogue *catalogue, uint32_t token, const char *method,
    const char *params, size_t length);
/* Saves what a session's dead worker had shown and not saved, `tail` as in COMMIT_TAIL;
 * `committed` follows. Who loads the session before would go on without it. */
void catalogue_commit_tail(
    struct catalogue *catalogue, const char *session, const char *tail, size_t length);
/* True while a tail of this session is being committed. */
bool catalogue_commits(const struct catalogue *catalogue, const char *session);
/* Asks for the settings again; `changed` follows. */
void catalogue_query(struct catalogue *catalogue);
const struct settings *catalogue_settings(const struct catalogue *catalogue);
void catalogue_stop(struct catalogue *catalogue);

#endif
