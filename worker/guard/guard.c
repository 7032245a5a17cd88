/*
 * hermes-acp-guard CONTROL_FD STATUS_FD -- COMMAND [ARGUMENT ...]
 *
 * Runs one command in a session of its own and stays until everything that the command
 * started is gone. When CONTROL_FD reaches its end or brings a 'K', or on SIGTERM, it ends
 * the whole subtree: TERM, and KILL after half a second. Reports go to STATUS_FD as records
 * of guard_record.h. It must never outlive the one who holds the other end of CONTROL_FD by
 * more than the time that this takes, and never leave a process behind.
 */
#include <config.h>

#include "worker/guard/guard_record.h"
#include "worker/guard/subtree.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define GRACE_MS 500	   /* between TERM and KILL */
#define KILL_AGAIN_MS 20   /* between two rounds of KILL */
#define KILL_SLOW_MS 500   /* the same once quick rounds did not help */
#define KILL_QUICK_MS 2000 /* how long rounds are quick */
#define SETTLE_MS 30	   /* helpers of a command that ended may end with it */
#define LOOK_MS 200	   /* between two looks where ends are not reported */
#define STATUS_NOT_FOUND 127
#define STATUS_NOT_RUN 126

struct guard {
	int control, status;
	pid_t command;
	bool children; /* there are children that were not waited for */
	bool ended;    /* the command was waited for */
	bool reported; /* ... and that was reported */
	int wait_status;
	bool stopping;
	bool killing;
	bool
	    unkillable; /* what lives belongs to another user, or is only a zombie in a group */
	int64_t ended_at, stopped_at, next_kill;
};

/* Set by SIGTERM; a handler has no other way to say so. */
static volatile sig_atomic_t asked_to_stop;

static int64_t
now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void
on_signal(int number)
{
	if (number == SIGTERM)
		asked_to_stop = 1;
}

/* SIGCHLD and SIGTERM stay blocked but while the loop waits, so none is missed. */
static void
set_up_signals(sigset_t *while_waiting)
{
	struct sigaction handled = {.sa_handler = on_signal};
	struct sigaction ignored = {.sa_handler = SIG_IGN};
	sigset_t blocked;

	sigemptyset(&blocked);
	sigaddset(&blocked, SIGCHLD);
	sigaddset(&blocked, SIGTERM);
	sigprocmask(SIG_SETMASK, &blocked, NULL);
	sigemptyset(while_waiting);
	sigaction(SIGCHLD, &handled, NULL);
	sigaction(SIGTERM, &handled, NULL);
	sigaction(SIGINT, &ignored, NULL);
	sigaction(SIGHUP, &ignored, NULL);
	sigaction(SIGPIPE, &ignored, NULL);
	sigaction(SIGUSR1, &ignored, NULL);
	sigaction(SIGUSR2, &ignored, NULL);
}

static void
report(const struct guard *guard, enum guard_record_kind kind, int value, bool leftover)
{
	struct guard_record record = {.kind = kind, .value = value, .leftover = leftover};
	ssize_t n;

	do
		n = write(guard->status, &record, sizeof record);
	while (n == -1 && errno == EINTR);
}

static void
complain(const char *program, int error)
{
	char text[512];
	int length;

	length = snprintf(text, sizeof text, "hermes-acp-guard: cannot run %.300s: %s\n",
	    program, strerror(error));
	if (length > 0 && write(STDERR_FILENO, text, (size_t)length) == -1)
		_exit(STATUS_NOT_RUN);
}

