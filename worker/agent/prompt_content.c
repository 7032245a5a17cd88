/*
 * Content blocks in the order in which they came. No block may vanish: it is content, or a
 * line that names it and the reason, or the prompt is refused.
 */
#include <config.h>

#include "worker/agent/prompt_content.h"
#include "worker/agent/prompt_file.h"
#include "common/alloc.h"

#include <stdlib.h>
#include <string.h>

struct content {
	struct json_object *parts;
	struct buffer text; /* text that is not in a part yet */
	bool images;
	const char *cwd;
	struct buffer *error;
};

static void
end_text(struct content *content)
{
	struct json_object *part;

	if (content->text.length == 0)
		return;
	part = json_object_new_object();
	json_set_text(part, "type", "text");
	json_set(part, "text", json_new_bytes(content->text.data, content->text.length));
	json_object_array_add(content->parts, part);
	buffer_clear(&content->text);
}

static void
add_text(struct content *content, const char *text, size_t length)
{
	if (content->text.length > 0)
		buffer_append_byte(&content->text, '\n');
	buffer_append(&content->text, text, length);
}

static void
add_image(struct content *content, const char *mime, const char *base64)
{
	struct json_object *part = json_object_new_object(), *image = json_object_new_object();
	char *url = xasprintf("data:%s;base64,%s", mime, base64);

	end_text(content);
	json_set_text(image, "url", url);
	json_set_text(part, "type", "image_url");
	json_set(part, "image_url", image);
	json_object_array_add(content->parts, part);
	content->images = true;
	free(url);
}

static int
refuse(struct content *content, const char *what, const char *fault)
{
	buffer_append_text(content->error, what);
	buffer_append_text(content->error, fault);
	return -1;
}

static int
take_text(struct content *content, struct json_object *block)
{
	struct json_object *text = json_member(block, "text");

	if (!json_object_is_type(text, json_type_string))
		return refuse(content, "A text block", ": text is missing or not a string");
	add_text(
	    content, json_object_get_string(text), (size_t)json_object_get_string_len(text));
	return 0;
}

static int
take_image(struct content *content, struct json_object *block)
{
	const char *data = json_member_text(block, "data", ""), *reason;
	const char *mime = json_member_text(block, "mimeType", "image/png"), *comma;

	if (strncmp(data, "data:", 5) == 0 && (comma = strchr(data, ',')) != NULL)
		data = comma + 1;
	reason = prompt_file_base64_fault(data);
	if (strncmp(mime, "image/", 6) != 0 || strpbrk(mime, ";, \r\n") != NULL)
		reason = "its mimeType is not one of an image";
	if (reason != NULL)
		return refuse(content, "An image block cannot be used: ", reason);
	add_image(content, mime, data);
	return 0;
}

static void
take_file(struct content *content, struct prompt_file *file)
{
	add_text(content, buffer_text(&file->text), file->text.length);
	if (file->image != NULL)
		add_image(content, file->mime, file->image);
	prompt_file_clear(file);
}

static int
take_link(struct content *content, struct json_object *block)
{
	struct prompt_file file;
	const char *uri = json_member_string(block, "uri");

	if (uri == NULL)
		return refuse(
		    content, "A resource_link block", ": uri is missing or not a string");
	prompt_file_link(uri, json_member_string(block, "name"),
	    json_member_string(block, "title"), content->cwd, &file);
	take_file(content, &file);
	return 0;
}

static int
take_resource(struct content *content, struct json_object *block)
{
	struct json_object *resource = json_member_object(block, "resource");
	struct prompt_file file;

	if (resource == NULL || json_member_string(resource, "uri") == NULL)
		return refuse(content, "A resource block", ": resource.uri is missing");
	if (!json_object_is_type(json_member(resource, "text"), json_type_string) &&
	    !json_object_is_type(json_member(resource, "blob"), json_type_string))
		return refuse(content, "A resource block", " has neither text nor blob");
	prompt_file_resource(resource, &file);
	take_file(content, &file);
	return 0;
}

static const struct {
	const char *type;
	int (*take)(struct content *, struct json_object *);
} kinds[] = {
    {"text", take_text},
    {"image", take_image},
    {"resource_link", take_link},
    {"resource", take_resource},
};

static int
take_block(struct content *content, struct json_object *block)
{
	const char *type = json_member_string(block, "type");
	size_t i;

	if (type == NULL)
		return refuse(content, "A content block", " has no type");
	for (i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
		if (strcmp(kinds[i].type, type) == 0)
			return kinds[i].take(content, block);
	return refuse(content, "This type of content is not supported: ", type);
}

static bool
is_blank(const struct buffer *text)
{
	const char *at = buffer_text(text);

	return at + strspn(at, " \t\r\n") == at + text->length;
}

struct json_object *
prompt_content_build(struct json_object *blocks, const char *cwd, struct buffer *error)
{
	struct content content = {.parts = json_object_new_array(), .cwd = cwd, .error = error};
	struct json_object *value = NULL;
	size_t i, count;

	count =
	    json_object_is_type(blocks, json_type_array) ? json_object_array_length(blocks) : 0;
	if (count == 0)
		refuse(&content, "prompt", " must be an array with at least one block");
	for (i = 0; i < count; i++)
		if (take_block(&content, json_object_array_get_idx(blocks, i)) == -1)
			break;
	if (count > 0 && i == count && !content.images && is_blank(&content.text)) {
		refuse(&content, "prompt", " has no text in it");
	} else if (count > 0 && i == count) {
		if (content.images) {
			end_text(&content);
			value = json_object_get(content.parts);
		} else {
			value = json_new_bytes(buffer_text(&content.text), content.text.length);
		}
	}
	json_object_put(content.parts);
	buffer_free(&content.text);
	return value;
}

const char *
prompt_content_first_text(struct json_object *blocks)
{
	struct json_object *first;

	if (!json_object_is_type(blocks, json_type_array) ||
	    json_object_array_length(blocks) == 0)
		return NULL;
	first = json_object_array_get_idx(blocks, 0);
	if (strcmp(json_member_text(first, "type", ""), "text") != 0)
		return NULL;
	return json_member_string(first, "text");
}
