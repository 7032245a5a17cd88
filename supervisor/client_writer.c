/*
 * Standard output. It must never block, and never lose or reorder a byte that was added.
 */
#include <config.h>

#include "supervisor/client_writer.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FLUSH_AT (64 * 1024)

struct client_writer {
	int fd;
	struct evbuffer *out;
	struct event *writable; /* the descriptor takes bytes again */
	struct event *flush;	/* at the end of this turn of the loop */
	struct client_writer_callbacks callbacks;
	void *arg;
	size_t told; /* last level that was told: 0, HIGH or FULL */
	bool ended;
};

static void
tell_level(struct client_writer *writer)
{
	size_t queued = evbuffer_get_length(writer->out), level = writer->told;

	if (queued > CLIENT_WRITER_FULL)
		level = CLIENT_WRITER_FULL;
	else if (queued > CLIENT_WRITER_HIGH && level < CLIENT_WRITER_HIGH)
		level = CLIENT_WRITER_HIGH;
	else if (queued < CLIENT_WRITER_HIGH && level == CLIENT_WRITER_FULL)
		level = CLIENT_WRITER_HIGH;
	if (queued < CLIENT_WRITER_LOW)
		level = 0;
	if (level == writer->told)
		return;
	writer->told = level;
	writer->callbacks.level(level, writer->arg);
}

void
client_writer_flush(struct client_writer *writer)
{
	while (!writer->ended && evbuffer_get_length(writer->out) > 0) {
		if (evbuffer_write(writer->out, writer->fd) > 0 || errno == EINTR)
			continue;
		if (errno == EAGAIN) {
			event_add(writer->writable, NULL);
			break;
		}
		writer->ended = true;
		evbuffer_drain(writer->out, evbuffer_get_length(writer->out));
		writer->callbacks.ended(writer->arg);
		return;
	}
	tell_level(writer);
}

static void
on_writable(int fd, short events, void *arg)
{
	(void)fd;
	(void)events;
	client_writer_flush(arg);
}

struct client_writer *
client_writer_new(
    struct event_base *base, int fd, const struct client_writer_callbacks *callbacks, void *arg)
{
	struct client_writer *writer = calloc(1, sizeof *writer);

	if (writer == NULL)
		return NULL;
	writer->fd = fd;
	writer->callbacks = *callbacks;
	writer->arg = arg;
	writer->out = evbuffer_new();
	writer->writable = event_new(base, fd, EV_WRITE, on_writable, writer);
	writer->flush = event_new(base, -1, 0, on_writable, writer);
	if (writer->out == NULL || writer->writable == NULL || writer->flush == NULL) {
		client_writer_free(writer);
		return NULL;
	}
	return writer;
}

void
client_writer_free(struct client_writer *writer)
{
	if (writer == NULL)
		return;
	if (writer->writable != NULL)
		event_free(writer->writable);
	if (writer->flush != NULL)
		event_free(writer->flush);
	if (writer->out != NULL)
		evbuffer_free(writer->out);
	close(writer->fd);
	free(writer);
}

void
client_writer_add(struct client_writer *writer, const char *bytes, size_t length)
{
	size_t queued;

	if (writer->ended || length == 0)
		return;
	if (evbuffer_add(writer->out, bytes, length) == -1) {
		/* Half a line must not go out: without memory for it this connection ends. */
		writer->ended = true;
		writer->callbacks.ended(writer->arg);
		return;
	}
	queued = evbuffer_get_length(writer->out);
	if (bytes[length - 1] != '\n')
		return;
	if (queued >= FLUSH_AT && !event_pending(writer->writable, EV_WRITE, NULL))
		client_writer_flush(writer);
	else
		event_active(writer->flush, EV_TIMEOUT, 0);
	tell_level(writer);
}

void
client_writer_text(struct client_writer *writer, const char *text)
{
	client_writer_add(writer, text, strlen(text));
}

size_t
client_writer_queued(const struct client_writer *writer)
{
	return evbuffer_get_length(writer->out);
}
