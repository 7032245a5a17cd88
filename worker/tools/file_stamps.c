/*
 * What the model has seen of which file: one stamp per path. It must never call a file
 * unchanged that differs in any of inode, size or time.
 */
#include <config.h>

#include "worker/tools/file_stamps.h"

#include "common/alloc.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct file_stamp {
	char *path;
	dev_t device;
	ino_t inode;
	off_t size;
	int64_t seconds;
	long nanoseconds;
	bool whole;
};

/* Oldest first. */
struct file_stamps {
	struct file_stamp items[FILE_STAMPS_MAX];
	size_t count;
};

struct file_stamps *
file_stamps_new(void)
{
	return xcalloc(1, sizeof(struct file_stamps));
}

void
file_stamps_free(struct file_stamps *stamps)
{
	size_t i;

	if (stamps == NULL)
		return;
	for (i = 0; i < stamps->count; i++)
		free(stamps->items[i].path);
	free(stamps);
}

static void
stamp_fill(struct file_stamp *stamp, const struct stat *status)
{
	stamp->device = status->st_dev;
	stamp->inode = status->st_ino;
	stamp->size = status->st_size;
	stamp->seconds = status->st_mtim.tv_sec;
	stamp->nanoseconds = status->st_mtim.tv_nsec;
}

static bool
stamp_same(const struct file_stamp *one, const struct file_stamp *other)
{
	return one->device == other->device && one->inode == other->inode &&
	       one->size == other->size && one->seconds == other->seconds &&
	       one->nanoseconds == other->nanoseconds;
}

static const struct file_stamp *
stamp_find(const struct file_stamps *stamps, const char *path)
{
	size_t i;

	for (i = stamps->count; i-- > 0;)
		if (strcmp(stamps->items[i].path, path) == 0)
			return &stamps->items[i];
	return NULL;
}

static void
stamp_remove(struct file_stamps *stamps, size_t index)
{
	free(stamps->items[index].path);
	stamps->count--;
	memmove(&stamps->items[index], &stamps->items[index + 1],
	    (stamps->count - index) * sizeof *stamps->items);
}

void
file_stamps_record(
    struct file_stamps *stamps, const char *path, const struct stat *status, bool whole)
{
	const struct file_stamp *old = stamp_find(stamps, path);
	struct file_stamp stamp = {0};

	stamp_fill(&stamp, status);
	stamp.whole = whole || (old != NULL && old->whole && stamp_same(old, &stamp));
	stamp.path = xstrdup(path);
	if (old != NULL)
		stamp_remove(stamps, (size_t)(old - stamps->items));
	else if (stamps->count == FILE_STAMPS_MAX)
		stamp_remove(stamps, 0);
	stamps->items[stamps->count++] = stamp;
}

enum file_seen
file_stamps_query(const struct file_stamps *stamps, const char *path, const struct stat *now)
{
	const struct file_stamp *old = stamp_find(stamps, path);
	struct file_stamp stamp = {0};

	if (old == NULL)
		return FILE_NEVER_SEEN;
	if (now == NULL)
		return FILE_CHANGED;
	stamp_fill(&stamp, now);
	if (!stamp_same(old, &stamp))
		return FILE_CHANGED;
	return old->whole ? FILE_SEEN : FILE_SEEN_PARTLY;
}

void
file_stamps_forget(struct file_stamps *stamps, const char *path)
{
	const struct file_stamp *stamp = stamp_find(stamps, path);

	if (stamp != NULL)
		stamp_remove(stamps, (size_t)(stamp - stamps->items));
}
