/*
 * Events of libyaml → JSON. It must stop at the first error and leave an empty tree then,
 * and must never unfold more than the limits allow.
 */
#include <config.h>

#include "worker/config/yaml_tree.h"

#include "worker/config/yaml_scalar.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

/* Longer paths get no line; none that the program reads is. */
#define PATH_MAX_NOTED 256

struct builder {
	yaml_parser_t parser;
	struct yaml_tree *tree;
	const char *text;
	size_t length;
	const char *file;
	struct problems *problems;
	struct json_object *anchors; /* name → value */
	struct buffer path;
	unsigned depth;
	size_t values;
};

static bool
build_node(struct builder *builder, const yaml_event_t *event, struct json_object **value);

static unsigned
line_of(const yaml_event_t *event)
{
	return (unsigned)event->start_mark.line + 1;
}

static bool
refuse(struct builder *builder, unsigned line, const char *reason)
{
	problems_note(builder->problems, builder->file, line, buffer_text(&builder->path),
	    "%s; nothing of this file is used", reason);
	return false;
}

/* The reader of libyaml gives an offset where it has no line yet. */
static unsigned
error_line(const struct builder *builder)
{
	const yaml_parser_t *parser = &builder->parser;
	unsigned line = 1;
	size_t i;

	if (parser->error != YAML_READER_ERROR)
		return (unsigned)parser->problem_mark.line + 1;
	for (i = 0; i < parser->problem_offset && i < builder->length; i++)
		line += builder->text[i] == '\n';
	return line;
}

static bool
next_event(struct builder *builder, yaml_event_t *event)
{
	struct buffer reason = BUFFER_EMPTY;

	if (yaml_parser_parse(&builder->parser, event))
		return true;
	memset(event, 0, sizeof *event);
	buffer_append_text(&reason,
	    builder->parser.problem != NULL ? builder->parser.problem : "not valid YAML");
	if (builder->parser.error != YAML_READER_ERROR)
		buffer_printf(
		    &reason, " (column %zu)", builder->parser.problem_mark.column + 1);
	if (builder->parser.context != NULL)
		buffer_printf(&reason, " %s that starts on line %zu", builder->parser.context,
		    builder->parser.context_mark.line + 1);
	refuse(builder, error_line(builder), buffer_text(&reason));
	buffer_free(&reason);
	return false;
}

/* Values in a tree, the root included; stops early above `limit`. */
static size_t
count_values(struct json_object *value, size_t limit)
{
	size_t count = 1, i, length;

	if (json_object_is_type(value, json_type_array)) {
		length = json_object_array_length(value);
		for (i = 0; i < length && count <= limit; i++)
			count += count_values(json_object_array_get_idx(value, i), limit);
	} else if (json_object_is_type(value, json_type_object)) {
		json_object_object_foreach(value, key, member)
		{
			(void)key;
			if (count > limit)
				break;
			count += count_values(member, limit);
		}
	}
	return count;
}

static bool
count_more(struct builder *builder, unsigned line, size_t more)
{
	builder->values += more;
	if (builder->values <= YAML_TREE_VALUES_MAX)
		return true;
	return refuse(builder, line, "the file unfolds into too many values");
}

static unsigned
tree_depth(struct json_object *value)
{
	unsigned deepest = 0, depth;
	size_t i, length;

	if (json_object_is_type(value, json_type_array)) {
		length = json_object_array_length(value);
		for (i = 0; i < length; i++) {
			depth = tree_depth(json_object_array_get_idx(value, i));
			deepest = depth > deepest ? depth : deepest;
		}
	} else if (json_object_is_type(value, json_type_object)) {
		json_object_object_foreach(value, key, member)
		{
			(void)key;
			depth = tree_depth(member);
			deepest = depth > deepest ? depth : deepest;
		}
	}
	return deepest + 1;
}

static bool
build_alias(struct builder *builder, const yaml_event_t *event, struct json_object **value)
{
	const char *name = (const char *)event->data.alias.anchor;
	struct json_object *target;

	if (!json_object_object_get_ex(builder->anchors, name, &target))
		return refuse(
		    builder, line_of(event), "an alias (*) names no anchor (&) before it");
	if (!count_more(builder, line_of(event), count_values(target, YAML_TREE_VALUES_MAX)))
		return false;
	if (builder->depth + tree_depth(target) > YAML_TREE_DEPTH_MAX)
		return refuse(builder, line_of(event), "values are nested too deeply");
	*value = json_copy(target);
	return true;
}

