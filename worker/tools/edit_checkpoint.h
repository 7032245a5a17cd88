/*
 * Keeping what files hold before they are edited (store/checkpoints.h).
 */
#ifndef HERMES_WORKER_TOOLS_EDIT_CHECKPOINT_H
#define HERMES_WORKER_TOOLS_EDIT_CHECKPOINT_H

#include "worker/tools/edit_proposal.h"

/* To be called before anything is written. What could not be kept is told in
 * proposal->unkept; the edit goes on. */
void edit_checkpoint_keep(struct edit_proposal *proposal, const struct tool_context *context);

#endif
