/*
 * The hits of a search as the tool's result and as text for its card.
 */
#ifndef HERMES_WORKER_TOOLS_SEARCH_RESULT_H
#define HERMES_WORKER_TOOLS_SEARCH_RESULT_H

#include "common/buffer.h"
#include "worker/tools/search_collect.h"

#include <stddef.h>
#include <stdint.h>

struct json_object;
struct tool_context;

enum search_answer { SEARCH_MATCHES, SEARCH_FILES, SEARCH_FILE_COUNTS };

struct search_page {
	enum search_answer answer;
	int64_t offset, limit;
	const char *limit_reason; /* why the search ended early; NULL when it did not */
	const char *note; /* something else that the model should know; NULL = nothing */
};

/* The page of the hits that was asked for. Owned by the caller. */
struct json_object *search_result_build(const struct tool_context *context,
    const struct search_collect *collect, const struct search_page *page);
/* The beginning of it as Markdown. */
void search_result_show(const struct tool_context *context,
    const struct search_collect *collect, const struct search_page *page, struct buffer *text);

#endif
