/*
 * ACP version 1 on the wire. Enums are closed lists there: nothing may be written that the
 * schema does not name.
 */
#include <config.h>

#include "worker/acp/encode_v1.h"
#include "worker/agent/slash_commands.h"
#include "worker/agent/usage_total.h"
#include "worker/tools/todo.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static const char *const voices[] = {
    [OUTPUT_TEXT] = "agent_message_chunk",
    [OUTPUT_THOUGHT] = "agent_thought_chunk",
};

static const char *const statuses[] = {
    [CARD_PENDING] = "pending",
    [CARD_IN_PROGRESS] = "in_progress",
    [CARD_COMPLETED] = "completed",
    [CARD_FAILED] = "failed",
};

static const struct {
	enum session_mode mode;
	const char *name, *description;
} modes[] = {
    {SESSION_MODE_DEFAULT, "Default", "Asks before every edit"},
    {SESSION_MODE_ACCEPT_EDITS, "Accept edits",
	"Edits below the session's folders go through; commands that look dangerous ask"},
    {SESSION_MODE_DONT_ASK, "Don't ask",
	"Every edit goes through but those of sensitive files"},
    {SESSION_MODE_PLAN, "Plan", "Reads only: nothing is changed and nothing is run"},
};

/* Most bytes of a card's contents, so that the line stays below MESSAGE_UPDATE_MAX. */
#define CONTENTS_MAX ((size_t)6 * 1024 * 1024)

#define MODE_COUNT (sizeof modes / sizeof modes[0])

static void
member(struct buffer *out, const char *key, const char *text)
{
	buffer_append_byte(out, ',');
	buffer_append_json_text(out, key);
	buffer_append_byte(out, ':');
	buffer_append_json_text(out, text);
}

static void
begin(struct buffer *out, const char *update)
{
	buffer_append_text(out, "{\"sessionUpdate\":");
	buffer_append_json_text(out, update);
}

void
encode_v1_chunk(struct buffer *out, enum output_voice voice, const char *message_id,
    const char *bytes, size_t length)
{
	begin(out, voices[voice]);
	member(out, "messageId", message_id);
	buffer_append_text(out, ",\"content\":{\"type\":\"text\",\"text\":");
	buffer_append_json(out, bytes, length);
	buffer_append_text(out, "}}");
}

void
encode_v1_text(struct buffer *out, const char *text)
{
	buffer_append_text(
	    out, "{\"type\":\"content\",\"content\":{\"type\":\"text\",\"text\":");
	buffer_append_json_text(out, text);
	buffer_append_text(out, "}}");
}

void
encode_v1_diff(struct buffer *out, const char *path, const char *before, const char *after)
{
	buffer_append_text(out, "{\"type\":\"diff\"");
	member(out, "path", path);
	if (before != NULL)
		member(out, "oldText", before);
	member(out, "newText", after);
	buffer_append_byte(out, '}');
}

static void
append_content(struct buffer *out, const struct tool_content *content)
{
	if (content->is_diff)
		encode_v1_diff(out, content->path, content->old_text, content->new_text);
	else
		encode_v1_text(out, content->text);
}

/* Of an edit of very many files only the first are shown: a line has its limit. `more` is a
 * further text, or NULL. */
static void
append_contents(struct buffer *out, const struct tool_contents *contents, const char *more)
{
	size_t i, first, before;
	char hidden[64];

	buffer_append_text(out, ",\"content\":[");
	first = out->length;
	for (i = 0; i < contents->count; i++) {
		before = out->length;
		if (i > 0)
			buffer_append_byte(out, ',');
		append_content(out, &contents->items[i]);
		if (out->length - first <= CONTENTS_MAX)
			continue;
		out->length = before;
		if (i > 0)
			buffer_append_byte(out, ',');
		snprintf(hidden, sizeof hidden, "%zu more are not shown.", contents->count - i);
		encode_v1_text(out, hidden);
		break;
	}
	if (more != NULL) {
		if (contents->count > 0)
			buffer_append_byte(out, ',');
		encode_v1_text(out, more);
	}
	buffer_append_byte(out, ']');
}

