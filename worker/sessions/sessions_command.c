/*
 * The commands of `hermes-acp sessions`. They run beside everything else that uses the database
 * and talk to no other process.
 */
#include <config.h>

#include "worker/sessions/sessions_command.h"
#include "worker/sessions/sessions_output.h"
#include "worker/sessions/sessions_verbs.h"
#include "common/exit_cause.h"

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const struct verb {
	const char *name, *known; /* letters of sessions_options.h */
	size_t least, most;	  /* ids */
	int (*run)(struct sessions_database *, const struct sessions_options *);
	const char *usage;
} verbs[] = {
    {"list", "aclhj", 0, 0, sessions_list,
	"list [--cwd DIR] [--limit N] [--all-sources] [--json]"},
    {"show", "ahj", 1, 1, sessions_show, "show ID [--all-sources] [--json]"},
    {"export", "aFfho", 1, 1, sessions_export,
	"export ID [--format markdown|jsonl] [-o FILE [--force]] [--all-sources]"},
    {"delete", "ahy", 1, SIZE_MAX, sessions_delete, "delete ID... [--yes] [--all-sources]"},
    {"prune", "acdhty", 0, 0, sessions_prune,
	"prune --older-than AGE [--cwd DIR] [--dry-run] [--yes] [--all-sources]"},
};

#define VERBS (sizeof verbs / sizeof verbs[0])

static void
usage(FILE *out)
{
	size_t i;

	for (i = 0; i < VERBS; i++)
		fprintf(out, "%s hermes-acp sessions %s\n", i == 0 ? "usage:" : "      ",
		    verbs[i].usage);
	fprintf(out,
	    "\nID is the id of a session or at least the first 8 characters of it, AGE\n"
	    "hours, days or weeks: 12h, 90d, 26w.\n");
}

static int
refuse(const struct verb *verb)
{
	fprintf(stderr, "usage: hermes-acp sessions %s\n", verb->usage);
	return EXIT_USAGE;
}

static int
run(const struct verb *verb, const struct sessions_options *options)
{
	struct sessions_database *database = sessions_database_new();
	int status = EXIT_SYSTEM;

	if (database != NULL) {
		status = verb->run(database, options);
		sessions_database_free(database);
	}
	if (fflush(stdout) == EOF && status == EXIT_DONE)
		status = EXIT_PROBLEM;
	return status;
}

/* Whether the command line says all that the command needs and no more. */
static bool
is_complete(const struct verb *verb, const struct sessions_options *options)
{
	if (options->id_count < verb->least)
		sessions_output_complain("sessions %s: which session?", verb->name);
	else if (options->id_count > verb->most)
		sessions_output_complain("sessions %s: unexpected argument: %s", verb->name,
		    options->ids[verb->most]);
	else if (strchr(verb->known, SESSIONS_OPTION_OLDER_THAN) != NULL &&
		 options->older_than == 0)
		sessions_output_complain("sessions %s: --older-than is needed", verb->name);
	else
		return true;
	return false;
}

static int
read_and_run(const struct verb *verb, int argc, char **argv)
{
	struct sessions_options options = {0};
	int status;

	if (sessions_options_read(&options, argc, argv, verb->known) == -1) {
		status = refuse(verb);
	} else if (options.help) {
		usage(stdout);
		status = EXIT_DONE;
	} else if (!is_complete(verb, &options)) {
		status = refuse(verb);
	} else {
		status = run(verb, &options);
	}
	sessions_options_clear(&options);
	return status;
}

int
sessions_command(int argc, char **argv)
{
	size_t i;

	signal(SIGPIPE, SIG_IGN); /* a reader that has enough is no error */
	sessions_output_catch_log();
	if (argc > 0 && (strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0)) {
		usage(stdout);
		return EXIT_DONE;
	}
	for (i = 0; argc > 0 && i < VERBS; i++)
		if (strcmp(verbs[i].name, argv[0]) == 0)
			return read_and_run(&verbs[i], argc, argv);
	if (argc > 0)
		sessions_output_complain("sessions: there is no command %s", argv[0]);
	usage(stderr);
	return EXIT_USAGE;
}
