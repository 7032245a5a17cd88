/*
 * Giving files back what they held before the last turns that edited them: a run of its own
 * kind, made for the user and not offered to the model. It is asked about like an edit.
 */
#ifndef HERMES_WORKER_TOOLS_UNDO_H
#define HERMES_WORKER_TOOLS_UNDO_H

#include "worker/tools/tool.h"

#define UNDO_TURNS_MAX 1000

/* Its argument is {"turns": N}. prepare() ends the run with a text for the user when there is
 * nothing to ask about. The result is {"text": what was done, as Markdown}. */
extern const struct tool tool_undo;

#endif
