/*
 * Carrying an edit out, through the editor where that takes it, else on the disk: all files
 * or none.
 */
#ifndef HERMES_WORKER_TOOLS_EDIT_APPLY_H
#define HERMES_WORKER_TOOLS_EDIT_APPLY_H

#include "worker/tools/edit_proposal.h"

struct edit_apply;

/* `error` is NULL when every file was changed. */
typedef void (*edit_applied)(const char *error, void *arg);

/* Checks that every file is as it was, on the disk and in the editor, and writes all.
 * `applied` is called once, perhaps from within. While it runs *apply is set, and NULL again
 * before the call. */
void edit_apply_start(struct edit_apply **apply, struct edit_proposal *proposal,
    const struct tool_context *context, edit_applied applied, void *arg);
/* Waits for nothing any more and frees it; NULL is none. */
void edit_apply_free(struct edit_apply **apply);
/* The same for a call that the user cancels: the run ends with what is known of the edit. */
void edit_apply_cancel(struct edit_apply **apply, struct tool_run *run);

#endif