static bool
build_scalar(struct builder *builder, const yaml_event_t *event, struct json_object **value)
{
	const char *text = (const char *)event->data.scalar.value;
	const char *tag = (const char *)event->data.scalar.tag;
	size_t length = event->data.scalar.length;

	if (tag != NULL && strcmp(tag, "!") != 0) {
		if (yaml_scalar_resolve_tag(tag, text, length, value))
			return true;
		problems_note(builder->problems, builder->file, line_of(event),
		    buffer_text(&builder->path), "the tag %s does not fit; read as text", tag);
		*value = json_new_bytes(text, length);
	} else if (event->data.scalar.plain_implicit && tag == NULL) {
		*value = yaml_scalar_resolve(text, length);
	} else {
		*value = json_new_bytes(text, length);
	}
	return true;
}

static void
merge_one(struct json_object *into, struct json_object *from)
{
	if (!json_object_is_type(from, json_type_object))
		return;
	json_object_object_foreach(from, key, member)
	{
		if (!json_object_object_get_ex(into, key, NULL))
			json_set(into, key, json_copy(member));
	}
}

/* "<<": what the mapping itself does not say comes from another one. */
static bool
merge(
    struct builder *builder, struct json_object *into, struct json_object *from, unsigned line)
{
	size_t i, count;

	if (from == NULL)
		return true;
	if (!count_more(builder, line, count_values(from, YAML_TREE_VALUES_MAX)))
		return false;
	merge_one(into, from);
	count = json_object_is_type(from, json_type_array) ? json_object_array_length(from) : 0;
	for (i = 0; i < count; i++)
		merge_one(into, json_object_array_get_idx(from, i));
	return true;
}

static void
note_line(struct builder *builder, unsigned line)
{
	if (builder->path.length <= PATH_MAX_NOTED)
		json_set_integer(builder->tree->lines, buffer_text(&builder->path), line);
}

static void
note_key(struct builder *builder, struct json_object *object, const char *key, unsigned line)
{
	const char *path = buffer_text(&builder->path);

	if (json_object_object_get_ex(object, key, NULL))
		problems_note(builder->problems, builder->file, line, path,
		    "the key stands here again; the last one counts");
	note_line(builder, line);
}

static bool
build_member(struct builder *builder, const yaml_event_t *key_event, struct json_object *object,
    struct json_object **merged)
{
	const char *key = (const char *)key_event->data.scalar.value;
	bool merging = strcmp(key, "<<") == 0 && key_event->data.scalar.plain_implicit;
	struct json_object *value = NULL;
	yaml_event_t event;
	bool done;

	if (!next_event(builder, &event))
		return false;
	if (!merging)
		note_key(builder, object, key, line_of(key_event));
	done = build_node(builder, &event, &value);
	yaml_event_delete(&event);
	if (done && merging && *merged == NULL)
		*merged = value;
	else if (done)
		json_set(object, key, value);
	return done;
}

static bool
build_mapping(struct builder *builder, struct json_object *object)
{
	size_t base = builder->path.length;
	struct json_object *merged = NULL;
	yaml_event_t event;
	unsigned line = 0;
	bool done = true, end = false;

	while (done && !end && (done = next_event(builder, &event))) {
		line = line_of(&event);
		if (event.type == YAML_MAPPING_END_EVENT) {
			end = true;
		} else if (event.type != YAML_SCALAR_EVENT) {
			done = refuse(
			    builder, line, "a key must be a word, not a list or mapping");
		} else {
			if (base > 0)
				buffer_append_byte(&builder->path, '.');
			buffer_append_text(
			    &builder->path, (const char *)event.data.scalar.value);
			done = build_member(builder, &event, object, &merged);
			builder->path.length = base;
			if (base > 0 || builder->path.data != NULL)
				builder->path.data[base] = '\0';
		}
		yaml_event_delete(&event);
	}
	if (done)
		done = merge(builder, object, merged, line);
	json_object_put(merged);
	return done;
}

static bool
build_sequence(struct builder *builder, struct json_object *array)
{
	size_t base = builder->path.length;
	struct json_object *value;
	yaml_event_t event;
	bool done = true, end = false;

	while (done && !end && (done = next_event(builder, &event))) {
		if (event.type == YAML_SEQUENCE_END_EVENT) {
			end = true;
		} else {
			value = NULL;
			buffer_printf(&builder->path, "[%zu]", json_object_array_length(array));
			note_line(builder, line_of(&event));
			done = build_node(builder, &event, &value);
			if (done)
				json_object_array_add(array, value);
			builder->path.length = base;
			builder->path.data[base] = '\0';
		}
		yaml_event_delete(&event);
	}
	return done;
}

