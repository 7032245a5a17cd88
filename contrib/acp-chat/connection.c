/*
 * The wire. It must never wait, and whatever the other side sends, it only calls back with
 * values that have the promised types.
 */
#include <config.h>

#include "contrib/acp-chat/connection.h"

#include "common/alloc.h"
#include "common/buffer.h"
#include "common/fd.h"

#include <event2/buffer.h>
#include <event2/event.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINE_LENGTH_MAX (64U << 20)
#define READ_SIZE 65536

struct pending {
	struct pending *next;
	int64_t id;
	connection_answer answer;
	void *arg;
};

struct connection {
	struct connection_callbacks callbacks;
	void *arg;
	int in, out;
	struct event *readable, *writable;
	struct evbuffer *queue;
	struct buffer input;
	size_t scanned; /* bytes of `input` without a newline */
	int64_t last_id;
	struct pending *pending;
	bool ending; /* no more output after what is queued */
	bool closed;
};

static void
close_connection(struct connection *connection, const char *reason)
{
	if (connection->closed)
		return;
	connection->closed = true;
	event_del(connection->readable);
	connection->callbacks.closed(reason, connection->arg);
}

static void
close_output(struct connection *connection)
{
	if (connection->writable != NULL)
		event_free(connection->writable);
	connection->writable = NULL;
	fd_close(&connection->out);
}

static void
on_writable(evutil_socket_t fd, short what, void *arg)
{
	struct connection *connection = arg;

	(void)what;
	if (evbuffer_get_length(connection->queue) > 0 &&
	    evbuffer_write(connection->queue, fd) == -1 && errno != EAGAIN && errno != EINTR) {
		/* Its end is told by its output and its exit status. */
		close_output(connection);
		return;
	}
	if (evbuffer_get_length(connection->queue) > 0)
		event_add(connection->writable, NULL);
	else if (connection->ending)
		close_output(connection);
}

/* Sends a message and drops it. */
static void
send_message(struct connection *connection, struct json_object *message)
{
	const char *text;
	size_t length;

	if (connection->writable != NULL && !connection->ending) {
		json_set_text(message, "jsonrpc", "2.0");
		text = json_text(message, &length);
		evbuffer_add(connection->queue, text, length);
		evbuffer_add(connection->queue, "\n", 1);
		event_add(connection->writable, NULL);
	}
	json_object_put(message);
}

void
connection_request(struct connection *connection, const char *method,
    struct json_object *params, connection_answer answer, void *arg)
{
	struct json_object *message = json_object_new_object();
	struct pending *pending = xcalloc(1, sizeof *pending);

	pending->id = ++connection->last_id;
	pending->answer = answer;
	pending->arg = arg;
	pending->next = connection->pending;
	connection->pending = pending;
	json_set_integer(message, "id", pending->id);
	json_set_text(message, "method", method);
	json_set(message, "params", params);
	send_message(connection, message);
}

void
connection_notify(struct connection *connection, const char *method, struct json_object *params)
{
	struct json_object *message = json_object_new_object();

	json_set_text(message, "method", method);
	json_set(message, "params", params);
	send_message(connection, message);
}

void
connection_reply(
    struct connection *connection, struct json_object *id, struct json_object *result)
{
	struct json_object *message = json_object_new_object();

	json_set(message, "id", json_copy(id));
	json_set(message, "result", result);
	send_message(connection, message);
}

void
connection_refuse(struct connection *connection, struct json_object *id, int code,
    const char *text, struct json_object *data)
{
	struct json_object *message = json_object_new_object(),
			   *error = json_object_new_object();

	json_set_integer(error, "code", code);
	json_set_text(error, "message", text);
	if (data != NULL)
		json_set(error, "data", data);
	json_set(message, "id", json_copy(id));
	json_set(message, "error", error);
	send_message(connection, message);
}

void
connection_end_output(struct connection *connection)
{
	connection->ending = true;
	if (connection->writable != NULL)
		event_add(connection->writable, NULL);
}

