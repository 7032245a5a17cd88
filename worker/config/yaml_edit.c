/*
 * The editor of a YAML text. It must never give back a text that was not read again and
 * found to mean the old one plus the change.
 */
#include <config.h>

#include "worker/config/yaml_edit.h"

#include "worker/config/yaml_place.h"
#include "worker/config/yaml_scalar.h"
#include "worker/config/yaml_tree.h"

#include "common/alloc.h"
#include "common/json.h"
#include "common/utf8.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* One edit at work: the text before it and what has been put together. */
struct editor {
	const struct yaml_edit *edit;
	const char *text;
	size_t length;
	struct yaml_places places;
	struct buffer result;
	const char *reason; /* why it cannot be done */
};

static bool
is_plain_word(const char *text)
{
	static const char allowed[] =
	    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:@+-";
	size_t length = strlen(text);
	struct json_object *value;
	bool is_text;

	if (!isalpha((unsigned char)*text) || text[strspn(text, allowed)] != '\0' ||
	    text[length - 1] == ':')
		return false;
	value = yaml_scalar_resolve(text, length);
	is_text = json_object_is_type(value, json_type_string);
	json_object_put(value);
	return is_text;
}

/* A scalar that reads as this text everywhere; a JSON string is a quoted YAML one. */
static void
append_scalar(struct buffer *buffer, const char *text)
{
	if (is_plain_word(text))
		buffer_append_text(buffer, text);
	else
		buffer_append_json_text(buffer, text);
}

static void
splice(struct editor *editor, size_t start, size_t end, const char *replacement)
{
	buffer_append(&editor->result, editor->text, start);
	buffer_append_text(&editor->result, replacement);
	buffer_append(&editor->result, editor->text + end, editor->length - end);
}

static const char *
line_ending(const struct editor *editor)
{
	const char *newline = memchr(editor->text, '\n', editor->length);

	return newline != NULL && newline > editor->text && newline[-1] == '\r' ? "\r\n" : "\n";
}

/* The start of the line after the one that holds `offset`; the end of the text when that
 * line is the last one. */
static size_t
next_line(const struct editor *editor, size_t offset)
{
	const char *newline = memchr(editor->text + offset, '\n', editor->length - offset);

	return newline != NULL ? (size_t)(newline - editor->text) + 1 : editor->length;
}

static bool
ends_line(const struct editor *editor, size_t offset)
{
	return offset == 0 || editor->text[offset - 1] == '\n';
}

/* Puts a line of its own after the line that holds `offset`. */
static void
insert_line(struct editor *editor, size_t offset, const char *line)
{
	size_t place = next_line(editor, offset);
	const char *ending = line_ending(editor);
	char *whole = xasprintf("%s%s%s", ends_line(editor, place) ? "" : ending, line, ending);

	splice(editor, place, place, whole);
	free(whole);
}

/* "key: value" or "- value", behind `indent` blanks. */
static char *
make_line(const struct editor *editor, size_t indent)
{
	struct buffer line = BUFFER_EMPTY;

	buffer_printf(&line, "%*s", (int)indent, "");
	if (editor->edit->key != NULL)
		buffer_printf(&line, "%s: ", editor->edit->key);
	else
		buffer_append_text(&line, "- ");
	append_scalar(&line, editor->edit->value);
	return buffer_take(&line);
}

/* A section of its own at the end of the file. */
static void
add_section(struct editor *editor)
{
	const char *ending = line_ending(editor);
	char *member = make_line(editor, 2);
	char *whole = xasprintf("%s%s:%s%s%s", ends_line(editor, editor->length) ? "" : ending,
	    editor->edit->section, ending, member, ending);

	if (editor->places.root.kind != YAML_PLACE_ABSENT && editor->places.root.column > 0)
		editor->reason = "its keys do not start at the beginning of a line";
	else if (editor->places.root.flow)
		editor->reason = "it is written in braces";
	else
		splice(editor, editor->length, editor->length, whole);
	free(whole);
	free(member);
}

static bool
is_blank_range(const struct editor *editor, size_t start, size_t end)
{
	for (; start < end; start++)
		if (strchr(" \t\r\n", editor->text[start]) == NULL)
			return false;
	return true;
}

