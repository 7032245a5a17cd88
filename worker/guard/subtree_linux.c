/*
 * The subtree on Linux: the guard is a subreaper, so that orphans become its children, and
 * descendants are found by walking /proc. It must never signal a process that does not
 * descend from the guard.
 */
#include <config.h>

#include "worker/guard/subtree.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define OOM_SCORE_STEP 300 /* how much sooner than the worker a command is killed */
#define OOM_SCORE_MAX 1000 /* proc(5) */

struct process {
	pid_t pid, parent;
	bool dead, descends;
};

struct process_list {
	struct process *items;
	size_t count, room;
};

void
subtree_prepare(void)
{
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

static void
raise_oom_score(void)
{
	FILE *file = fopen("/proc/self/oom_score_adj", "r+e");
	long score;

	if (file == NULL)
		return;
	if (fscanf(file, "%ld", &score) == 1) {
		score += OOM_SCORE_STEP;
		rewind(file);
		fprintf(file, "%ld", score > OOM_SCORE_MAX ? OOM_SCORE_MAX : score);
	}
	fclose(file);
}

void
subtree_enter(pid_t guard)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() != guard)
		_exit(127);
	raise_oom_score();
}

void
subtree_seal(void)
{
	/* The command runs as the same user and must not reach the guard's descriptors
	 * through /proc. Not earlier: it would also close /proc/self to the command. */
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

void
subtree_close_others(int first, int second)
{
	DIR *directory = opendir("/proc/self/fd");
	struct dirent *entry;
	int fd, own;

	if (directory == NULL)
		return;
	own = dirfd(directory);
	while ((entry = readdir(directory)) != NULL) {
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		fd = atoi(entry->d_name);
		if (fd > 2 && fd != first && fd != second && fd != own)
			close(fd);
	}
	closedir(directory);
}

/* Reads parent and state of `pid`; the name in parentheses may hold anything. */
static bool
read_process(const char *name, struct process *process)
{
	char path[64], text[512];
	const char *rest;
	ssize_t n;
	char state;
	int fd, parent;

	snprintf(path, sizeof path, "/proc/%.20s/stat", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd == -1)
		return false;
	n = read(fd, text, sizeof text - 1);
	close(fd);
	if (n <= 0)
		return false;
	text[n] = '\0';
	rest = strrchr(text, ')');
	if (rest == NULL || sscanf(rest + 1, " %c %d", &state, &parent) != 2)
		return false;
	process->pid = (pid_t)atoi(name);
	process->parent = (pid_t)parent;
	process->dead = state == 'Z' || state == 'X';
	process->descends = false;
	return true;
}

static void
list_processes(struct process_list *list)
{
	DIR *directory = opendir("/proc");
	struct dirent *entry;
	struct process process, *grown;

	if (directory == NULL)
		return;
	while ((entry = readdir(directory)) != NULL) {
		if (!isdigit((unsigned char)entry->d_name[0]) ||
		    !read_process(entry->d_name, &process))
			continue;
		if (list->count == list->room) {
			list->room = list->room == 0 ? 256 : list->room * 2;
			grown = reallocarray(list->items, list->room, sizeof process);
			if (grown == NULL)
				break;
			list->items = grown;
		}
		list->items[list->count++] = process;
	}
	closedir(directory);
}

static int
compare_processes(const void *left, const void *right)
{
	pid_t a = ((const struct process *)left)->pid, b = ((const struct process *)right)->pid;

	return (a > b) - (a < b);
}

static bool
descends_from(const struct process_list *list, pid_t pid)
{
	struct process wanted = {.pid = pid};
	const struct process *found;

	found = bsearch(&wanted, list->items, list->count, sizeof wanted, compare_processes);
	return found != NULL && found->descends;
}

/* Process ids mostly ascend from parent to child, so few rounds are needed. */
static void
mark_descendants(struct process_list *list, pid_t root)
{
	struct process *process;
	bool again = true;
	size_t i;

	if (list->count > 0)
		qsort(list->items, list->count, sizeof *process, compare_processes);
	while (again) {
		again = false;
		for (i = 0; i < list->count; i++) {
			process = &list->items[i];
			if (process->descends ||
			    (process->parent != root && !descends_from(list, process->parent)))
				continue;
			process->descends = true;
			again = true;
		}
	}
}

struct subtree_reach
subtree_signal(pid_t command, int signal)
{
	struct process_list list = {NULL, 0, 0};
	struct subtree_reach reach = {0, 0};
	const struct process *process;
	size_t i;

	list_processes(&list);
	mark_descendants(&list, getpid());
	for (i = 0; i < list.count; i++) {
		process = &list.items[i];
		if (!process->descends || process->dead)
			continue;
		if (kill(process->pid, signal) == 0)
			reach.reached++;
		else if (errno == EPERM)
			reach.refused++;
	}
	free(list.items);
	if (list.count == 0 && kill(-command, signal) == 0)
		reach.reached = 1; /* no /proc here: the process group is what is left */
	return reach;
}

bool
subtree_alive(pid_t command, bool children)
{
	(void)command;
	return children;
}

bool
subtree_reports_ends(void)
{
	return true;
}
