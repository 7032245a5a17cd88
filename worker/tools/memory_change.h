/*
 * Changes of one memory file, all or none: what they would make of it, whether that may be,
 * and what the model is told. The caller holds the lock of the file.
 */
#ifndef HERMES_WORKER_TOOLS_MEMORY_CHANGE_H
#define HERMES_WORKER_TOOLS_MEMORY_CHANGE_H

#include "worker/tools/memory.h"

#include <stdbool.h>

struct json_object;
struct tool_context;

#define MEMORY_OPERATIONS_MAX 64

enum memory_action { MEMORY_ADD, MEMORY_REPLACE, MEMORY_REMOVE };

struct memory_operation {
	enum memory_action action;
	char *content, *old_text; /* without white space around them; "" when not given */
};

struct memory_change {
	enum memory_target target;
	struct memory_operation *operations;
	size_t count;
	bool batch; /* it was given as a list: errors name the operation */
};

const char *memory_action_name(enum memory_action action);
/* Reads the arguments of the tool. 0, or -1 with a sentence; `change` is to be cleared in both
 * cases. It looks at no file. */
int memory_change_parse(struct memory_change *change, const struct memory *memory,
    struct json_object *arguments, struct buffer *error);
void memory_change_clear(struct memory_change *change);
/* A word for what is done, for people: "Add to memory". */
void memory_change_title(const struct memory_change *change, struct buffer *title);
/* Carries it out and saves the file. The result for the model, owned by the caller; `*failed`
 * tells that nothing was changed. */
struct json_object *memory_change_run(
    const struct memory_change *change, const struct tool_context *context, bool *failed);

#endif
