/*
 * Which commands are run, asked about, or never run. Judged are the programs and words that
 * a shell would see, not the text. This keeps accidents and careless commands from happening;
 * it is not a sandbox: what scripts and programs do by themselves is out of its reach.
 */
#ifndef HERMES_WORKER_TOOLS_COMMAND_RULES_H
#define HERMES_WORKER_TOOLS_COMMAND_RULES_H

#include "worker/tools/tool.h"

#include <stdbool.h>
#include <stddef.h>

#define COMMAND_FINDINGS_MAX 12

enum command_verdict { COMMAND_ALLOWED, COMMAND_ASK, COMMAND_NEVER };

struct command_finding {
	const char *label; /* a constant; what the user sees and command_allowlist holds */
	bool sensitive;	   /* always asks, whatever was allowed before */
};

struct command_judgement {
	enum command_verdict verdict;
	/* For COMMAND_NEVER only the first one counts. */
	struct command_finding findings[COMMAND_FINDINGS_MAX];
	size_t count;
};

/* Judges `command`, which starts in the folder `cwd`, without regard to what was allowed. */
void command_rules_judge(const struct tool_context *context, const char *cwd,
    const char *command, struct command_judgement *judgement);

/* Fills `permission` for a terminal call: the judgement, the session's mode and grants, the
 * configuration's command_allowlist and approvals. */
void command_rules_permit(const struct tool_context *context, const char *cwd,
    const char *command, struct tool_permission *permission);

#endif
