/*
 * Text as a Markdown code block. Nothing in the text may be able to end the block.
 */
#include <config.h>

#include "worker/tools/fenced_text.h"

#include "common/utf8.h"

static size_t
longest_run(const char *text, size_t length)
{
	size_t i, run = 0, longest = 0;

	for (i = 0; i < length; i++) {
		run = text[i] == '`' ? run + 1 : 0;
		if (run > longest)
			longest = run;
	}
	return longest;
}

static void
append_fence(struct buffer *out, size_t length)
{
	while (length-- > 0)
		buffer_append_byte(out, '`');
}

void
fenced_text_append(
    struct buffer *out, const char *language, const char *text, size_t length, size_t limit)
{
	size_t shown = utf8_offset(text, length, limit);
	size_t fence = longest_run(text, shown) + 1;

	if (fence < 3)
		fence = 3;
	append_fence(out, fence);
	buffer_append_text(out, language);
	buffer_append_byte(out, '\n');
	buffer_append(out, text, shown);
	if (shown > 0 && text[shown - 1] != '\n')
		buffer_append_byte(out, '\n');
	append_fence(out, fence);
	if (shown < length)
		buffer_printf(out, "\n\n(the first %zu of %zu characters)", limit,
		    utf8_count(text, length));
}
