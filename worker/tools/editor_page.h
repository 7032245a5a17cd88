/*
 * Lines of a file for read_file as the editor has them.
 */
#ifndef HERMES_WORKER_TOOLS_EDITOR_PAGE_H
#define HERMES_WORKER_TOOLS_EDITOR_PAGE_H

#include "worker/tools/editor_text.h"
#include "worker/tools/file_stamps.h"

struct editor_request;
struct file_stream;
struct tool_context;

enum editor_page_result {
	EDITOR_PAGE_FILLED, /* the stream's window, size and end are the editor's */
	EDITOR_PAGE_DISK,   /* the disk counts; `note` says why, if there is anything to say */
	EDITOR_PAGE_REFUSED /* neither may; `note` says why */
};

struct editor_page {
	const struct tool_context *context;
	const char *path; /* resolved; borrowed */
	struct file_stream *stream;
	struct editor_request *request;
	bool whole;	       /* all of the text was asked for */
	struct file_text text; /* hash 0: not known */
	char *note;
	void (*done)(enum editor_page_result result, void *arg);
	void *arg;
};

/* Asks the editor. `page` has context, path, done and arg set and all else zero. The stream
 * has fd (-1: there is no such file), status and the window's first and count. False when the
 * editor is not asked: the disk counts, and `note` may say why. Else done() comes later. */
bool editor_page_start(struct editor_page *page, struct file_stream *stream);
/* Stops it without done() and frees what it holds. */
void editor_page_clear(struct editor_page *page);

#endif
