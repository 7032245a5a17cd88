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
	struct file_text text; /* hash 0: what was on the disk */
};

/* Oldest first. */
struct file_stamps {
	struct file_stamp items[FILE_STAMPS_MAX];
	size_t count;
	char *misfit; /* the file that the last edit did not fit */
	unsigned misfits;
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
	free(stamps->misfit);
	free(stamps);
}

static void
forget_misfits(struct file_stamps *stamps)
{
	free(stamps->misfit);
	stamps->misfit = NULL;
	stamps->misfits = 0;
}

unsigned
file_stamps_misfit(struct file_stamps *stamps, const char *path)
{
	if (stamps->misfit == NULL || strcmp(stamps->misfit, path) != 0) {
		forget_misfits(stamps);
		stamps->misfit = xstrdup(path);
	}
	return ++stamps->misfits;
}

/* What was looked at, or written, is known again. */
static void
seen_again(struct file_stamps *stamps, const char *path)
{
	if (stamps->misfit != NULL &&
	    (stamps->misfit[0] == '\0' || strcmp(stamps->misfit, path) == 0))
		forget_misfits(stamps);
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

/* What the model has seen was never on the disk. */
static bool
is_unsaved(const struct file_stamp *stamp)
{
	return stamp->text.hash != 0 && !stamp->text.saved;
}

void
file_stamps_record(
    struct file_stamps *stamps, const char *path, const struct stat *status, bool whole)
{
	const struct file_stamp *old = stamp_find(stamps, path);
	struct file_stamp stamp = {0};

	seen_again(stamps, path);
	stamp_fill(&stamp, status);
	stamp.whole =
	    whole || (old != NULL && old->whole && !is_unsaved(old) && stamp_same(old, &stamp));
	stamp.text.clean = old != NULL ? old->text.clean : 0;
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
	if (is_unsaved(old) || !stamp_same(old, &stamp))
		return FILE_CHANGED;
	return old->whole ? FILE_SEEN : FILE_SEEN_PARTLY;
}

void
file_stamps_record_text(struct file_stamps *stamps, const char *path, const struct stat *status,
    bool whole, const struct file_text *text)
{
	const struct file_stamp *old = stamp_find(stamps, path);
	struct file_text kept = *text;
	struct file_stamp *stamp;

	if (old != NULL && old->whole && old->text.hash == text->hash)
		whole = true;
	if (old != NULL && kept.clean == 0)
		kept.clean = old->text.clean;
	if (old != NULL && (!text->saved || old->text.hash != 0))
		file_stamps_forget(stamps, path); /* it was another text's */
	file_stamps_record(stamps, path, status, whole);
	stamp = &stamps->items[stamps->count - 1];
	stamp->text = kept;
}

enum file_seen
file_stamps_query_text(const struct file_stamps *stamps, const char *path, uint64_t hash)
{
	const struct file_stamp *stamp = stamp_find(stamps, path);

	if (stamp == NULL)
		return FILE_NEVER_SEEN;
	if (stamp->text.hash != hash)
		return FILE_CHANGED;
	return stamp->whole ? FILE_SEEN : FILE_SEEN_PARTLY;
}

uint64_t
file_stamps_clean(const struct file_stamps *stamps, const char *path)
{
	const struct file_stamp *stamp = stamp_find(stamps, path);

	return stamp != NULL ? stamp->text.clean : 0;
}

void
file_stamps_forget(struct file_stamps *stamps, const char *path)
{
	const struct file_stamp *stamp = stamp_find(stamps, path);

	if (stamp != NULL)
		stamp_remove(stamps, (size_t)(stamp - stamps->items));
}

struct json_object *
file_stamps_describe(const struct file_stamps *stamps)
{
	struct json_object *description = json_object_new_array(), *item;
	const struct file_stamp *stamp;
	size_t i;

	for (i = 0; i < stamps->count; i++) {
		stamp = &stamps->items[i];
		item = json_object_new_object();
		json_set_text(item, "path", stamp->path);
		json_set_integer(item, "device", (int64_t)stamp->device);
		json_set_integer(item, "inode", (int64_t)stamp->inode);
		json_set_integer(item, "size", stamp->size);
		json_set_integer(item, "seconds", stamp->seconds);
		json_set_integer(item, "nanoseconds", stamp->nanoseconds);
		json_set_boolean(item, "whole", stamp->whole);
		if (stamp->text.hash != 0) {
			json_set_integer(item, "text", (int64_t)stamp->text.hash);
			json_set_boolean(item, "saved", stamp->text.saved);
		}
		if (stamp->text.clean != 0)
			json_set_integer(item, "clean", (int64_t)stamp->text.clean);
		json_object_array_add(description, item);
	}
	return description;
}

static void
restore_one(struct file_stamps *stamps, const char *path, const struct stat *status,
    struct json_object *item)
{
	bool whole = json_member_boolean(item, "whole", false);
	struct file_text text = {.saved = json_member_boolean(item, "saved", false)};
	int64_t hash = 0, clean = 0;

	json_member_integer(item, "text", &hash);
	json_member_integer(item, "clean", &clean);
	text.hash = (uint64_t)hash;
	text.clean = (uint64_t)clean;
	if (hash != 0) {
		file_stamps_record_text(stamps, path, status, whole, &text);
	} else {
		file_stamps_record(stamps, path, status, whole);
		stamps->items[stamps->count - 1].text.clean = text.clean;
	}
}

void
file_stamps_restore(struct file_stamps *stamps, struct json_object *description)
{
	size_t count = json_object_is_type(description, json_type_array)
			   ? json_object_array_length(description)
			   : 0;
	struct json_object *item;
	int64_t device, inode, size, seconds, nanoseconds;
	struct stat status = {0};
	const char *path;
	size_t i;

	for (i = 0; i < count; i++) {
		item = json_object_array_get_idx(description, i);
		path = json_member_string(item, "path");
		if (path == NULL || !json_member_integer(item, "device", &device) ||
		    !json_member_integer(item, "inode", &inode) ||
		    !json_member_integer(item, "size", &size) ||
		    !json_member_integer(item, "seconds", &seconds) ||
		    !json_member_integer(item, "nanoseconds", &nanoseconds))
			continue;
		status.st_dev = (dev_t)device;
		status.st_ino = (ino_t)inode;
		status.st_size = (off_t)size;
		status.st_mtim.tv_sec = (time_t)seconds;
		status.st_mtim.tv_nsec = (long)nanoseconds;
		restore_one(stamps, path, &status, item);
	}
}
