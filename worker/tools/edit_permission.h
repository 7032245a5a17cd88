/*
 * Whether an edit goes through, is asked or is refused (by the mode of the session), and
 * the card that shows it.
 */
#ifndef HERMES_WORKER_TOOLS_EDIT_PERMISSION_H
#define HERMES_WORKER_TOOLS_EDIT_PERMISSION_H

#include "worker/tools/edit_proposal.h"

/* In plan mode nothing is changed: sets the refusal and returns true. */
bool edit_permission_planning(struct tool_run *run);
/* Fills run->permission from the proposal. */
void edit_permission_decide(struct tool_run *run, const struct edit_proposal *proposal);
/* Fills the title ("Edit a.c"), the places and the diffs of the card. `verb` is used when a
 * single file is written. */
void edit_permission_card(
    struct tool_run *run, const struct edit_proposal *proposal, const char *verb);
/* Adds the diffs to `contents`. */
void
edit_permission_diffs(struct tool_contents *contents, const struct edit_proposal *proposal);

#endif
