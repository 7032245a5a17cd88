/*
 * What the model and the user are told about a command that has ended.
 */
#ifndef HERMES_WORKER_TOOLS_TERMINAL_RESULT_H
#define HERMES_WORKER_TOOLS_TERMINAL_RESULT_H

#include "worker/tools/terminal_output.h"
#include "worker/tools/tool.h"

#include <stdbool.h>
#include <stdint.h>

enum terminal_end { TERMINAL_ENDED, TERMINAL_TIMED_OUT, TERMINAL_CANCELLED };

struct terminal_facts {
	enum terminal_end end;
	const char *command;
	int status;	 /* wait status, for TERMINAL_ENDED */
	int64_t timeout; /* seconds */
	const struct terminal_output *output;
	const char *cwd;   /* the new folder; NULL = as before */
	const char *notes; /* "" = none */
};

/* Builds the result, fills the card that is shown at the end, and says whether it failed. */
struct json_object *terminal_result_build(
    const struct terminal_facts *facts, struct tool_contents *shown, bool *failed);

#endif
