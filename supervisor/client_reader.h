/*
 * The client's side of standard input: bytes become lines, each checked as JSON while it
 * arrives and never copied.
 */
#ifndef HERMES_SUPERVISOR_CLIENT_READER_H
#define HERMES_SUPERVISOR_CLIENT_READER_H

#include "common/json_scan.h"

#include <stdbool.h>
#include <stddef.h>

struct client_reader;
struct event_base;

/* Longest line that is taken; a longer one is refused and skipped. */
#define CLIENT_LINE_MAX (64u * 1024 * 1024)

/* Longest text of a client that is parsed in this process; what is longer is passed on. */
#define CLIENT_PARSE_MAX (1024u * 1024)

/* The parts of a line that the supervisor has to know. */
enum client_part {
	PART_JSONRPC,
	PART_ID,
	PART_METHOD,
	PART_PARAMS,
	PART_RESULT,
	PART_ERROR,
	PART_SESSION_ID, /* params.sessionId */
	PART_REQUEST_ID, /* params.requestId */
	PART_PROMPT,	 /* params.prompt */
	PART_COUNT
};

struct client_line {
	const char *text; /* borrowed for the time of the callback */
	size_t length;
	const char *error;		/* why it is not JSON, NULL when it is */
	const struct json_watch *parts; /* PART_COUNT of them */
};

struct client_reader_callbacks {
	void (*line)(const struct client_line *line, void *arg);
	/* A line above the limit has begun; it is skipped to its end. */
	void (*too_long)(void *arg);
	/* End of input, or an error of it. */
	void (*ended)(void *arg);
};

struct client_reader *client_reader_new(struct event_base *base, int fd,
    const struct client_reader_callbacks *callbacks, void *arg);
void client_reader_free(struct client_reader *reader);
/* Another limit than CLIENT_LINE_MAX. */
void client_reader_set_limit(struct client_reader *reader, size_t bytes);
/* Stops taking input, or goes on. */
void client_reader_pause(struct client_reader *reader, bool pause);

/* A part of a line as text. NULL when it is absent. */
const char *
client_line_part(const struct client_line *line, enum client_part part, size_t *length);
/* A part that has to be a string: decoded copy that the caller frees, NULL when it is absent,
 * not a string, holds a NUL, or memory is out. */
char *client_line_string(const struct client_line *line, enum client_part part);

#endif
