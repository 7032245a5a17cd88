/*
 * Taking a search text apart.
 */
#include <config.h>

#include "worker/store/state_query.h"
#include "common/alloc.h"
#include "common/utf8.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define TRIGRAM 3

/* These divide words; hyphens, dots and underscores do not (as in Hermes). */
static const char dividers[] = "+{}():\"^@/#&|~[]<>,;!?$=\\'`*% \t\r\n\v\f";

struct range {
	uint32_t first, last;
};

static const struct range scripts[] = {
    {0x2e80, 0x303f}, /* radicals, punctuation */
    {0x3040, 0x30ff}, /* Hiragana, Katakana */
    {0x3100, 0x318f}, /* Bopomofo, Hangul */
    {0x31a0, 0x4dbf},
    {0x4e00, 0x9fff},
    {0xac00, 0xd7af},
    {0xf900, 0xfaff},
    {0xff66, 0xff9f},
    {0x20000, 0x3ffff},
};

static bool
is_in(const struct range *ranges, size_t count, uint32_t code)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (code >= ranges[i].first && code <= ranges[i].last)
			return true;
	return false;
}

static bool
is_cjk(uint32_t code)
{
	return is_in(scripts, sizeof scripts / sizeof scripts[0], code);
}

static bool
has_cjk(const char *text, size_t length)
{
	size_t at = 0, size;
	uint32_t code;

	while (at < length) {
		size = utf8_decode(text + at, length - at, &code);
		if (size > 0 && is_cjk(code))
			return true;
		at += size > 0 ? size : 1;
	}
	return false;
}

/* Beyond ASCII these are marks and pictures, which no index knows. */
static const struct range marks[] = {{0x80, 0xa9}, {0x2000, 0x206f}, {0x2100, 0x2bff},
    {0x3000, 0x3004}, {0x3008, 0x3020}, {0xfe00, 0xfe6f}, {0xff01, 0xff0f}, {0xfffd, 0xfffd},
    {0x1f000, 0x1faff}};

static bool
is_mark(uint32_t code)
{
	if (code < 0x80)
		return !((code >= '0' && code <= '9') ||
			 ((code | 0x20) >= 'a' && (code | 0x20) <= 'z'));
	return is_in(marks, sizeof marks / sizeof marks[0], code);
}

/* It has something that an index knows. */
static bool
is_searchable(const char *text, size_t length)
{
	size_t at = 0, size;
	uint32_t code;

	while (at < length) {
		size = utf8_decode(text + at, length - at, &code);
		if (size > 0 && !is_mark(code))
			return true;
		at += size > 0 ? size : 1;
	}
	return false;
}

static void
add(struct state_query *query, enum state_query_operator *operator, const char * text,
    size_t length, bool prefix)
{
	struct state_query_term *term;

	if (query->count == STATE_QUERY_TERMS || !is_searchable(text, length))
		return;
	query->terms = xreallocarray(query->terms, query->count + 1, sizeof *query->terms);
	term = &query->terms[query->count++];
	term->text = xstrndup(text, length);
	term->prefix = prefix;
	term->operator= * operator;
	*operator= STATE_QUERY_AND;
	query->cjk = query->cjk || has_cjk(text, length);
}

/* An operator stands in capitals; of several the strongest counts. */
static bool
take_operator(const char *text, size_t length, enum state_query_operator *operator)
{
	static const char *const names[] = {
	    [STATE_QUERY_AND] = "AND", [STATE_QUERY_OR] = "OR", [STATE_QUERY_NOT] = "NOT"};
	int i;

	for (i = STATE_QUERY_AND; i <= STATE_QUERY_NOT; i++)
		if (strlen(names[i]) == length && memcmp(names[i], text, length) == 0) {
			if (i > (int)*operator)
				*operator=(enum state_query_operator) i;
			return true;
		}
	return false;
}

static size_t
word_length(const char *text, const char *end)
{
	const char *at = text;

	while (at < end && *at != '\0' && strchr(dividers, *at) == NULL)
		at++;
	return (size_t)(at - text);
}

/* Takes a phrase whose quotes are balanced; its length with quotes, 0 when there is none. */
static size_t
take_phrase(struct state_query *query, enum state_query_operator *operator, const char * text,
    const char *end)
{
	const char *close;

	if (*text != '"')
		return 0;
	close = memchr(text + 1, '"', (size_t)(end - text - 1));
	if (close == NULL)
		return 0;
	add(query, operator, text + 1, (size_t)(close - text - 1), false);
	return (size_t)(close + 1 - text);
}

