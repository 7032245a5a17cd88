/*
 * The beginning of a session's first prompt, by which people recognise it.
 */
#ifndef HERMES_WORKER_STORE_STATE_PREVIEW_H
#define HERMES_WORKER_STORE_STATE_PREVIEW_H

#include "worker/store/state_file.h"

/* At most 60 characters and "..." (as in Hermes), on one line; NULL when no prompt has text.
 * Summaries and hidden messages are not prompts. The caller frees it. Runs inside a job. */
int state_preview(struct state *state, const char *session, char **preview);
/* The same of one content column. */
char *state_preview_of(const char *content, size_t length);
/* Sets "title": `title` where there is one, else the preview, else the name of the folder.
 * Runs inside a job. */
int state_preview_title(struct state *state, struct json_object *entry, const char *id,
    const char *title, const char *cwd);

#endif
