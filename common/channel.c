/*
 * The socket between supervisor and worker. It must never block, never write in small
 * pieces that could interleave, and never hand out a message that is not whole.
 */
#include <config.h>

#include "common/channel.h"
#include "common/buffer.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define READ_BUDGET (64 * 1024)
#define LOW_WATER (64 * 1024)
#define REASON_SIZE 160

struct channel {
	int fd;
	enum message_direction direction;
	struct channel_callbacks callbacks;
	void *arg;
	struct event *readable, *writable, *again;
	struct evbuffer *in, *out;
	struct buffer parts; /* parts of a payload that is not complete */
	struct frame_header first;
	bool joining, paused, ended, busy, freed;
	bool stopped; /* the owner wants no further message */
	bool dry;     /* the last read found nothing */
	bool held;    /* what is sent waits for more */
	char reason[REASON_SIZE];
};

static void on_readable(int fd, short events, void *arg);
static void on_writable(int fd, short events, void *arg);

/* Tells the end once, unless the channel is being freed. */
static void
tell_end(struct channel *channel, enum channel_end end, const char *reason)
{
	if (channel->ended)
		return;
	channel->ended = true;
	snprintf(channel->reason, sizeof channel->reason, "%s", reason);
	event_del(channel->readable);
	event_del(channel->writable);
	event_del(channel->again);
	channel->callbacks.ended(end, channel->reason, channel->arg);
}

static void
violation(struct channel *channel, const char *text, unsigned type)
{
	char reason[REASON_SIZE];

	snprintf(reason, sizeof reason, "%s (%s, type %u)", text, message_name(type), type);
	tell_end(channel, CHANNEL_VIOLATION, reason);
}

/* What a header alone can break. NULL when it is fine. */
static const char *
header_fault(const struct channel *channel, const struct frame_header *header)
{
	const struct message_row *row = message_row(header->type);

	if (row == NULL)
		return "unknown message";
	if (row->direction != channel->direction)
		return "message in the wrong direction";
	if (header->length > MESSAGE_FRAME_MAX)
		return "frame too long";
	if ((header->flags & ~FRAME_MORE) != 0)
		return "unknown flags";
	if (channel->parts.length + header->length > row->most)
		return "payload too long";
	if (channel->joining &&
	    (header->type != channel->first.type || header->request != channel->first.request ||
		header->turn != channel->first.turn))
		return "a payload's parts are mixed with another message";
	return NULL;
}

/* Hands out one frame whose payload is complete in `payload`. 0, or -1 to stop. */
static int
take_frame(struct channel *channel, struct frame_header *header, const void *payload)
{
	const struct message_row *row = message_row(header->type);
	size_t length = header->length;
	int status;

	if (channel->joining || (header->flags & FRAME_MORE)) {
		channel->first = *header;
		channel->joining = header->flags & FRAME_MORE;
		if (buffer_append(&channel->parts, payload, length) == -1) {
			tell_end(channel, CHANNEL_FAILED, "out of memory");
			return -1;
		}
		if (channel->joining)
			return 0;
		payload = channel->parts.data;
		length = channel->parts.length;
	}
	if (length < row->least) {
		violation(channel, "payload too short", header->type);
		return -1;
	}
	header->length = (uint32_t)length;
	header->flags = 0;
	status = channel->callbacks.message(header, payload, length, channel->arg);
	if (channel->parts.length > MESSAGE_FRAME_MAX)
		buffer_free(&channel->parts);
	else
		buffer_clear(&channel->parts);
	return status;
}

/* Takes whole frames out of the input. Returns how many bytes they had, -1 to stop. */
static ssize_t
take_frames(struct channel *channel, size_t budget)
{
	struct frame_header header;
	unsigned char bytes[FRAME_HEADER_SIZE], *frame;
	const char *fault;
	size_t taken = 0, size;

	while (taken < budget && !channel->ended && !channel->freed) {
		if (evbuffer_copyout(channel->in, bytes, sizeof bytes) < (ssize_t)sizeof bytes)
			break;
		frame_decode(bytes, &header);
		fault = header_fault(channel, &header);
		if (fault != NULL) {
			violation(channel, fault, header.type);
			return -1;
		}
		size = FRAME_HEADER_SIZE + header.length;
		if (evbuffer_get_length(channel->in) < size)
			break;
		frame = evbuffer_pullup(channel->in, (ev_ssize_t)size);
		if (frame == NULL) {
			tell_end(channel, CHANNEL_FAILED, "out of memory");
			return -1;
		}
		if (take_frame(channel, &header, frame + FRAME_HEADER_SIZE) == -1) {
			channel->stopped = true;
			return -1;
		}
		if (channel->freed)
			return -1;
		evbuffer_drain(channel->in, size);
		taken += size;
	}
	return (ssize_t)taken;
}

