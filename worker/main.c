/*
 * hermes-acp-worker: serves a supervisor on descriptor 3, or runs the set-up dialogue, the
 * check or a command on stored sessions in a terminal.
 */
#include <config.h>

#include "worker/worker.h"
#include "worker/check_online.h"
#include "worker/config/check.h"
#include "worker/config/setup.h"
#include "worker/program_path.h"
#include "worker/sessions/sessions_command.h"
#include "common/exit_cause.h"
#include "common/platform.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Workers go before the supervisor when memory is out, their commands before them. */
#define WORKER_OOM_SCORE 200

static int
run_check(int argc, char **argv)
{
	struct check_options options = {0};
	char *worker = program_path("HERMES_ACP_WORKER", "hermes-acp-worker");
	char *guard = program_path("HERMES_ACP_GUARD", "hermes-acp-guard");
	int status;

	options.worker = worker;
	options.guard = guard;
	if (argc > 2)
		options.rehearsal = argc > 3 ? argv[3] : "";
	status = check_run(stdout, &options);
	if (strcmp(argv[1], "--check-online") == 0 && options.rehearsal == NULL &&
	    check_online(stdout) != 0)
		status = 1;
	free(worker);
	free(guard);
	return status;
}

static int
serve(enum worker_role role, char **argv)
{
	if (fcntl(3, F_GETFD) == -1) {
		fprintf(stderr, "hermes-acp-worker: started by hermes-acp, not by hand\n");
		return EXIT_USAGE;
	}
	platform_harden();
	platform_oom_score(WORKER_OOM_SCORE);
	signal(SIGUSR1, SIG_IGN);
	if (!platform_die_with_parent((pid_t)atol(argv[2]), SIGALRM))
		return EXIT_DONE;
	return worker_run(role, (uint32_t)strtoul(argv[3], NULL, 10));
}

int
main(int argc, char **argv)
{
	if (argc == 4 && strcmp(argv[1], "--session") == 0)
		return serve(WORKER_SESSION, argv);
	if (argc == 4 && strcmp(argv[1], "--catalogue") == 0)
		return serve(WORKER_CATALOGUE, argv);
	if (argc >= 2 &&
	    (strcmp(argv[1], "--check") == 0 || strcmp(argv[1], "--check-online") == 0))
		return run_check(argc, argv);
	if (argc == 2 && strcmp(argv[1], "--setup") == 0)
		return setup_run(stdin, stdout);
	if (argc >= 2 && strcmp(argv[1], "--sessions") == 0)
		return sessions_command(argc - 2, argv + 2);
	fprintf(stderr, "hermes-acp-worker: started by hermes-acp, not by hand\n");
	return EXIT_USAGE;
}
