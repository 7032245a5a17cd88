/*
 * Labels of commands that the user allowed for good, on their way into config.yaml.
 */
#ifndef HERMES_WORKER_ALLOW_LIST_H
#define HERMES_WORKER_ALLOW_LIST_H

#include <stdbool.h>

struct allow_list;
struct event_base;

/* `home` is borrowed. */
struct allow_list *allow_list_new(struct event_base *base, const char *home);
/* What is still waiting is tried once more, then dropped with a log line. */
void allow_list_free(struct allow_list *list);
/* Saves a label under command_allowlist, again later when another program holds the file. */
void allow_list_add(struct allow_list *list, const char *label);

/* True while a label is not saved yet. */
bool allow_list_waits(const struct allow_list *list);

#endif
