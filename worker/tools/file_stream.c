/*
 * A file in slices. It must give the loop back after a few milliseconds and must never read
 * on for the mere sake of counting the lines of a huge file.
 */
#include <config.h>

#include "worker/tools/file_stream.h"

#include "common/fd.h"
#include "common/monotonic.h"

#include <errno.h>
#include <event2/event.h>
#include <string.h>
#include <unistd.h>

#define SLICE ((size_t)256 * 1024)
#define STEP_MS 5
#define COUNT_ON ((int64_t)64 * 1024 * 1024) /* bytes read only to count lines */
#define UNSIZED_MAX                                                                            \
	((int64_t)16 * 1024 * 1024) /* of a file that has no size, as below /proc              \
				     */

static ssize_t
read_slice(struct file_stream *stream, size_t wanted)
{
	ssize_t got;

	if (buffer_reserve(&stream->slice, SLICE + 4) != 0) {
		errno = ENOMEM;
		return -1;
	}
	do {
		got = pread(stream->fd, stream->slice.data + stream->slice.length, wanted,
		    (off_t)stream->at);
	} while (got == -1 && errno == EINTR);
	return got;
}

/* The first slice tells what the file is. */
static void
begin(struct file_stream *stream)
{
	const struct buffer *slice = &stream->slice;
	enum text_ending ending;

	stream->begun = true;
	text_sample_judge(
	    buffer_text(slice), slice->length, slice->length < SLICE, &stream->sample);
	ending = text_ending_detect(buffer_text(slice), slice->length);
	stream->window.separator =
	    ending == TEXT_ENDING_CR && stream->sample.encoding == TEXT_UTF8 ? '\r' : '\n';
	buffer_consume(&stream->slice, stream->sample.bom_length);
}

/* Passes what was read on; UTF-16 leaves up to three bytes for the next time. */
static void
pass_on(struct file_stream *stream, bool last)
{
	size_t used = stream->slice.length;

	if (stream->sample.encoding == TEXT_UTF8) {
		line_window_feed(&stream->window, buffer_text(&stream->slice), used);
	} else {
		buffer_clear(&stream->decoded);
		used = text_decode_utf16(buffer_text(&stream->slice), used,
		    stream->sample.encoding == TEXT_UTF16_BE, last, &stream->decoded);
		line_window_feed(
		    &stream->window, buffer_text(&stream->decoded), stream->decoded.length);
	}
	buffer_consume(&stream->slice, used);
}

/* A hole in a sparse file has no line ends: goes to where it ends. */
static void
skip_hole(struct file_stream *stream, bool zeros)
{
#ifdef SEEK_DATA
	off_t next;

	if (!zeros || !line_window_skips(&stream->window))
		return;
	next = lseek(stream->fd, (off_t)stream->at, SEEK_DATA);
	if (next == -1 && errno == ENXIO)
		stream->at = stream->size;
	else if (next > (off_t)stream->at)
		stream->at = next;
#else
	(void)stream;
	(void)zeros;
#endif
}

/* One slice; false when there is nothing more to do. */
static bool
step(struct file_stream *stream)
{
	int64_t left = (stream->size > 0 ? stream->size : UNSIZED_MAX) - stream->at;
	size_t wanted = left < (int64_t)SLICE ? (size_t)left : SLICE;
	ssize_t got;
	bool zeros;

	if (stream->window.full && stream->more >= COUNT_ON)
		return false;
	got = wanted > 0 ? read_slice(stream, wanted) : 0;
	if (got == -1 && errno != EAGAIN) {
		stream->error = errno;
		return false;
	}
	if (got > 0) {
		stream->at += got;
		stream->slice.length += (size_t)got;
		stream->slice.data[stream->slice.length] = '\0';
		zeros = stream->slice.data[0] == '\0' &&
			stream->slice.data[stream->slice.length - 1] == '\0';
		stream->more += stream->window.full ? got : 0;
		if (!stream->begun)
			begin(stream);
		if (stream->sample.binary)
			return false;
		pass_on(stream, false);
		skip_hole(stream, zeros);
		return true;
	}
	pass_on(stream, true);
	line_window_end(&stream->window);
	stream->reached_end = got == 0 && (wanted > 0 || stream->size > 0);
	if (stream->size == 0)
		stream->size = stream->at;
	return false;
}

static void
run_steps(evutil_socket_t fd, short what, void *arg)
{
	const struct timeval at_once = {0, 0};
	struct file_stream *stream = arg;
	int64_t end = monotonic_ms() + STEP_MS;

	(void)fd;
	(void)what;
	while (step(stream))
		if (monotonic_ms() >= end) {
			event_add(stream->timer, &at_once);
			return;
		}
	stream->done(stream->arg);
}

void
file_stream_start(
    struct file_stream *stream, struct event_base *base, void (*done)(void *arg), void *arg)
{
	stream->done = done;
	stream->arg = arg;
	stream->size = stream->status.st_size;
	stream->window.separator = '\n';
	stream->timer = evtimer_new(base, run_steps, stream);
	if (stream->timer == NULL) {
		stream->error = ENOMEM;
		done(arg);
		return;
	}
	run_steps(-1, 0, stream);
}

void
file_stream_clear(struct file_stream *stream)
{
	if (stream->timer != NULL)
		event_free(stream->timer);
	stream->timer = NULL;
	if (stream->fd > 0)
		fd_close(&stream->fd);
	line_window_clear(&stream->window);
	buffer_free(&stream->slice);
	buffer_free(&stream->decoded);
}
