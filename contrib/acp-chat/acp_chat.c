/*
 * acp-chat: a terminal client for agents that speak the Agent Client Protocol. This file
 * only understands the command line.
 */
#include <config.h>

#include "contrib/acp-chat/chat.h"

#include "common/alloc.h"
#include "common/exit_cause.h"
#include "common/platform.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEFAULT_AGENT "hermes-acp"

enum { OPTION_AUTH = 256 };

static const struct option long_options[] = {
    {"directory", required_argument, NULL, 'C'},
    {"prompt", required_argument, NULL, 'p'},
    {"yes", no_argument, NULL, 'y'},
    {"no", no_argument, NULL, 'n'},
    {"auth", required_argument, NULL, OPTION_AUTH},
    {"verbose", no_argument, NULL, 'v'},
    {"version", no_argument, NULL, 'V'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static const char usage_text[] =
    "usage: acp-chat [-v] [-C dir] [--yes | --no] [-p text] [--auth method] [--] [agent ...]\n";

static int
usage(const char *problem, const char *value)
{
	if (problem != NULL)
		fprintf(stderr, "acp-chat: %s%s\n", problem, value);
	fputs(usage_text, stderr);
	return EXIT_USAGE;
}

/* The agent beside this program when there is one, as in a build folder. */
static char *
default_agent(void)
{
	char path[PATH_MAX], *slash, *agent;

	if (platform_executable(path, sizeof path) == 0 &&
	    (slash = strrchr(path, '/')) != NULL) {
		*slash = '\0';
		agent = xasprintf("%s/%s", path, DEFAULT_AGENT);
		if (access(agent, X_OK) == 0)
			return agent;
		free(agent);
	}
	return xstrdup(DEFAULT_AGENT);
}

/* The agent's command; arguments that begin with a dash are for the default agent. */
static char **
agent_command(int count, char **words)
{
	char **command = xcalloc((size_t)count + 2, sizeof *command);
	int at = 0;

	if (count == 0 || words[0][0] == '-')
		command[at++] = default_agent();
	for (int i = 0; i < count; i++)
		command[at++] = xstrdup(words[i]);
	return command;
}

static int
find_folder(const char *name, char *folder)
{
	struct stat status;

	if (realpath(name, folder) == NULL || stat(folder, &status) == -1) {
		fprintf(stderr, "acp-chat: %s: %s\n", name, strerror(errno));
		return -1;
	}
	if (!S_ISDIR(status.st_mode)) {
		fprintf(stderr, "acp-chat: %s: %s\n", name, strerror(ENOTDIR));
		return -1;
	}
	return 0;
}

/* -1 = go on, else the exit status. */
static int
read_options(int argc, char **argv, struct chat_options *options, const char **folder)
{
	int option;

	while ((option = getopt_long(argc, argv, "+C:p:ynvVh", long_options, NULL)) != -1) {
		switch (option) {
		case 'C':
			*folder = optarg;
			break;
		case 'p':
			options->prompt = optarg;
			break;
		case 'y':
		case 'n':
			if (options->policy != ASK_USER)
				return usage("--yes and --no", " exclude each other");
			options->policy = option == 'y' ? ASK_YES : ASK_NO;
			break;
		case OPTION_AUTH:
			options->auth = optarg;
			break;
		case 'v':
			options->verbose = true;
			break;
		case 'V':
			puts("acp-chat " PACKAGE_VERSION);
			return EXIT_DONE;
		case 'h':
			fputs(usage_text, stdout);
			return EXIT_DONE;
		default:
			return usage(NULL, NULL);
		}
	}
	if (options->prompt != NULL && *options->prompt == '\0')
		return usage("the prompt is empty", "");
	return -1;
}

int
main(int argc, char **argv)
{
	struct chat_options options = {.policy = ASK_USER};
	const char *folder_name = ".";
	char folder[PATH_MAX], **command;
	int status;

	status = read_options(argc, argv, &options, &folder_name);
	if (status != -1)
		return status;
	if (find_folder(folder_name, folder) == -1)
		return EXIT_USAGE;
	command = agent_command(argc - optind, argv + optind);
	options.command = command;
	options.folder = folder;
	status = chat_run(&options);
	for (size_t i = 0; command[i] != NULL; i++)
		free(command[i]);
	free(command);
	return status;
}
