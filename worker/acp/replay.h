/*
 * A stored conversation shown again: the same updates as when it was live.
 */
#ifndef HERMES_WORKER_ACP_REPLAY_H
#define HERMES_WORKER_ACP_REPLAY_H

#include "common/json.h"

#include <stddef.h>

/* Gives each update of the messages (Chat Completions form with "_display") to `send`, in
 * order. What has no record of its looks is shown plainly. */
void replay_messages(struct json_object *messages,
    void (*send)(const char *update, size_t length, void *arg), void *arg);

#endif