/* Into {} or []: behind the last member, with a comma when there is one already. */
static void
insert_into_flow(struct editor *editor)
{
	const struct yaml_place *place = &editor->places.section;
	size_t end = place->end;
	char *member = make_line(editor, 0), *whole;
	bool comma;

	while (end > place->start && strchr(" \t\r\n", editor->text[end - 1]) != NULL)
		end--;
	comma = place->count > 0 && editor->text[end - 1] != ',';
	whole = xasprintf("%s%s",
	    comma			   ? ", "
	    : editor->text[end - 1] == ',' ? " "
					   : "",
	    editor->edit->key != NULL ? member : member + 2);
	splice(editor, end, end, whole);
	free(whole);
	free(member);
}

/* `model: name` becomes a mapping with `default: name`; an empty value just gets members. */
static void
open_scalar(struct editor *editor, struct json_object *value)
{
	const struct yaml_place *place = &editor->places.section;
	char *member = make_line(editor, 2), *old = NULL;
	const char *ending = line_ending(editor);
	size_t start = place->start;

	while (start > place->key_end && strchr(" \t", editor->text[start - 1]) != NULL)
		start--;
	if (value == NULL && is_blank_range(editor, place->start, place->end)) {
		insert_line(editor, place->key_end, member);
	} else if (value != NULL && place->kind == YAML_PLACE_SCALAR &&
		   editor->edit->key != NULL && strcmp(editor->edit->section, "model") == 0 &&
		   strcmp(editor->edit->key, "default") != 0) {
		old =
		    xasprintf("%s  default: %.*s%s%s", ending, (int)(place->end - place->start),
			editor->text + place->start, ending, member);
		splice(editor, start, place->end, old);
	} else if (place->kind == YAML_PLACE_SCALAR && editor->edit->key != NULL) {
		old = xasprintf("%s%s", ending, member);
		splice(editor, start, place->end, old);
	} else {
		editor->reason = "the section does not hold what it should";
	}
	free(old);
	free(member);
}

static void
replace_member(struct editor *editor)
{
	const struct yaml_place *place = &editor->places.member;
	struct buffer value = BUFFER_EMPTY;

	if (place->kind != YAML_PLACE_SCALAR && place->kind != YAML_PLACE_ALIAS) {
		editor->reason = "the value there is not a single word or text";
		return;
	}
	/* An empty value has its mark right behind the colon. */
	if (place->start > 0 && editor->text[place->start - 1] == ':')
		buffer_append_byte(&value, ' ');
	append_scalar(&value, editor->edit->value);
	splice(editor, place->start, place->end, buffer_text(&value));
	buffer_free(&value);
}

static void
append_item(struct editor *editor)
{
	const struct yaml_place *place = &editor->places.section;
	char *member;

	if (place->flow) {
		insert_into_flow(editor);
	} else if (place->last_item_end == 0) {
		editor->reason = "the last item of the list is not a single text";
	} else {
		member = make_line(editor, place->column);
		insert_line(editor, place->last_item_end, member);
		free(member);
	}
}

static void
edit_mapping(struct editor *editor)
{
	const struct yaml_place *place = &editor->places.section;
	char *member;

	if (editor->places.member.kind != YAML_PLACE_ABSENT) {
		replace_member(editor);
	} else if (place->flow) {
		insert_into_flow(editor);
	} else {
		member = make_line(editor, place->column);
		insert_line(editor, place->key_end, member);
		free(member);
	}
}

/* Cuts out the line of a member that stands on a line of its own. */
static bool
cut_member(struct editor *editor)
{
	const struct yaml_place *place = &editor->places.member;
	size_t start = place->key_start, end = place->end;

	while (start > 0 && strchr(" \t", editor->text[start - 1]) != NULL)
		start--;
	if (place->kind != YAML_PLACE_SCALAR || editor->places.section.flow ||
	    !ends_line(editor, start) ||
	    memchr(editor->text + start, '\n', end - start) != NULL)
		return false;
	splice(editor, start, next_line(editor, end), "");
	return true;
}

static void
edit_text(struct editor *editor, struct json_object *old)
{
	bool item = editor->edit->key == NULL;
	enum yaml_place_kind kind = editor->places.section.kind;

	if (kind == YAML_PLACE_ABSENT)
		add_section(editor);
	else if (kind == YAML_PLACE_MAPPING && !item)
		edit_mapping(editor);
	else if (kind == YAML_PLACE_SEQUENCE && item)
		append_item(editor);
	else
		open_scalar(editor, json_member(old, editor->edit->section));
}

