/*
 * Answers of the client to requests of a worker. An answer that nobody waits for is ignored.
 */
#include <config.h>

#include "supervisor/handlers.h"
#include "supervisor/supervisor.h"
#include "common/buffer.h"
#include "common/log.h"
#include "common/wire.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Our ids are small positive integers. */
static int
answer_id(const struct client_line *line)
{
	const char *id;
	size_t length;
	char text[16];
	long number;

	id = client_line_part(line, PART_ID, &length);
	if (id == NULL || length >= sizeof text)
		return -1;
	memcpy(text, id, length);
	text[length] = '\0';
	if (text[strspn(text, "0123456789")] != '\0' || length > 10)
		return -1;
	errno = 0;
	number = strtol(text, NULL, 10);
	return errno != 0 || number > INT_MAX ? -1 : (int)number;
}

/* To the worker that asked; when it is gone the answer waits for its successor. */
static void
pass_on(struct client_request_table *table, struct client_request *request,
    const struct buffer *payload)
{
	struct session *session = client_request_session(request);
	uint32_t number = client_request_number(request);

	if (number == 0 || session->worker == NULL ||
	    worker_send(session->worker, TO_WORKER_CLIENT_ANSWER, number, 0, payload->data,
		payload->length) == -1)
		client_request_hold(table, request, payload);
	else
		client_request_done(table, request);
}

void
handle_client_answer(struct supervisor *supervisor, const struct client_line *line)
{
	struct buffer payload = BUFFER_EMPTY;
	struct client_request *request;
	const char *value;
	size_t length;
	bool failed;

	request = client_request_find(supervisor->requests, answer_id(line));
	if (request == NULL) {
		log_debug("rpc", "an answer that nobody waits for was ignored");
		return;
	}
	value = client_line_part(line, PART_ERROR, &length);
	failed = value != NULL;
	if (value == NULL)
		value = client_line_part(line, PART_RESULT, &length);
	wire_put_u8(&payload, failed);
	buffer_append(&payload, value != NULL ? value : "null", value != NULL ? length : 4);
	if (payload.failed)
		client_request_done(supervisor->requests, request);
	else
		pass_on(supervisor->requests, request, &payload);
	buffer_free(&payload);
}
