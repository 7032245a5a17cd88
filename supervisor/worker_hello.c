/*
 * HELLO and LOG. A worker of another version must be refused with a reason, never guessed at.
 */
#include <config.h>

#include "supervisor/worker_hello.h"
#include "supervisor/worker_process.h"
#include "common/log.h"
#include "common/wire.h"

#include <stdio.h>

bool
worker_hello_check(struct worker_process *worker, const void *payload, size_t length)
{
	struct wire_cursor cursor;
	uint32_t version, pid;
	char text[80];

	wire_start(&cursor, payload, length);
	version = wire_get_u32(&cursor);
	pid = wire_get_u32(&cursor);
	if (wire_end(&cursor) == -1 || pid != (uint32_t)worker_pid(worker)) {
		worker_violation(worker, "malformed HELLO");
		return false;
	}
	if (version != MESSAGE_PROTOCOL_VERSION) {
		snprintf(text, sizeof text, "it speaks version %u, the supervisor %u", version,
		    MESSAGE_PROTOCOL_VERSION);
		worker_reject(worker, STOP_VERSION, text);
		return false;
	}
	return true;
}

void
worker_hello_log(struct worker_process *worker, const void *payload, size_t length)
{
	struct wire_cursor cursor;
	const char *text;
	size_t size;
	uint8_t level;

	wire_start(&cursor, payload, length);
	level = wire_get_u8(&cursor);
	text = wire_get_rest(&cursor, &size);
	if (level > LOG_LEVEL_DEBUG || text == NULL) {
		worker_violation(worker, "malformed LOG");
		return;
	}
	log_write((enum log_level)level, "worker", "[%ld] %.*s", (long)worker_pid(worker),
	    (int)size, text);
}
