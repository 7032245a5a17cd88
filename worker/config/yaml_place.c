/*
 * Walks the events of a YAML text and keeps the marks of one path. It must never be used to
 * read values: yaml_tree.c does that.
 */
#include <config.h>

#include "worker/config/yaml_place.h"

#include <string.h>
#include <yaml.h>

struct walker {
	yaml_parser_t parser;
	const char *text;
	size_t length;
	size_t first;	      /* bytes of a byte order mark, which libyaml does not count */
	size_t offset, index; /* the same place in bytes and in characters */
	bool failed;
};

/* libyaml counts characters; marks are asked for roughly in order. */
static size_t
byte_offset(struct walker *walker, const yaml_mark_t *mark)
{
	if (mark->index < walker->index) {
		walker->index = 0;
		walker->offset = walker->first;
	}
	while (walker->index < mark->index && walker->offset < walker->length) {
		walker->offset++;
		while (walker->offset < walker->length &&
		       ((unsigned char)walker->text[walker->offset] & 0xc0) == 0x80)
			walker->offset++;
		walker->index++;
	}
	return walker->offset;
}

static bool
next(struct walker *walker, yaml_event_t *event)
{
	if (!walker->failed && !yaml_parser_parse(&walker->parser, event)) {
		walker->failed = true;
		memset(event, 0, sizeof *event);
	}
	return !walker->failed;
}

static bool
opens(const yaml_event_t *event)
{
	return event->type == YAML_MAPPING_START_EVENT ||
	       event->type == YAML_SEQUENCE_START_EVENT;
}

static bool
closes(const yaml_event_t *event)
{
	return event->type == YAML_MAPPING_END_EVENT || event->type == YAML_SEQUENCE_END_EVENT;
}

static void
place_start(struct walker *walker, const yaml_event_t *event, struct yaml_place *place)
{
	yaml_scalar_style_t style;

	place->start = byte_offset(walker, &event->start_mark);
	place->end = byte_offset(walker, &event->end_mark);
	place->column = event->start_mark.column;
	place->count = 0;
	place->last_item_end = 0;
	place->flow = false;
	if (event->type == YAML_MAPPING_START_EVENT) {
		place->kind = YAML_PLACE_MAPPING;
		place->flow = event->data.mapping_start.style == YAML_FLOW_MAPPING_STYLE;
	} else if (event->type == YAML_SEQUENCE_START_EVENT) {
		place->kind = YAML_PLACE_SEQUENCE;
		place->flow = event->data.sequence_start.style == YAML_FLOW_SEQUENCE_STYLE;
	} else if (event->type == YAML_ALIAS_EVENT) {
		place->kind = YAML_PLACE_ALIAS;
	} else {
		style = event->data.scalar.style;
		place->kind =
		    style == YAML_LITERAL_SCALAR_STYLE || style == YAML_FOLDED_SCALAR_STYLE
			? YAML_PLACE_BLOCK
			: YAML_PLACE_SCALAR;
	}
}

/* Passes the rest of the collection that just opened and notes its items and its end. */
static void
pass_collection(struct walker *walker, struct yaml_place *place)
{
	yaml_event_t event;
	unsigned depth = 1;

	while (depth > 0 && next(walker, &event)) {
		if (depth == 1 && !closes(&event)) {
			place->count++;
			place->last_item_end = event.type == YAML_SCALAR_EVENT
						   ? byte_offset(walker, &event.end_mark)
						   : 0;
		}
		depth += opens(&event);
		depth -= closes(&event);
		if (depth == 0)
			place->end = byte_offset(walker, &event.start_mark);
		yaml_event_delete(&event);
	}
}

static void
pass_value(struct walker *walker, struct yaml_place *place)
{
	yaml_event_t event;

	if (!next(walker, &event))
		return;
	place_start(walker, &event, place);
	if (opens(&event))
		pass_collection(walker, place);
	yaml_event_delete(&event);
}

static bool
key_is(const yaml_event_t *event, const char *name)
{
	return name != NULL && event->type == YAML_SCALAR_EVENT &&
	       strcmp((const char *)event->data.scalar.value, name) == 0;
}

static void
note_key(struct walker *walker, const yaml_event_t *event, struct yaml_place *place)
{
	memset(place, 0, sizeof *place);
	place->key_start = byte_offset(walker, &event->start_mark);
	place->key_end = byte_offset(walker, &event->end_mark);
}

/* The members of a mapping that just opened; the value of `name` goes to `found`. With
 * `inner` that value's own member `inner_name` goes to `inner`. */
static void
pass_mapping(struct walker *walker, struct yaml_place *mapping, const char *name,
    struct yaml_place *found, const char *inner_name, struct yaml_place *inner)
{
	struct yaml_place ignored;
	yaml_event_t event;
	bool end = false;

	while (!end && next(walker, &event)) {
		if (event.type == YAML_MAPPING_END_EVENT) {
			mapping->end = byte_offset(walker, &event.start_mark);
			end = true;
		} else if (event.type != YAML_SCALAR_EVENT) {
			walker->failed = true;
		} else {
			if (mapping->count++ == 0 && !mapping->flow)
				mapping->column = event.start_mark.column;
			memset(&ignored, 0, sizeof ignored);
			if (key_is(&event, name)) {
				note_key(walker, &event, found);
				yaml_event_delete(&event);
				if (!next(walker, &event))
					return;
				place_start(walker, &event, found);
				if (inner != NULL)
					memset(inner, 0, sizeof *inner);
				if (found->kind == YAML_PLACE_MAPPING && inner != NULL)
					pass_mapping(
					    walker, found, inner_name, inner, NULL, NULL);
				else if (opens(&event))
					pass_collection(walker, found);
			} else {
				pass_value(walker, &ignored);
			}
		}
		yaml_event_delete(&event);
	}
}

bool
yaml_place_find(const char *text, size_t length, const char *section, const char *key,
    struct yaml_places *places)
{
	struct walker walker = {.text = text, .length = length};
	yaml_event_t event;
	bool end = false;

	memset(places, 0, sizeof *places);
	if (length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
		walker.first = walker.offset = 3;
	if (!yaml_parser_initialize(&walker.parser))
		return false;
	yaml_parser_set_input_string(&walker.parser, (const unsigned char *)text, length);
	while (!end && next(&walker, &event)) {
		end = event.type == YAML_STREAM_END_EVENT;
		if (event.type == YAML_MAPPING_START_EVENT) {
			place_start(&walker, &event, &places->root);
			pass_mapping(&walker, &places->root, section, &places->section, key,
			    &places->member);
		} else if (opens(&event)) {
			walker.failed = true;
		}
		yaml_event_delete(&event);
	}
	yaml_parser_delete(&walker.parser);
	return !walker.failed;
}
