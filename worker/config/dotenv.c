/*
 * The reader of .env. The grammar is the one of python-dotenv, so that both programs see the
 * same values in the same file. It never calls setenv().
 */
#include <config.h>

#include "worker/config/dotenv.h"

#include "common/alloc.h"

#include <stdlib.h>
#include <string.h>

struct reader {
	const char *text;
	size_t at;
	unsigned line; /* of `at`, kept up by count_lines() */
	size_t counted;
	const char *reason; /* why an entry was not understood */
};

static const char *const secret_endings[] = {
    "_API_KEY", "_TOKEN", "_SECRET", "_KEY", "_PASSWORD"};

bool
dotenv_name_is_secret(const char *name)
{
	size_t i, length = strlen(name), ending;

	for (i = 0; i < sizeof secret_endings / sizeof *secret_endings; i++) {
		ending = strlen(secret_endings[i]);
		if (length >= ending && strcmp(name + length - ending, secret_endings[i]) == 0)
			return true;
	}
	return false;
}

static bool
is_blank(char byte)
{
	return byte == ' ' || byte == '\t' || byte == '\v' || byte == '\f';
}

static bool
is_newline(char byte)
{
	return byte == '\n' || byte == '\r';
}

/* The line on which `offset` stands; offsets only grow. */
static unsigned
count_lines(struct reader *reader, size_t offset)
{
	for (; reader->counted < offset; reader->counted++)
		if (reader->text[reader->counted] == '\n' ||
		    (reader->text[reader->counted] == '\r' &&
			reader->text[reader->counted + 1] != '\n'))
			reader->line++;
	return reader->line;
}

static void
skip_blanks(struct reader *reader)
{
	while (is_blank(reader->text[reader->at]))
		reader->at++;
}

static void
skip_rest_of_line(struct reader *reader)
{
	reader->at += strcspn(reader->text + reader->at, "\r\n");
	if (reader->text[reader->at] == '\r')
		reader->at++;
	if (reader->text[reader->at] == '\n')
		reader->at++;
}

static void
skip_export(struct reader *reader)
{
	const char *text = reader->text + reader->at;

	if (strncmp(text, "export", 6) != 0 || !is_blank(text[6]))
		return;
	reader->at += 6;
	skip_blanks(reader);
}

static char *
read_name(struct reader *reader)
{
	const char *text = reader->text + reader->at, *end;
	size_t length;

	if (*text == '\'') {
		end = strchr(text + 1, '\'');
		if (end == NULL || end == text + 1) {
			reader->reason = "a quote is not closed";
			return NULL;
		}
		reader->at += (size_t)(end - text) + 1;
		return xstrndup(text + 1, (size_t)(end - text) - 1);
	}
	length = strcspn(text, "=# \t\v\f\r\n");
	if (length == 0) {
		reader->reason = "there is no name before \"=\"";
		return NULL;
	}
	reader->at += length;
	return xstrndup(text, length);
}

/* The closing quote: the first one without a backslash before it, else the last one. */
static const char *
closing_quote(const char *text, char quote)
{
	const char *place, *last = NULL;

	for (place = strchr(text, quote); place != NULL; place = strchr(place + 1, quote)) {
		if (place == text || place[-1] != '\\')
			return place;
		last = place;
	}
	return last;
}

static char *
unescape(const char *text, size_t length, char quote)
{
	static const char from[] = "abfnrtv", to[] = "\a\b\f\n\r\t\v";
	char *out = xcalloc(length + 1, 1);
	const char *place;
	size_t i, used = 0;

	for (i = 0; i < length; i++) {
		if (text[i] != '\\' || i + 1 == length) {
			out[used++] = text[i];
			continue;
		}
		place = quote == '"' ? strchr(from, text[i + 1]) : NULL;
		if (text[i + 1] == '\\' || text[i + 1] == '\'' ||
		    (text[i + 1] == '"' && quote == '"'))
			out[used++] = text[++i];
		else if (place != NULL && *place != '\0')
			out[used++] = to[place - from], i++;
		else
			out[used++] = '\\';
	}
	return out;
}

static char *
read_quoted(struct reader *reader)
{
	const char *text = reader->text + reader->at + 1;
	const char *end = closing_quote(text, text[-1]);

	if (end == NULL) {
		reader->reason = "a quote is not closed";
		return NULL;
	}
	reader->at += (size_t)(end - text) + 2;
	return unescape(text, (size_t)(end - text), text[-1]);
}

static char *
read_plain(struct reader *reader)
{
	const char *text = reader->text + reader->at;
	size_t i, length = strcspn(text, "\r\n");

	reader->at += length;
	for (i = 0; i + 1 < length; i++)
		if (is_blank(text[i]) && text[i + 1] == '#')
			length = i;
	while (length > 0 && is_blank(text[length - 1]))
		length--;
	return xstrndup(text, length);
}

/* What may follow a value: blanks, a comment, the end of the line. */
static bool
read_end(struct reader *reader)
{
	skip_blanks(reader);
	if (reader->text[reader->at] == '#')
		reader->at += strcspn(reader->text + reader->at, "\r\n");
	if (reader->text[reader->at] != '\0' && !is_newline(reader->text[reader->at])) {
		reader->reason = "this is not NAME=value";
		return false;
	}
	skip_rest_of_line(reader);
	return true;
}

