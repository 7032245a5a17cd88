/*
 * One search, carried out by whatever programs there are, with the same answers from each.
 */
#ifndef HERMES_WORKER_TOOLS_SEARCH_PROGRAM_H
#define HERMES_WORKER_TOOLS_SEARCH_PROGRAM_H

#include "worker/tools/search_collect.h"
#include "worker/tools/search_command.h"

#include <stdbool.h>

struct event;
struct ignore_rules;
struct subprocess;
struct tool_context;

#define SEARCH_TIME_MS 60000 /* as in Hermes */

struct search_program {
	/* Wanted; the strings of the query are borrowed. */
	const struct tool_context *context;
	struct search_query query;
	bool is_file; /* the root is a file */
	struct search_collect collect;
	int64_t time_ms; /* 0 = SEARCH_TIME_MS */
	/* Found when done() is called. */
	struct buffer error;	  /* why there is no answer; "" when there is one */
	const char *limit_reason; /* why it ended early */
	bool unread;		  /* some files could not be read */
	/* Private. */
	char *ripgrep;
	struct subprocess *process;
	struct search_output output;
	struct ignore_rules *ignore;
	struct buffer files; /* find's answer for grep */
	size_t file_count;
	bool listing, extended;
	int status;
	struct event *timer, *next;
	void (*done)(void *arg);
	void *arg;
};

/* done() is called once, from the event loop. */
void search_program_start(struct search_program *program, void (*done)(void *arg), void *arg);
/* Ends it without done() and frees everything. */
void search_program_clear(struct search_program *program);

#endif
