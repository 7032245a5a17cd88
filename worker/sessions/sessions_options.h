/*
 * The command line of `hermes-acp sessions`.
 */
#ifndef HERMES_WORKER_SESSIONS_SESSIONS_OPTIONS_H
#define HERMES_WORKER_SESSIONS_SESSIONS_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sessions_format { SESSIONS_MARKDOWN, SESSIONS_JSONL };

struct sessions_options {
	char *cwd;	    /* absolute; NULL = every folder */
	const char *output; /* file to write to; NULL = standard output */
	enum sessions_format format;
	int64_t limit;	    /* 0 = none */
	int64_t older_than; /* seconds; 0 = not given */
	bool all_sources, json, yes, dry_run, force, help;
	char **ids; /* what is left of the command line; borrowed */
	size_t id_count;
};

/* Letters of the options, by which a command says which of them it knows. */
#define SESSIONS_OPTION_ALL 'a'
#define SESSIONS_OPTION_CWD 'c'
#define SESSIONS_OPTION_DRY_RUN 'd'
#define SESSIONS_OPTION_FORCE 'f'
#define SESSIONS_OPTION_FORMAT 'F'
#define SESSIONS_OPTION_HELP 'h'
#define SESSIONS_OPTION_JSON 'j'
#define SESSIONS_OPTION_LIMIT 'l'
#define SESSIONS_OPTION_OUTPUT 'o'
#define SESSIONS_OPTION_OLDER_THAN 't'
#define SESSIONS_OPTION_YES 'y'

/* Reads the options of the command argv[0]; `known` has the letters of those that it has. 0, or
 * -1 after the reason was written to standard error. Clear it in both cases. */
int sessions_options_read(
    struct sessions_options *options, int argc, char **argv, const char *known);
void sessions_options_clear(struct sessions_options *options);

#endif
