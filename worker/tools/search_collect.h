/*
 * The hits of a search: the first ones in their final order, whatever order they come in, and
 * numbers of all. Memory depends on what was asked for, not on what there is.
 */
#ifndef HERMES_WORKER_TOOLS_SEARCH_COLLECT_H
#define HERMES_WORKER_TOOLS_SEARCH_COLLECT_H

#include "worker/tools/glob_match.h"
#include "worker/tools/path_rules.h"
#include "worker/tools/search_output.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_object;

#define SEARCH_CONTEXT_MAX 20

struct search_hit {
	char *path;
	int64_t number;	  /* line or count */
	int64_t modified; /* ns, files by time only */
	char *text;
	struct json_object *before; /* context lines, arrays of strings; NULL when none */
	struct json_object *after;
};

struct search_line {
	int64_t number;
	char *text;
};

struct search_collect {
	/* Wanted. */
	const struct path_places *places;
	const char *root;	 /* absolute; globs are relative to it */
	const struct glob *glob; /* NULL = all files */
	unsigned left_out;	 /* PATH_* of files that are left out */
	bool by_time;		 /* newest first, else by path and line */
	bool whole_files;	 /* hits are files or counts, not lines */
	size_t keep;		 /* how many hits are needed */
	int64_t per_file_max;	 /* the program stops after so many in one file; 0 = never */
	int64_t context;	 /* lines before and after */
	/* Found. */
	struct search_hit *hits; /* in order after search_collect_end() */
	size_t count;
	int64_t total;	 /* hits in all, or the sum of counts */
	int64_t files;	 /* files with hits */
	int64_t omitted; /* files that were left out */
	bool at_least;	 /* `total` is a lower bound */
	/* Private. */
	size_t capacity;
	char *path;
	bool accepted;
	bool counted; /* this file's hits come too late to be kept */
	bool full;    /* hits[keep - 1] is a bar for what comes by path */
	int64_t in_file;
	size_t open; /* hits of this file that still take context: the last ones */
	struct search_line recent[SEARCH_CONTEXT_MAX];
	size_t recent_count;
};

/* For search_output.record, with the struct as its argument. */
void search_collect_record(const struct search_record *record, void *collect);
/* False when the file's hits are at most counted. */
bool search_collect_wants(struct search_collect *collect, const char *path);
/* True when the file is among those that are searched. */
bool search_collect_accepts(const struct search_collect *collect, const char *path);
void search_collect_end(struct search_collect *collect);
void search_collect_clear(struct search_collect *collect);

#endif
