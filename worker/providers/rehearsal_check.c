/*
 * Checks a rehearsal script against a table of rules, so that a mistake is told with its
 * place before anything is played. It must never change the script.
 */
#include <config.h>

#include "worker/providers/rehearsal_check.h"

#include "worker/providers/rehearsal_words.h"

#include <inttypes.h>
#include <regex.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

enum value_type {
	VALUE_TEXT,
	VALUE_INTEGER,
	VALUE_TRUE,
	VALUE_BOOLEAN,
	VALUE_ARGUMENTS, /* an object, or text that is sent as it is */
	VALUE_OBJECT,	 /* whose members have rules of their own */
	VALUE_FINISH,
	VALUE_ERROR,
	VALUE_SIGNAL,
	VALUE_POINT
};

#define HOUR_MS 3600000
#define COUNT_MAX 100000000

/* The kinds of steps. Members of a VALUE_OBJECT stand in it, those of others beside it. */
static const struct step_kind {
	const char *name;
	enum value_type type;
} step_kinds[] = {
    {"text", VALUE_TEXT},
    {"thought", VALUE_TEXT},
    {"notice", VALUE_TEXT},
    {"repeat", VALUE_OBJECT},
    {"tool", VALUE_OBJECT},
    {"delay_ms", VALUE_INTEGER},
    {"usage", VALUE_OBJECT},
    {"finish", VALUE_FINISH},
    {"error", VALUE_OBJECT},
    {"hang", VALUE_TRUE},
    {"fault", VALUE_OBJECT},
};

static const struct member_rule {
	const char *step;
	const char *name;
	enum value_type type;
	bool required;
	int64_t least, most;
} member_rules[] = {
    {"text", "chunk", VALUE_INTEGER, false, 1, COUNT_MAX},
    {"text", "every_ms", VALUE_INTEGER, false, 0, HOUR_MS},
    {"thought", "chunk", VALUE_INTEGER, false, 1, COUNT_MAX},
    {"thought", "every_ms", VALUE_INTEGER, false, 0, HOUR_MS},
    {"repeat", "text", VALUE_TEXT, true, 0, 0},
    {"repeat", "count", VALUE_INTEGER, true, 0, COUNT_MAX},
    {"repeat", "every_ms", VALUE_INTEGER, false, 0, HOUR_MS},
    {"repeat", "slice", VALUE_INTEGER, false, 1, 1000},
    {"repeat", "thought", VALUE_BOOLEAN, false, 0, 0},
    {"tool", "name", VALUE_TEXT, true, 0, 0},
    {"tool", "arguments", VALUE_ARGUMENTS, false, 0, 0},
    {"tool", "id", VALUE_TEXT, false, 0, 0},
    {"usage", "input", VALUE_INTEGER, false, 0, INT64_C(1) << 40},
    {"usage", "output", VALUE_INTEGER, false, 0, INT64_C(1) << 40},
    {"usage", "total", VALUE_INTEGER, false, 0, INT64_C(1) << 40},
    {"usage", "reasoning", VALUE_INTEGER, false, 0, INT64_C(1) << 40},
    {"usage", "cache_read", VALUE_INTEGER, false, 0, INT64_C(1) << 40},
    {"usage", "cache_write", VALUE_INTEGER, false, 0, INT64_C(1) << 40},
    {"error", "kind", VALUE_ERROR, true, 0, 0},
    {"error", "status", VALUE_INTEGER, false, 0, 999},
    {"error", "message", VALUE_TEXT, false, 0, 0},
    {"error", "retry_after_ms", VALUE_INTEGER, false, 0, HOUR_MS},
    {"fault", "signal", VALUE_SIGNAL, false, 0, 0},
    {"fault", "exit", VALUE_INTEGER, false, 0, 255},
    {"fault", "stop", VALUE_TRUE, false, 0, 0},
    {"fault", "loop", VALUE_TRUE, false, 0, 0},
    {"fault", "at", VALUE_POINT, false, 0, 0},
    {"fault", "after_ms", VALUE_INTEGER, false, 0, HOUR_MS},
    {"fault", "once", VALUE_TEXT, false, 0, 0},
};

/* Where the check stands; numbers count from 1, 0 = not inside one. */
struct place {
	struct buffer *error;
	const char *owner; /* "default", "title", or NULL for a numbered reply */
	size_t reply, round, step;
};

/* Notes the mistake and its place; always -1. */
static int __attribute__((format(printf, 2, 3)))
fail(const struct place *place, const char *format, ...)
{
	va_list arguments;

	if (place->owner != NULL)
		buffer_append_text(place->error, place->owner);
	else if (place->reply > 0)
		buffer_printf(place->error, "reply %zu", place->reply);
	if (place->round > 0)
		buffer_printf(place->error, ", round %zu", place->round);
	if (place->step > 0)
		buffer_printf(place->error, ", step %zu", place->step);
	if (place->owner != NULL || place->reply > 0)
		buffer_append_text(place->error, ": ");
	va_start(arguments, format);
	buffer_vprintf(place->error, format, arguments);
	va_end(arguments);
	return -1;
}