static bool
build_collection(struct builder *builder, const yaml_event_t *event, struct json_object **value)
{
	bool mapping = event->type == YAML_MAPPING_START_EVENT, done;

	if (builder->depth >= YAML_TREE_DEPTH_MAX)
		return refuse(builder, line_of(event), "values are nested too deeply");
	builder->depth++;
	*value = mapping ? json_object_new_object() : json_object_new_array();
	done = mapping ? build_mapping(builder, *value) : build_sequence(builder, *value);
	builder->depth--;
	if (!done) {
		json_object_put(*value);
		*value = NULL;
	}
	return done;
}

static const char *
anchor_of(const yaml_event_t *event)
{
	switch (event->type) {
	case YAML_SCALAR_EVENT:
		return (const char *)event->data.scalar.anchor;
	case YAML_SEQUENCE_START_EVENT:
		return (const char *)event->data.sequence_start.anchor;
	case YAML_MAPPING_START_EVENT:
		return (const char *)event->data.mapping_start.anchor;
	default:
		return NULL;
	}
}

static bool
build_node(struct builder *builder, const yaml_event_t *event, struct json_object **value)
{
	bool done = false;

	if (!count_more(builder, line_of(event), 1))
		return false;
	if (event->type == YAML_ALIAS_EVENT)
		return build_alias(builder, event, value);
	if (event->type == YAML_SCALAR_EVENT)
		done = build_scalar(builder, event, value);
	else
		done = build_collection(builder, event, value);
	if (done && anchor_of(event) != NULL)
		json_set(builder->anchors, anchor_of(event), json_object_get(*value));
	return done;
}

static bool
set_root(struct builder *builder, struct json_object *value, unsigned line)
{
	if (value == NULL)
		return true;
	if (!json_object_is_type(value, json_type_object)) {
		json_object_put(value);
		return refuse(builder, line, "the file must hold keys with values");
	}
	json_object_put(builder->tree->root);
	builder->tree->root = value;
	return true;
}

/* One document; a second one is an error. */
static bool
build_stream(struct builder *builder)
{
	struct json_object *value;
	unsigned documents = 0;
	yaml_event_t event;
	bool done = true, end = false;

	while (done && !end && (done = next_event(builder, &event))) {
		value = NULL;
		if (event.type == YAML_STREAM_END_EVENT) {
			end = true;
		} else if (event.type == YAML_DOCUMENT_START_EVENT) {
			if (++documents > 1)
				done = refuse(
				    builder, line_of(&event), "a second document starts here");
		} else if (event.type == YAML_SCALAR_EVENT || event.type == YAML_ALIAS_EVENT ||
			   event.type == YAML_SEQUENCE_START_EVENT ||
			   event.type == YAML_MAPPING_START_EVENT) {
			done = build_node(builder, &event, &value) &&
			       set_root(builder, value, line_of(&event));
		}
		yaml_event_delete(&event);
	}
	return done;
}

void
yaml_tree_parse(struct yaml_tree *tree, const char *text, size_t length, const char *file,
    struct problems *problems)
{
	struct builder builder = {
	    .tree = tree, .text = text, .length = length, .file = file, .problems = problems};

	tree->root = json_object_new_object();
	tree->lines = json_object_new_object();
	tree->broken = true;
	if (length > YAML_TREE_SIZE_MAX || !yaml_parser_initialize(&builder.parser)) {
		refuse(&builder, 0, "the file is too big");
		return;
	}
	builder.anchors = json_object_new_object();
	yaml_parser_set_input_string(&builder.parser, (const unsigned char *)text, length);
	tree->broken = !build_stream(&builder);
	if (tree->broken) {
		json_object_put(tree->root);
		tree->root = json_object_new_object();
	}
	json_object_put(builder.anchors);
	yaml_parser_delete(&builder.parser);
	buffer_free(&builder.path);
}

unsigned
yaml_tree_line(const struct yaml_tree *tree, const char *path)
{
	int64_t line = 0;

	json_member_integer(tree->lines, path, &line);
	return (unsigned)line;
}

void
yaml_tree_clear(struct yaml_tree *tree)
{
	json_object_put(tree->root);
	json_object_put(tree->lines);
	memset(tree, 0, sizeof *tree);
}