static bool
read_entry(struct reader *reader, struct dotenv_entry *entry)
{
	char first;

	skip_export(reader);
	if (reader->text[reader->at] == '#')
		return read_end(reader);
	entry->name = read_name(reader);
	if (entry->name == NULL)
		return false;
	skip_blanks(reader);
	if (reader->text[reader->at] == '=') {
		reader->at++;
		skip_blanks(reader);
		first = reader->text[reader->at];
		entry->value =
		    first == '\'' || first == '"' ? read_quoted(reader) : read_plain(reader);
		if (entry->value == NULL)
			return false;
	}
	return read_end(reader);
}

static void
append_reference(
    struct buffer *out, const struct dotenv *dotenv, const char *name, const char *otherwise)
{
	const struct dotenv_entry *entry = dotenv_find(dotenv, name);
	const char *value = entry != NULL ? entry->value : getenv(name);

	if (value == NULL && entry == NULL)
		value = otherwise;
	buffer_append_text(out, value != NULL ? value : "");
}

/* One ${NAME} or ${NAME:-otherwise} at `text`; its length, 0 when it is none. */
static size_t
interpolate_one(struct buffer *out, const struct dotenv *dotenv, const char *text)
{
	size_t name_length = strcspn(text + 2, "}:"), length;
	char *name, *otherwise = NULL;

	length = 2 + name_length;
	if (strncmp(text + length, ":-", 2) == 0) {
		size_t rest = strcspn(text + length + 2, "}");

		otherwise = xstrndup(text + length + 2, rest);
		length += 2 + rest;
	}
	if (text[length] != '}') {
		free(otherwise);
		return 0;
	}
	name = xstrndup(text + 2, name_length);
	append_reference(out, dotenv, name, otherwise);
	free(name);
	free(otherwise);
	return length + 1;
}

static char *
interpolate(const struct dotenv *dotenv, const char *value)
{
	struct buffer out = BUFFER_EMPTY;
	size_t used;

	buffer_append(&out, "", 0);
	while (*value != '\0') {
		used = value[0] == '$' && value[1] == '{' ? interpolate_one(&out, dotenv, value)
							  : 0;
		if (used == 0)
			buffer_append_byte(&out, *value++);
		value += used;
		if (out.length > DOTENV_VALUE_MAX)
			break;
	}
	if (out.data == NULL)
		return xstrdup("");
	return buffer_take(&out);
}

/* Characters that look like ASCII but are not get into keys by copy and paste. */
static bool
drop_non_ascii(char *value)
{
	char *from, *to = value;

	for (from = value; *from != '\0'; from++)
		if ((unsigned char)*from < 0x80)
			*to++ = *from;
	*to = '\0';
	return from != to;
}

static void
add_entry(struct dotenv *dotenv, struct dotenv_entry *entry, const char *file,
    struct problems *problems)
{
	char *raw = entry->value;

	if (raw == NULL) {
		problems_note(
		    problems, file, entry->line, entry->name, "there is no \"=\" and no value");
	} else {
		entry->value = interpolate(dotenv, raw);
		free(raw);
		if (entry->value != NULL && dotenv_name_is_secret(entry->name) &&
		    drop_non_ascii(entry->value))
			problems_note(problems, file, entry->line, entry->name,
			    "characters that are not ASCII were left out of the value");
	}
	dotenv->entries =
	    xreallocarray(dotenv->entries, dotenv->count + 1, sizeof *dotenv->entries);
	dotenv->entries[dotenv->count++] = *entry;
}

void
dotenv_parse(
    struct dotenv *dotenv, const char *text, const char *file, struct problems *problems)
{
	struct reader reader = {.text = text, .line = 1};
	struct dotenv_entry entry;

	memset(dotenv, 0, sizeof *dotenv);
	for (;;) {
		while (is_blank(text[reader.at]) || is_newline(text[reader.at]))
			reader.at++;
		if (text[reader.at] == '\0')
			return;
		if (dotenv->count == DOTENV_ENTRIES_MAX) {
			problems_note(problems, file, count_lines(&reader, reader.at), NULL,
			    "there are too many entries; the rest is not read");
			return;
		}
		memset(&entry, 0, sizeof entry);
		entry.start = reader.at;
		entry.line = count_lines(&reader, reader.at);
		if (!read_entry(&reader, &entry)) {
			/* Only this line is lost, however far the reader had got. */
			problems_note(problems, file, entry.line, NULL, "%s", reader.reason);
			free(entry.name);
			free(entry.value);
			reader.at = entry.start;
			skip_rest_of_line(&reader);
		} else if (entry.name != NULL) {
			entry.end = reader.at;
			add_entry(dotenv, &entry, file, problems);
		}
	}
}

const struct dotenv_entry *
dotenv_find(const struct dotenv *dotenv, const char *name)
{
	size_t i;

	for (i = dotenv->count; i > 0; i--)
		if (strcmp(dotenv->entries[i - 1].name, name) == 0)
			return &dotenv->entries[i - 1];
	return NULL;
}

void
dotenv_clear(struct dotenv *dotenv)
{
	size_t i;

	for (i = 0; i < dotenv->count; i++) {
		free(dotenv->entries[i].name);
		free(dotenv->entries[i].value);
	}
	free(dotenv->entries);
	memset(dotenv, 0, sizeof *dotenv);
}
