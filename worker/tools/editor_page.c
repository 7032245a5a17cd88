/*
 * Reading through the editor. What it says is used only where it differs from the disk; of a
 * big file a page is asked for, so that memory does not depend on the file.
 */
#include <config.h>

#include "worker/tools/editor_page.h"

#include "common/alloc.h"
#include "common/fd.h"
#include "common/utf8.h"
#include "worker/tools/editor.h"
#include "worker/tools/editor_texts.h"
#include "worker/tools/file_stream.h"
#include "worker/tools/tool.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int64_t
count_lines(const char *text, size_t length)
{
	const char *end = text + length, *at = text;
	int64_t lines = 0;

	while (at < end && (at = memchr(at, '\n', (size_t)(end - at))) != NULL) {
		lines++;
		at++;
	}
	return length > 0 && text[length - 1] != '\n' ? lines + 1 : lines;
}

/* The file as text; false when it is not what it was. */
static bool
read_disk(const struct editor_page *page, struct buffer *bytes)
{
	int fd = dup(page->stream->fd);
	bool done = fd != -1 && lseek(fd, 0, SEEK_SET) == 0 &&
		    fd_read_all(fd, bytes, EDITOR_WHOLE_MAX * 2) == 0;

	fd_close(&fd);
	return done;
}

/* Puts a text into the window whose first line has the number `line`. */
static void
fill(struct editor_page *page, const struct editor_reply *reply, int64_t line)
{
	struct line_window *window = &page->stream->window;
	int64_t before = line - 1;

	window->separator = '\n';
	window->lines = before;
	line_window_feed(window, reply->text, reply->length);
	line_window_end(window);
	page->stream->size = (int64_t)reply->length;
	page->stream->reached_end = true;
}

/* The editor shows what was on the disk before it was changed there. */
static bool
is_stale(const struct editor_page *page, uint64_t hash)
{
	const struct file_stamps *stamps = page->context->stamps;

	return stamps != NULL && file_stamps_clean(stamps, page->path) == hash;
}

/* Compares the editor's text with the disk's. */
static enum editor_page_result
compare(struct editor_page *page, const struct editor_reply *reply, const struct buffer *disk)
{
	const char *bytes = buffer_text(disk);
	bool same = editor_text_same(bytes, disk->length, reply->text, reply->length);

	if (!same && is_stale(page, page->text.hash)) {
		same = true;
		page->text = (struct file_text){
		    .hash = editor_text_hash(bytes, disk->length), .saved = true};
		page->note =
		    xstrdup("The editor still shows an older text of this file: this is the "
			    "newer one on the disk.");
	} else if (same) {
		page->text.clean = page->text.hash;
		page->text.saved = true;
	}
	return same ? EDITOR_PAGE_DISK : EDITOR_PAGE_FILLED;
}

/* All of the text is there. */
static enum editor_page_result
take_whole(struct editor_page *page, const struct editor_reply *reply)
{
	struct buffer disk = BUFFER_EMPTY;
	enum editor_page_result result = EDITOR_PAGE_FILLED;

	/* An empty answer is how some editors say that there is no such file. */
	if (page->stream->fd == -1 && reply->length == 0)
		return EDITOR_PAGE_DISK;
	page->text.hash = editor_text_hash(reply->text, reply->length);
	if (page->stream->fd != -1) {
		if (read_disk(page, &disk) && utf8_valid(buffer_text(&disk), disk.length)) {
			result = compare(page, reply, &disk);
		} else {
			page->text.hash = 0;
			result = EDITOR_PAGE_DISK;
		}
	}
	buffer_free(&disk);
	if (result == EDITOR_PAGE_FILLED) {
		page->note = xstrdup("This is the editor's text: it has changes that are not "
				     "saved.");
		fill(page, reply, 1);
	}
	return result;
}

/* A page, and the line behind it if there is one. */
static enum editor_page_result
take_page(struct editor_page *page, const struct editor_reply *reply)
{
	const struct line_window *window = &page->stream->window;
	int64_t got = count_lines(reply->text, reply->length), asked = window->count + 1;
	off_t size = page->stream->status.st_size;

	if (got == 0)
		return EDITOR_PAGE_DISK; /* behind the end: the disk says where that is */
	/* More than was asked for: the editor does not know pages and has sent everything. */
	fill(page, reply, got > asked ? 1 : window->first);
	page->stream->reached_end = got != asked;
	page->stream->size = size;
	return EDITOR_PAGE_FILLED;
}

static void
on_answer(const struct editor_reply *reply, void *arg)
{
	struct editor_page *page = arg;
	enum editor_page_result result = EDITOR_PAGE_DISK;

	page->request = NULL;
	if (reply->outcome == EDITOR_DONE && page->whole)
		result = take_whole(page, reply);
	else if (reply->outcome == EDITOR_DONE)
		result = take_page(page, reply);
	else if (reply->outcome == EDITOR_REFUSED && page->stream->fd != -1)
		result = EDITOR_PAGE_REFUSED;
	if (reply->outcome != EDITOR_DONE && page->stream->fd != -1)
		page->note = result == EDITOR_PAGE_REFUSED
				 ? xstrdup(reply->reason)
				 : xasprintf("The editor could not be asked (%s): this is the "
					     "file on the disk.",
				       reply->reason);
	page->done(result, page->arg);
}

bool
editor_page_start(struct editor_page *page, struct file_stream *stream)
{
	const struct editor *editor = page->context->editor;
	const char *why = NULL;
	int64_t first = stream->window.first, count = stream->window.count;

	page->stream = stream;
	if (editor == NULL || !editor->reads)
		return false;
	if (stream->fd != -1 &&
	    (!editor_texts_sample(stream->fd, &stream->sample) || stream->sample.binary ||
		stream->sample.foreign || stream->sample.encoding != TEXT_UTF8))
		return false;
	page->whole = stream->fd == -1 || stream->status.st_size <= (off_t)EDITOR_WHOLE_MAX;
	page->request = page->whole
			    ? editor->read(page->path, 1, 0, on_answer, page, &why, editor->arg)
			    : editor->read(page->path, first, count + 1, on_answer, page, &why,
				  editor->arg);
	if (page->request == NULL && why != NULL && stream->fd != -1)
		page->note = xasprintf(
		    "The editor could not be asked (%s): this is the file on the disk.", why);
	return page->request != NULL;
}

void
editor_page_clear(struct editor_page *page)
{
	if (page->request != NULL)
		page->context->editor->cancel(page->request);
	page->request = NULL;
	free(page->note);
	page->note = NULL;
}