static int
check_integer(const struct place *place, const char *name, struct json_object *value,
    int64_t least, int64_t most)
{
	int64_t number;

	if (json_object_is_type(value, json_type_int)) {
		number = json_object_get_int64(value);
		if (number >= least && number <= most)
			return 0;
	}
	return fail(place, "\"%s\" must be a whole number from %" PRId64 " to %" PRId64, name,
	    least, most);
}

/* NULL when `text` is a word that the member may have, else a list of them. */
static const char *
wanted_words(enum value_type type, const char *text)
{
	switch (type) {
	case VALUE_FINISH:
		return rehearsal_words_finish(text);
	case VALUE_ERROR:
		return rehearsal_words_error(text);
	case VALUE_SIGNAL:
		return rehearsal_words_signal(text);
	case VALUE_POINT:
		return rehearsal_words_point(text);
	default:
		return NULL;
	}
}

static int
check_text(const struct place *place, const char *name, enum value_type type,
    struct json_object *value)
{
	const char *text, *words;

	if (!json_object_is_type(value, json_type_string))
		return fail(place, "\"%s\" must be a string", name);
	text = json_object_get_string(value);
	if (strlen(text) != (size_t)json_object_get_string_len(value))
		return fail(place, "\"%s\" must not contain \\u0000", name);
	words = wanted_words(type, text);
	if (words != NULL)
		return fail(place, "\"%s\" is \"%s\" but must be one of %s", name, text, words);
	return 0;
}

static int
check_value(const struct place *place, const char *name, enum value_type type,
    struct json_object *value, int64_t least, int64_t most)
{
	switch (type) {
	case VALUE_INTEGER:
		return check_integer(place, name, value, least, most);
	case VALUE_TRUE:
		if (!json_object_get_boolean(value) ||
		    !json_object_is_type(value, json_type_boolean))
			return fail(place, "\"%s\" must be true", name);
		return 0;
	case VALUE_BOOLEAN:
		if (!json_object_is_type(value, json_type_boolean))
			return fail(place, "\"%s\" must be true or false", name);
		return 0;
	case VALUE_OBJECT:
		if (!json_object_is_type(value, json_type_object))
			return fail(place, "\"%s\" must be an object", name);
		return 0;
	case VALUE_ARGUMENTS:
		if (json_object_is_type(value, json_type_object))
			return 0;
		if (!json_object_is_type(value, json_type_string))
			return fail(place, "\"%s\" must be an object or a string", name);
		return check_text(place, name, VALUE_TEXT, value);
	default:
		return check_text(place, name, type, value);
	}
}

static const struct step_kind *
find_kind(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof step_kinds / sizeof step_kinds[0]; i++)
		if (strcmp(step_kinds[i].name, name) == 0)
			return &step_kinds[i];
	return NULL;
}

static const struct member_rule *
find_rule(const char *step, const char *name)
{
	size_t i;

	for (i = 0; i < sizeof member_rules / sizeof member_rules[0]; i++)
		if (strcmp(member_rules[i].step, step) == 0 &&
		    strcmp(member_rules[i].name, name) == 0)
			return &member_rules[i];
	return NULL;
}

/* Members that only make sense together or instead of each other. */
static int
check_fault(const struct place *place, struct json_object *fault)
{
	int kinds = json_has(fault, "signal") + json_has(fault, "exit") +
		    json_has(fault, "stop") + json_has(fault, "loop");

	if (kinds != 1)
		return fail(place, "\"fault\" needs exactly one of signal, exit, stop, loop");
	return 0;
}

/* `object` holds the members of a step of this kind: the step itself or its value. */
static int
check_members(
    const struct place *place, const char *step, struct json_object *object, bool nested)
{
	const struct member_rule *rule;
	size_t i;

	json_object_object_foreach(object, name, value)
	{
		if (!nested && strcmp(name, step) == 0)
			continue;
		rule = find_rule(step, name);
		if (rule == NULL)
			return fail(place, "\"%s\" has no member \"%s\"", step, name);
		if (check_value(place, name, rule->type, value, rule->least, rule->most) == -1)
			return -1;
	}
	for (i = 0; i < sizeof member_rules / sizeof member_rules[0]; i++) {
		rule = &member_rules[i];
		if (rule->required && strcmp(rule->step, step) == 0 &&
		    !json_has(object, rule->name))
			return fail(place, "\"%s\" lacks the member \"%s\"", step, rule->name);
	}
	if (strcmp(step, "fault") == 0)
		return check_fault(place, object);
	return 0;
}

