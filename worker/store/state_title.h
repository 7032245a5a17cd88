/*
 * Titles of sessions: unique in the database, and one that a person chose is never replaced
 * by one that a program made. Functions with a database run inside a job.
 */
#ifndef HERMES_WORKER_STORE_STATE_TITLE_H
#define HERMES_WORKER_STORE_STATE_TITLE_H

#include "worker/store/state_file.h"

#include <stddef.h>

/* A title from the text of the first message: its first line that is not blank, at most 48
 * characters, cut between words (as in Hermes). NULL when the text is blank. */
char *state_title_derive(const char *text, size_t length);
/* Gives session `id` the title, with " #2", " #3" … when another has it. `source`: "derived",
 * "llm" or "user"; a weaker one never replaces a stronger one. *stored is the title that the
 * session has afterwards (owned by the caller, may be NULL). NULL or "" as title takes it
 * away. */
int state_title_set(
    struct state *state, const char *id, const char *title, const char *source, char **stored);

#endif
