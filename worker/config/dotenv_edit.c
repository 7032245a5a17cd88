/*
 * The editor of .env. It must never write a text that does not read back as the old one with
 * the one change, and never put a value into an error.
 */
#include <config.h>

#include "worker/config/dotenv_edit.h"

#include "worker/config/config_file.h"
#include "worker/config/dotenv.h"

#include "common/alloc.h"
#include "common/fd.h"
#include "common/utf8.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static bool
is_name(const char *name)
{
	static const char allowed[] =
	    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

	return *name != '\0' && name[strspn(name, allowed)] == '\0' &&
	       (*name < '0' || *name > '9');
}

static bool
is_value(const char *value)
{
	const char *byte;

	for (byte = value; *byte != '\0'; byte++)
		if ((unsigned char)*byte < 0x20 || *byte == 0x7f)
			return false;
	return true;
}

/* Bare when nothing in it means something, else in single quotes. */
static void
append_value(struct buffer *out, const char *value)
{
	static const char bare[] =
	    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:@+=,%-";

	if (value[strspn(value, bare)] == '\0') {
		buffer_append_text(out, value);
		return;
	}
	buffer_append_byte(out, '\'');
	for (; *value != '\0'; value++) {
		if (*value == '\'' || *value == '\\')
			buffer_append_byte(out, '\\');
		buffer_append_byte(out, *value);
	}
	buffer_append_byte(out, '\'');
}

static void
compose(struct buffer *out, const char *text, const struct dotenv_entry *old, const char *name,
    const char *value)
{
	size_t length = strlen(text), start = length, end = length;
	const char *newline = strchr(text, '\n');
	const char *ending =
	    newline != NULL && newline > text && newline[-1] == '\r' ? "\r\n" : "\n";

	if (old != NULL) {
		start = old->start;
		end = old->end;
	}
	buffer_append(out, text, start);
	if (out->length > 0 && out->data[out->length - 1] != '\n' && old == NULL)
		buffer_append_text(out, ending);
	if (old != NULL && strncmp(text + start, "export", 6) == 0 &&
	    (text[start + 6] == ' ' || text[start + 6] == '\t'))
		buffer_append_text(out, "export ");
	buffer_printf(out, "%s=", name);
	append_value(out, value);
	buffer_append_text(out, ending);
	buffer_append(out, text + end, length - end);
}

/* True when `fresh` holds the value and all else is as it was. */
static bool
is_as_meant(
    const struct dotenv *old, const struct dotenv *fresh, const char *name, const char *value)
{
	const struct dotenv_entry *entry = dotenv_find(fresh, name), *other;
	size_t i;

	if (entry == NULL || entry->value == NULL || strcmp(entry->value, value) != 0)
		return false;
	for (i = 0; i < old->count; i++) {
		if (strcmp(old->entries[i].name, name) == 0)
			continue;
		/* What is made from the variable by ${} changes with it. */
		other = dotenv_find(fresh, old->entries[i].name);
		if (other == NULL || (other->value == NULL) != (old->entries[i].value == NULL))
			return false;
	}
	return true;
}

static int
set_in_text(const char *path, const char *text, const char *name, const char *value,
    struct buffer *error)
{
	struct buffer result = BUFFER_EMPTY;
	struct dotenv old, fresh;
	int status = -1;

	dotenv_parse(&old, text, "", NULL);
	compose(&result, text, dotenv_find(&old, name), name, value);
	dotenv_parse(&fresh, buffer_text(&result), "", NULL);
	if (is_as_meant(&old, &fresh, name, value))
		status = config_file_replace(path, result.data, result.length, error);
	else
		buffer_printf(error,
		    "%s cannot be set in %s: the value or the file holds something that would "
		    "read differently afterwards.",
		    name, path);
	dotenv_clear(&old);
	dotenv_clear(&fresh);
	if (result.data != NULL)
		explicit_bzero(result.data, result.length);
	buffer_free(&result);
	return status;
}

static int
set_locked(const char *path, const char *name, const char *value, struct buffer *error)
{
	struct buffer bytes = BUFFER_EMPTY, reason = BUFFER_EMPTY;
	int result = -1;

	if (config_file_read(path, DOTENV_SIZE_MAX, &bytes, &reason) == CONFIG_FILE_UNREADABLE)
		buffer_printf(error, "%s cannot be read: %s.", path, buffer_text(&reason));
	else if (!utf8_valid(buffer_text(&bytes), bytes.length) ||
		 strlen(buffer_text(&bytes)) != bytes.length)
		buffer_printf(error, "%s is not UTF-8; store it as UTF-8 first.", path);
	else
		result = set_in_text(path, buffer_text(&bytes), name, value, error);
	buffer_free(&bytes);
	buffer_free(&reason);
	return result;
}

int
dotenv_edit_set(const char *home, const char *name, const char *value, struct buffer *error)
{
	char *path = xasprintf("%s/.env", home);
	int lock = -1, result = -1;

	if (!is_name(name))
		buffer_printf(error, "\"%s\" cannot be the name of a variable.", name);
	else if (!is_value(value))
		buffer_printf(error, "The value for %s holds control characters.", name);
	else
		lock = config_file_lock(home, ".env", error);
	if (lock != -1)
		result = set_locked(path, name, value, error);
	fd_close(&lock);
	free(path);
	return result;
}
