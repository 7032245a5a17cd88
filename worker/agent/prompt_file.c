/*
 * Files of a prompt. Reading is bounded; a folder, a binary or something unreadable becomes
 * one line that says so.
 */
#include <config.h>

#include "worker/agent/prompt_file.h"
#include "worker/agent/file_uri.h"
#include "worker/agent/prompt_content.h"
#include "worker/tools/path_rules.h"
#include "worker/tools/text_file.h"
#include "common/alloc.h"
#include "common/fd.h"
#include "common/utf8.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Longest base64 text that is taken for a picture: 25 MiB. */
#define BASE64_MAX (25u * 1024 * 1024)

static const char alphabet[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

const char *
prompt_file_base64_fault(const char *text)
{
	size_t length = strlen(text), plain = strspn(text, alphabet);

	if (length == 0)
		return "it is empty";
	if (length > BASE64_MAX)
		return "it is bigger than 25 MiB";
	if (length % 4 == 1 || plain + strspn(text + plain, "=") != length ||
	    length - plain > 2)
		return "its data is not base64";
	return NULL;
}

static int
digit(char letter)
{
	const char *place = letter == '\0' ? NULL : strchr(alphabet, letter);

	return place == NULL ? -1 : (int)(place - alphabet);
}

static void
decode_base64(const char *text, struct buffer *out)
{
	unsigned bits = 0, value = 0;
	int next;

	for (; (next = digit(*text)) >= 0; text++) {
		value = value << 6 | (unsigned)next;
		bits += 6;
		if (bits >= 8) {
			bits -= 8;
			buffer_append_byte(out, (char)(value >> bits));
		}
	}
}

static char *
encode_base64(const char *bytes, size_t length)
{
	struct buffer out = BUFFER_EMPTY;
	size_t i;
	unsigned v;

	buffer_reserve(&out, length / 3 * 4 + 8);
	for (i = 0; i < length; i += 3) {
		v = (unsigned)(unsigned char)bytes[i] << 16;
		v |= i + 1 < length ? (unsigned)(unsigned char)bytes[i + 1] << 8 : 0;
		v |= i + 2 < length ? (unsigned char)bytes[i + 2] : 0;
		buffer_append_byte(&out, alphabet[v >> 18]);
		buffer_append_byte(&out, alphabet[v >> 12 & 63]);
		buffer_append_byte(&out, i + 1 < length ? alphabet[v >> 6 & 63] : '=');
		buffer_append_byte(&out, i + 2 < length ? alphabet[v & 63] : '=');
	}
	return buffer_take(&out);
}

static void
heading(struct prompt_file *file, const char *what, const char *name, const char *uri)
{
	struct buffer line = BUFFER_EMPTY;

	buffer_printf(&line, "[Attached %s: %s]\nURI: %s\n", what, name, uri);
	buffer_append(&file->text, buffer_text(&line), line.length);
	buffer_free(&line);
}

static void
note(struct prompt_file *file, const char *text)
{
	buffer_printf(&file->text, "[Not included: %s]", text);
}

static const char *const image_types[][2] = {{".png", "image/png"}, {".jpg", "image/jpeg"},
    {".jpeg", "image/jpeg"}, {".gif", "image/gif"}, {".webp", "image/webp"}};

static const char *
image_type(const char *path)
{
	size_t i, length = strlen(path), size;

	for (i = 0; i < sizeof image_types / sizeof image_types[0]; i++) {
		size = strlen(image_types[i][0]);
		if (length > size && strcasecmp(path + length - size, image_types[i][0]) == 0)
			return image_types[i][1];
	}
	return NULL;
}

/* The body of a text, at most PROMPT_FILE_MAX, or the lines of a range with their numbers. */
static void
append_body(
    struct prompt_file *file, const char *text, size_t length, const struct file_uri *uri)
{
	size_t cut;

	if (uri != NULL && uri->first_line > 0) {
		file_uri_append_lines(uri, text, length, &file->text);
		return;
	}
	cut = utf8_floor(text, length, PROMPT_FILE_MAX);
	buffer_append(&file->text, text, cut);
	if (cut < length)
		buffer_printf(&file->text, "\n[Cut here: the file has %zu bytes.]", length);
}

static void
read_image(struct prompt_file *file, const char *path, const char *mime)
{
	struct buffer bytes = BUFFER_EMPTY;
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd == -1 || fd_read_all(fd, &bytes, PROMPT_FILE_MAX) == -1) {
		note(file, "the image cannot be read or is bigger than 512 KiB");
	} else if (bytes.length == 0) {
		note(file, "the image is empty");
	} else {
		file->image = encode_base64(buffer_text(&bytes), bytes.length);
		file->mime = xstrdup(mime);
	}
	fd_close(&fd);
	buffer_free(&bytes);
}

