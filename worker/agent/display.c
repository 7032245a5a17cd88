/*
 * Building "_display". It repeats what was shown and adds nothing.
 */
#include <config.h>

#include "worker/agent/display.h"
#include "worker/tools/tool.h"

static void
keep(struct json_object *message, struct json_object *display)
{
	size_t length;

	json_text(display, &length);
	if (length > DISPLAY_MAX) {
		json_object_object_del(display, "content");
		json_object_object_del(display, "prompt");
	}
	json_set(message, DISPLAY_MEMBER, display);
}

void
display_prompt(struct json_object *message, struct json_object *blocks)
{
	struct json_object *display = json_object_new_object();

	json_set(display, "prompt", json_object_get(blocks));
	keep(message, display);
}

void
display_answer(struct json_object *message, const char *message_id, const char *thought_id)
{
	struct json_object *display = json_object_new_object();

	if (message_id[0] != '\0')
		json_set_text(display, "messageId", message_id);
	if (thought_id[0] != '\0')
		json_set_text(display, "thoughtId", thought_id);
	json_set(message, DISPLAY_MEMBER, display);
}

void
display_mark_texts(struct json_object *message, uint64_t texts)
{
	struct json_object *display = json_member_object(message, DISPLAY_MEMBER);

	if (display == NULL) {
		display = json_object_new_object();
		json_set(message, DISPLAY_MEMBER, display);
	}
	json_set_integer(display, "texts", (int64_t)texts);
}

uint64_t
display_texts(struct json_object *message)
{
	int64_t texts = 0;

	json_member_integer(json_member_object(message, DISPLAY_MEMBER), "texts", &texts);
	return texts > 0 ? (uint64_t)texts : 0;
}

static struct json_object *
locations(const struct tool_card *card)
{
	struct json_object *list = json_object_new_array(), *location;
	size_t i;

	for (i = 0; i < card->location_count; i++) {
		location = json_object_new_object();
		json_set_text(location, "path", card->locations[i].path);
		if (card->locations[i].line > 0)
			json_set_integer(location, "line", card->locations[i].line);
		json_object_array_add(list, location);
	}
	return list;
}

static struct json_object *
contents(const struct tool_contents *items)
{
	struct json_object *list = json_object_new_array(), *item;
	size_t i;

	for (i = 0; i < items->count; i++) {
		item = json_object_new_object();
		if (items->items[i].is_diff) {
			json_set_text(item, "path", items->items[i].path);
			json_set_text(item, "old", items->items[i].old_text);
			json_set_text(item, "new", items->items[i].new_text);
		} else {
			json_set_text(item, "text", items->items[i].text);
		}
		json_object_array_add(list, item);
	}
	return list;
}

static struct json_object *
one_text(const char *text)
{
	struct json_object *list = json_object_new_array(), *item = json_object_new_object();

	json_set_text(item, "text", text);
	json_object_array_add(list, item);
	return list;
}

/* `content` is taken over. */
static void
keep_card(struct json_object *message, const struct tool_run *run, bool failed,
    struct json_object *content)
{
	struct json_object *display = json_object_new_object();

	json_set_text(
	    display, "title", run->card.title != NULL ? run->card.title : run->tool->name);
	json_set_text(display, "kind", tool_kind_name(run->tool->kind));
	json_set_boolean(display, "failed", failed);
	json_set(display, "locations", locations(&run->card));
	json_set(display, "content", content);
	keep(message, display);
}

void
display_run(struct json_object *message, const struct tool_run *run, bool failed)
{
	keep_card(message, run, failed,
	    contents(run->shown.count > 0 ? &run->shown : &run->card.contents));
}

void
display_lost_run(struct json_object *message, const struct tool_run *run, const char *text)
{
	keep_card(message, run, true, one_text(text));
}

void
display_failed_call(struct json_object *message, const char *name, const char *text)
{
	struct json_object *display = json_object_new_object();

	json_set_text(display, "title", name[0] != '\0' ? name : "Unnamed tool");
	json_set_text(display, "kind", tool_kind_name(TOOL_KIND_OTHER));
	json_set_boolean(display, "failed", true);
	json_set(display, "content", one_text(text));
	keep(message, display);
}