/* True when the input holds at least one whole frame. */
static bool
has_frame(struct channel *channel)
{
	struct frame_header header;
	unsigned char bytes[FRAME_HEADER_SIZE];

	if (evbuffer_copyout(channel->in, bytes, sizeof bytes) < (ssize_t)sizeof bytes)
		return false;
	frame_decode(bytes, &header);
	return header_fault(channel, &header) != NULL ||
	       evbuffer_get_length(channel->in) >= FRAME_HEADER_SIZE + header.length;
}

static void destroy(struct channel *channel);

/* By a timer, not event_active(): the loop has to look at other descriptors in between, or a
 * peer that never stops sending would starve them. */
static void
come_back(struct channel *channel)
{
	static const struct timeval now = {0, 0};

	event_add(channel->again, &now);
}

/* Reads what is there, at most READ_BUDGET; evbuffer_read() takes only 4 KiB at a time. */
static ssize_t
fill(struct channel *channel)
{
	struct evbuffer_iovec space;
	ssize_t n;
	int saved;

	if (evbuffer_reserve_space(channel->in, READ_BUDGET, &space, 1) != 1) {
		errno = ENOMEM;
		return -1;
	}
	n = read(channel->fd, space.iov_base, READ_BUDGET);
	saved = errno;
	space.iov_len = n > 0 ? (size_t)n : 0;
	evbuffer_commit_space(channel->in, &space, 1);
	errno = saved;
	return n;
}

/* One wake-up: read once, hand out at most the budget, come back for the rest. False when
 * the channel was freed by a callback. */
static bool
read_once(struct channel *channel, size_t budget)
{
	ssize_t n = 1;
	int error = 0;

	if (channel->ended || channel->busy || channel->stopped)
		return true;
	channel->busy = true;
	/* A frame that is longer than the budget needs further reads all the same. */
	if (evbuffer_get_length(channel->in) < budget || !has_frame(channel)) {
		n = fill(channel);
		error = errno;
		channel->dry = n == -1 && error == EAGAIN;
		if (n == -1 && (error == EAGAIN || error == EINTR))
			n = 1;
	}
	if (take_frames(channel, budget) >= 0 && !channel->freed && !channel->ended) {
		if (has_frame(channel)) {
			if (!channel->paused)
				come_back(channel);
		} else if (n == 0) {
			tell_end(channel, CHANNEL_EOF, "end of file");
		} else if (n == -1) {
			tell_end(channel, CHANNEL_FAILED, strerror(error));
		}
	}
	if (channel->stopped && !channel->freed) {
		event_del(channel->readable);
		event_del(channel->again);
	}
	channel->busy = false;
	if (!channel->freed)
		return true;
	destroy(channel);
	return false;
}

static void
on_readable(int fd, short events, void *arg)
{
	struct channel *channel = arg;

	(void)fd;
	(void)events;
	read_once(channel, READ_BUDGET);
}

struct channel *
channel_new(struct event_base *base, int fd, enum message_direction direction,
    const struct channel_callbacks *callbacks, void *arg)
{
	struct channel *channel = calloc(1, sizeof *channel);

	if (channel == NULL)
		return NULL;
	channel->fd = fd;
	channel->direction = direction;
	channel->callbacks = *callbacks;
	channel->arg = arg;
	channel->in = evbuffer_new();
	channel->out = evbuffer_new();
	channel->readable = event_new(base, fd, EV_READ | EV_PERSIST, on_readable, channel);
	channel->writable = event_new(base, fd, EV_WRITE | EV_PERSIST, on_writable, channel);
	channel->again = event_new(base, -1, 0, on_readable, channel);
	if (channel->in == NULL || channel->out == NULL || channel->readable == NULL ||
	    channel->writable == NULL || channel->again == NULL ||
	    event_add(channel->readable, NULL) == -1) {
		channel->fd = -1;
		destroy(channel);
		errno = ENOMEM;
		return NULL;
	}
	return channel;
}

