/*
 * The client's side of standard output: the only place in all processes that writes to it.
 * Lines go out whole and in order.
 */
#ifndef HERMES_SUPERVISOR_CLIENT_WRITER_H
#define HERMES_SUPERVISOR_CLIENT_WRITER_H

#include <stdbool.h>
#include <stddef.h>

struct client_writer;
struct event_base;

/* Above this many waiting bytes workers are not read any more (ARCHITECTURE.md). */
#define CLIENT_WRITER_HIGH (4u * 1024 * 1024)
#define CLIENT_WRITER_LOW (1u * 1024 * 1024)
/* Above this many the client itself is not read any more. */
#define CLIENT_WRITER_FULL (20u * 1024 * 1024)

struct client_writer_callbacks {
	/* The queue has passed HIGH or FULL upwards, or LOW (from FULL: HIGH) downwards:
	 * `level` is 0, HIGH or FULL. */
	void (*level)(size_t level, void *arg);
	/* Nobody reads any more (EPIPE or another error). Called once. */
	void (*ended)(void *arg);
};

struct client_writer *client_writer_new(struct event_base *base, int fd,
    const struct client_writer_callbacks *callbacks, void *arg);
void client_writer_free(struct client_writer *writer);
/* Adds bytes of a line; the caller ends it with a newline before anything else is added. */
void client_writer_add(struct client_writer *writer, const char *bytes, size_t length);
void client_writer_text(struct client_writer *writer, const char *text);
size_t client_writer_queued(const struct client_writer *writer);
/* Writes what can be written now. */
void client_writer_flush(struct client_writer *writer);

#endif
