/*
 * Where things stand in the text of a YAML file: the marks that an editor needs to change
 * one value and leave every other byte alone.
 */
#ifndef HERMES_WORKER_CONFIG_YAML_PLACE_H
#define HERMES_WORKER_CONFIG_YAML_PLACE_H

#include <stdbool.h>
#include <stddef.h>

enum yaml_place_kind {
	YAML_PLACE_ABSENT,
	YAML_PLACE_SCALAR, /* on one or more lines, plain or quoted */
	YAML_PLACE_BLOCK,  /* a | or > text */
	YAML_PLACE_ALIAS,
	YAML_PLACE_MAPPING,
	YAML_PLACE_SEQUENCE
};

/* All offsets count bytes. */
struct yaml_place {
	enum yaml_place_kind kind;
	size_t key_start, key_end;
	size_t start, end;    /* of the value; of a collection the mark of its end event */
	bool flow;	      /* in {} or [] */
	size_t column;	      /* of the first key or item of a block collection */
	size_t count;	      /* keys or items */
	size_t last_item_end; /* end of the last item when that is a scalar, else 0 */
};

struct yaml_places {
	struct yaml_place root;	   /* the top-level mapping, ABSENT for an empty file */
	struct yaml_place section; /* the value of the top-level key `section` */
	struct yaml_place member;  /* the value of `key` in it */
};

/* Looks for section and section.key (NULL: not looked for); of doubled keys the last one.
 * False when the text is not YAML. */
bool yaml_place_find(const char *text, size_t length, const char *section, const char *key,
    struct yaml_places *places);

#endif
