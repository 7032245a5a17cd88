/*
 * Log records. Nothing that came from outside may break out of its line, and no secret may
 * get through.
 */
#include <config.h>

#include "common/log.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SECRETS_MAX 4096
#define TEXT_MAX (2 * LOG_RECORD_MAX) /* of a text before it is masked and cut */
#define SECRET_LEAST 8		      /* bytes; shorter ones stand in many texts by chance */

static struct {
	const char *program;
	enum log_level level;
	log_sink sink;
	void *arg;
	char **secrets; /* the longest first: one may hold another */
	size_t secret_count, secret_room;
} log_state = {.program = "hermes-acp", .level = LOG_LEVEL_WARNING};

static const char *const level_names[] = {"ERROR", "WARNING", "INFO", "DEBUG"};

void
log_open(const char *program, enum log_level level, log_sink sink, void *arg)
{
	log_state.program = program;
	log_state.level = level;
	log_state.sink = sink;
	log_state.arg = arg;
}

void
log_set_level(enum log_level level)
{
	log_state.level = level;
}

void
log_sink_fd(enum log_level level, const char *record, size_t length, void *arg)
{
	char line[LOG_RECORD_MAX + 64];
	struct tm tm;
	time_t now = time(NULL);
	size_t n;
	ssize_t ignored;

	(void)level;
	gmtime_r(&now, &tm);
	n = strftime(line, sizeof line, "%Y-%m-%dT%H:%M:%SZ ", &tm);
	if (length > sizeof line - n)
		length = sizeof line - n;
	memcpy(line + n, record, length);
	ignored = write(*(int *)arg, line, n + length);
	(void)ignored;
}

static bool
make_room(void)
{
	size_t room = log_state.secret_room > 0 ? 2 * log_state.secret_room : 64;
	char **secrets;

	if (log_state.secret_count < log_state.secret_room)
		return true;
	secrets = reallocarray(log_state.secrets, room, sizeof *secrets);
	if (secrets == NULL)
		return false;
	log_state.secrets = secrets;
	log_state.secret_room = room;
	return true;
}

void
secret_register(const char *secret)
{
	size_t length = secret != NULL ? strlen(secret) : 0, i;
	char *copy;

	if (length < SECRET_LEAST || log_state.secret_count == SECRETS_MAX)
		return;
	for (i = 0; i < log_state.secret_count; i++)
		if (strcmp(log_state.secrets[i], secret) == 0)
			return;
	if (!make_room() || (copy = strdup(secret)) == NULL)
		return;
	for (i = log_state.secret_count++; i > 0; i--) {
		if (strlen(log_state.secrets[i - 1]) >= length)
			break;
		log_state.secrets[i] = log_state.secrets[i - 1];
	}
	log_state.secrets[i] = copy;
}

const char *
secret_at(size_t index)
{
	return index < log_state.secret_count ? log_state.secrets[index] : NULL;
}

/* A text that was cut may end with the beginning of a secret. */
static void
mask_tail(char *text, const char *secret)
{
	size_t length = strlen(text), size = strlen(secret);

	if (size > length)
		size = length;
	for (; size >= SECRET_LEAST; size--)
		if (memcmp(text + length - size, secret, size) == 0) {
			memcpy(text + length - size, "***", 4);
			return;
		}
}

void
secret_mask(char *text)
{
	size_t i, length;
	char *place;

	for (i = 0; i < log_state.secret_count; i++) {
		length = strlen(log_state.secrets[i]);
		while ((place = strstr(text, log_state.secrets[i])) != NULL) {
			memcpy(place, "***", 3);
			memmove(place + 3, place + length, strlen(place + length) + 1);
		}
	}
	for (i = 0; i < log_state.secret_count; i++)
		mask_tail(text, log_state.secrets[i]);
}

/* Copies `text` with control bytes as \xNN; leaves room for a newline. */
static size_t
escape(char *out, size_t size, const char *text)
{
	size_t used = 0;
	unsigned char byte;

	for (; *text != '\0' && used + 6 < size; text++) {
		byte = (unsigned char)*text;
		if (byte < 0x20 || byte == 0x7f)
			used += (size_t)snprintf(out + used, size - used, "\\x%02x", byte);
		else
			out[used++] = (char)byte;
	}
	out[used++] = '\n';
	return used;
}

void
log_write(enum log_level level, const char *subsystem, const char *format, ...)
{
	char text[TEXT_MAX], record[LOG_RECORD_MAX];
	va_list arguments;
	int n;

	if (level > log_state.level || log_state.sink == NULL)
		return;
	n = snprintf(text, sizeof text, "[%s] %s[%ld] %s: ", level_names[level],
	    log_state.program, (long)getpid(), subsystem);
	va_start(arguments, format);
	vsnprintf(text + n, sizeof text - (size_t)n, format, arguments);
	va_end(arguments);
	secret_mask(text); /* before it is cut, which could leave half a secret */
	text[LOG_RECORD_MAX - 65] = '\0';
	log_state.sink(level, record, escape(record, sizeof record, text), log_state.arg);
}
