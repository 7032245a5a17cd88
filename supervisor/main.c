/*
 * hermes-acp: options, descriptors, log, then the supervisor. Everything that is not serving
 * (--version, --check, --setup, sessions) happens before a byte of protocol or log.
 */
#include <config.h>

#include "supervisor/supervisor.h"
#include "supervisor/log_file.h"
#include "supervisor/worker_path.h"
#include "common/exit_cause.h"
#include "common/fd.h"
#include "common/platform.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum mode { MODE_SERVE, MODE_CHECK, MODE_CHECK_ONLINE, MODE_SETUP };

static const struct option long_options[] = {
    {"version", no_argument, NULL, 'V'},
    {"help", no_argument, NULL, 'h'},
    {"check", optional_argument, NULL, 'c'},
    {"setup", no_argument, NULL, 's'},
    {"rehearsal", optional_argument, NULL, 'r'},
    {"allow-faults", no_argument, NULL, 'f'},
    {"verbose", no_argument, NULL, 'v'},
    {NULL, 0, NULL, 0},
};

static void
usage(FILE *out)
{
	fprintf(out,
	    "usage: hermes-acp [-v] [--rehearsal[=FILE] [--allow-faults]]\n"
	    "       hermes-acp --check[=online] | --setup | --version | --help\n"
	    "       hermes-acp sessions list | show | export | delete | prune ...\n"
	    "\n"
	    "An agent that speaks the Agent Client Protocol on standard input and output;\n"
	    "editors start it. To talk to it from a terminal use acp-chat.\n"
	    "\n"
	    "  --rehearsal[=FILE]  play a script in place of a language model\n"
	    "  --allow-faults      let the script play crashes (for tests)\n"
	    "  --check[=online]    tell what is wrong with the set-up, exit 0 or 1;\n"
	    "                      online: ask the model's server as well\n"
	    "  --setup             ask for provider, key and model\n"
	    "  -v, --verbose       more on standard error; twice for debugging\n"
	    "  sessions ...        what is stored of earlier sessions; sessions --help\n");
}

/* Runs the worker binary in this process for what needs its libraries. */
static int
run_worker(const char *worker, const char *mode, const struct supervisor_options *options)
{
	char *argv[8];
	int n = 0;

	argv[n++] = (char *)(uintptr_t)worker;
	argv[n++] = (char *)(uintptr_t)mode;
	if (options->rehearsal)
		argv[n++] = (char *)(uintptr_t) "--rehearsal";
	if (options->script != NULL)
		argv[n++] = (char *)(uintptr_t)options->script;
	argv[n] = NULL;
	execv(worker, argv);
	printf("problem  worker: %s cannot be run: %s\n", worker, strerror(errno));
	return EXIT_PROBLEM;
}

/* The same with the arguments that stand behind "sessions". */
static int
run_sessions(char **argv)
{
	char worker[PATH_MAX];

	worker_path(worker, sizeof worker);
	argv[0] = worker;
	argv[1] = (char *)(uintptr_t) "--sessions";
	execv(worker, argv);
	fprintf(stderr, "hermes-acp: %s cannot be run: %s\n", worker, strerror(errno));
	return EXIT_UNAVAILABLE;
}

/* Takes the protocol's descriptors away from 0 and 1, so that no library and no child can
 * reach them. */
static int
move_descriptors(int *in, int *out)
{
	if (fcntl(STDERR_FILENO, F_GETFD) == -1 &&
	    fd_point_at_null(STDERR_FILENO, O_WRONLY) == -1)
		return -1;
	*in = fd_move(STDIN_FILENO, 10);
	*out = fd_move(STDOUT_FILENO, 10);
	if (*in == -1 || *out == -1)
		return -1;
	if (fd_point_at_null(STDIN_FILENO, O_RDONLY) == -1 ||
	    fd_point_at_null(STDOUT_FILENO, O_WRONLY) == -1)
		return -1;
	return 0;
}

static int
serve(const struct supervisor_options *options)
{
	struct log_file *log;
	int in, out, status;

	if (access(options->worker, X_OK) == -1) {
		fprintf(stderr, "hermes-acp: %s: %s\n", options->worker, strerror(errno));
		return EXIT_UNAVAILABLE;
	}
	if (move_descriptors(&in, &out) == -1) {
		fprintf(stderr, "hermes-acp: standard input and output are needed: %s\n",
		    strerror(errno));
		return EXIT_SYSTEM;
	}
	platform_harden();
	log = log_file_open(options->verbosity);
	status = supervisor_run(options, in, out);
	log_file_close(log);
	return status;
}

int
main(int argc, char **argv)
{
	struct supervisor_options options = {0};
	char worker[PATH_MAX];
	enum mode mode = MODE_SERVE;
	int option;

	if (argc > 1 && strcmp(argv[1], "sessions") == 0)
		return run_sessions(argv);
	while ((option = getopt_long(argc, argv, "hVv", long_options, NULL)) != -1) {
		switch (option) {
		case 'V':
			printf("%s\n", PACKAGE_VERSION);
			return EXIT_DONE;
		case 'h':
			usage(stdout);
			return EXIT_DONE;
		case 'c':
			if (optarg != NULL && strcmp(optarg, "online") != 0) {
				fprintf(
				    stderr, "hermes-acp: --check=%s: only online\n", optarg);
				return EXIT_USAGE;
			}
			mode = optarg != NULL ? MODE_CHECK_ONLINE : MODE_CHECK;
			break;
		case 's':
			mode = MODE_SETUP;
			break;
		case 'r':
			options.rehearsal = true;
			options.script = optarg;
			break;
		case 'f':
			options.faults = true;
			break;
		case 'v':
			options.verbosity++;
			break;
		default:
			usage(stderr);
			return EXIT_USAGE;
		}
	}
	if (optind < argc) {
		fprintf(stderr, "hermes-acp: unexpected argument: %s\n", argv[optind]);
		usage(stderr);
		return EXIT_USAGE;
	}
	worker_path(worker, sizeof worker);
	options.worker = worker;
	if (mode == MODE_CHECK)
		return run_worker(worker, "--check", &options);
	if (mode == MODE_CHECK_ONLINE)
		return run_worker(worker, "--check-online", &options);
	if (mode == MODE_SETUP)
		return run_worker(worker, "--setup", &options);
	return serve(&options);
}
