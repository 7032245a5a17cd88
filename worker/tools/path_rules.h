/*
 * Where a path that the model wrote really leads, and what may be done there. It decides
 * nothing: it names what a path is, and the tools ask or refuse. It must never judge only
 * the path as written: links are followed first, and both forms are looked at.
 */
#ifndef HERMES_WORKER_TOOLS_PATH_RULES_H
#define HERMES_WORKER_TOOLS_PATH_RULES_H

#include "common/buffer.h"

#include <stdbool.h>
#include <stddef.h>

struct tool_context;

enum path_flag {
	PATH_SENSITIVE = 1,    /* a change always asks, whatever the mode */
	PATH_SECRET = 2,       /* keys and credentials: reading asks, searching leaves it out */
	PATH_UNREADABLE = 4,   /* never read */
	PATH_UNWRITABLE = 8,   /* never written */
	PATH_INSTRUCTIONS = 16 /* tells agents what to do: a change always asks */
};

struct path_target {
	char *given;	/* absolute, "." and ".." taken out of the text, links not followed */
	char *real;	/* absolute, every link followed; what does not exist is appended */
	char *shown;	/* for people and the model: relative to the session's folder when below
			 * it; valid UTF-8 on one line */
	unsigned flags; /* PATH_*, of both forms together */
	const char
	    *label;  /* what kind of file it is ("a private key"), NULL when flags are 0 */
	bool inside; /* below the session's roots or a folder for temporary files */
};

/* Resolves what the model wrote: "~" and "~/…" stand for the user's home, a relative path
 * starts at context->cwd, "\xHH" in a name that does not exist as written stands for a byte.
 * -1 with a sentence in `error`. */
int path_rules_resolve(const struct tool_context *context, const char *path,
    struct path_target *target, struct buffer *error);
void path_target_clear(struct path_target *target);

/* The places that rules are relative to, resolved once; for many questions in a row. */
struct path_places {
	char *homes[2];	 /* the user's home as given and resolved */
	char *hermes[2]; /* $HERMES_HOME likewise */
};

void path_places_find(const struct tool_context *context, struct path_places *places);
void path_places_clear(struct path_places *places);
/* PATH_* of an absolute path, by its text alone. `label` may be NULL. */
unsigned
path_rules_flags(const struct path_places *places, const char *path, const char **label);

/* True when `real` is one of the session's roots, a folder for temporary files, or below. */
bool path_rules_inside(const struct tool_context *context, const char *real);
/* True when `path` is `folder` or below it; both absolute. */
bool path_rules_below(const char *folder, const char *path);

/* Follows every link of an absolute path; what does not exist is appended as it is. NULL with
 * errno set (ELOOP, ENAMETOOLONG). The caller frees it. */
char *path_rules_real(const char *path);
/* True when a path that was resolved is so still: no link was put on the way since, which
 * would lead elsewhere than what was judged. */
bool path_rules_still_real(const char *real);
/* A name for people and the model: relative to the session's folder when below it; bytes that
 * are not UTF-8 and control characters as \xHH. The caller frees it. */
char *path_rules_shown(const struct tool_context *context, const char *path);

#endif
