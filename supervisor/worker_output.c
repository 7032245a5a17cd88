/*
 * The log pipe of a worker. Its lines go to the log as text of an untrusted process: cut,
 * escaped by the log, and never in the client's stream.
 */
#include <config.h>

#include "supervisor/worker_output.h"
#include "common/fd.h"
#include "common/log.h"

#include <errno.h>
#include <event2/event.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct worker_output {
	struct event *readable;
	int fd;
	pid_t pid;
	size_t length;
	char line[1024];
};

static void
end_line(struct worker_output *output)
{
	if (output->length > 0)
		log_warning("worker", "stderr of %ld: %.*s", (long)output->pid,
		    (int)output->length, output->line);
	output->length = 0;
}

/* False at the end of the pipe or when nothing is there. */
static bool
read_some(struct worker_output *output)
{
	char bytes[4096];
	ssize_t n = read(output->fd, bytes, sizeof bytes), i;

	if (n == -1 && errno == EINTR)
		return true;
	if (n == 0)
		event_del(output->readable);
	for (i = 0; i < n; i++) {
		if (bytes[i] == '\n' || output->length == sizeof output->line)
			end_line(output);
		if (bytes[i] != '\n')
			output->line[output->length++] = bytes[i];
	}
	return n > 0;
}

static void
on_readable(int fd, short events, void *arg)
{
	(void)fd;
	(void)events;
	read_some(arg);
}

struct worker_output *
worker_output_new(struct event_base *base, int fd, pid_t pid)
{
	struct worker_output *output = calloc(1, sizeof *output);

	if (output == NULL)
		return NULL;
	output->fd = fd;
	output->pid = pid;
	fd_set_nonblocking(fd, true);
	output->readable = event_new(base, fd, EV_READ | EV_PERSIST, on_readable, output);
	if (output->readable == NULL || event_add(output->readable, NULL) == -1) {
		if (output->readable != NULL)
			event_free(output->readable);
		free(output);
		return NULL;
	}
	return output;
}

void
worker_output_drain(struct worker_output *output)
{
	int rounds;

	for (rounds = 0; rounds < 64 && read_some(output); rounds++)
		;
	end_line(output);
}

void
worker_output_free(struct worker_output *output)
{
	if (output == NULL)
		return;
	event_free(output->readable);
	fd_close(&output->fd);
	free(output);
}