static void
take_answer(struct connection *connection, struct json_object *message)
{
	struct pending **at = &connection->pending, *found;
	struct json_object *error = json_member_object(message, "error");
	int64_t id;

	if (!json_member_integer(message, "id", &id)) {
		connection->callbacks.nonsense("an answer without a number as id",
		    json_text(message, NULL), connection->arg);
		return;
	}
	while (*at != NULL && (*at)->id != id)
		at = &(*at)->next;
	if (*at == NULL)
		return; /* late or invented: allowed, and nothing to do */
	found = *at;
	*at = found->next;
	found->answer(error == NULL ? json_member(message, "result") : NULL, error, found->arg);
	free(found);
}

static void
take_message(struct connection *connection, struct json_object *message)
{
	const char *method = json_member_string(message, "method");
	struct json_object *params = json_member(message, "params");

	if (method != NULL && json_object_object_get_ex(message, "id", NULL))
		connection->callbacks.request(
		    json_member(message, "id"), method, params, connection->arg);
	else if (method != NULL)
		connection->callbacks.notification(method, params, connection->arg);
	else if (json_object_object_get_ex(message, "result", NULL) ||
		 json_member_object(message, "error") != NULL)
		take_answer(connection, message);
	else
		connection->callbacks.nonsense("neither a method nor an answer",
		    json_text(message, NULL), connection->arg);
}

static void
take_line(struct connection *connection, const char *line, size_t length)
{
	struct json_object *message;
	const char *reason = NULL;
	char *copy;

	while (length > 0 && strchr(" \t\r", line[length - 1]) != NULL)
		length--;
	if (length == 0)
		return;
	message = json_parse(line, length, &reason);
	if (json_object_is_type(message, json_type_object)) {
		take_message(connection, message);
	} else {
		copy = xstrndup(line, length < 200 ? length : 200);
		connection->callbacks.nonsense(
		    reason != NULL ? reason : "not an object", copy, connection->arg);
		free(copy);
	}
	json_object_put(message);
}

static void
take_lines(struct connection *connection)
{
	struct buffer *input = &connection->input;
	size_t start = 0;
	const char *newline;

	while (input->length > connection->scanned) {
		newline = memchr(input->data + connection->scanned, '\n',
		    input->length - connection->scanned);
		if (newline == NULL)
			break;
		take_line(
		    connection, input->data + start, (size_t)(newline - input->data) - start);
		start = connection->scanned = (size_t)(newline - input->data) + 1;
	}
	buffer_consume(input, start);
	connection->scanned = input->length;
}

static void
on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct connection *connection = arg;
	ssize_t n;

	(void)what;
	if (buffer_reserve(&connection->input, READ_SIZE) == -1) {
		close_connection(connection, "out of memory");
		return;
	}
	n = read(fd, connection->input.data + connection->input.length, READ_SIZE);
	if (n > 0) {
		connection->input.length += (size_t)n;
		connection->input.data[connection->input.length] = '\0';
		take_lines(connection);
		if (connection->input.length > LINE_LENGTH_MAX)
			close_connection(connection, "it sent a line of more than 64 MiB");
	} else if (n == 0) {
		/* The last line may lack its newline. */
		if (connection->input.length > 0)
			take_line(connection, connection->input.data, connection->input.length);
		close_connection(connection, NULL);
	} else if (errno != EAGAIN && errno != EINTR) {
		close_connection(connection, strerror(errno));
	}
}

struct connection *
connection_new(struct event_base *base, int in, int out,
    const struct connection_callbacks *callbacks, void *arg)
{
	struct connection *connection = xcalloc(1, sizeof *connection);

	connection->callbacks = *callbacks;
	connection->arg = arg;
	connection->in = in;
	connection->out = out;
	connection->queue = evbuffer_new();
	connection->readable =
	    event_new(base, in, EV_READ | EV_PERSIST, on_readable, connection);
	connection->writable = event_new(base, out, EV_WRITE, on_writable, connection);
	event_add(connection->readable, NULL);
	return connection;
}

void
connection_free(struct connection *connection)
{
	struct pending *next;

	if (connection == NULL)
		return;
	close_output(connection);
	event_free(connection->readable);
	fd_close(&connection->in);
	evbuffer_free(connection->queue);
	buffer_free(&connection->input);
	while (connection->pending != NULL) {
		next = connection->pending->next;
		free(connection->pending);
		connection->pending = next;
	}
	free(connection);
}
