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

void
handle_client_answer(struct supervisor *supervisor, const struct client_line *line)
{
	struct buffer payload = BUFFER_EMPTY;
	struct session *session;
	const char *value;
	size_t length;
	uint32_t request;
	bool failed;

	session = client_request_take(supervisor->requests, answer_id(line), &request);
	if (session == NULL) {
		log_debug("rpc", "an answer that nobody waits for was ignored");
		return;
	}
	value = client_line_part(line, PART_ERROR, &length);
	failed = value != NULL;
	if (value == NULL)
		value = client_line_part(line, PART_RESULT, &length);
	wire_put_u8(&payload, failed);
	buffer_append(&payload, value != NULL ? value : "null", value != NULL ? length : 4);
	if (!payload.failed && session->worker != NULL)
		worker_send(session->worker, TO_WORKER_CLIENT_ANSWER, request, 0, payload.data,
		    payload.length);
	buffer_free(&payload);
}