static void
append_locations(struct buffer *out, const struct tool_card *card)
{
	size_t i;

	buffer_append_text(out, ",\"locations\":[");
	for (i = 0; i < card->location_count; i++) {
		buffer_append_text(out, i > 0 ? ",{\"path\":" : "{\"path\":");
		buffer_append_json_text(out, card->locations[i].path);
		if (card->locations[i].line > 0)
			buffer_printf(out, ",\"line\":%ld", card->locations[i].line);
		buffer_append_byte(out, '}');
	}
	buffer_append_byte(out, ']');
}

/* What a card says about its call: title, kind, input, places, contents. */
static void
append_card(struct buffer *out, const struct tool_run *run, const char *more)
{
	const struct tool_card *card = &run->card;
	size_t length;
	const char *input = json_text(run->arguments, &length);

	member(out, "title", card->title != NULL ? card->title : run->tool->name);
	member(out, "kind", tool_kind_name(run->tool->kind));
	member(out, "status", statuses[CARD_PENDING]);
	/* A long input is in the contents anyway; a line should stay short. */
	if (length <= 16 * 1024) {
		buffer_append_text(out, ",\"rawInput\":");
		buffer_append(out, input, length);
	}
	append_locations(out, card);
	append_contents(out, &card->contents, more);
}

void
encode_v1_card(struct buffer *out, const struct tool_run *run)
{
	begin(out, "tool_call");
	member(out, "toolCallId", run->call_id);
	append_card(out, run, NULL);
	buffer_append_byte(out, '}');
}

void
encode_v1_card_update(struct buffer *out, const struct tool_run *run, enum card_status status)
{
	begin(out, "tool_call_update");
	member(out, "toolCallId", run->call_id);
	member(out, "status", statuses[status]);
	if (run->shown.count > 0)
		append_contents(out, &run->shown, NULL);
	buffer_append_byte(out, '}');
}

void
encode_v1_failed_call(
    struct buffer *out, const char *call_id, const char *name, const char *text)
{
	const struct tool *tool = tool_find(name);

	begin(out, "tool_call");
	member(out, "toolCallId", call_id);
	member(out, "title", name[0] != '\0' ? name : "Unnamed tool");
	member(out, "kind", tool_kind_name(tool != NULL ? tool->kind : TOOL_KIND_OTHER));
	member(out, "status", statuses[CARD_FAILED]);
	buffer_append_text(out, ",\"content\":[");
	encode_v1_text(out, text);
	buffer_append_text(out, "]}");
}

void
encode_v1_lost_card(struct buffer *out, const char *call_id, bool failed, const char *text)
{
	begin(out, "tool_call_update");
	member(out, "toolCallId", call_id);
	member(out, "status", statuses[failed ? CARD_FAILED : CARD_COMPLETED]);
	buffer_append_text(out, ",\"content\":[");
	encode_v1_text(out, text);
	buffer_append_text(out, "]}");
}

void
encode_v1_plan(struct buffer *out, const struct todo_list *list)
{
	struct json_object *entries = todo_list_plan(list);
	const char *text;
	size_t length;

	text = json_text(entries, &length);
	begin(out, "plan");
	buffer_append_text(out, ",\"entries\":");
	buffer_append(out, text, length);
	buffer_append_byte(out, '}');
	json_object_put(entries);
}

void
encode_v1_usage_total(struct buffer *out, const struct usage_total *total)
{
	buffer_printf(out, "{\"inputTokens\":%lld,\"outputTokens\":%lld,\"totalTokens\":%lld",
	    (long long)total->input, (long long)total->output,
	    (long long)usage_total_tokens(total));
	if (total->reasoning > 0)
		buffer_printf(out, ",\"thoughtTokens\":%lld", (long long)total->reasoning);
	if (total->cache_read > 0)
		buffer_printf(out, ",\"cachedReadTokens\":%lld", (long long)total->cache_read);
	if (total->cache_write > 0)
		buffer_printf(
		    out, ",\"cachedWriteTokens\":%lld", (long long)total->cache_write);
	buffer_append_byte(out, '}');
}

