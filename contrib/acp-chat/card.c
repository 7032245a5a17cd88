/*
 * Tool cards. A card is told in updates that replace what came before; on paper nothing can
 * be replaced, so only what is new is printed.
 */
#include <config.h>

#include "contrib/acp-chat/card.h"

#include "common/alloc.h"
#include "contrib/acp-chat/diff.h"

#include <stdlib.h>
#include <string.h>

#define LINES_SHOWN 24

static void
replace(char **text, const char *by)
{
	if (by == NULL)
		return;
	free(*text);
	*text = xstrdup(by);
}

static struct card *
find_or_add(struct cards *cards, const char *id)
{
	struct card **at = &cards->first;

	while (*at != NULL && strcmp((*at)->id, id) != 0)
		at = &(*at)->next;
	if (*at == NULL) {
		*at = xcalloc(1, sizeof **at);
		(*at)->id = xstrdup(id);
		(*at)->title = xstrdup(id);
		(*at)->kind = xstrdup("other");
		(*at)->status = xstrdup("pending");
		(*at)->diffs = xstrdup("");
	}
	return *at;
}

static bool
is_over(const struct card *card)
{
	return strcmp(card->status, "completed") == 0 || strcmp(card->status, "failed") == 0;
}

void
card_block_text(struct json_object *block, struct buffer *text)
{
	struct json_object *value = json_member(block, "text");

	if (value == NULL)
		value = json_member(json_member(block, "resource"), "text");
	if (json_object_is_type(value, json_type_string))
		buffer_append(text, json_object_get_string(value),
		    (size_t)json_object_get_string_len(value));
	else
		buffer_printf(text, "[%s %s]", json_member_text(block, "type", "?"),
		    json_member_text(block, "uri", json_member_text(block, "mimeType", "")));
}

/* Puts together the texts of all items that are no diffs. */
static void
collect_text(struct json_object *content, struct buffer *text)
{
	struct json_object *item;
	size_t i, count = json_object_array_length(content);
	const char *type;

	for (i = 0; i < count; i++) {
		item = json_object_array_get_idx(content, i);
		type = json_member_text(item, "type", "");
		if (strcmp(type, "diff") == 0)
			continue;
		if (text->length > 0 && text->data[text->length - 1] != '\n')
			buffer_append_byte(text, '\n');
		if (strcmp(type, "terminal") == 0)
			buffer_printf(
			    text, "[terminal %s]", json_member_text(item, "terminalId", "?"));
		else
			card_block_text(json_member(item, "content"), text);
	}
}

static void
collect_diffs(struct json_object *content, struct json_object *diffs)
{
	struct json_object *item;
	size_t i, count = json_object_array_length(content);

	for (i = 0; i < count; i++) {
		item = json_object_array_get_idx(content, i);
		if (strcmp(json_member_text(item, "type", ""), "diff") == 0)
			json_object_array_add(diffs, json_object_get(item));
	}
}

static void
show_diffs(struct card *card, struct render *render, struct json_object *content)
{
	struct json_object *diffs = json_object_new_array(), *item;
	size_t i;

	collect_diffs(content, diffs);
	if (json_object_array_length(diffs) > 0 &&
	    strcmp(card->diffs, json_text(diffs, NULL)) != 0) {
		for (i = 0; i < json_object_array_length(diffs); i++) {
			item = json_object_array_get_idx(diffs, i);
			diff_show(render, json_member_text(item, "path", "?"),
			    json_member_string(item, "oldText"),
			    json_member_text(item, "newText", ""));
		}
		replace(&card->diffs, json_text(diffs, NULL));
	}
	json_object_put(diffs);
}

/* Shows text that came to what is shown. While the tool runs only whole lines; a text that
 * does not go on where the last one ended is shown when it is final. */
static void
show_text(struct card *card, struct render *render, struct json_object *content)
{
	struct buffer text = BUFFER_EMPTY;
	size_t known = card->shown.length, end;
	bool goes_on;

	collect_text(content, &text);
	end = text.length;
	goes_on =
	    end >= known && memcmp(buffer_text(&text), buffer_text(&card->shown), known) == 0;
	if (!is_over(card))
		while (end > 0 && text.data[end - 1] != '\n')
			end--;
	if (!goes_on && is_over(card))
		known = 0;
	if ((goes_on || is_over(card)) && end > known) {
		render_block(
		    render, STYLE_DIM, "  | ", text.data + known, end - known, LINES_SHOWN);
		buffer_clear(&card->shown);
		buffer_append(&card->shown, text.data, end);
	}
	buffer_free(&text);
}

static void
show_head(struct card *card, struct render *render, struct json_object *update)
{
	const char *name = json_member_string(update, "name");

	render_line(
	    render, STYLE_CYAN, "* %s: %s", name != NULL ? name : card->kind, card->title);
	card->announced = true;
}

static void
show_end(struct cards *cards, struct card *card, struct render *render)
{
	bool failed = strcmp(card->status, "failed") == 0;
	size_t others;

	cards_running(cards, &others);
	/* Among several that run, the title tells which one it is. */
	if (others > 0)
		render_line(render, failed ? STYLE_RED : STYLE_GREEN, "  [%s] %s", card->status,
		    card->title);
	else
		render_line(render, failed ? STYLE_RED : STYLE_GREEN, "  [%s]", card->status);
}

/* Output of a tool that tells its result only as a value. */
static void
show_value(struct card *card, struct render *render, struct json_object *update)
{
	struct json_object *value = json_member(update, "rawOutput");
	const char *text;

	if (value == NULL || (card->shown.length > 0 && !render->verbose))
		return;
	text = json_object_is_type(value, json_type_string) ? json_object_get_string(value)
							    : json_text(value, NULL);
	if (*card->diffs == '\0' || render->verbose)
		render_block(render, STYLE_DIM, "  | ", text, strlen(text), LINES_SHOWN);
}

void
cards_update(struct cards *cards, struct render *render, struct json_object *update)
{
	const char *id = json_member_string(update, "toolCallId");
	struct json_object *content = json_member_array(update, "content");
	struct card *card;
	bool was_over;

	if (id == NULL)
		return;
	card = find_or_add(cards, id);
	was_over = is_over(card);
	replace(&card->title, json_member_string(update, "title"));
	replace(&card->kind, json_member_string(update, "kind"));
	replace(&card->status, json_member_string(update, "status"));
	if (!card->announced)
		show_head(card, render, update);
	if (render->verbose && json_has(update, "rawInput"))
		render_line(render, STYLE_DIM, "  < %s",
		    json_text(json_member(update, "rawInput"), NULL));
	if (content != NULL) {
		show_diffs(card, render, content);
		show_text(card, render, content);
	}
	if (is_over(card) && !was_over) {
		show_value(card, render, update);
		show_end(cards, card, render);
	} else if (render->verbose && json_has(update, "status")) {
		render_line(render, STYLE_DIM, "  [%s]", card->status);
	}
}

const char *
cards_running(const struct cards *cards, size_t *count)
{
	const struct card *card;
	const char *title = NULL;

	*count = 0;
	for (card = cards->first; card != NULL; card = card->next) {
		if (is_over(card))
			continue;
		title = title != NULL ? title : card->title;
		++*count;
	}
	return title;
}

void
cards_clear(struct cards *cards)
{
	struct card *next;

	for (; cards->first != NULL; cards->first = next) {
		next = cards->first->next;
		free(cards->first->id);
		free(cards->first->title);
		free(cards->first->kind);
		free(cards->first->status);
		buffer_free(&cards->first->shown);
		free(cards->first->diffs);
		free(cards->first);
	}
}
