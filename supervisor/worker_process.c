/*
 * Worker processes. Nothing that a worker sends or does may end the supervisor, and no
 * signal may go to a process that was reaped.
 */
#include <config.h>

#include "supervisor/worker_process.h"
#include "supervisor/worker_output.h"
#include "common/channel.h"
#include "common/child_setup.h"
#include "common/fd.h"
#include "common/log.h"
#include "common/monotonic.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

struct worker_process {
	LIST_ENTRY(worker_process) entry;
	struct worker_list *list;
	struct worker_callbacks callbacks;
	void *arg;
	struct channel *channel;
	struct worker_output *output;
	struct event *term_timer, *kill_timer, *over;
	pid_t pid;
	uint32_t generation;
	uint64_t seen; /* rows of messages that come once and have come */
	int status;
	enum stop_cause cause;
	bool ended, reaped, farewell, refused;
	char reason[160];
};

struct worker_list {
	LIST_HEAD(, worker_process) workers;
	struct event_base *base;
	struct event *sigchld;
	char *path;
	uint32_t last_generation;
	void (*one_gone)(void *arg);
	void *arg;
	bool paused;
};

static void
kill_worker(struct worker_process *worker, int number)
{
	if (!worker->reaped)
		kill(worker->pid, number);
}

static void
worker_free(struct worker_process *worker)
{
	LIST_REMOVE(worker, entry);
	channel_free(worker->channel);
	worker_output_free(worker->output);
	if (worker->term_timer != NULL)
		event_free(worker->term_timer);
	if (worker->kill_timer != NULL)
		event_free(worker->kill_timer);
	if (worker->over != NULL)
		event_free(worker->over);
	free(worker);
}

/* Both the end of the socket and the exit status are in: judge. Runs from the loop, never
 * from within a callback of the channel. */
static void
on_over(int fd, short events, void *arg)
{
	struct worker_process *worker = arg;
	struct worker_list *list = worker->list;
	char text[256];

	(void)fd;
	(void)events;
	worker_output_drain(worker->output);
	exit_cause_describe(worker->status, worker->cause, text, sizeof text);
	if (worker->reason[0] != '\0')
		snprintf(
		    text + strlen(text), sizeof text - strlen(text), ": %s", worker->reason);
	if (worker->cause == STOP_NONE && !worker->farewell)
		log_warning("worker", "worker %ld %s", (long)worker->pid, text);
	else
		log_debug("worker", "worker %ld %s", (long)worker->pid, text);
	worker->callbacks.gone(worker, text, worker->arg);
	worker_free(worker);
	list->one_gone(list->arg);
}

static void
check_over(struct worker_process *worker)
{
	if (worker->ended && worker->reaped)
		event_active(worker->over, EV_TIMEOUT, 0);
}

/* False when a message that is legal once in a worker's life comes a second time. */
static bool
take_once(struct worker_process *worker, unsigned type)
{
	size_t count, index;
	const struct message_row *rows = message_rows(&count), *row = message_row(type);

	index = (size_t)(row - rows);
	if (!row->once)
		return true;
	if (worker->seen >> index & 1)
		return false;
	worker->seen |= (uint64_t)1 << index;
	return true;
}

static int
on_message(const struct frame_header *header, const void *payload, size_t length, void *arg)
{
	struct worker_process *worker = arg;

	if (worker->refused)
		return 0;
	if (header->generation != worker->generation) {
		worker_violation(worker, "wrong generation");
		return 0;
	}
	if (!take_once(worker, header->type)) {
		worker_violation(worker, "a message that comes once came again");
		return 0;
	}
	if (header->type == TO_SUPERVISOR_FAREWELL)
		worker->farewell = true;
	else
		worker->callbacks.message(worker, header, payload, length, worker->arg);
	return 0;
}

static void
on_ended(enum channel_end end, const char *reason, void *arg)
{
	struct worker_process *worker = arg;

	worker->ended = true;
	if (end == CHANNEL_VIOLATION)
		worker_violation(worker, reason);
	else if (!worker->reaped)
		/* Without its socket it is of no use; it should be ending by itself. */
		worker_stop(worker, worker->cause, WORKER_SHUTDOWN_KILL_MS / 2,
		    WORKER_SHUTDOWN_KILL_MS);
	check_over(worker);
}

static const struct channel_callbacks channel_callbacks = {
    .message = on_message,
    .ended = on_ended,
};

static void
on_term(int fd, short events, void *arg)
{
	(void)fd;
	(void)events;
	kill_worker(arg, SIGTERM);
}