void
encode_v1_usage(struct buffer *out, int64_t used, int64_t size, const struct usage_total *total)
{
	begin(out, "usage_update");
	buffer_printf(out, ",\"used\":%lld,\"size\":%lld",
	    (long long)(used > size ? size : used), (long long)size);
	if (usage_total_cost_known(total))
		buffer_printf(
		    out, ",\"cost\":{\"amount\":%.9g,\"currency\":\"USD\"}", total->dollars);
	if (usage_total_tokens(total) > 0) {
		buffer_append_text(out, ",\"_meta\":{\"usage\":");
		encode_v1_usage_total(out, total);
		buffer_append_byte(out, '}');
	}
	buffer_append_byte(out, '}');
}

void
encode_v1_commands(struct buffer *out)
{
	const struct slash_command *command = slash_commands();
	bool first = true;

	begin(out, "available_commands_update");
	buffer_append_text(out, ",\"availableCommands\":[");
	for (; command->name != NULL; command++) {
		buffer_append_text(out, first ? "{\"name\":" : ",{\"name\":");
		buffer_append_json_text(out, command->name);
		member(out, "description", command->description);
		if (command->hint != NULL) {
			buffer_append_text(out, ",\"input\":{\"hint\":");
			buffer_append_json_text(out, command->hint);
			buffer_append_byte(out, '}');
		}
		buffer_append_byte(out, '}');
		first = false;
	}
	buffer_append_text(out, "]}");
}

void
encode_v1_mode(struct buffer *out, enum session_mode mode)
{
	begin(out, "current_mode_update");
	member(out, "currentModeId", session_mode_name(mode));
	buffer_append_byte(out, '}');
}

/* One of several that can be chosen; `key` is what its value is called there. */
static void
append_choice(struct buffer *out, const char *key, const char *value, const char *name,
    const char *description)
{
	buffer_printf(out, "{\"%s\":", key);
	buffer_append_json_text(out, value);
	member(out, "name", name);
	if (description != NULL)
		member(out, "description", description);
	buffer_append_byte(out, '}');
}

static void
append_modes(struct buffer *out, const char *key)
{
	size_t i;

	for (i = 0; i < MODE_COUNT; i++) {
		if (i > 0)
			buffer_append_byte(out, ',');
		append_choice(out, key, session_mode_name(modes[i].mode), modes[i].name,
		    modes[i].description);
	}
}

static void
append_models(struct buffer *out, struct json_object *models)
{
	struct json_object *row;
	size_t i;

	for (i = 0; i < json_object_array_length(models); i++) {
		row = json_object_array_get_idx(models, i);
		if (i > 0)
			buffer_append_byte(out, ',');
		append_choice(out, "value", json_member_text(row, "value", ""),
		    json_member_text(row, "name", ""), json_member_string(row, "description"));
	}
}

static void
append_levels(struct buffer *out, const struct option_values *values)
{
	const char *level;
	size_t i;

	if (values->levels == NULL)
		return;
	buffer_append_text(out,
	    ",{\"id\":\"thought_level\",\"name\":\"Thinking\",\"category\":\"thought_level\","
	    "\"type\":\"select\"");
	member(out, "currentValue", values->level);
	buffer_append_text(out, ",\"options\":[");
	for (i = 0; i < json_object_array_length(values->levels); i++) {
		level = json_object_get_string(json_object_array_get_idx(values->levels, i));
		if (i > 0)
			buffer_append_byte(out, ',');
		append_choice(out, "value", level, level, NULL);
	}
	buffer_append_text(out, "]}");
}

/* The array of config options: the mode, the model, how much it thinks. */
static void
append_options(struct buffer *out, const struct option_values *values)
{
	buffer_append_text(out, "[{\"id\":\"mode\",\"name\":\"Mode\",\"category\":\"mode\","
				"\"type\":\"select\"");
	member(out, "currentValue", session_mode_name(values->mode));
	buffer_append_text(out, ",\"options\":[");
	append_modes(out, "value");
	buffer_append_text(out,
	    "]},{\"id\":\"model\",\"name\":\"Model\",\"category\":\"model\","
	    "\"type\":\"select\"");
	member(out, "currentValue", values->model);
	buffer_append_text(out, ",\"options\":[");
	append_models(out, values->models);
	buffer_append_text(out, "]}");
	append_levels(out, values);
	buffer_append_byte(out, ']');
}

void
encode_v1_options(struct buffer *out, const struct option_values *values)
{
	begin(out, "config_option_update");
	buffer_append_text(out, ",\"configOptions\":");
	append_options(out, values);
	buffer_append_byte(out, '}');
}

