/*
 * Sending to the supervisor. It must never block: what does not fit waits in the queue, and
 * the sources of it pause.
 */
#include <config.h>

#include "worker/supervisor_link.h"
#include "common/alloc.h"
#include "common/channel.h"
#include "common/fd.h"
#include "common/json.h"
#include "common/utf8.h"
#include "common/wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Above this many waiting bytes the model's stream pauses. */
#define BUSY_BYTES (256 * 1024)

/* Bytes of a failure's texts; what a client sent may stand in them. */
#define FAILURE_MESSAGE_MAX 400
#define FAILURE_DETAILS_MAX (16 * 1024)

struct supervisor_link {
	struct channel *channel;
	uint32_t generation;
	struct supervisor_link_callbacks callbacks;
	void *arg;
};

static int
on_message(const struct frame_header *header, const void *payload, size_t length, void *arg)
{
	struct supervisor_link *link = arg;

	link->callbacks.message((enum message_type)header->type, header->request, header->turn,
	    payload, length, link->arg);
	return 0;
}

static void
on_ended(enum channel_end end, const char *reason, void *arg)
{
	struct supervisor_link *link = arg;

	(void)end;
	(void)reason;
	link->callbacks.ended(link->arg);
}

static void
on_drained(void *arg)
{
	struct supervisor_link *link = arg;

	link->callbacks.drained(link->arg);
}

struct supervisor_link *
supervisor_link_new(struct event_base *base, int fd, uint32_t generation,
    const struct supervisor_link_callbacks *callbacks, void *arg)
{
	static const struct channel_callbacks channel_callbacks = {
	    .message = on_message, .ended = on_ended, .drained = on_drained};
	struct supervisor_link *link = xcalloc(1, sizeof *link);

	link->generation = generation;
	link->callbacks = *callbacks;
	link->arg = arg;
	fd_set_nonblocking(fd, true);
	fd_set_cloexec(fd, true);
	link->channel = channel_new(base, fd, MESSAGE_TO_WORKER, &channel_callbacks, link);
	if (link->channel == NULL) {
		free(link);
		return NULL;
	}
	return link;
}

void
supervisor_link_free(struct supervisor_link *link)
{
	if (link == NULL)
		return;
	channel_free(link->channel);
	free(link);
}

void
link_send(struct supervisor_link *link, enum message_type type, uint32_t request, uint32_t turn,
    const void *payload, size_t length)
{
	struct frame_header header = {.type = (uint16_t)type,
	    .request = request,
	    .turn = turn,
	    .generation = link->generation};

	/* A message that is lost may be the one that somebody waits for. */
	xrequire(channel_send(link->channel, &header, payload, length) == 0 || errno != ENOMEM);
}

void
link_send_json(struct supervisor_link *link, enum message_type type, uint32_t request,
    uint32_t turn, struct json_object *value)
{
	size_t length;
	const char *text = json_text(value, &length);

	link_send(link, type, request, turn, text, length);
}

void
link_send_text(
    struct supervisor_link *link, enum message_type type, uint32_t turn, const char *text)
{
	struct buffer payload = BUFFER_EMPTY;

	wire_put_text(&payload, text, strlen(text));
	link_send(link, type, 0, turn, payload.data, payload.length);
	buffer_free(&payload);
}

/* A message is one short line (RPC clients show it as a headline). */
static char *
headline(const char *text)
{
	char *line = xstrndup(text, utf8_floor(text, strlen(text), FAILURE_MESSAGE_MAX));
	char *at;

	for (at = line; *at != '\0'; at++)
		if ((unsigned char)*at < ' ')
			*at = ' ';
	return line;
}

void
link_send_failure(struct supervisor_link *link, enum message_type type, uint32_t request,
    uint32_t turn, int code, const char *message, const char *details, const char *field)
{
	struct buffer payload = BUFFER_EMPTY;
	struct json_object *data = json_object_new_object();
	char *line = headline(message);
	const char *text;
	size_t length;

	if (details != NULL)
		json_set(data, "details",
		    json_new_bytes(
			details, utf8_floor(details, strlen(details), FAILURE_DETAILS_MAX)));
	if (field != NULL)
		json_set_text(data, "field", field);
	text = json_text(data, &length);
	wire_put_u32(&payload, (uint32_t)code);
	wire_put_text(&payload, line, strlen(line));
	buffer_append(&payload, text, length);
	link_send(link, type, request, turn, payload.data, payload.length);
	buffer_free(&payload);
	json_object_put(data);
	free(line);
}

void
link_drain(struct supervisor_link *link)
{
	channel_drain(link->channel);
}

bool
link_busy(const struct supervisor_link *link)
{
	return channel_queued(link->channel) > BUSY_BYTES;
}

void
link_hold(struct supervisor_link *link, bool hold)
{
	channel_hold(link->channel, hold);
}

bool
link_flush(struct supervisor_link *link)
{
	return channel_flush(link->channel);
}
