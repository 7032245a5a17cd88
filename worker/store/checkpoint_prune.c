/*
 * Keeping the store of checkpoints small. Nothing goes while another process keeps something,
 * no list of a running turn, and no content that a remaining list names.
 */
#include <config.h>

#include "worker/store/checkpoint_folder.h"

#include "common/alloc.h"
#include "common/fd.h"
#include "common/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define DUE_SECONDS 3600

struct list {
	char *path;
	time_t changed;
	struct json_object *lines;
};

struct pruning {
	struct list *lists;
	size_t count;
	struct json_object *used; /* how often lists name a content */
	int64_t total;
	bool unread; /* what a list names is not known */
};

static void
add_list(const char *folder, const char *name, void *arg)
{
	struct pruning *pruning = arg;
	struct list list = {.path = xasprintf("%s/%s", folder, name)};
	struct stat status;

	errno = 0;
	if (lstat(list.path, &status) == 0 && S_ISREG(status.st_mode))
		list.lines = checkpoint_folder_list(list.path);
	if (list.lines == NULL) { /* no list at all, or one that cannot be read */
		pruning->unread |= errno != 0 && errno != ENOENT;
		free(list.path);
		return;
	}
	list.changed = status.st_mtime;
	pruning->lists =
	    xreallocarray(pruning->lists, pruning->count + 1, sizeof *pruning->lists);
	pruning->lists[pruning->count++] = list;
}

static void
add_session(const char *folder, const char *name, void *arg)
{
	struct pruning *pruning = arg;
	char *path = xasprintf("%s/%s", folder, name);

	pruning->unread |= !checkpoint_folder_each(path, add_list, pruning);
	free(path);
}

static void
count(struct pruning *pruning, const struct list *list, int64_t by)
{
	size_t length = json_object_array_length(list->lines), i;
	const char *name;
	int64_t uses;

	for (i = 0; i < length; i++) {
		name = json_member_text(
		    json_object_array_get_idx(list->lines, i), "before", CHECKPOINT_ABSENT);
		uses = 0;
		json_member_integer(pruning->used, name, &uses);
		json_set_integer(pruning->used, name, uses + by);
	}
}

static int
compare(const void *left, const void *right)
{
	const struct list *a = left, *b = right;

	if (a->changed != b->changed)
		return a->changed < b->changed ? -1 : 1;
	return strcmp(a->path, b->path);
}

static void
remove_unused(const char *folder, const char *name, void *arg)
{
	struct pruning *pruning = arg;
	char *path;
	struct stat status;
	int64_t uses = 0;

	json_member_integer(pruning->used, name, &uses);
	if (checkpoint_folder_is_hash(name) && uses > 0)
		return;
	path = xasprintf("%s/%s", folder, name);
	if (lstat(path, &status) == 0 && unlink(path) == 0)
		pruning->total -= (int64_t)status.st_size;
	free(path);
}

/* What a list named and no other one does. */
static void
remove_contents(struct pruning *pruning, const struct list *list, const char *objects)
{
	size_t length = json_object_array_length(list->lines), i;
	const char *name;

	for (i = 0; i < length; i++) {
		name =
		    json_member_text(json_object_array_get_idx(list->lines, i), "before", "");
		if (checkpoint_folder_is_hash(name))
			remove_unused(objects, name, pruning);
	}
}

/* Whoever writes a list has a shared lock on it. */
static void
remove_list(struct pruning *pruning, const struct list *list, const char *objects)
{
	int fd = open(list->path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	bool removed = fd != -1 && flock(fd, LOCK_EX | LOCK_NB) == 0 && unlink(list->path) == 0;
	char *slash;

	fd_close(&fd);
	if (!removed)
		return;
	slash = strrchr(list->path, '/');
	*slash = '\0';
	(void)rmdir(list->path); /* when it was the last one */
	count(pruning, list, -1);
	remove_contents(pruning, list, objects);
}

static void
prune(const char *root, const struct checkpoint_limits *limits, struct pruning *pruning)
{
	char *sessions = xasprintf("%s/sessions", root),
	     *objects = xasprintf("%s/objects", root);
	time_t now = time(NULL);
	bool old;
	size_t i;

	pruning->unread |= !checkpoint_folder_each(sessions, add_session, pruning);
	if (pruning->unread)
		goto done;
	for (i = 0; i < pruning->count; i++)
		count(pruning, &pruning->lists[i], 1);
	if (pruning->count > 0)
		qsort(pruning->lists, pruning->count, sizeof *pruning->lists, compare);
	pruning->total = checkpoint_folder_total(root);
	checkpoint_folder_each(objects, remove_unused, pruning);
	for (i = 0; i < pruning->count; i++) {
		old = now - pruning->lists[i].changed > limits->seconds;
		if (!old && pruning->total <= limits->total_bytes)
			break;
		remove_list(pruning, &pruning->lists[i], objects);
	}
done:
	free(sessions);
	free(objects);
}

int64_t
checkpoint_prune(const char *root, const struct checkpoint_limits *limits)
{
	struct pruning pruning = {0};
	int lock = checkpoint_folder_lock(root, true);
	size_t i;

	if (lock == -1)
		return -1;
	pruning.used = json_object_new_object();
	prune(root, limits, &pruning);
	(void)futimens(lock, NULL);
	for (i = 0; i < pruning.count; i++) {
		free(pruning.lists[i].path);
		json_object_put(pruning.lists[i].lines);
	}
	free(pruning.lists);
	json_object_put(pruning.used);
	fd_close(&lock);
	if (pruning.unread)
		log_warning(
		    "checkpoints", "%s: not all lists can be read: nothing was removed", root);
	return pruning.unread ? -1 : pruning.total;
}

bool
checkpoint_prune_due(const char *root)
{
	char *path = xasprintf("%s/lock", root);
	struct stat status;
	bool due = lstat(path, &status) == 0 && time(NULL) - status.st_mtime > DUE_SECONDS;

	free(path);
	return due;
}