static void
destroy(struct channel *channel)
{
	if (channel->readable != NULL)
		event_free(channel->readable);
	if (channel->writable != NULL)
		event_free(channel->writable);
	if (channel->again != NULL)
		event_free(channel->again);
	if (channel->in != NULL)
		evbuffer_free(channel->in);
	if (channel->out != NULL)
		evbuffer_free(channel->out);
	buffer_free(&channel->parts);
	if (channel->fd != -1)
		close(channel->fd);
	free(channel);
}

void
channel_free(struct channel *channel)
{
	if (channel == NULL)
		return;
	channel->ended = true;
	if (channel->busy)
		channel->freed = true; /* freed when the callback returns */
	else
		destroy(channel);
}

static int
queue_part(struct channel *channel, struct frame_header *header, const char *payload,
    size_t length, bool more)
{
	unsigned char bytes[FRAME_HEADER_SIZE];

	header->length = (uint32_t)length;
	header->flags = more ? FRAME_MORE : 0;
	frame_encode(header, bytes);
	if (evbuffer_add(channel->out, bytes, sizeof bytes) == -1)
		return -1;
	return length == 0 ? 0 : evbuffer_add(channel->out, payload, length);
}

int
channel_send(struct channel *channel, const struct frame_header *header, const void *payload,
    size_t length)
{
	struct frame_header part = *header;
	const struct message_row *row = message_row(header->type);
	const char *at = payload;
	size_t size;
	bool was_empty;

	if (channel == NULL || channel->ended) {
		errno = EPIPE;
		return -1;
	}
	/* The peer would end the connection over it. */
	if (row == NULL || length > row->most || length < row->least) {
		errno = EMSGSIZE;
		return -1;
	}
	was_empty = evbuffer_get_length(channel->out) == 0;
	for (;;) {
		size = length < MESSAGE_FRAME_MAX ? length : MESSAGE_FRAME_MAX;
		if (queue_part(channel, &part, at, size, size < length) == -1) {
			errno = ENOMEM;
			return -1;
		}
		if (size == length) /* an empty payload may be NULL */
			break;
		at += size;
		length -= size;
	}
	if (was_empty && !channel->held)
		channel_flush(channel);
	return 0;
}

void
channel_hold(struct channel *channel, bool hold)
{
	channel->held = hold;
	if (!hold)
		channel_flush(channel);
}

size_t
channel_queued(const struct channel *channel)
{
	return channel == NULL ? 0 : evbuffer_get_length(channel->out);
}

bool
channel_flush(struct channel *channel)
{
	while (!channel->ended && evbuffer_get_length(channel->out) > 0) {
		if (evbuffer_write(channel->out, channel->fd) > 0)
			continue;
		if (errno == EINTR)
			continue;
		/* A broken pipe is told by the reading side, after what is still to be read. */
		if (errno == EAGAIN)
			event_add(channel->writable, NULL);
		else
			evbuffer_drain(channel->out, evbuffer_get_length(channel->out));
		return false;
	}
	return evbuffer_get_length(channel->out) == 0;
}

static void
on_writable(int fd, short events, void *arg)
{
	struct channel *channel = arg;
	bool empty = channel_flush(channel);

	(void)fd;
	(void)events;
	if (empty)
		event_del(channel->writable);
	if (channel->callbacks.drained != NULL && evbuffer_get_length(channel->out) < LOW_WATER)
		channel->callbacks.drained(channel->arg);
}

void
channel_pause(struct channel *channel, bool pause)
{
	if (channel->paused == pause || channel->ended || channel->stopped)
		return;
	channel->paused = pause;
	if (pause) {
		event_del(channel->readable);
		event_del(channel->again);
		return;
	}
	event_add(channel->readable, NULL);
	if (has_frame(channel))
		come_back(channel);
}

void
channel_drain(struct channel *channel)
{
	while (!channel->ended && !channel->busy && !channel->stopped)
		if (!read_once(channel, (size_t)-1 / 2) || channel->ended || channel->dry)
			return;
}
