/*
 * From the judgement of a command to a permission: what the user has allowed, refused, or
 * configured. What is refused here is refused whatever the user says.
 */
#include <config.h>

#include "worker/tools/command_rules.h"

#include "common/alloc.h"
#include "common/buffer.h"
#include "common/json.h"
#include "worker/tools/grants.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static void
refuse(struct tool_permission *permission, char *reason)
{
	permission->verdict = TOOL_REFUSED;
	free(permission->reason);
	permission->reason = reason;
}

static bool
array_has(struct json_object *array, const char *text)
{
	size_t i, count = array == NULL ? 0 : json_object_array_length(array);
	const char *item;

	for (i = 0; i < count; i++) {
		item = json_object_get_string(json_object_array_get_idx(array, i));
		if (item != NULL && strcmp(item, text) == 0)
			return true;
	}
	return false;
}

/* The glob of approvals.deny that fits the command, or NULL. */
static const char *
denied_by(struct json_object *config, const char *command)
{
	struct json_object *globs;
	size_t i, count;
	const char *glob;

	globs = json_member_array(json_member_object(config, "approvals"), "deny");
	count = globs == NULL ? 0 : json_object_array_length(globs);
	for (i = 0; i < count; i++) {
		glob = json_object_get_string(json_object_array_get_idx(globs, i));
		if (glob != NULL && fnmatch(glob, command, FNM_CASEFOLD) == 0)
			return glob;
	}
	return NULL;
}

/* approvals.mode "off"; YAML writes it as false too. */
static bool
approvals_are_off(struct json_object *config)
{
	struct json_object *mode = json_member(json_member_object(config, "approvals"), "mode");

	if (json_object_is_type(mode, json_type_boolean))
		return !json_object_get_boolean(mode);
	return json_object_is_type(mode, json_type_string) &&
	       strcasecmp(json_object_get_string(mode), "off") == 0;
}

static bool
is_allowed(const struct tool_context *context, const struct command_finding *finding)
{
	if (finding->sensitive)
		return false;
	return grants_has(context->grants, finding->label) ||
	       approvals_are_off(context->config) ||
	       array_has(
		   json_member_array(context->config, "command_allowlist"), finding->label);
}

/* Asks, with every label that was not allowed before. "Always" covers the first. */
static void
ask(const struct tool_context *context, const struct command_judgement *judgement, bool redone,
    struct tool_permission *permission)
{
	const struct command_finding *finding, *offered = NULL;
	struct buffer reason = BUFFER_EMPTY;
	bool sensitive = redone;
	size_t i;

	if (redone)
		buffer_append_text(
		    &reason, "names a file whose change was refused in this turn");
	for (i = 0; i < judgement->count; i++) {
		finding = &judgement->findings[i];
		if (is_allowed(context, finding))
			continue;
		if (reason.length > 0)
			buffer_append_text(&reason, "; ");
		buffer_append_text(&reason, finding->label);
		sensitive = sensitive || finding->sensitive;
		if (offered == NULL)
			offered = finding;
	}
	if (reason.length == 0) {
		buffer_free(&reason);
		return;
	}
	permission->verdict = TOOL_ASK;
	permission->reason = buffer_take(&reason);
	if (sensitive)
		return;
	permission->grant = xstrdup(offered->label);
	permission->grant_is_label = true;
	permission->grant_label =
	    xasprintf("Always allow: %s (saved in config.yaml)", offered->label);
}

void
command_rules_permit(const struct tool_context *context, const char *cwd, const char *command,
    struct tool_permission *permission)
{
	struct command_judgement judgement;
	const char *glob = denied_by(context->config, command);

	permission->verdict = TOOL_ALLOWED;
	permission->question = xasprintf("terminal:%s", command);
	command_rules_judge(context, cwd, command, &judgement);
	if (context->mode == SESSION_MODE_PLAN)
		refuse(permission,
		    xstrdup(
			"The session is in plan mode: nothing is run and nothing is changed. "
			"Describe what you would do, or ask the user to leave plan mode."));
	else if (judgement.verdict == COMMAND_NEVER)
		refuse(permission,
		    xasprintf(
			"BLOCKED: %s. This command is on the list of commands that are never "
			"run, whatever the user allows. Do not try it in another form; tell "
			"the user what you wanted to do.",
			judgement.findings[0].label));
	else if (glob != NULL)
		refuse(permission,
		    xasprintf(
			"BLOCKED: the user's configuration (approvals.deny) forbids commands "
			"that match \"%s\". Do not try it in another form.",
			glob));
	else if (grants_refused(context->grants, permission->question))
		refuse(permission,
		    xstrdup("BLOCKED: the user has refused this command for the rest of the "
			    "session. Do not retry it and do not reach the same result another "
			    "way."));
	else
		ask(context, &judgement, grants_denied_in(context->grants, command),
		    permission);
}