static void
on_kill(int fd, short events, void *arg)
{
	struct worker_process *worker = arg;

	(void)fd;
	(void)events;
	kill_worker(worker, SIGKILL);
	kill_worker(worker, SIGCONT);
}

static void
reaped(struct worker_process *worker, int status)
{
	worker->reaped = true;
	worker->status = status;
	/* The last words may still be in the socket, and reading may be paused. */
	if (!worker->ended) {
		channel_pause(worker->channel, false);
		channel_drain(worker->channel);
		worker->ended = true; /* a dead process says no more */
	}
	check_over(worker);
}

static void
on_sigchld(int number, short events, void *arg)
{
	struct worker_list *list = arg;
	struct worker_process *worker, *next;
	int status;

	(void)number;
	(void)events;
	for (worker = LIST_FIRST(&list->workers); worker != NULL; worker = next) {
		next = LIST_NEXT(worker, entry);
		if (!worker->reaped && waitpid(worker->pid, &status, WNOHANG) == worker->pid)
			reaped(worker, status);
	}
}

struct worker_list *
worker_list_new(
    struct event_base *base, const char *path, void (*one_gone)(void *arg), void *arg)
{
	struct worker_list *list = calloc(1, sizeof *list);

	if (list == NULL)
		return NULL;
	LIST_INIT(&list->workers);
	list->base = base;
	list->one_gone = one_gone;
	list->arg = arg;
	list->path = strdup(path);
	list->sigchld = evsignal_new(base, SIGCHLD, on_sigchld, list);
	if (list->path == NULL || list->sigchld == NULL ||
	    event_add(list->sigchld, NULL) == -1) {
		worker_list_free(list);
		return NULL;
	}
	return list;
}

void
worker_list_free(struct worker_list *list)
{
	struct worker_process *worker;

	if (list == NULL)
		return;
	while ((worker = LIST_FIRST(&list->workers)) != NULL) {
		kill_worker(worker, SIGKILL);
		if (!worker->reaped)
			waitpid(worker->pid, NULL, 0);
		worker_free(worker);
	}
	if (list->sigchld != NULL)
		event_free(list->sigchld);
	free(list->path);
	free(list);
}

size_t
worker_list_count(const struct worker_list *list)
{
	struct worker_process *worker;
	size_t count = 0;

	LIST_FOREACH(worker, &list->workers, entry)
	count++;
	return count;
}

/* Forks and executes with its ends of the socket and of the log pipe. */
static int
spawn(struct worker_process *worker, const char *role, int *socket_fd, int *log_fd)
{
	static const int ignored[] = {SIGUSR1, SIGPIPE, 0};
	int pair[2] = {-1, -1}, pipe_fds[2] = {-1, -1}, fds[4], saved;
	char parent[24], generation[24];
	char *argv[6];
	struct child_setup setup = {.environment = environ, .fds = fds, .fd_count = 4};

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == -1 ||
	    pipe2(pipe_fds, O_CLOEXEC) == -1)
		goto failed;
	snprintf(parent, sizeof parent, "%ld", (long)getpid());
	snprintf(generation, sizeof generation, "%u", worker->generation);
	argv[0] = worker->list->path;
	argv[1] = (char *)(uintptr_t)role;
	argv[2] = parent;
	argv[3] = generation;
	argv[4] = NULL;
	fds[0] = fds[1] = -1;
	fds[2] = pipe_fds[1];
	fds[3] = pair[1];
	setup.path = worker->list->path;
	setup.argv = argv;
	setup.ignored = ignored;
	worker->pid = child_start(&setup);
	if (worker->pid == -1)
		goto failed;
	fd_close(&pair[1]);
	fd_close(&pipe_fds[1]);
	*socket_fd = pair[0];
	*log_fd = pipe_fds[0];
	return 0;
failed:
	saved = errno;
	fd_close(&pair[0]);
	fd_close(&pair[1]);
	fd_close(&pipe_fds[0]);
	fd_close(&pipe_fds[1]);
	errno = saved;
	return -1;
}

