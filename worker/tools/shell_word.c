/*
 * One word of the shell: quotes, escapes and expansions. It must never read past the end,
 * and must mark as dynamic whatever it cannot know.
 */
#include <config.h>

#include "worker/tools/shell_reader.h"

#include "common/utf8.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* A word while it is read. */
struct draft {
	struct buffer text;
	struct shell_word *word;
	bool any;   /* something was there, if only empty quotes */
	bool ended; /* an unquoted $IFS ended it */
};

static bool
is_name_byte(char byte, bool first)
{
	return byte == '_' || isalpha((unsigned char)byte) ||
	       (!first && isdigit((unsigned char)byte));
}

static void
give_up(struct shell_words *words, const char *problem)
{
	if (words->problem == NULL)
		words->problem = problem;
}

/* Reads a substitution's commands in place; the position is after "$(" or "<(". */
static void
read_substitution(struct shell_reader *reader, struct draft *draft)
{
	size_t first = reader->out->count;

	if (reader->depth >= SHELL_DEPTH_MAX) {
		give_up(reader->out, "too many levels");
		reader->at = reader->length;
		return;
	}
	reader->depth++;
	reader->out->up->read_list(reader, ')');
	reader->depth--;
	if (draft->word->inner_end == 0)
		draft->word->inner = first;
	draft->word->inner_end = reader->out->count;
	draft->word->dynamic = true;
	buffer_append_text(&draft->text, SHELL_UNKNOWN_TEXT);
}

static void
read_backquote(struct shell_reader *reader, struct draft *draft)
{
	struct buffer inner = BUFFER_EMPTY;
	size_t first = reader->out->count;
	char byte;

	reader->at++;
	while (reader->at < reader->length && reader->text[reader->at] != '`') {
		byte = reader->text[reader->at];
		if (byte == '\\' && strchr("`\\$", shell_reader_peek(reader, 1)) != NULL)
			byte = reader->text[++reader->at];
		if (reader->at < reader->length)
			buffer_append_byte(&inner, byte);
		reader->at++;
	}
	if (reader->at >= reader->length) {
		give_up(reader->out, "a backquote is not closed");
		reader->at = reader->length;
	} else {
		reader->at++;
	}
	reader->out->up->read_text(
	    reader->out, buffer_text(&inner), inner.length, reader->depth + 1);
	if (draft->word->inner_end == 0)
		draft->word->inner = first;
	draft->word->inner_end = reader->out->count;
	draft->word->dynamic = true;
	buffer_append_text(&draft->text, SHELL_UNKNOWN_TEXT);
	buffer_free(&inner);
}

/* The value of a name that is known: the home folder, or a separator. */
static bool
known_name(struct draft *draft, const char *name, size_t length, bool quoted)
{
	if (length == 4 && strncmp(name, "HOME", 4) == 0) {
		buffer_append_byte(&draft->text, SHELL_WORDS_HOME);
		return true;
	}
	if (length == 3 && strncmp(name, "IFS", 3) == 0 && !quoted) {
		draft->ended = true;
		return true;
	}
	return false;
}

/* The end of "${…}" that begins at `at`, or the length of the text. */
static size_t
find_brace_end(const struct shell_reader *reader, size_t at)
{
	size_t depth = 0;
	char quote = '\0';

	for (; at < reader->length; at++) {
		char byte = reader->text[at];

		if (byte == '\\' && quote != '\'')
			at++;
		else if (quote != '\0')
			quote = byte == quote ? '\0' : quote;
		else if (byte == '\'' || byte == '"')
			quote = byte;
		else if (byte == '{')
			depth++;
		else if (byte == '}' && --depth == 0)
			return at;
	}
	return reader->length;
}

static void
read_braced(struct shell_reader *reader, struct draft *draft, bool quoted)
{
	const char *name = reader->text + reader->at + 2;
	size_t end = find_brace_end(reader, reader->at + 1);
	size_t length = end > reader->at + 2 ? end - reader->at - 2 : 0;

	if (end >= reader->length) {
		give_up(reader->out, "a brace is not closed");
		length = 0;
	}
	if (!known_name(draft, name, length, quoted)) {
		draft->word->dynamic = true;
		draft->word->splits |= !quoted || memchr(name, '@', length) != NULL;
		buffer_append_text(&draft->text, "${");
		buffer_append(&draft->text, name, length);
		buffer_append_byte(&draft->text, '}');
		shell_word_scan(reader->out, name, length, reader->depth + 1, draft->word);
	}
	reader->at = end < reader->length ? end + 1 : reader->length;
}

