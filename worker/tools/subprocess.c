/*
 * Child processes under hermes-acp-guard, driven by the event loop. It must never wait for
 * a child, never read more than one slice at a time, and never leave a guard unreaped: an
 * object that its owner has freed lives on until its guard has ended.
 */
#include <config.h>

#include "worker/tools/subprocess.h"

#include "common/alloc.h"
#include "common/fd.h"
#include "common/monotonic.h"
#include "worker/guard/guard_record.h"
#include "worker/tools/subprocess_spawn.h"

#include <errno.h>
#include <event2/event.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define SLICE 65536	/* bytes of output taken per wake-up */
#define DISCARD_MS 100	/* between two slices of what leftovers write */
#define REAP_AGAIN_MS 2 /* a guard that closed its descriptors is about to end */

struct subprocess {
	struct event_base *base;
	struct subprocess_callbacks callbacks;
	void *arg;
	pid_t guard;
	pid_t command; /* 0 = not known yet */
	struct subprocess_pipes pipes;
	struct event *status_event, *output_event, *input_event;
	struct event *timer; /* discarding, later reaping */
	struct guard_record record;
	size_t record_length; /* bytes of `record` that are there */
	char *input;
	size_t input_length, input_sent;
	size_t remaining; /* bytes that the command wrote before it ended */
	int wait_status;
	unsigned busy; /* callbacks that are running */
	bool ended, leftover, told_exit, gone, told_gone, reaped, freed;
};

static void deliver_end(struct subprocess *process);

static void
drop_event(struct event **event)
{
	if (*event != NULL)
		event_free(*event);
	*event = NULL;
}

static void
close_output(struct subprocess *process)
{
	drop_event(&process->output_event);
	fd_close(&process->pipes.output);
	process->remaining = 0;
}

static void
close_input(struct subprocess *process)
{
	drop_event(&process->input_event);
	fd_close(&process->pipes.input);
	free(process->input);
	process->input = NULL;
}

/* Frees what neither the owner nor the guard needs any longer. */
static void
release(struct subprocess *process)
{
	if (!process->freed || !process->reaped || process->busy > 0)
		return;
	close_input(process);
	close_output(process);
	drop_event(&process->status_event);
	drop_event(&process->timer);
	fd_close(&process->pipes.status);
	fd_close(&process->pipes.control);
	free(process);
}

static void
arm(struct subprocess *process, int64_t milliseconds)
{
	struct timeval interval = monotonic_interval(milliseconds);

	event_add(process->timer, &interval);
}

static void
reap(struct subprocess *process)
{
	pid_t pid = waitpid(process->guard, NULL, WNOHANG);

	if (pid == 0 || (pid == -1 && errno == EINTR)) {
		arm(process, REAP_AGAIN_MS);
		return;
	}
	process->reaped = true;
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct subprocess *process = arg;

	(void)fd;
	(void)what;
	if (process->status_event == NULL)
		reap(process);
	else if (process->output_event != NULL)
		event_add(process->output_event, NULL);
	release(process);
}

/* Output of leftovers is read and thrown away, slowly, so that they neither block nor cost
 * anything. */
static void
discard_output(struct subprocess *process)
{
	char bytes[SLICE];
	ssize_t n = read(process->pipes.output, bytes, sizeof bytes);

	if (n == 0 || (n == -1 && errno != EAGAIN && errno != EINTR)) {
		close_output(process);
		return;
	}
	event_del(process->output_event);
	arm(process, DISCARD_MS);
}

static void
deliver_output(struct subprocess *process)
{
	char bytes[SLICE];
	size_t want = sizeof bytes;
	ssize_t n;

	if (process->ended && process->remaining < want)
		want = process->remaining;
	n = read(process->pipes.output, bytes, want);
	if (n == -1 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		close_output(process);
		return;
	}
	if (process->ended)
		process->remaining -= (size_t)n;
	if (process->callbacks.output != NULL && !process->freed)
		process->callbacks.output(bytes, (size_t)n, process->arg);
}

static void
on_output(evutil_socket_t fd, short what, void *arg)
{
	struct subprocess *process = arg;

	(void)fd;
	(void)what;
	process->busy++;
	if (process->told_exit)
		discard_output(process);
	else
		deliver_output(process);
	deliver_end(process);
	process->busy--;
	release(process);
}

static void
on_input(evutil_socket_t fd, short what, void *arg)
{
	struct subprocess *process = arg;
	ssize_t n;

	(void)fd;
	(void)what;
	n = write(process->pipes.input, process->input + process->input_sent,
	    process->input_length - process->input_sent);
	if (n == -1 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0)
		process->input_sent += (size_t)n;
	if (n <= 0 || process->input_sent == process->input_length)
		close_input(process);
}

