/*
 * Patches over several files in the "*** Begin Patch" form (V4A): read, checked against the
 * files, and turned into a proposal. Nothing is written here.
 */
#ifndef HERMES_WORKER_TOOLS_PATCH_V4A_H
#define HERMES_WORKER_TOOLS_PATCH_V4A_H

#include "common/buffer.h"
#include "worker/tools/edit_proposal.h"

/* Adds to `proposal` what the patch does. -1 when anything in it does not fit: `error` then
 * lists every fault with its file, hunk and first line. */
int patch_v4a_propose(const struct tool_context *context, const char *patch,
    struct edit_proposal *proposal, struct buffer *error);

#endif