static void
take_words(struct state_query *query, const char *text, const char *end)
{
	enum state_query_operator operator= STATE_QUERY_AND;
	size_t length;

	while (text < end) {
		length = take_phrase(query, &operator, text, end);
		if (length > 0) {
			text += length;
			continue;
		}
		length = word_length(text, end);
		if (length > 0 && !take_operator(text, length, &operator))
			add(query, &operator, text, length,
			    text + length < end && text[length] == '*');
		text += length > 0 ? length : 1;
	}
}

void
state_query_parse(struct state_query *query, const char *text, size_t length)
{
	char *clean;
	size_t size, i;

	memset(query, 0, sizeof *query);
	size = utf8_offset(text, length, STATE_QUERY_CHARACTERS);
	clean = utf8_clean(text, size, &size);
	if (clean == NULL)
		return;
	/* U+FFFD stands where bytes were no text: it divides words. */
	for (i = 0; i + 2 < size; i++)
		if (memcmp(clean + i, UTF8_REPLACEMENT, 3) == 0)
			memset(clean + i, ' ', 3);
	take_words(query, clean, clean + size);
	free(clean);
}

void
state_query_clear(struct state_query *query)
{
	size_t i;

	for (i = 0; i < query->count; i++)
		free(query->terms[i].text);
	free(query->terms);
	memset(query, 0, sizeof *query);
}

bool
state_query_fits_trigrams(const struct state_query *query)
{
	size_t i;

	for (i = 0; i < query->count; i++)
		if (utf8_count(query->terms[i].text, strlen(query->terms[i].text)) < TRIGRAM)
			return false;
	return query->count > 0;
}

static const char *
operator_text(enum state_query_operator operator, const char * not)
{
	switch (operator) {
	case STATE_QUERY_OR:
		return " OR ";
	case STATE_QUERY_NOT:
		return not ;
	case STATE_QUERY_AND:
		break;
	}
	return " AND ";
}

void
state_query_match(const struct state_query *query, struct buffer *expression)
{
	const struct state_query_term *term;
	size_t i;

	for (i = 0; i < query->count; i++) {
		term = &query->terms[i];
		if (i > 0)
			buffer_append_text(expression, operator_text(term->operator, " NOT "));
		/* A phrase has no quote in it: it ended there. */
		buffer_printf(expression, "\"%s\"%s", term->text, term->prefix ? "*" : "");
	}
}

void
state_query_condition(
    const struct state_query *query, const char *column, int first, struct buffer *sql)
{
	size_t i;

	for (i = 0; i < query->count; i++) {
		if (i > 0)
			buffer_append_text(
			    sql, operator_text(query->terms[i].operator, " AND NOT "));
		buffer_printf(sql, "%s LIKE ?%zu ESCAPE '\\'", column, (size_t)first + i);
	}
}

void
state_query_pattern(const struct state_query *query, size_t index, struct buffer *pattern)
{
	const char *at;

	buffer_append_byte(pattern, '%');
	for (at = query->terms[index].text; *at != '\0'; at++) {
		if (*at == '%' || *at == '_' || *at == '\\')
			buffer_append_byte(pattern, '\\');
		buffer_append_byte(pattern, *at);
	}
	buffer_append_byte(pattern, '%');
}

/* Without regard to case in ASCII, as LIKE. */
static const char *
find_text(const char *text, size_t length, const char *part)
{
	size_t size = strlen(part), at;

	for (at = 0; at + size <= length; at++)
		if (strncasecmp(text + at, part, size) == 0)
			return text + at;
	return NULL;
}

static void
append_line(struct buffer *out, const char *text, size_t length)
{
	size_t i;

	for (i = 0; i < length; i++)
		buffer_append_byte(out, (unsigned char)text[i] < ' ' ? ' ' : text[i]);
}

char *
state_query_snippet(
    const struct state_query *query, const char *text, size_t length, size_t characters)
{
	struct buffer out = BUFFER_EMPTY;
	const char *found = NULL;
	size_t at = 0, size = 0, begin, end, i;

	for (i = 0; i < query->count && found == NULL; i++)
		if (query->terms[i].operator!= STATE_QUERY_NOT || i == 0) {
			size = strlen(query->terms[i].text);
			found = find_text(text, length, query->terms[i].text);
		}
	if (found != NULL)
		at = (size_t)(found - text);
	else
		size = 0;
	begin = utf8_floor(text, length, at > characters / 2 ? at - characters / 2 : 0);
	end = at + size + utf8_offset(text + at + size, length - at - size, characters / 2);
	if (begin > 0)
		buffer_append_text(&out, "...");
	append_line(&out, text + begin, at - begin);
	if (size > 0) {
		buffer_append_text(&out, ">>>");
		append_line(&out, text + at, size);
		buffer_append_text(&out, "<<<");
	}
	append_line(&out, text + at + size, end - at - size);
	if (end < length)
		buffer_append_text(&out, "...");
	return buffer_take(&out);
}