static int
check_step(const struct place *place, struct json_object *step)
{
	const struct step_kind *kind = NULL, *found;
	struct json_object *value;

	if (!json_object_is_type(step, json_type_object))
		return fail(place, "a step must be an object");
	json_object_object_foreach(step, name, member)
	{
		(void)member;
		found = find_kind(name);
		if (found != NULL && kind != NULL)
			return fail(place, "one step cannot be both \"%s\" and \"%s\"",
			    kind->name, found->name);
		if (found != NULL)
			kind = found;
	}
	if (kind == NULL)
		return fail(place,
		    "a step needs one of text, thought, notice, repeat, tool, delay_ms, usage, "
		    "finish, error, hang, fault");
	value = json_member(step, kind->name);
	if (check_value(place, kind->name, kind->type, value, 0, HOUR_MS) == -1)
		return -1;
	if (kind->type != VALUE_OBJECT)
		return check_members(place, kind->name, step, false);
	json_object_object_foreach(step, beside, ignored)
	{
		(void)ignored;
		if (strcmp(beside, kind->name) != 0)
			return fail(
			    place, "\"%s\" has no member \"%s\" beside it", kind->name, beside);
	}
	return check_members(place, kind->name, value, true);
}

static int
check_rounds(struct place *place, struct json_object *reply)
{
	struct json_object *rounds = json_member_array(reply, "rounds"), *round;

	if (rounds == NULL)
		return fail(place, "\"rounds\" must be an array of rounds");
	for (size_t i = 0; i < json_object_array_length(rounds); i++) {
		place->round = i + 1;
		round = json_object_array_get_idx(rounds, i);
		if (!json_object_is_type(round, json_type_array))
			return fail(place, "a round must be an array of steps");
		for (size_t j = 0; j < json_object_array_length(round); j++) {
			place->step = j + 1;
			if (check_step(place, json_object_array_get_idx(round, j)) == -1)
				return -1;
		}
		place->step = 0;
	}
	place->round = 0;
	return 0;
}

static int
check_pattern(const struct place *place, struct json_object *reply)
{
	const char *pattern = json_member_string(reply, "match_regex");
	char reason[256];
	regex_t regex;
	int status;

	if (json_has(reply, "match") + json_has(reply, "match_regex") != 1)
		return fail(place, "needs exactly one of \"match\" and \"match_regex\"");
	if (json_has(reply, "match"))
		return check_text(place, "match", VALUE_TEXT, json_member(reply, "match"));
	if (pattern == NULL)
		return fail(place, "\"match_regex\" must be a string");
	status = regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB);
	if (status != 0) {
		regerror(status, &regex, reason, sizeof reason);
		return fail(place, "\"match_regex\" is no regular expression: %s", reason);
	}
	regfree(&regex);
	return 0;
}

static int
check_reply(struct place *place, struct json_object *reply)
{
	if (!json_object_is_type(reply, json_type_object))
		return fail(place, "must be an object");
	json_object_object_foreach(reply, name, value)
	{
		(void)value;
		if (strcmp(name, "rounds") != 0 && strcmp(name, "comment") != 0 &&
		    (place->owner != NULL ||
			(strcmp(name, "match") != 0 && strcmp(name, "match_regex") != 0)))
			return fail(place, "has no member \"%s\"", name);
	}
	if (place->owner == NULL && check_pattern(place, reply) == -1)
		return -1;
	return check_rounds(place, reply);
}

int
rehearsal_check(struct json_object *script, struct buffer *error)
{
	static const char *const owners[] = {"default", "title"};
	struct place place = {.error = error};
	struct json_object *replies = json_member(script, "replies");
	size_t i, count;

	if (!json_object_is_type(script, json_type_object))
		return fail(&place, "the script must be an object");
	json_object_object_foreach(script, name, value)
	{
		(void)value;
		if (strcmp(name, "replies") != 0 && strcmp(name, "default") != 0 &&
		    strcmp(name, "title") != 0 && strcmp(name, "comment") != 0)
			return fail(&place, "a script has no member \"%s\"", name);
	}
	if (replies != NULL && !json_object_is_type(replies, json_type_array))
		return fail(&place, "\"replies\" must be an array");
	count = replies != NULL ? json_object_array_length(replies) : 0;
	if (count == 0 && !json_has(script, "default"))
		return fail(&place, "a script needs \"replies\" or \"default\"");
	for (i = 0; i < count; i++) {
		place.reply = i + 1;
		if (check_reply(&place, json_object_array_get_idx(replies, i)) == -1)
			return -1;
	}
	for (i = 0; i < sizeof owners / sizeof owners[0]; i++) {
		place = (struct place){.error = error, .owner = owners[i]};
		if (json_has(script, owners[i]) &&
		    check_reply(&place, json_member(script, owners[i])) == -1)
			return -1;
	}
	return 0;
}
