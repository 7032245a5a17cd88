/*
 * Reads some lines of an open file of any size in slices over the event loop, so that
 * neither time nor memory depends on the file.
 */
#ifndef HERMES_WORKER_TOOLS_FILE_STREAM_H
#define HERMES_WORKER_TOOLS_FILE_STREAM_H

#include "worker/tools/line_window.h"
#include "worker/tools/text_file.h"

#include <stdbool.h>
#include <stdint.h>

struct event;
struct event_base;

struct file_stream {
	int fd;		    /* closed by file_stream_clear() */
	struct stat status; /* as it was when it was opened */
	struct line_window window;
	/* Found. */
	struct text_sample sample; /* sample.binary: nothing was read */
	int error;		   /* errno of a read that failed, else 0 */
	bool reached_end;	   /* window.lines is the number of all lines */
	int64_t size;		   /* bytes of the file */
	/* Private. */
	int64_t at, more;
	bool begun;
	struct buffer slice, decoded;
	struct event *timer;
	void (*done)(void *arg);
	void *arg;
};

/* Starts with fd, status and window.first/count set and all else zero. done() is called once,
 * perhaps from within. */
void file_stream_start(
    struct file_stream *stream, struct event_base *base, void (*done)(void *arg), void *arg);
/* Stops it without done() and frees what it holds. */
void file_stream_clear(struct file_stream *stream);

#endif