static void
read_text(struct prompt_file *file, const struct file_uri *uri)
{
	struct text_file text;
	struct buffer error = BUFFER_EMPTY;
	char *real = path_rules_real(uri->path), *clean;

	if (real == NULL ||
	    text_file_read(real, (size_t)8 * 1024 * 1024, &text, &error) != TEXT_READ) {
		note(file, error.length > 0 ? buffer_text(&error) : "it cannot be read");
	} else {
		size_t length = 0;

		clean = utf8_clean(text.text, text.length, &length);
		append_body(file, clean != NULL ? clean : "", length, uri);
		free(clean);
		text_file_clear(&text);
	}
	buffer_free(&error);
	free(real);
}

void
prompt_file_link(const char *uri_text, const char *name, const char *title, const char *cwd,
    struct prompt_file *file)
{
	struct file_uri uri;
	const char *mime;
	char *shown;

	memset(file, 0, sizeof *file);
	if (!file_uri_parse(uri_text, cwd, &uri)) {
		heading(file, "link", name != NULL ? name : uri_text, uri_text);
		note(file, "only files of this machine are read");
		return;
	}
	if (title != NULL && name != NULL && strcmp(title, name) != 0)
		shown = xasprintf("%s (%s)", title, name);
	else
		shown = xstrdup(title != NULL  ? title
				: name != NULL ? name
					       : strrchr(uri.path, '/') + 1);
	mime = image_type(uri.path);
	heading(file, mime != NULL ? "image" : "file", shown, uri_text);
	if (mime != NULL)
		read_image(file, uri.path, mime);
	else
		read_text(file, &uri);
	free(shown);
	file_uri_clear(&uri);
}

static void
take_blob(struct json_object *resource, struct prompt_file *file)
{
	const char *blob = json_member_text(resource, "blob", "");
	const char *mime = json_member_text(resource, "mimeType", "");
	const char *fault = prompt_file_base64_fault(blob);
	struct buffer bytes = BUFFER_EMPTY;

	if (fault != NULL) {
		note(file, fault);
		return;
	}
	/* SVG is text, and no provider takes it for a picture. */
	if (strncmp(mime, "image/", 6) == 0 && strncmp(mime, "image/svg", 9) != 0) {
		file->image = xstrdup(blob);
		file->mime = xstrdup(mime);
		return;
	}
	decode_base64(blob, &bytes);
	if (memchr(buffer_text(&bytes), '\0', bytes.length) != NULL ||
	    !utf8_valid(buffer_text(&bytes), bytes.length))
		note(file, "it is binary");
	else
		append_body(file, buffer_text(&bytes), bytes.length, NULL);
	buffer_free(&bytes);
}

void
prompt_file_resource(struct json_object *resource, struct prompt_file *file)
{
	const char *uri = json_member_text(resource, "uri", ""), *slash = strrchr(uri, '/');
	struct json_object *text = json_member(resource, "text");

	memset(file, 0, sizeof *file);
	heading(file, "file", slash != NULL && slash[1] != '\0' ? slash + 1 : uri, uri);
	if (json_object_is_type(text, json_type_string))
		append_body(file, json_object_get_string(text),
		    (size_t)json_object_get_string_len(text), NULL);
	else
		take_blob(resource, file);
}

void
prompt_file_clear(struct prompt_file *file)
{
	buffer_free(&file->text);
	free(file->image);
	free(file->mime);
	memset(file, 0, sizeof *file);
}
