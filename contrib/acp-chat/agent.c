/*
 * Starts and ends the agent. It must never leave a descriptor of ours open in it.
 */
#include <config.h>

#include "contrib/acp-chat/agent.h"

#include "common/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct pipes {
	int to[2], from[2], failure[2];
};

static void
close_all(struct pipes *pipes)
{
	fd_close(&pipes->to[0]);
	fd_close(&pipes->to[1]);
	fd_close(&pipes->from[0]);
	fd_close(&pipes->from[1]);
	fd_close(&pipes->failure[0]);
	fd_close(&pipes->failure[1]);
}

/* A pipe whose ends do not collide with 0 to 2 and are closed by exec. */
static int
open_pipe(int ends[2])
{
	int i, high;

	ends[0] = ends[1] = -1;
	if (pipe(ends) == -1)
		return -1;
	for (i = 0; i < 2; i++) {
		high = fcntl(ends[i], F_DUPFD_CLOEXEC, 3);
		if (high == -1)
			return -1;
		close(ends[i]);
		ends[i] = high;
	}
	return 0;
}

/* In the child. What goes wrong is told as a number through the failure pipe. */
static void
become_agent(const struct pipes *pipes, char *const *command)
{
	sigset_t none;
	int reason;
	ssize_t ignored;

	setpgid(0, 0);
	signal(SIGPIPE, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (dup2(pipes->to[0], STDIN_FILENO) != -1 && dup2(pipes->from[1], STDOUT_FILENO) != -1)
		execvp(command[0], command);
	reason = errno;
	ignored = write(pipes->failure[1], &reason, sizeof reason);
	(void)ignored;
	_exit(127);
}

/* Waits until the child is the agent; the failure pipe is closed by its exec. */
static int
await_exec(struct pipes *pipes, pid_t child)
{
	int reason = 0;
	ssize_t n;

	fd_close(&pipes->failure[1]);
	do
		n = read(pipes->failure[0], &reason, sizeof reason);
	while (n == -1 && errno == EINTR);
	if (n != (ssize_t)sizeof reason)
		return 0;
	waitpid(child, NULL, 0);
	errno = reason;
	return -1;
}

int
agent_start(struct agent *agent, char *const *command, struct buffer *error)
{
	struct pipes pipes = {{-1, -1}, {-1, -1}, {-1, -1}};
	pid_t child;

	memset(agent, 0, sizeof *agent);
	agent->to = agent->from = -1;
	if (open_pipe(pipes.to) == -1 || open_pipe(pipes.from) == -1 ||
	    open_pipe(pipes.failure) == -1)
		goto failed;
	child = fork();
	if (child == -1)
		goto failed;
	if (child == 0)
		become_agent(&pipes, command);
	setpgid(child, child); /* whichever of both is first */
	if (await_exec(&pipes, child) == -1)
		goto failed;
	agent->pid = child;
	agent->to = pipes.to[1];
	agent->from = pipes.from[0];
	pipes.to[1] = pipes.from[0] = -1;
	fd_set_nonblocking(agent->to, true);
	fd_set_nonblocking(agent->from, true);
	close_all(&pipes);
	return 0;
failed:
	buffer_printf(error, "%s: %s", command[0], strerror(errno));
	close_all(&pipes);
	return -1;
}

bool
agent_reap(struct agent *agent)
{
	if (!agent->reaped && agent->pid > 0 &&
	    waitpid(agent->pid, &agent->wait_status, WNOHANG) == agent->pid)
		agent->reaped = true;
	return agent->reaped;
}

void
agent_signal(const struct agent *agent, int number)
{
	if (agent->pid > 0)
		kill(-agent->pid, number);
}

void
agent_describe_end(const struct agent *agent, struct buffer *text)
{
	int status = agent->wait_status;

	if (!agent->reaped)
		buffer_append_text(text, "closed its output");
	else if (WIFSIGNALED(status))
		buffer_printf(text, "was ended by signal %d (%s)", WTERMSIG(status),
		    strsignal(WTERMSIG(status)));
	else
		buffer_printf(text, "exited with status %d", WEXITSTATUS(status));
}
