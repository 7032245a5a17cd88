/*
 * The event stream of the HTML standard ("server-sent events"), taken apart as it arrives:
 * it may be cut at any byte. Only framing is done here; what an event means is the caller's.
 */
#ifndef HERMES_WORKER_PROVIDERS_SSE_H
#define HERMES_WORKER_PROVIDERS_SSE_H

#include "common/buffer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SSE_LINE_MAX (16u << 20)  /* bytes of one line */
#define SSE_EVENT_MAX (32u << 20) /* bytes of the data of one event */

/* One event: `name` is "" when the stream gave none; `data` is not NUL-terminated and is
 * borrowed. Events without data are passed on too when they have a name. False stops. */
typedef bool (*sse_event)(const char *name, const char *data, size_t length, void *arg);

struct sse {
	/* Read only for the caller. */
	uint64_t events, comments; /* seen so far */
	const char *error;	   /* constant text: the stream broke a limit */
	bool stopped;		   /* a handler said so, or `error` */
	/* Private. */
	sse_event event;
	void *arg;
	struct buffer line; /* the beginning of a line that is not complete */
	struct buffer data; /* data of an event that is not complete */
	const char *view;   /* the same without a copy, within the bytes being fed */
	size_t view_length;
	bool has_data, skip_newline, started;
	char name[64];
};

void sse_start(struct sse *sse, sse_event event, void *arg);
/* Consumes bytes and calls the handler for every event that they complete. */
void sse_feed(struct sse *sse, const char *bytes, size_t length);
/* The end of the stream: a last event without its blank line is passed on as well. */
void sse_end(struct sse *sse);
void sse_free(struct sse *sse);

#endif