/* The child: signals as a fresh program expects them, a session without a terminal. */
static void
become_command(pid_t guard, char **argv)
{
	struct sigaction fresh = {.sa_handler = SIG_DFL};
	sigset_t none;
	int number, error;

	for (number = 1; number < NSIG; number++)
		sigaction(number, &fresh, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setsid();
	subtree_enter(guard);
	execvp(argv[0], argv);
	error = errno;
	complain(argv[0], error);
	_exit(error == ENOENT ? STATUS_NOT_FOUND : STATUS_NOT_RUN);
}

/* The command's pipes must report their end when the command closes them, not the guard. */
static void
let_go_of_streams(void)
{
	int fd, null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (fd = 0; fd <= 2; fd++)
		if (null == -1 || dup2(null, fd) == -1)
			close(fd);
	if (null > 2)
		close(null);
}

static void
note_end(struct guard *guard, int wait_status)
{
	guard->ended = true;
	guard->wait_status = wait_status;
	guard->ended_at = now_ms();
}

static void
wait_for_children(struct guard *guard)
{
	int wait_status;
	pid_t pid;

	while ((pid = waitpid(-1, &wait_status, WNOHANG)) > 0)
		if (pid == guard->command)
			note_end(guard, wait_status);
	guard->children = pid == 0;
	if (pid == -1 && errno == ECHILD && !guard->ended)
		note_end(guard, SIGKILL); /* cannot be: somebody else waited for it */
}

static void
stop(struct guard *guard)
{
	if (guard->stopping)
		return;
	guard->stopping = true;
	guard->stopped_at = now_ms();
	subtree_signal(guard->command, SIGTERM);
	subtree_signal(guard->command, SIGCONT);
}

static void
kill_round(struct guard *guard, int64_t now)
{
	struct subtree_reach reach;
	bool quick = now < guard->stopped_at + GRACE_MS + KILL_QUICK_MS;

	if (now < guard->stopped_at + GRACE_MS || now < guard->next_kill)
		return;
	reach = subtree_signal(guard->command, SIGKILL);
	guard->killing = true;
	guard->unkillable =
	    !quick && (reach.reached > 0 ? !subtree_reports_ends() : reach.refused > 0);
	guard->next_kill = now + (quick ? KILL_AGAIN_MS : KILL_SLOW_MS);
}

/* Milliseconds until something is to be done without an event; -1 for never. */
static int64_t
time_to_wait(const struct guard *guard, int64_t now)
{
	int64_t least = subtree_reports_ends() || !guard->ended ? -1 : LOOK_MS, until = -1;

	if (guard->stopping)
		until = guard->killing ? guard->next_kill : guard->stopped_at + GRACE_MS;
	else if (guard->ended && !guard->reported)
		until = guard->ended_at + SETTLE_MS;
	if (until == -1)
		return least;
	until = until > now ? until - now : 0;
	return least != -1 && least < until ? least : until;
}

static void
read_control(struct guard *guard)
{
	char bytes[64];
	ssize_t n = read(guard->control, bytes, sizeof bytes);

	if (n == -1 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n <= 0) {
		close(guard->control);
		guard->control = -1;
	}
	if (n <= 0 || memchr(bytes, GUARD_STOP, (size_t)n) != NULL)
		stop(guard);
}

static void
wait_for_event(struct guard *guard, const sigset_t *while_waiting)
{
	int64_t wait = time_to_wait(guard, now_ms());
	struct timespec limit = {.tv_sec = wait / 1000, .tv_nsec = wait % 1000 * 1000000};
	fd_set readable;
	int ready;

	FD_ZERO(&readable);
	if (guard->control != -1)
		FD_SET(guard->control, &readable);
	ready = pselect(guard->control + 1, &readable, NULL, NULL, wait == -1 ? NULL : &limit,
	    while_waiting);
	if (ready > 0)
		read_control(guard);
	if (asked_to_stop)
		stop(guard);
}

/* Reports the end of the command once its helpers had the time to end with it. */
static void
report_end(struct guard *guard, bool alive, int64_t now)
{
	if (!guard->ended || guard->reported)
		return;
	if (alive && !guard->stopping && now < guard->ended_at + SETTLE_MS)
		return;
	report(guard, GUARD_RECORD_ENDED, guard->wait_status, alive);
	guard->reported = true;
}

static void
watch(struct guard *guard, const sigset_t *while_waiting)
{
	bool alive;

	for (;;) {
		wait_for_children(guard);
		alive = subtree_alive(guard->command, guard->children);
		report_end(guard, alive, now_ms());
		if ((guard->ended && !alive) || guard->unkillable)
			break;
		if (guard->stopping)
			kill_round(guard, now_ms());
		wait_for_event(guard, while_waiting);
	}
	report(guard, GUARD_RECORD_GONE, 0, alive);
}

static int
descriptor(const char *text)
{
	char *end;
	long number = strtol(text, &end, 10);

	if (*text == '\0' || *end != '\0' || number < 3 || number >= FD_SETSIZE ||
	    fcntl((int)number, F_SETFD, FD_CLOEXEC) == -1)
		return -1;
	return (int)number;
}

int
main(int argc, char **argv)
{
	struct guard guard = {.control = -1, .status = -1, .children = true};
	pid_t self = getpid();
	sigset_t while_waiting;

	if (argc >= 5 && strcmp(argv[3], "--") == 0) {
		guard.control = descriptor(argv[1]);
		guard.status = descriptor(argv[2]);
	}
	if (guard.control == -1 || guard.status == -1) {
		fputs(
		    "usage: hermes-acp-guard control-fd status-fd -- command [argument ...]\n",
		    stderr);
		return 64; /* EX_USAGE of sysexits.h */
	}
	subtree_close_others(guard.control, guard.status);
	setsid();
	set_up_signals(&while_waiting);
	subtree_prepare();
	guard.command = fork();
	if (guard.command == -1) {
		complain(argv[4], errno);
		return 71; /* EX_OSERR */
	}
	if (guard.command == 0)
		become_command(self, argv + 4);
	subtree_seal();
	let_go_of_streams();
	report(&guard, GUARD_RECORD_STARTED, (int)guard.command, false);
	watch(&guard, &while_waiting);
	return 0;
}