static void
read_name(struct shell_reader *reader, struct draft *draft, bool quoted)
{
	const char *name = reader->text + reader->at + 1;
	size_t length = 1;

	if (is_name_byte(*name, true))
		while (is_name_byte(shell_reader_peek(reader, 1 + length), false))
			length++;
	if (!known_name(draft, name, length, quoted)) {
		draft->word->dynamic = true;
		if (strchr("#?$!", *name) == NULL)
			draft->word->splits |= !quoted || *name == '@';
		buffer_append(&draft->text, name - 1, length + 1);
	}
	reader->at += length + 1;
}

/* The byte that an escape of $'…' stands for; moves the position behind it. */
static void
read_ansi_escape(struct shell_reader *reader, struct draft *draft)
{
	static const char letters[] = "abeEfnrtv", values[] = "\a\b\033\033\f\n\r\t\v";
	const char *text = reader->text + reader->at, *letter;
	size_t most = reader->length - reader->at, n = 0;
	unsigned long code = 0;
	char encoded[4];
	int base = *text == 'x' || *text == 'u' || *text == 'U' ? 16 : 8;
	size_t digits = *text == 'u' ? 4 : *text == 'U' ? 8 : *text == 'x' ? 2 : 3;
	size_t start = base == 16 ? 1 : 0;

	letter = *text == '\0' ? NULL : strchr(letters, *text);
	while (start + n < most && n < digits && isxdigit((unsigned char)text[start + n]) &&
	       (base == 16 || text[start + n] < '8')) {
		char digit[2] = {text[start + n], '\0'};

		code = code * (unsigned)base + strtoul(digit, NULL, base);
		n++;
	}
	if (letter != NULL)
		buffer_append_byte(&draft->text, values[letter - letters]);
	else if (n == 0)
		buffer_append_byte(&draft->text, *text);
	else if (*text == 'u' || *text == 'U')
		buffer_append(&draft->text, encoded, utf8_encode((uint32_t)code, encoded));
	else if (code != 0)
		buffer_append_byte(&draft->text, (char)code);
	reader->at += letter != NULL || n == 0 ? 1 : start + n;
}

static void
read_ansi_string(struct shell_reader *reader, struct draft *draft)
{
	reader->at += 2;
	while (reader->at < reader->length && reader->text[reader->at] != '\'') {
		if (reader->text[reader->at] != '\\') {
			buffer_append_byte(&draft->text, reader->text[reader->at++]);
			continue;
		}
		reader->at++;
		if (reader->at < reader->length)
			read_ansi_escape(reader, draft);
	}
	if (reader->at >= reader->length)
		give_up(reader->out, "a quote is not closed");
	else
		reader->at++;
	draft->word->quoted = draft->any = true;
}

static void
read_dollar(struct shell_reader *reader, struct draft *draft, bool quoted)
{
	char next = shell_reader_peek(reader, 1);
	size_t arithmetic;

	draft->any = true;
	if (next == '(') {
		arithmetic = shell_word_arithmetic(reader->out, reader->text + reader->at + 1,
		    reader->length - reader->at - 1);
		if (arithmetic > 0) {
			shell_word_scan(reader->out, reader->text + reader->at + 1, arithmetic,
			    reader->depth + 1, draft->word);
			draft->word->dynamic = true;
			buffer_append(&draft->text, reader->text + reader->at, arithmetic + 1);
			reader->at += arithmetic + 1;
			return;
		}
		reader->at += 2;
		draft->word->splits |= !quoted;
		read_substitution(reader, draft);
	} else if (next == '{') {
		read_braced(reader, draft, quoted);
	} else if (is_name_byte(next, true) ||
		   (next != '\0' && strchr("@*#?-$!", next) != NULL) ||
		   isdigit((unsigned char)next)) {
		read_name(reader, draft, quoted);
	} else if (next == '\'' && !quoted) {
		read_ansi_string(reader, draft);
	} else {
		if (next != '"' || quoted)
			buffer_append_byte(&draft->text, '$');
		reader->at++;
	}
}

static void
read_single_quotes(struct shell_reader *reader, struct draft *draft)
{
	const char *begin = reader->text + reader->at + 1;
	const char *end = memchr(begin, '\'', reader->length - reader->at - 1);

	draft->word->quoted = draft->any = true;
	if (end == NULL) {
		give_up(reader->out, "a quote is not closed");
		end = reader->text + reader->length;
		reader->at = reader->length;
	} else {
		reader->at = (size_t)(end - reader->text) + 1;
	}
	buffer_append(&draft->text, begin, (size_t)(end - begin));
}

static void
read_double_quotes(struct shell_reader *reader, struct draft *draft)
{
	draft->word->quoted = draft->any = true;
	reader->at++;
	while (reader->at < reader->length) {
		char byte = reader->text[reader->at];

		if (byte == '"') {
			reader->at++;
			return;
		}
		if (byte == '$') {
			read_dollar(reader, draft, true);
		} else if (byte == '`') {
			read_backquote(reader, draft);
		} else if (byte == '\\' && shell_reader_peek(reader, 1) == '\n') {
			reader->at += 2;
		} else {
			if (byte == '\\' && reader->at + 1 < reader->length &&
			    strchr("$`\"\\", shell_reader_peek(reader, 1)) != NULL)
				byte = reader->text[++reader->at];
			buffer_append_byte(&draft->text, byte);
			reader->at++;
		}
	}
	give_up(reader->out, "a quote is not closed");
}

