/*
 * Commands that begin with a slash and are answered without the model.
 */
#ifndef HERMES_WORKER_AGENT_SLASH_COMMANDS_H
#define HERMES_WORKER_AGENT_SLASH_COMMANDS_H

#include "common/json.h"

#include <stdbool.h>

struct agent;

struct slash_command {
	const char *name; /* without the slash; NULL ends the table */
	const char *description;
	const char *hint; /* what its argument is; NULL = it takes none */
	/* Writes the reply as Markdown. NULL: it is a turn of its own, which begins when
	 * nothing else runs. */
	void (*run)(struct agent *agent, const char *argument, struct buffer *reply);
	void (*turn)(struct agent *agent, const char *argument, struct json_object *blocks);
};

const struct slash_command *slash_commands(void);
/* Starts the turn of the command that `text` begins with; `blocks` is the whole prompt. False
 * when it begins with none that is a turn. */
bool slash_command_turn(struct agent *agent, const char *text, struct json_object *blocks);
/* Runs the command that `text` begins with. False when it begins with none: the text is for
 * the model then. */
bool slash_command_run(struct agent *agent, const char *text, struct buffer *reply);

#endif
