/*
 * The worker's end of the socket to the supervisor.
 */
#ifndef HERMES_WORKER_SUPERVISOR_LINK_H
#define HERMES_WORKER_SUPERVISOR_LINK_H

#include "common/buffer.h"
#include "common/message.h"

#include <stdbool.h>
#include <stdint.h>

struct event_base;
struct json_object;
struct supervisor_link;

struct supervisor_link_callbacks {
	void (*message)(enum message_type type, uint32_t request, uint32_t turn,
	    const char *payload, size_t length, void *arg);
	/* The supervisor is gone. */
	void (*ended)(void *arg);
	/* What was queued has gone out for the most part. */
	void (*drained)(void *arg);
};

/* `fd` is the socket. NULL when memory is out. */
struct supervisor_link *supervisor_link_new(struct event_base *base, int fd,
    uint32_t generation, const struct supervisor_link_callbacks *callbacks, void *arg);
void supervisor_link_free(struct supervisor_link *link);

void link_send(struct supervisor_link *link, enum message_type type, uint32_t request,
    uint32_t turn, const void *payload, size_t length);
void link_send_json(struct supervisor_link *link, enum message_type type, uint32_t request,
    uint32_t turn, struct json_object *value);
void link_send_text(
    struct supervisor_link *link, enum message_type type, uint32_t turn, const char *text);
/* SETUP_FAILED, RESPONSE_ERROR, TURN_FAILED: `details` (may be NULL) becomes data.details,
 * `field` (may be NULL) data.field. */
void link_send_failure(struct supervisor_link *link, enum message_type type, uint32_t request,
    uint32_t turn, int code, const char *message, const char *details, const char *field);
/* Takes what has arrived already. */
void link_drain(struct supervisor_link *link);
/* True when more waits than the client seems to read. */
bool link_busy(const struct supervisor_link *link);
/* While it is held nothing is written: messages of which one must not arrive without the other.
 */
void link_hold(struct supervisor_link *link, bool hold);
/* Writes what the socket takes; true when nothing is left. */
bool link_flush(struct supervisor_link *link);

#endif