static void
read_escape(struct shell_reader *reader, struct draft *draft)
{
	char next = shell_reader_peek(reader, 1);

	reader->at += 2;
	if (reader->at > reader->length)
		reader->at = reader->length;
	if (next == '\n')
		return;
	draft->word->quoted = draft->any = true;
	if (next != '\0')
		buffer_append_byte(&draft->text, next);
}

/* Unquoted text: wildcards, tilde and braces count. */
static void
read_plain(struct shell_reader *reader, struct draft *draft)
{
	char byte = reader->text[reader->at], next = shell_reader_peek(reader, 1);
	bool first = draft->text.length == 0 && !draft->word->quoted;

	if (strchr("*?[", byte) != NULL || (byte == '{' && !first))
		draft->word->pattern = true;
	if (byte == '{' && first && next != '\0' && strchr(" \t\n;&|", next) == NULL)
		draft->word->pattern = true;
	if (byte == '~' && first &&
	    (next == '/' || next == '\0' || strchr(" \t\n;&|)<>", next)))
		byte = SHELL_WORDS_HOME;
	buffer_append_byte(&draft->text, byte);
	draft->any = true;
	reader->at++;
	if (next == '(' && strchr("?*+@!", byte) != NULL && reader->at < reader->length) {
		draft->word->pattern = true; /* an extended wildcard: its parentheses too */
		while (reader->at < reader->length && reader->text[reader->at] != ')')
			buffer_append_byte(&draft->text, reader->text[reader->at++]);
		if (reader->at < reader->length)
			buffer_append_byte(&draft->text, reader->text[reader->at++]);
	}
}

static bool
ends_word(char byte)
{
	return strchr(" \t\n;&|()<>", byte) != NULL;
}

bool
shell_word_read(struct shell_reader *reader, struct shell_word *word)
{
	struct draft draft = {.word = word};
	char byte;

	memset(word, 0, sizeof *word);
	while (reader->at < reader->length && !draft.ended) {
		byte = reader->text[reader->at];
		if ((byte == '<' || byte == '>') && shell_reader_peek(reader, 1) == '(' &&
		    !draft.any) {
			reader->at += 2;
			draft.any = true;
			read_substitution(reader, &draft);
		} else if (byte == '\0' || ends_word(byte)) {
			break;
		} else if (byte == '\'') {
			read_single_quotes(reader, &draft);
		} else if (byte == '"') {
			read_double_quotes(reader, &draft);
		} else if (byte == '\\') {
			read_escape(reader, &draft);
		} else if (byte == '$') {
			read_dollar(reader, &draft, false);
		} else if (byte == '`') {
			word->splits = true;
			draft.any = true;
			read_backquote(reader, &draft);
		} else {
			read_plain(reader, &draft);
		}
	}
	if (draft.ended && draft.text.length == 0 && !word->quoted)
		draft.any = false;
	word->text = shell_words_copy(reader->out, buffer_text(&draft.text), draft.text.length);
	buffer_free(&draft.text);
	return draft.any;
}

void
shell_word_scan(struct shell_words *words, const char *text, size_t length, unsigned depth,
    struct shell_word *word)
{
	struct shell_reader reader = {.text = text, .length = length, .depth = depth};
	struct draft draft = {.word = word};

	reader.out = words;
	while (reader.at < length) {
		char byte = text[reader.at];

		if (byte == '\\')
			reader.at += 2;
		else if (byte == '$' && depth < SHELL_DEPTH_MAX)
			read_dollar(&reader, &draft, true);
		else if (byte == '`' && depth < SHELL_DEPTH_MAX)
			read_backquote(&reader, &draft);
		else
			reader.at++;
	}
	if (depth >= SHELL_DEPTH_MAX)
		give_up(words, "too many levels");
	buffer_free(&draft.text);
}

size_t
shell_word_arithmetic(struct shell_words *words, const char *text, size_t length)
{
	size_t at, depth = 0, end = 0;

	if (length < 4 || text[0] != '(' || text[1] != '(')
		return 0;
	for (at = 0; at < length && at <= words->budget && end == 0; at++) {
		if (text[at] == '(')
			depth++;
		else if (text[at] == ')' && --depth == 0)
			end = at + 1;
		else if (text[at] == ')' && depth == 1 &&
			 (at + 1 == length || text[at + 1] != ')'))
			break;
	}
	if (at > words->budget) {
		give_up(words, "too many levels");
		at = words->budget;
	}
	words->budget -= at;
	return end;
}
