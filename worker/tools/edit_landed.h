/*
 * Whether an edit that went to the editor has come to the disk.
 */
#ifndef HERMES_WORKER_TOOLS_EDIT_LANDED_H
#define HERMES_WORKER_TOOLS_EDIT_LANDED_H

#include "worker/tools/edit_proposal.h"

/* True when the disk has the new text; fills saved and done. Line ends and a byte order mark
 * that the editor did not keep are put back. */
bool edit_landed(struct edit_change *change, struct edit_written *written);
/* The editor was given the old text back: true when the disk has it, too, to the byte. */
bool edit_landed_back(struct edit_change *change, struct edit_written *written);
/* True when it had the new text before already, so that finding it there tells nothing. */
bool edit_landed_before(const struct edit_change *change);

#endif
