/*
 * The table of slash commands. None of them changes anything outside the session but /undo,
 * which asks first.
 */
#include <config.h>

#include "worker/agent/slash_commands.h"
#include "worker/agent/agent.h"
#include "common/alloc.h"
#include "worker/agent/undo_turn.h"
#include "common/utf8.h"

#include <stdlib.h>
#include <string.h>

static void
run_help(struct agent *agent, const char *argument, struct buffer *reply)
{
	const struct slash_command *command;

	(void)agent;
	(void)argument;
	buffer_append_text(reply, "Commands:\n\n");
	for (command = slash_commands(); command->name != NULL; command++)
		buffer_printf(reply, "- `/%s` %s\n", command->name, command->description);
}

/* The argument without blanks around it; the caller frees it. */
static char *
trimmed(const char *argument)
{
	size_t length = strlen(argument);

	while (length > 0 && strchr(" \t\r\n", argument[length - 1]) != NULL)
		length--;
	return xasprintf("%.*s", (int)length, argument);
}

static void
run_model(struct agent *agent, const char *argument, struct buffer *reply)
{
	char *name = trimmed(argument);

	if (*name != '\0' && agent->on_model != NULL &&
	    !agent->on_model(name, reply, agent->model_arg))
		buffer_append_text(reply, "\n\nThe model stays what it is.\n\n");
	buffer_printf(
	    reply, "Model: `%s`\nProvider: %s\n", agent->chosen.model, agent->chosen.label);
	if (*name == '\0' && agent->on_model != NULL)
		agent->on_model("", reply, agent->model_arg);
	free(name);
}

static void
run_tools(struct agent *agent, const char *argument, struct buffer *reply)
{
	const struct tool *tool;
	size_t length, count = 0;

	(void)argument;
	for (tool = tool_table(); tool->name != NULL; tool++)
		count += tool_is_offered(tool, &agent->tools);
	buffer_printf(reply, "%zu tools:\n\n", count);
	for (tool = tool_table(); tool->name != NULL; tool++) {
		if (!tool_is_offered(tool, &agent->tools))
			continue;
		length = strcspn(tool->description, ".\n");
		if (length > 100)
			length = utf8_floor(tool->description, length, 100);
		buffer_printf(
		    reply, "- `%s`: %.*s\n", tool->name, (int)length, tool->description);
	}
}

static void
run_context(struct agent *agent, const char *argument, struct buffer *reply)
{
	struct json_object *messages = conversation_messages(agent->conversation);
	size_t count = json_object_array_length(messages), i, users = 0, tools = 0;
	int64_t used = agent_context_tokens(agent), size = agent->runtime.context_length;
	const char *role;

	(void)argument;
	for (i = 0; i < count; i++) {
		role = json_member_text(json_object_array_get_idx(messages, i), "role", "");
		users += strcmp(role, "user") == 0;
		tools += strcmp(role, "tool") == 0;
	}
	buffer_printf(
	    reply, "Messages: %zu (%zu of yours, %zu tool results)\n", count, users, tools);
	buffer_printf(reply, "Model: `%s` by %s\n", agent->runtime.model, agent->runtime.label);
	buffer_printf(reply, "Context: about %lld of %lld tokens (%lld %%)\n", (long long)used,
	    (long long)size, size > 0 ? (long long)(used * 100 / size) : 0LL);
}

static void
run_version(struct agent *agent, const char *argument, struct buffer *reply)
{
	(void)agent;
	(void)argument;
	buffer_printf(reply, "hermes-acp %s\n", PACKAGE_VERSION);
}

static const struct slash_command commands[] = {
    {"help", "lists these commands", NULL, run_help, NULL},
    {"model", "shows the model, or switches to another one", "provider:model", run_model, NULL},
    {"tools", "lists the tools", NULL, run_tools, NULL},
    {"context", "shows how full the model's context is", NULL, run_context, NULL},
    {"version", "shows the version", NULL, run_version, NULL},
    {"undo", "gives files back what they held before the last turns that edited them",
	"how many turns (1)", NULL, undo_turn_start},
    {NULL, NULL, NULL, NULL, NULL},
};

const struct slash_command *
slash_commands(void)
{
	return commands;
}

/* The command that `text` begins with, NULL without one; *argument becomes what follows it. */
static const struct slash_command *
find(const char *text, const char **argument)
{
	const struct slash_command *command;
	size_t length;

	if (text == NULL || text[0] != '/')
		return NULL;
	text++;
	length = strcspn(text, " \t\r\n");
	for (command = commands; command->name != NULL; command++) {
		if (strlen(command->name) != length ||
		    strncasecmp(command->name, text, length) != 0)
			continue;
		text += length;
		*argument = text + strspn(text, " \t\r\n");
		return command;
	}
	return NULL;
}

bool
slash_command_turn(struct agent *agent, const char *text, struct json_object *blocks)
{
	const char *argument;
	const struct slash_command *command = find(text, &argument);

	if (command == NULL || command->turn == NULL)
		return false;
	command->turn(agent, argument, blocks);
	return true;
}

bool
slash_command_run(struct agent *agent, const char *text, struct buffer *reply)
{
	const char *argument;
	const struct slash_command *command = find(text, &argument);

	if (command == NULL || command->run == NULL)
		return false;
	command->run(agent, argument, reply);
	return true;
}
