/*
 * Keeping what files hold before they are edited (store/checkpoints.h).
 */
#ifndef HERMES_WORKER_TOOLS_EDIT_CHECKPOINT_H
#define HERMES_WORKER_TOOLS_EDIT_CHECKPOINT_H

#include "worker/tools/edit_proposal.h"

/* To be called before the change is written. When the content could not be kept, *unkept
 * becomes a sentence that says so, unless there is one; the edit goes on. */
void edit_checkpoint_keep(
    const struct edit_change *change, const struct tool_context *context, char **unkept);

#endif
