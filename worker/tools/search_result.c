/*
 * The hits of a search for the model and for people. Names that are not UTF-8 are escaped in
 * the way that path_rules_resolve() takes back.
 */
#include <config.h>

#include "worker/tools/search_result.h"

#include "common/json.h"
#include "common/utf8.h"
#include "worker/tools/fenced_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* What a card shows (as in Hermes). */
#define CARD_FILES 20
#define CARD_MATCHES 12
#define CARD_SNIPPET 300
#define CARD_MAX 7000

static size_t
page_begin(const struct search_collect *collect, const struct search_page *page)
{
	return (size_t)page->offset < collect->count ? (size_t)page->offset : collect->count;
}

static size_t
page_end(const struct search_collect *collect, const struct search_page *page)
{
	size_t begin = page_begin(collect, page), left = collect->count - begin;

	return begin + ((size_t)page->limit < left ? (size_t)page->limit : left);
}

/* How many hits there are to page through: lines, or files. */
static int64_t
hits_in_all(const struct search_collect *collect)
{
	return collect->whole_files ? collect->files : collect->total;
}

static struct json_object *
match_json(const struct search_hit *hit, const char *shown)
{
	struct json_object *match = json_object_new_object();

	json_set_text(match, "path", shown);
	json_set_integer(match, "line", hit->number);
	json_set_text(match, "content", hit->text);
	if (hit->before != NULL)
		json_set(match, "before", json_object_get(hit->before));
	if (hit->after != NULL)
		json_set(match, "after", json_object_get(hit->after));
	return match;
}

static struct json_object *
hits_json(const struct tool_context *context, const struct search_collect *collect,
    const struct search_page *page)
{
	bool counts = page->answer == SEARCH_FILE_COUNTS;
	struct json_object *list = counts ? json_object_new_object() : json_object_new_array();
	size_t i;
	char *shown;

	for (i = page_begin(collect, page); i < page_end(collect, page); i++) {
		const struct search_hit *hit = &collect->hits[i];

		shown = path_rules_shown(context, hit->path);
		if (counts)
			json_set_integer(list, shown, hit->number);
		else
			json_object_array_add(list, page->answer == SEARCH_MATCHES
							? match_json(hit, shown)
							: json_new_text(shown));
		free(shown);
	}
	return list;
}

static void
add_sentence(struct buffer *hint, const char *sentence)
{
	if (hint->length > 0)
		buffer_append_byte(hint, ' ');
	buffer_append_text(hint, sentence);
}

static void
add_hint(struct json_object *result, const struct search_collect *collect,
    const struct search_page *page, bool more)
{
	struct buffer hint = BUFFER_EMPTY;

	if (more)
		buffer_printf(&hint, "Use offset=%zu to see more.", page_end(collect, page));
	if (collect->omitted > 0) {
		add_sentence(&hint, "");
		buffer_printf(&hint, "%" PRId64 " credential file%s left out.",
		    collect->omitted, collect->omitted == 1 ? " was" : "s were");
	}
	if (page->note != NULL)
		add_sentence(&hint, page->note);
	if (hint.length > 0)
		json_set_text(result, "hint", buffer_text(&hint));
	buffer_free(&hint);
}

struct json_object *
search_result_build(const struct tool_context *context, const struct search_collect *collect,
    const struct search_page *page)
{
	static const char *const names[] = {
	    [SEARCH_MATCHES] = "matches",
	    [SEARCH_FILES] = "files",
	    [SEARCH_FILE_COUNTS] = "counts",
	};
	struct json_object *result = json_object_new_object();
	bool more = (int64_t)page_end(collect, page) < hits_in_all(collect);

	json_set_integer(result, "total_count", collect->total);
	json_set(result, names[page->answer], hits_json(context, collect, page));
	json_set_boolean(result, "truncated", more || page->limit_reason != NULL);
	if (collect->at_least || page->limit_reason != NULL)
		json_set_boolean(result, "total_count_is_lower_bound", true);
	if (page->limit_reason != NULL)
		json_set_text(result, "limit_reason", page->limit_reason);
	if (collect->omitted > 0)
		json_set_integer(result, "_omitted", collect->omitted);
	add_hint(result, collect, page, more);
	return result;
}

static void
show_hit(const struct search_hit *hit, const char *shown, enum search_answer answer,
    struct buffer *text)
{
	size_t length;

	if (answer == SEARCH_FILES) {
		buffer_printf(text, "- %s\n", shown);
	} else if (answer == SEARCH_FILE_COUNTS) {
		buffer_printf(text, "- %s: %" PRId64 "\n", shown, hit->number);
	} else {
		length = strlen(hit->text);
		buffer_printf(text, "%s:%" PRId64 ": %.*s\n", shown, hit->number,
		    (int)utf8_offset(hit->text, length, CARD_SNIPPET), hit->text);
	}
}

void
search_result_show(const struct tool_context *context, const struct search_collect *collect,
    const struct search_page *page, struct buffer *text)
{
	size_t i, end = page_end(collect, page), begin = page_begin(collect, page);
	size_t most = page->answer == SEARCH_MATCHES ? CARD_MATCHES : CARD_FILES;
	struct buffer lines = BUFFER_EMPTY;
	char *shown;

	if (begin == end) {
		buffer_append_text(text, "Nothing found.");
		return;
	}
	for (i = begin; i < end && i - begin < most; i++) {
		shown = path_rules_shown(context, collect->hits[i].path);
		show_hit(&collect->hits[i], shown, page->answer, &lines);
		free(shown);
	}
	/* Lines of files must not be taken for Markdown. */
	if (page->answer == SEARCH_MATCHES)
		fenced_text_append(text, "", buffer_text(&lines), lines.length, CARD_MAX);
	else
		buffer_append(text, buffer_text(&lines), lines.length);
	buffer_free(&lines);
	if ((int64_t)i < hits_in_all(collect))
		buffer_printf(text, "\n%zu of %s%" PRId64, i - begin,
		    collect->at_least ? "more than " : "", hits_in_all(collect));
}