/* The same change on the tree: what the new text must mean. */
static void
edit_tree(struct json_object *root, const struct yaml_edit *edit)
{
	struct json_object *value = json_member(root, edit->section), *fresh;

	if (edit->key == NULL) {
		fresh = json_object_is_type(value, json_type_array) ? json_object_get(value)
								    : json_object_new_array();
		json_object_array_add(fresh, json_new_text(edit->value));
	} else {
		fresh = json_object_is_type(value, json_type_object) ? json_object_get(value)
								     : json_object_new_object();
		if (value != NULL && !json_object_is_type(value, json_type_object))
			json_set(fresh, "default", json_copy(value));
		if (edit->value != NULL)
			json_set_text(fresh, edit->key, edit->value);
		else
			json_object_object_del(fresh, edit->key);
	}
	json_set(root, edit->section, fresh);
}

static bool
same_tree(struct json_object *a, struct json_object *b)
{
	struct buffer left = BUFFER_EMPTY, right = BUFFER_EMPTY;
	bool same;

	json_append_sorted(&left, a);
	json_append_sorted(&right, b);
	same = !left.failed && !right.failed &&
	       strcmp(buffer_text(&left), buffer_text(&right)) == 0;
	buffer_free(&left);
	buffer_free(&right);
	return same;
}

/* Nothing to do: the list has the item, the value is there, the key is gone. */
static bool
is_done(struct json_object *root, const struct yaml_edit *edit)
{
	struct json_object *section = json_member(root, edit->section);
	const char *text;
	size_t i;

	if (edit->key != NULL) {
		text = json_member_string(section, edit->key);
		if (edit->value == NULL)
			return !json_has(section, edit->key);
		return text != NULL && strcmp(text, edit->value) == 0;
	}
	if (!json_object_is_type(section, json_type_array))
		return false;
	for (i = 0; i < json_object_array_length(section); i++) {
		text = json_object_get_string(json_object_array_get_idx(section, i));
		if (text != NULL && strcmp(text, edit->value) == 0)
			return true;
	}
	return false;
}

static bool
fits(const char *text)
{
	size_t length = strlen(text), i;

	for (i = 0; i < length; i++)
		if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
			return false;
	return utf8_valid(text, length);
}

/* True when the new text means the old tree with the change. */
static bool
is_as_meant(const struct editor *editor, struct json_object *old)
{
	struct json_object *wanted = json_copy(old);
	struct yaml_tree fresh;
	bool same;

	edit_tree(wanted, editor->edit);
	yaml_tree_parse(&fresh, buffer_text(&editor->result), editor->result.length, "", NULL);
	same = !fresh.broken && same_tree(wanted, fresh.root);
	yaml_tree_clear(&fresh);
	json_object_put(wanted);
	return same;
}

static void
edit_checked(struct editor *editor, struct json_object *old)
{
	static const char unsafe[] =
	    "the way in which it is written leaves no safe place for the change";

	if (editor->edit->value == NULL) {
		if (!cut_member(editor) || !is_as_meant(editor, old))
			editor->reason = unsafe;
		return;
	}
	edit_text(editor, old);
	if (editor->reason == NULL && !is_as_meant(editor, old))
		editor->reason = unsafe;
}

const char *
yaml_edit_once(struct buffer *text, const struct yaml_edit *edit)
{
	struct editor editor = {
	    .edit = edit, .text = buffer_text(text), .length = text->length};
	struct yaml_edit emptied = *edit;
	struct yaml_tree old;

	yaml_tree_parse(&old, editor.text, editor.length, "", NULL);
	if (edit->value != NULL && !fits(edit->value))
		editor.reason = "the new value holds control characters";
	else if (old.broken || !yaml_place_find(editor.text, editor.length, edit->section,
				   edit->key, &editor.places))
		editor.reason = "it is not valid";
	else if (!is_done(old.root, edit)) {
		edit_checked(&editor, old.root);
		if (editor.reason == NULL) {
			buffer_clear(text);
			buffer_append(text, buffer_text(&editor.result), editor.result.length);
		} else if (edit->value == NULL) {
			emptied.value = "";
			editor.reason = yaml_edit_once(text, &emptied);
		}
	}
	yaml_tree_clear(&old);
	buffer_free(&editor.result);
	return editor.reason;
}
