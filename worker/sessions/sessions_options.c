/*
 * Options of `hermes-acp sessions`. It looks at the command line and at nothing else.
 */
#include <config.h>

#include "worker/sessions/sessions_options.h"
#include "worker/sessions/sessions_output.h"
#include "common/alloc.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* An age above a century is a slip of the fingers. */
#define AGE_MAX (INT64_C(100) * 366 * 86400)

static const struct option long_options[] = {
    {"all-sources", no_argument, NULL, SESSIONS_OPTION_ALL},
    {"cwd", required_argument, NULL, SESSIONS_OPTION_CWD},
    {"dry-run", no_argument, NULL, SESSIONS_OPTION_DRY_RUN},
    {"force", no_argument, NULL, SESSIONS_OPTION_FORCE},
    {"format", required_argument, NULL, SESSIONS_OPTION_FORMAT},
    {"help", no_argument, NULL, SESSIONS_OPTION_HELP},
    {"json", no_argument, NULL, SESSIONS_OPTION_JSON},
    {"limit", required_argument, NULL, SESSIONS_OPTION_LIMIT},
    {"output", required_argument, NULL, SESSIONS_OPTION_OUTPUT},
    {"older-than", required_argument, NULL, SESSIONS_OPTION_OLDER_THAN},
    {"yes", no_argument, NULL, SESSIONS_OPTION_YES},
    {NULL, 0, NULL, 0},
};

static const char *
name_of(int letter)
{
	const struct option *option;

	for (option = long_options; option->name != NULL; option++)
		if (option->val == letter)
			return option->name;
	return "";
}

/* A whole number above 0 at the beginning of the text; `*rest` is what follows. */
static bool
read_number(const char *text, int64_t *value, const char **rest)
{
	char *end;

	if (text[0] < '0' || text[0] > '9')
		return false;
	errno = 0;
	*value = strtoll(text, &end, 10);
	*rest = end;
	return errno == 0 && *value > 0;
}

static int
take_limit(struct sessions_options *options, const char *text)
{
	const char *rest;

	if (read_number(text, &options->limit, &rest) && *rest == '\0')
		return 0;
	sessions_output_complain("--limit: a whole number above 0 is needed, not \"%s\"", text);
	return -1;
}

static int
take_age(struct sessions_options *options, const char *text)
{
	static const struct {
		const char *unit;
		int64_t seconds;
	} units[] = {{"h", 3600}, {"d", 86400}, {"w", 604800}};
	int64_t number;
	const char *rest;
	size_t i;

	if (read_number(text, &number, &rest))
		for (i = 0; i < sizeof units / sizeof units[0]; i++)
			if (strcmp(rest, units[i].unit) == 0 &&
			    number <= AGE_MAX / units[i].seconds) {
				options->older_than = number * units[i].seconds;
				return 0;
			}
	sessions_output_complain(
	    "--older-than: hours, days or weeks are needed, such as 12h, 90d or 26w, not "
	    "\"%s\"",
	    text);
	return -1;
}

static int
take_format(struct sessions_options *options, const char *text)
{
	if (strcmp(text, "markdown") == 0)
		options->format = SESSIONS_MARKDOWN;
	else if (strcmp(text, "jsonl") == 0)
		options->format = SESSIONS_JSONL;
	else {
		sessions_output_complain(
		    "--format: it is \"markdown\" or \"jsonl\", not \"%s\"", text);
		return -1;
	}
	return 0;
}

static int
take_folder(struct sessions_options *options, const char *text)
{
	char *here;

	free(options->cwd);
	if (text[0] == '/') {
		options->cwd = xstrdup(text);
		return 0;
	}
	options->cwd = NULL;
	here = text[0] != '\0' ? getcwd(NULL, 0) : NULL;
	if (here == NULL) {
		sessions_output_complain("--cwd: \"%s\" is not a folder", text);
		return -1;
	}
	options->cwd = xasprintf("%s/%s", here, text);
	free(here);
	return 0;
}

static int
take(struct sessions_options *options, int letter, const char *value)
{
	switch (letter) {
	case SESSIONS_OPTION_ALL:
		options->all_sources = true;
		return 0;
	case SESSIONS_OPTION_CWD:
		return take_folder(options, value);
	case SESSIONS_OPTION_DRY_RUN:
		options->dry_run = true;
		return 0;
	case SESSIONS_OPTION_FORCE:
		options->force = true;
		return 0;
	case SESSIONS_OPTION_FORMAT:
		return take_format(options, value);
	case SESSIONS_OPTION_HELP:
		options->help = true;
		return 0;
	case SESSIONS_OPTION_JSON:
		options->json = true;
		return 0;
	case SESSIONS_OPTION_LIMIT:
		return take_limit(options, value);
	case SESSIONS_OPTION_OUTPUT:
		options->output = value;
		return 0;
	case SESSIONS_OPTION_OLDER_THAN:
		return take_age(options, value);
	case SESSIONS_OPTION_YES:
		options->yes = true;
		return 0;
	default:
		return -1;
	}
}

int
sessions_options_read(
    struct sessions_options *options, int argc, char **argv, const char *known)
{
	const char *command = argv[0];
	char *program = xasprintf("hermes-acp sessions %s", command);
	int letter, result = 0;

	argv[0] = program; /* getopt names it in what it writes */
	while (result == 0 &&
	       (letter = getopt_long(argc, argv, "ho:", long_options, NULL)) != -1) {
		if (letter != '?' && strchr(known, letter) == NULL) {
			sessions_output_complain(
			    "sessions %s has no option --%s", command, name_of(letter));
			result = -1;
		} else {
			result = take(options, letter, optarg);
		}
	}
	argv[0] = (char *)(uintptr_t)command;
	free(program);
	options->ids = argv + optind;
	options->id_count = (size_t)(argc - optind);
	return result;
}

void
sessions_options_clear(struct sessions_options *options)
{
	free(options->cwd);
	memset(options, 0, sizeof *options);
}
