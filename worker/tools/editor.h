/*
 * The editor's side of files, as tools see it: text that the user may not have saved. The
 * upper floor registers the callbacks; tools fall back to the disk where there is none.
 */
#ifndef HERMES_WORKER_TOOLS_EDITOR_H
#define HERMES_WORKER_TOOLS_EDITOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of a text that goes through the editor; what is bigger goes to the disk. */
#define EDITOR_TEXT_MAX ((size_t)6 << 20)
/* A file up to this size is asked for as a whole, a bigger one in pages. */
#define EDITOR_WHOLE_MAX ((size_t)1 << 20)

enum editor_outcome {
	EDITOR_DONE,
	EDITOR_FAILED,	/* an error, or an answer that cannot be used */
	EDITOR_REFUSED, /* the user or the editor's rules said no: not to be done otherwise */
	EDITOR_SILENT	/* no answer in time: whether it was done is not known */
};

struct editor_reply {
	enum editor_outcome outcome;
	const char *text; /* of a read that was done; valid UTF-8 */
	size_t length;
	const char *reason; /* of all else: what the editor said; one line */
};

struct editor_request;
typedef void (*editor_answered)(const struct editor_reply *reply, void *arg);

struct editor {
	bool reads, writes; /* what it offers */
	/* Both return NULL when the editor cannot be asked for this file now; `*why` is then a
	 * constant for the model, or NULL when there is nothing to say (the file is none of the
	 * editor's). `path` is absolute and resolved. Else answered() is called once, later,
	 * unless cancel() comes first. `line` counts from 1; `limit` 0 asks for all. */
	struct editor_request *(*read)(const char *path, int64_t line, int64_t limit,
	    editor_answered answered, void *answered_arg, const char **why, void *arg);
	struct editor_request *(*write)(const char *path, const char *text, size_t length,
	    editor_answered answered, void *answered_arg, const char **why, void *arg);
	void (*cancel)(struct editor_request *request);
	void *arg;
};

#endif
