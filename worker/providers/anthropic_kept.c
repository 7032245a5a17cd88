/*
 * Reading kept thinking. A block must never go back changed, and never to a model that did not
 * write it: the signature would be refused, and with it every later request.
 */
#include <config.h>

#include "worker/providers/anthropic_kept.h"
#include "worker/providers/anthropic_model.h"

#include <string.h>
#include <strings.h>

/* The members of a block that go back; the second one must not be empty. */
static const struct {
	const char *type;
	const char *first, *needed;
} kinds[] = {
    {"thinking", "thinking", "signature"},
    {"redacted_thinking", NULL, "data"},
};

bool
anthropic_kept_is_type(const char *type)
{
	size_t i;

	for (i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
		if (strcmp(kinds[i].type, type) == 0)
			return true;
	return strcmp(type, ANTHROPIC_KEPT_ORDER) == 0;
}

struct json_object *
anthropic_kept_block(struct json_object *entry)
{
	const char *type = json_member_text(entry, "type", "");
	struct json_object *block, *first;
	size_t i = 0;

	while (i < sizeof kinds / sizeof kinds[0] && strcmp(kinds[i].type, type) != 0)
		i++;
	if (i == sizeof kinds / sizeof kinds[0] ||
	    json_member_text(entry, kinds[i].needed, "")[0] == '\0')
		return NULL;
	block = json_object_new_object();
	json_set_text(block, "type", type);
	json_set(block, kinds[i].needed, json_object_get(json_member(entry, kinds[i].needed)));
	if (kinds[i].first != NULL) {
		first = json_member(entry, kinds[i].first);
		json_set(block, kinds[i].first,
		    first != NULL ? json_object_get(first) : json_new_text(""));
	}
	return block;
}

static struct json_object *
find_entry(struct json_object *details)
{
	struct json_object *entry;
	size_t i;

	for (i = 0; i < json_object_array_length(details); i++) {
		entry = json_object_array_get_idx(details, i);
		if (strcmp(json_member_text(entry, "type", ""), ANTHROPIC_KEPT_ORDER) == 0)
			return entry;
	}
	return NULL;
}

struct json_object *
anthropic_kept_details(struct json_object *message, const char *model)
{
	struct json_object *details = json_member_array(message, "reasoning_details");
	const char *author;

	if (details == NULL)
		return NULL;
	/* What another program kept is a Claude's. */
	author = json_member_text(find_entry(details), "model", "claude");
	if (anthropic_model_is_claude(author))
		return anthropic_model_is_claude(model) ? details : NULL;
	return strcasecmp(author, model) == 0 ? details : NULL;
}

static size_t
count_type(struct json_object *list, const char *type)
{
	size_t i, count = 0;

	for (i = 0; i < json_object_array_length(list); i++)
		count +=
		    strcmp(json_member_text(json_object_array_get_idx(list, i), "type", ""),
			type) == 0;
	return count;
}

static size_t
count_blocks(struct json_object *details)
{
	struct json_object *block;
	size_t i, count = 0;

	for (i = 0; i < json_object_array_length(details); i++) {
		block = anthropic_kept_block(json_object_array_get_idx(details, i));
		count += block != NULL;
		json_object_put(block);
	}
	return count;
}

struct json_object *
anthropic_kept_order(struct json_object *details, struct json_object *message)
{
	struct json_object *entry = find_entry(details);
	struct json_object *order = json_member_array(entry, "order");
	struct json_object *calls = json_member_array(message, "tool_calls");
	int64_t length = -1;

	if (order == NULL || !json_member_integer(entry, "length", &length) ||
	    length != (int64_t)strlen(json_member_text(message, "content", "")) ||
	    count_type(order, "thinking") != count_blocks(details) ||
	    count_type(order, "tool_use") !=
		(calls != NULL ? json_object_array_length(calls) : 0))
		return NULL;
	return order;
}
