/*
 * Where the old text of an edit comes from: the disk, or what the editor has open.
 */
#ifndef HERMES_WORKER_TOOLS_EDIT_SOURCE_H
#define HERMES_WORKER_TOOLS_EDIT_SOURCE_H

#include "common/buffer.h"
#include "worker/tools/edit_proposal.h"

/* Takes the editor's text, where there is one, as the old text of a change that was filled
 * from the disk. -1 with a sentence in `error` when the editor refused it. */
int edit_source_take(struct edit_change *change, const struct editor_texts *texts,
    const struct tool_context *context, struct buffer *error);
/* What the model has seen of the old text. */
enum file_seen
edit_source_seen(const struct edit_change *change, const struct tool_context *context);
/* The model knows what was written now. */
void edit_source_written(const struct edit_change *change, const struct tool_context *context,
    const struct edit_written *written);
/* Adds a sentence for the model to the change. */
void edit_source_note(struct edit_change *change, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* What there is to say about the files of an edit, into its result. */
void edit_source_notes(const struct edit_proposal *proposal, struct json_object *result);

#endif
