/*
 * Memory as a model sees it: the blocks of a system prompt, and entries in a tool's result.
 */
#ifndef HERMES_WORKER_TOOLS_MEMORY_PROMPT_H
#define HERMES_WORKER_TOOLS_MEMORY_PROMPT_H

#include "worker/tools/memory.h"
#include "worker/tools/memory_entries.h"

struct json_object;
struct tool_context;

/* The entries as they may be shown to a model: one with suspicious wording is replaced by a
 * line that says so. An array; the caller owns it. */
struct json_object *
memory_prompt_entries(const struct memory_entries *entries, enum memory_target target);
/* Appends the blocks of both files to a system prompt, as they are on disk now; nothing where
 * they are empty, off or damaged. */
void memory_prompt_append(const struct tool_context *context, struct buffer *prompt);

#endif
