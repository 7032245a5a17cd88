/*
 * The environment of commands: built from a list of what may pass, never inherited. No key,
 * token or secret gets through unless the user's configuration names the variable.
 */
#ifndef HERMES_WORKER_TOOLS_COMMAND_ENVIRONMENT_H
#define HERMES_WORKER_TOOLS_COMMAND_ENVIRONMENT_H

struct tool_context;

/* A NULL-terminated list of NAME=value for a command that starts in `cwd`; freed with
 * command_environment_free(). */
char **command_environment_build(const struct tool_context *context, const char *cwd);
void command_environment_free(char **environment);

#endif
