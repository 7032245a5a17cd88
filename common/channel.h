/*
 * One end of the supervisor-worker socket on libevent. It queues what is sent, joins the
 * parts of a payload, checks every message against its row's direction and size, and tells
 * the end of the peer once. A wake-up hands out at most 64 KiB of messages, so that no peer
 * keeps the others waiting. It never judges states: that is its owner's part.
 */
#ifndef HERMES_COMMON_CHANNEL_H
#define HERMES_COMMON_CHANNEL_H

#include "common/frame.h"
#include "common/message.h"

#include <stdbool.h>
#include <stddef.h>

struct channel;
struct event_base;

enum channel_end {
	CHANNEL_EOF,	   /* the peer closed it */
	CHANNEL_FAILED,	   /* an error of the socket */
	CHANNEL_VIOLATION, /* the peer broke the framing; the text says how */
};

struct channel_callbacks {
	/* A whole message. `payload` is borrowed. Return -1 to stop reading for good. */
	int (*message)(
	    const struct frame_header *header, const void *payload, size_t length, void *arg);
	/* No further message comes. Called once; the channel is still to be freed. */
	void (*ended)(enum channel_end end, const char *reason, void *arg);
	/* The queue has fallen below its low-water mark again, or is empty. May be NULL. */
	void (*drained)(void *arg);
};

/* `direction`: what arrives here. Takes over `fd` (non-blocking). NULL with errno. */
struct channel *channel_new(struct event_base *base, int fd, enum message_direction direction,
    const struct channel_callbacks *callbacks, void *arg);
void channel_free(struct channel *channel);

/* Queues a message, in parts where it is long. -1 when the channel has ended (EPIPE), memory is
 * out (ENOMEM), or the payload has a size that the message's row does not allow (EMSGSIZE).
 * `header->length` and FRAME_MORE are filled in here. */
int channel_send(struct channel *channel, const struct frame_header *header,
    const void *payload, size_t length);
/* While it is held nothing is written: what belongs together goes out in one write, and a
 * process that dies has sent all of it or nothing. */
void channel_hold(struct channel *channel, bool hold);
/* Bytes that wait to be written. */
size_t channel_queued(const struct channel *channel);
/* Writes what the socket takes now; true when nothing is left. */
bool channel_flush(struct channel *channel);
/* Stops or resumes reading; what the peer sends stays in the kernel. */
void channel_pause(struct channel *channel, bool pause);
/* Reads and hands out what is there now, paused or not, until the end of the peer; used
 * before a dead peer is judged. */
void channel_drain(struct channel *channel);

#endif