/* Tells the owner what has come true: exited first, gone after it. */
static void
deliver_end(struct subprocess *process)
{
	if (process->ended && !process->told_exit && process->remaining == 0) {
		process->told_exit = true;
		close_input(process);
		if (!process->leftover)
			close_output(process);
		else if (process->output_event != NULL)
			event_add(process->output_event, NULL);
		if (process->callbacks.exited != NULL && !process->freed)
			process->callbacks.exited(
			    process->wait_status, process->leftover, process->arg);
	}
	if (process->gone && process->told_exit && !process->told_gone) {
		process->told_gone = true;
		close_output(process);
		if (process->callbacks.gone != NULL && !process->freed)
			process->callbacks.gone(process->arg);
	}
}

static void
note_end(struct subprocess *process, int wait_status, bool leftover)
{
	int waiting = 0;

	if (process->ended)
		return;
	process->ended = true;
	process->wait_status = wait_status;
	process->leftover = leftover;
	if (process->pipes.output != -1 &&
	    ioctl(process->pipes.output, FIONREAD, &waiting) == 0 && waiting > 0)
		process->remaining = (size_t)waiting;
}

static void
take_record(struct subprocess *process)
{
	const struct guard_record *record = &process->record;

	if (record->kind == GUARD_RECORD_STARTED) {
		process->command = (pid_t)record->value;
	} else if (record->kind == GUARD_RECORD_ENDED) {
		note_end(process, (int)record->value, record->leftover != 0);
	} else if (record->kind == GUARD_RECORD_GONE) {
		note_end(process, SIGKILL, false);
		process->gone = true;
	}
}

/* The guard has ended. When it did not say why, somebody killed it: its command got KILL
 * from the kernel, the command's group gets it from here. */
static void
note_guard_end(struct subprocess *process)
{
	if (!process->gone && process->command > 1)
		kill(-process->command, SIGKILL);
	note_end(process, SIGKILL, false);
	process->gone = true;
	drop_event(&process->status_event);
	fd_close(&process->pipes.status);
	fd_close(&process->pipes.control);
	reap(process);
}

static void
on_status(evutil_socket_t fd, short what, void *arg)
{
	struct subprocess *process = arg;
	ssize_t n;

	(void)fd;
	(void)what;
	process->busy++;
	n = read(process->pipes.status, (char *)&process->record + process->record_length,
	    sizeof process->record - process->record_length);
	if (n > 0) {
		process->record_length += (size_t)n;
		if (process->record_length == sizeof process->record) {
			process->record_length = 0;
			take_record(process);
		}
	} else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
		note_guard_end(process);
	}
	deliver_end(process);
	process->busy--;
	release(process);
}

static void
watch(struct subprocess *process)
{
	process->status_event = event_new(
	    process->base, process->pipes.status, EV_READ | EV_PERSIST, on_status, process);
	process->output_event = event_new(
	    process->base, process->pipes.output, EV_READ | EV_PERSIST, on_output, process);
	process->timer = event_new(process->base, -1, 0, on_timer, process);
	event_add(process->status_event, NULL);
	event_add(process->output_event, NULL);
	if (process->pipes.input == -1)
		return;
	process->input_event = event_new(
	    process->base, process->pipes.input, EV_WRITE | EV_PERSIST, on_input, process);
	event_add(process->input_event, NULL);
}

struct subprocess *
subprocess_start(struct event_base *base, const struct subprocess_options *options,
    const struct subprocess_callbacks *callbacks, void *arg)
{
	struct subprocess_pipes pipes;
	struct subprocess *process;
	pid_t guard = subprocess_spawn(options, &pipes);

	if (guard == -1)
		return NULL;
	process = xcalloc(1, sizeof *process);
	process->base = base;
	process->callbacks = *callbacks;
	process->arg = arg;
	process->guard = guard;
	process->pipes = pipes;
	if (pipes.input != -1) {
		process->input_length = options->input_length;
		process->input = xcalloc(1, options->input_length + 1);
		memcpy(process->input, options->input, options->input_length);
	}
	watch(process);
	return process;
}

void
subprocess_stop(struct subprocess *process)
{
	fd_close(&process->pipes.control);
}

void
subprocess_free(struct subprocess *process)
{
	if (process == NULL)
		return;
	process->freed = true;
	process->busy++;
	fd_close(&process->pipes.control);
	close_input(process);
	close_output(process);
	process->busy--;
	release(process);
}