/* After the fork: a failure from here on ends the child again. */
static int
attach(struct worker_process *worker, int socket_fd, int log_fd)
{
	struct event_base *base = worker->list->base;

	if (fd_set_nonblocking(socket_fd, true) == 0)
		worker->channel = channel_new(
		    base, socket_fd, MESSAGE_TO_SUPERVISOR, &channel_callbacks, worker);
	if (worker->channel == NULL)
		fd_close(&socket_fd);
	worker->output = worker_output_new(base, log_fd, worker->pid);
	if (worker->output == NULL)
		fd_close(&log_fd);
	worker->term_timer = evtimer_new(base, on_term, worker);
	worker->kill_timer = evtimer_new(base, on_kill, worker);
	worker->over = event_new(base, -1, 0, on_over, worker);
	if (worker->channel == NULL || worker->output == NULL || worker->term_timer == NULL ||
	    worker->kill_timer == NULL || worker->over == NULL)
		return -1;
	if (worker->list->paused)
		channel_pause(worker->channel, true);
	return 0;
}

struct worker_process *
worker_start(struct worker_list *list, const char *role,
    const struct worker_callbacks *callbacks, void *arg)
{
	struct worker_process *worker = calloc(1, sizeof *worker);
	int socket_fd = -1, log_fd = -1;

	if (worker == NULL)
		return NULL;
	worker->list = list;
	worker->callbacks = *callbacks;
	worker->arg = arg;
	worker->generation = ++list->last_generation;
	if (spawn(worker, role, &socket_fd, &log_fd) == -1) {
		free(worker);
		return NULL;
	}
	LIST_INSERT_HEAD(&list->workers, worker, entry);
	if (attach(worker, socket_fd, log_fd) == -1) {
		kill(worker->pid, SIGKILL);
		waitpid(worker->pid, NULL, 0);
		worker->reaped = true;
		worker_free(worker);
		errno = ENOMEM;
		return NULL;
	}
	return worker;
}

void
worker_set_owner(
    struct worker_process *worker, const struct worker_callbacks *callbacks, void *arg)
{
	worker->callbacks = *callbacks;
	worker->arg = arg;
}

int
worker_send(struct worker_process *worker, enum message_type type, uint32_t request,
    uint32_t turn, const void *payload, size_t length)
{
	struct frame_header header = {.type = (uint16_t)type,
	    .request = request,
	    .turn = turn,
	    .generation = worker->generation};

	if (worker->refused || worker->ended)
		return -1;
	return channel_send(worker->channel, &header, payload, length);
}

void
worker_poke(struct worker_process *worker)
{
	kill_worker(worker, SIGUSR1);
}

pid_t
worker_pid(const struct worker_process *worker)
{
	return worker->pid;
}

static void
arm(struct worker_process *worker, struct event *timer, int64_t milliseconds, int number)
{
	struct timeval interval = monotonic_interval(milliseconds);

	if (milliseconds > 0) {
		event_add(timer, &interval);
		return;
	}
	kill_worker(worker, number);
	if (number == SIGKILL)
		kill_worker(worker, SIGCONT);
}

void
worker_stop(
    struct worker_process *worker, enum stop_cause cause, int64_t term_ms, int64_t kill_ms)
{
	if (worker->cause == STOP_NONE)
		worker->cause = cause;
	if (!worker->reaped) {
		arm(worker, worker->term_timer, term_ms, SIGTERM);
		arm(worker, worker->kill_timer, kill_ms, SIGKILL);
	}
}

void
worker_reject(struct worker_process *worker, enum stop_cause cause, const char *text)
{
	if (worker->refused)
		return;
	worker->refused = true;
	worker->cause = cause;
	snprintf(worker->reason, sizeof worker->reason, "%s", text);
	log_error("worker", "worker %ld is ended: %s", (long)worker->pid, text);
	kill_worker(worker, SIGKILL);
	kill_worker(worker, SIGCONT);
}

void
worker_violation(struct worker_process *worker, const char *text)
{
	worker_reject(worker, STOP_PROTOCOL_VIOLATION, text);
}

bool
worker_stopping(const struct worker_process *worker)
{
	return worker->cause != STOP_NONE || worker->refused;
}

enum stop_cause
worker_cause(const struct worker_process *worker)
{
	return worker->cause;
}

void
worker_list_pause(struct worker_list *list, bool pause)
{
	struct worker_process *worker;

	list->paused = pause;
	LIST_FOREACH(worker, &list->workers, entry)
	if (!worker->ended)
		channel_pause(worker->channel, pause);
}

void
worker_list_stop_all(
    struct worker_list *list, enum stop_cause cause, int64_t term_ms, int64_t kill_ms)
{
	struct worker_process *worker;

	LIST_FOREACH(worker, &list->workers, entry)
	{
		worker_send(worker, TO_WORKER_SHUTDOWN, 0, 0, NULL, 0);
		worker_stop(worker, cause, term_ms, kill_ms);
	}
}
