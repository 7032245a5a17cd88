/*
 * Cutting text into tokens for comparison. Cutting depends on the text alone, so that equal
 * texts always give equal tokens.
 */
#include <config.h>

#include "worker/tools/edit_tokens.h"

#include "common/alloc.h"
#include "common/utf8.h"
#include "worker/tools/edit_fold.h"

#include <string.h>

static bool
word_code(uint32_t code)
{
	char room[8];

	if (code < 0x80)
		return (code >= '0' && code <= '9') || (code >= 'A' && code <= 'Z') ||
		       (code >= 'a' && code <= 'z') || code == '_';
	if (code >= 0xff10 && code <= 0xff5a) /* full-width digits and letters */
		return word_code(code - 0xff00 + 0x20);
	if (edit_fold_combining(code) || (code >= 0xc0 && code < 0x460))
		return true;
	return code > 0xbf && edit_fold_lookalike(code, room) == 0;
}

size_t
edit_tokens_word(const char *text, size_t length)
{
	size_t at = 0, size;
	uint32_t code;

	while (at < length && (size = utf8_decode(text + at, length - at, &code)) > 0 &&
	       word_code(code))
		at += size;
	return at;
}

/* Length of the token at `text`: a run of blanks with the line end behind it, a line end, a
 * word, an ellipsis of three dots, or one code point. */
static size_t
token_length(const char *text, size_t length, bool *ends_line)
{
	size_t at = 0, size;

	while (at < length && (text[at] == ' ' || text[at] == '\t'))
		at++;
	size = edit_fold_line_end(text + at, length - at);
	*ends_line = size > 0;
	if (at + size > 0)
		return at + size;
	if (length >= 3 && memcmp(text, "...", 3) == 0)
		return 3;
	at = edit_tokens_word(text, length);
	if (at > 0)
		return at;
	size = utf8_sequence(text, length);
	return size > 0 ? size : 1;
}

void
edit_tokens_cut(
    struct edit_tokens *tokens, const struct edit_text *text, struct sequence_names *names)
{
	size_t at = 0, room = 0;
	struct edit_token *token;

	while (at < text->length) {
		if (tokens->count == room) {
			room = room > 0 ? 2 * room : 64;
			tokens->items = xreallocarray(tokens->items, room, sizeof *token);
		}
		token = &tokens->items[tokens->count++];
		memset(token, 0, sizeof *token);
		token->raw.bytes = text->bytes + at;
		token->raw.length =
		    token_length(token->raw.bytes, text->length - at, &token->ends_line);
		token->number =
		    sequence_names_number(names, token->raw.bytes, token->raw.length);
		at += token->raw.length;
	}
}
