/*
 * The text of a V4A patch as a list of operations. Pure text handling.
 */
#ifndef HERMES_WORKER_TOOLS_PATCH_V4A_PARSE_H
#define HERMES_WORKER_TOOLS_PATCH_V4A_PARSE_H

#include "common/buffer.h"

#include <stdbool.h>
#include <stddef.h>

enum patch_kind { PATCH_UPDATE, PATCH_ADD, PATCH_DELETE, PATCH_MOVE };

struct patch_hunk {
	char *hint;	   /* NULL = none */
	char *first;	   /* its first line, for errors */
	struct buffer old; /* context and removed lines, each with a line feed */
	struct buffer new; /* context and added lines likewise */
	size_t removed, added, kept;
};

struct patch_operation {
	enum patch_kind kind;
	char *path;
	char *to; /* PATCH_MOVE */
	struct patch_hunk *hunks;
	size_t hunk_count;
	struct buffer content; /* PATCH_ADD */
};

struct patch_operations {
	struct patch_operation *items;
	size_t count;
};

/* 0; or -1 with one line per fault appended to `faults` ("\n- …"). Free it in both cases. */
int
patch_v4a_parse(const char *patch, struct patch_operations *operations, struct buffer *faults);
void patch_operations_free(struct patch_operations *operations);

#endif
