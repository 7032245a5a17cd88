/*
 * Reads a YAML file into a JSON tree. It must never follow a file that unfolds without
 * bound: depth, values and bytes are limited, aliases count in full.
 */
#ifndef HERMES_WORKER_CONFIG_YAML_TREE_H
#define HERMES_WORKER_CONFIG_YAML_TREE_H

#include "common/json.h"
#include "worker/config/problems.h"

#include <stdbool.h>
#include <stddef.h>

#define YAML_TREE_SIZE_MAX (1024 * 1024) /* bytes of a file */
#define YAML_TREE_DEPTH_MAX 64
#define YAML_TREE_VALUES_MAX 50000 /* values after all aliases were filled in */

struct yaml_tree {
	struct json_object *root;  /* always an object */
	struct json_object *lines; /* dotted path ("a.b", "list[0].c") → line of the key */
	bool broken;		   /* the text could not be read; `root` is empty */
};

/* Parses. `file` names the text in problems, which may be NULL. Cleared by
 * yaml_tree_clear(). */
void yaml_tree_parse(struct yaml_tree *tree, const char *text, size_t length, const char *file,
    struct problems *problems);
/* The line of a dotted path, 0 when it is not known. */
unsigned yaml_tree_line(const struct yaml_tree *tree, const char *path);
void yaml_tree_clear(struct yaml_tree *tree);

#endif