void
encode_v1_options_result(struct buffer *out, const struct option_values *values)
{
	buffer_append_text(out, "{\"configOptions\":");
	append_options(out, values);
	buffer_append_byte(out, '}');
}

void
encode_v1_session(struct buffer *out, const struct option_values *values)
{
	buffer_append_text(out, "{\"modes\":{\"currentModeId\":");
	buffer_append_json_text(out, session_mode_name(values->mode));
	buffer_append_text(out, ",\"availableModes\":[");
	append_modes(out, "id");
	buffer_append_text(out, "]},\"configOptions\":");
	append_options(out, values);
	buffer_append_byte(out, '}');
}

void
encode_v1_info(struct buffer *out, const char *title)
{
	char now[32];
	struct tm tm;
	time_t seconds = time(NULL);

	gmtime_r(&seconds, &tm);
	strftime(now, sizeof now, "%Y-%m-%dT%H:%M:%SZ", &tm);
	begin(out, "session_info_update");
	if (title != NULL)
		member(out, "title", title);
	member(out, "updatedAt", now);
	buffer_append_byte(out, '}');
}

void
encode_v1_notice(struct buffer *out, const char *title, const char *description)
{
	begin(out, "notice");
	buffer_append_text(out, ",\"severity\":\"warning\"");
	member(out, "title", title);
	member(out, "description", description);
	buffer_append_byte(out, '}');
}

static void
append_option(struct buffer *out, const char *kind, const char *name)
{
	buffer_append_text(out, "{\"optionId\":");
	buffer_append_json_text(out, kind);
	member(out, "name", name);
	member(out, "kind", kind);
	buffer_append_byte(out, '}');
}

void
encode_v1_permission(struct buffer *out, const struct tool_run *run)
{
	const struct tool_permission *permission = &run->permission;
	struct buffer reason = BUFFER_EMPTY;

	if (permission->reason != NULL)
		buffer_printf(&reason, "Asked because: %s", permission->reason);
	buffer_append_text(out, "{\"toolCall\":{\"toolCallId\":");
	buffer_append_json_text(out, run->call_id);
	append_card(out, run, reason.length > 0 ? reason.data : NULL);
	buffer_append_text(out, "},\"options\":[");
	buffer_free(&reason);
	append_option(out, "allow_once", "Allow once");
	if (permission->grant != NULL) {
		buffer_append_byte(out, ',');
		append_option(out, "allow_always", permission->grant_label);
	}
	buffer_append_byte(out, ',');
	append_option(out, "reject_once", "Reject");
	if (permission->question != NULL) {
		buffer_append_byte(out, ',');
		append_option(out, "reject_always", "Always reject this in this session");
	}
	buffer_append_text(out, "]}");
}

enum user_answer
encode_v1_answer(struct json_object *result)
{
	static const char *const ids[USER_COUNT] = {
	    [USER_ALLOWS_ONCE] = "allow_once",
	    [USER_ALLOWS_ALWAYS] = "allow_always",
	    [USER_REJECTS_ONCE] = "reject_once",
	    [USER_REJECTS_ALWAYS] = "reject_always",
	};
	struct json_object *outcome = json_member_object(result, "outcome");
	const char *kind = json_member_text(outcome, "outcome", "");
	const char *id = json_member_text(outcome, "optionId", "");
	int i;

	if (strcmp(kind, "selected") != 0)
		return USER_REJECTS_ONCE;
	for (i = 0; i < USER_COUNT; i++)
		if (ids[i] != NULL && strcmp(ids[i], id) == 0)
			return (enum user_answer)i;
	return USER_REJECTS_ONCE;
}

struct json_object *
encode_v1_texts(struct json_object *updates)
{
	size_t count = updates != NULL ? json_object_array_length(updates) : 0, i;
	struct json_object *texts = json_object_new_array(), *update, *text;

	for (i = 0; i < count; i++) {
		update = json_object_array_get_idx(updates, i);
		text = NULL;
		if (strcmp(json_member_text(update, "sessionUpdate", ""),
			"agent_message_chunk") == 0)
			text = json_member(json_member_object(update, "content"), "text");
		json_object_array_add(
		    texts, text != NULL ? json_object_get(text) : json_new_text(""));
	}
	return texts;
}
