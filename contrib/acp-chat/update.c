/*
 * session/update, one function per kind. An update that is not as it should be is shown as
 * far as it makes sense, and never ends the program.
 */
#include <config.h>

#include "contrib/acp-chat/update.h"

#include "common/alloc.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void
show_content(struct updates *updates, struct json_object *update, enum render_flow flow)
{
	struct json_object *block = json_member(update, "content");
	const char *message_id = json_member_text(update, "messageId", "");
	struct buffer words = BUFFER_EMPTY;

	if (updates->message_id == NULL || strcmp(updates->message_id, message_id) != 0) {
		if (updates->message_id != NULL)
			render_break(updates->render);
		free(updates->message_id);
		updates->message_id = xstrdup(message_id);
	}
	card_block_text(block, &words);
	render_stream(updates->render, flow, buffer_text(&words), words.length);
	buffer_free(&words);
}

static void
show_text(struct updates *updates, struct json_object *update)
{
	show_content(updates, update, FLOW_TEXT);
}

static void
show_thought(struct updates *updates, struct json_object *update)
{
	show_content(updates, update, FLOW_THOUGHT);
}

static void
show_tool(struct updates *updates, struct json_object *update)
{
	cards_update(&updates->cards, updates->render, update);
}

static const struct {
	const char *status, *mark;
	enum render_style style;
} plan_marks[] = {
    {"pending", "[ ]", STYLE_PLAIN},
    {"in_progress", "[>]", STYLE_BOLD},
    {"completed", "[x]", STYLE_DIM},
};

static void
show_plan(struct updates *updates, struct json_object *update)
{
	struct json_object *entries = json_member_array(update, "entries"), *entry;
	size_t i, mark, count = entries != NULL ? json_object_array_length(entries) : 0;
	const char *status;

	render_line(updates->render, STYLE_BOLD, "Plan");
	for (i = 0; i < count; i++) {
		entry = json_object_array_get_idx(entries, i);
		status = json_member_text(entry, "status", "");
		for (mark = 2; mark > 0; mark--)
			if (strcmp(plan_marks[mark].status, status) == 0)
				break;
		render_line(updates->render, plan_marks[mark].style, "  %s %s",
		    plan_marks[mark].mark, json_member_text(entry, "content", ""));
	}
}

static void
show_commands(struct updates *updates, struct json_object *update)
{
	struct json_object *commands = json_member_array(update, "availableCommands");
	size_t i, count = commands != NULL ? json_object_array_length(commands) : 0;
	struct buffer line = BUFFER_EMPTY;

	if (!updates->show_commands || updates->commands_shown || count == 0)
		return;
	updates->commands_shown = true;
	buffer_append_text(&line, "Commands:");
	for (i = 0; i < count; i++)
		buffer_printf(&line, " /%s",
		    json_member_text(json_object_array_get_idx(commands, i), "name", "?"));
	render_line(updates->render, STYLE_DIM, "%s", buffer_text(&line));
	buffer_free(&line);
}

static void
show_mode(struct updates *updates, struct json_object *update)
{
	render_line(updates->render, STYLE_DIM, "Mode: %s",
	    json_member_text(update, "currentModeId", "?"));
}

static void
show_notice(struct updates *updates, struct json_object *update)
{
	const char *severity = json_member_text(update, "severity", "info");

	render_line(updates->render, strcmp(severity, "error") == 0 ? STYLE_RED : STYLE_YELLOW,
	    "[%s] %s %s", severity, json_member_text(update, "title", ""),
	    json_member_text(update, "description", ""));
}

static void
show_usage(struct updates *updates, struct json_object *update)
{
	int64_t used = 0, size = 0;

	json_member_integer(update, "used", &used);
	json_member_integer(update, "size", &size);
	if (updates->render->verbose)
		render_line(updates->render, STYLE_DIM, "[%" PRId64 " of %" PRId64 " tokens]",
		    used, size);
}

static void
show_info(struct updates *updates, struct json_object *update)
{
	const char *title = json_member_string(update, "title");

	if (title != NULL && updates->render->verbose)
		render_line(updates->render, STYLE_DIM, "Title: %s", title);
}

static const struct {
	const char *kind;
	void (*show)(struct updates *updates, struct json_object *update);
} kinds[] = {
    {"agent_message_chunk", show_text},
    {"agent_thought_chunk", show_thought},
    {"tool_call", show_tool},
    {"tool_call_update", show_tool},
    {"plan", show_plan},
    {"available_commands_update", show_commands},
    {"current_mode_update", show_mode},
    {"notice", show_notice},
    {"usage_update", show_usage},
    {"session_info_update", show_info},
};

void
update_show(struct updates *updates, struct json_object *update)
{
	const char *kind = json_member_text(update, "sessionUpdate", "");

	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
		if (strcmp(kinds[i].kind, kind) == 0)
			kinds[i].show(updates, update);
}

void
update_end_turn(struct updates *updates)
{
	render_break(updates->render);
	cards_clear(&updates->cards);
	free(updates->message_id);
	updates->message_id = NULL;
}
