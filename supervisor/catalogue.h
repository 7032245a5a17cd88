/*
 * The catalogue worker: it reads the configuration (and later the database) so that the
 * supervisor need not. It is replaced when it dies.
 */
#ifndef HERMES_SUPERVISOR_CATALOGUE_H
#define HERMES_SUPERVISOR_CATALOGUE_H

#include <stdbool.h>
#include <stddef.h>

struct catalogue;
struct event_base;
struct worker_list;

/* What SETTINGS told. */
struct settings {
	bool known;	/* they have come at least once */
	char *provider; /* id, NULL when none is configured */
	char *label;	/* for people */
};

/* `changed` is called with each SETTINGS, and once after a second without any. `setup` is
 * the payload of SETUP (copied). NULL when memory is out. */
struct catalogue *catalogue_new(struct event_base *base, struct worker_list *list,
    const char *setup, size_t length, void (*changed)(void *arg), void *arg);
void catalogue_free(struct catalogue *catalogue);
/* Asks for the settings again; `changed` follows. */
void catalogue_query(struct catalogue *catalogue);
const struct settings *catalogue_settings(const struct catalogue *catalogue);
void catalogue_stop(struct catalogue *catalogue);

#endif
