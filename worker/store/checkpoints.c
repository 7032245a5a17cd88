/*
 * The checkpoints of one session. A list is only ever appended to, a line at a time and
 * synced, before the edit that it is about; the content is on disk before its line. It must
 * never keep what it was told not to keep.
 */
#include <config.h>

#include "worker/store/checkpoints.h"

#include "common/alloc.h"
#include "common/fd.h"
#include "common/log.h"
#include "common/utf8.h"
#include "worker/store/checkpoint_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define NUMBER_TRIES 100

struct checkpoints {
	char *root, *folder; /* the folder of the session's lists */
	struct checkpoint_limits limits;
	char *key;		   /* of the running turn */
	bool again;		   /* its list may be there already */
	int list;		   /* the turn's list, locked; -1 before its first edit */
	struct json_object *paths; /* those that the list has */
	int64_t total;
};

void
checkpoint_name(bool exists, const char *bytes, size_t length, char name[STATE_HASH_SIZE])
{
	if (exists)
		state_hash(bytes, length, name);
	else
		snprintf(name, STATE_HASH_SIZE, CHECKPOINT_ABSENT);
}

struct checkpoints *
checkpoints_new(const char *home, const char *session, const struct checkpoint_limits *limits)
{
	struct checkpoints *self = xcalloc(1, sizeof *self);

	self->root = xasprintf("%s/checkpoints/acp", home);
	self->folder = checkpoint_folder_session(self->root, session);
	self->limits = *limits;
	self->list = -1;
	return self;
}

void
checkpoints_turn(struct checkpoints *self, const char *key, bool again)
{
	if (self == NULL)
		return;
	fd_close(&self->list);
	self->list = -1;
	json_object_put(self->paths);
	self->paths = NULL;
	free(self->key);
	self->key = key != NULL ? xstrdup(key) : NULL;
	self->again = again;
}

void
checkpoints_rename(struct checkpoints *self, const char *session)
{
	if (self == NULL)
		return;
	free(self->folder);
	self->folder = checkpoint_folder_session(self->root, session);
}

void
checkpoints_free(struct checkpoints *self)
{
	if (self == NULL)
		return;
	checkpoints_turn(self, NULL, false);
	free(self->root);
	free(self->folder);
	free(self);
}

struct numbers {
	unsigned long *items;
	size_t count;
};

static void
add_number(const char *folder, const char *name, void *arg)
{
	struct numbers *numbers = arg;
	char *end;
	unsigned long number = strtoul(name, &end, 10);

	(void)folder;
	if (number == 0 || strcmp(end, ".jsonl") != 0)
		return;
	numbers->items =
	    xreallocarray(numbers->items, numbers->count + 1, sizeof *numbers->items);
	numbers->items[numbers->count++] = number;
}

static int
compare(const void *left, const void *right)
{
	unsigned long a = *(const unsigned long *)left, b = *(const unsigned long *)right;

	return (a > b) - (a < b);
}

/* The numbers of the session's lists, oldest first. */
static struct numbers
find_numbers(const struct checkpoints *self)
{
	struct numbers numbers = {0};

	checkpoint_folder_each(self->folder, add_number, &numbers);
	if (numbers.count > 0)
		qsort(numbers.items, numbers.count, sizeof *numbers.items, compare);
	return numbers;
}

static char *
list_path(const struct checkpoints *self, unsigned long number)
{
	return xasprintf("%s/%08lu.jsonl", self->folder, number);
}

/* Appends a line and syncs it; what was written of one that failed is cut off again. */
static int
append(int fd, struct json_object *line)
{
	struct buffer text = BUFFER_EMPTY;
	off_t end = lseek(fd, 0, SEEK_END);
	char last = '\n';
	size_t length;
	const char *json = json_text(line, &length);
	int result = -1, code, ignored;

	if (end > 0 && pread(fd, &last, 1, end - 1) == 1 && last != '\n')
		buffer_append_byte(&text, '\n');
	buffer_append(&text, json, length);
	buffer_append_byte(&text, '\n');
	xrequire(!text.failed);
	if (end != -1 && fd_write_all(fd, text.data, text.length) == 0 && fsync(fd) == 0) {
		result = 0;
	} else if (end != -1) {
		code = errno;
		ignored = ftruncate(fd, end);
		(void)ignored; /* a cut line is not read */
		errno = code;
	}
	buffer_free(&text);
	return result;
}

/* Takes up the list that another process began in this turn. */
static void
take_up(struct checkpoints *self, const char *path)
{
	struct json_object *list = checkpoint_folder_list(path);
	size_t count = list != NULL ? json_object_array_length(list) : 0, i;
	const char *name;

	if (count > 0 && self->key != NULL &&
	    strcmp(json_member_text(json_object_array_get_idx(list, 0), "turn", ""),
		self->key) == 0)
		self->list = open(path, O_RDWR | O_APPEND | O_NOFOLLOW | O_CLOEXEC);
	for (i = 1; self->list != -1 && i < count; i++) {
		name = json_member_string(json_object_array_get_idx(list, i), "path");
		if (name != NULL)
			json_set_boolean(self->paths, name, true);
	}
	json_object_put(list);
}

static int
begin_list(struct checkpoints *self, unsigned long number)
{
	struct json_object *head = json_object_new_object();
	char *path;
	int tries, result;

	for (tries = 0; self->list == -1 && tries < NUMBER_TRIES; tries++) {
		path = list_path(self, ++number);
		self->list = open(
		    path, O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		free(path);
		if (self->list == -1 && errno != EEXIST)
			break;
	}
	json_set_text(head, "turn", self->key != NULL ? self->key : "");
	json_set_integer(head, "time", (int64_t)time(NULL));
	result = self->list != -1 ? append(self->list, head) : -1;
	json_object_put(head);
	if (result == -1 &&
	    self->list != -1) { /* else there would be one more with each edit */
		path = list_path(self, number);
		(void)unlink(path);
		free(path);
	}
	return result;
}

static int
open_list(struct checkpoints *self)
{
	struct numbers numbers;
	unsigned long last;
	char *path;
	int result = 0;

	if (self->list != -1)
		return 0;
	if (checkpoint_folder_make(self->folder) == -1)
		return -1;
	numbers = find_numbers(self);
	last = numbers.count > 0 ? numbers.items[numbers.count - 1] : 0;
	free(numbers.items);
	json_object_put(self->paths);
	self->paths = json_object_new_object();
	path = list_path(self, last);
	if (self->again && last > 0)
		take_up(self, path);
	free(path);
	if (self->list == -1)
		result = begin_list(self, last);
	if (result == 0)
		(void)flock(self->list, LOCK_SH | LOCK_NB);
	else
		fd_close(&self->list);
	return result;
}

/* Names that JSON cannot hold are written as the edit tools take them. */
static void
set_path(struct json_object *line, const char *path)
{
	struct buffer text = BUFFER_EMPTY;
	size_t length = strlen(path), at = 0, size;

	while (at < length) {
		size = utf8_sequence(path + at, length - at);
		if (size == 0)
			buffer_printf(&text, "\\x%02X", (unsigned char)path[at++]);
		else
			buffer_append(&text, path + at, size);
		at += size;
	}
	json_set_text(line, "path", buffer_text(&text));
	buffer_free(&text);
}

/* NULL: the old content is to be kept. `room` was made where that was possible. */
static const char *
reason_against(struct checkpoints *self, const struct checkpoint_edit *edit)
{
	struct checkpoint_limits limits = self->limits;
	int64_t length = edit->existed ? (int64_t)edit->before_length : 0;

	if (edit->unkept != NULL)
		return edit->unkept;
	if (length > limits.file_bytes)
		return "it is too big (checkpoints.max_file_size_mb)";
	if (self->list == -1)
		self->total = checkpoint_folder_total(self->root);
	if (self->total + length <= limits.total_bytes)
		return NULL;
	limits.total_bytes -= length;
	if (limits.total_bytes >= 0)
		(void)checkpoint_prune(self->root, &limits);
	self->total = checkpoint_folder_total(self->root);
	return self->total + length <= self->limits.total_bytes
		   ? NULL
		   : "the room for checkpoints is used up (checkpoints.max_total_size_mb)";
}

static bool
has_path(const struct checkpoints *self, struct json_object *line)
{
	return json_has(self->paths, json_member_text(line, "path", ""));
}

/* Keeps the content and writes the line; errno tells what failed. */
static int
record(struct checkpoints *self, const struct checkpoint_edit *edit, const char *unkept,
    struct json_object *line)
{
	char before[STATE_HASH_SIZE], after[STATE_HASH_SIZE];
	int code = 0;

	if (open_list(self) == -1)
		return -1;
	if (edit->unkept == NULL) {
		checkpoint_name(edit->exists, edit->after, edit->after_length, after);
		json_set_text(line, "after", after);
	}
	checkpoint_name(edit->existed, edit->before, edit->before_length, before);
	if (!has_path(self, line) && unkept != NULL) {
		json_set_text(line, "unkept", unkept);
		if (edit->unkept == NULL) /* by it the list of an earlier turn goes on */
			json_set_text(line, "before", before);
	} else if (!has_path(self, line)) {
		if (edit->existed && checkpoint_folder_put(self->root, before, edit->before,
					 edit->before_length) == -1) {
			code = errno;
			json_set_text(line, "unkept", strerror(code));
		} else {
			json_set_text(line, "before", before);
			json_set_integer(line, "mode", edit->existed ? edit->mode & 07777 : 0);
			json_set_integer(line, "folders", edit->folders);
			self->total += edit->existed ? (int64_t)edit->before_length : 0;
		}
	}
	if (append(self->list, line) == -1)
		return -1;
	json_set_boolean(self->paths, json_member_text(line, "path", ""), true);
	errno = code;
	return code == 0 ? 0 : -1;
}

int
checkpoints_keep(
    struct checkpoints *self, const struct checkpoint_edit *edit, struct buffer *error)
{
	struct json_object *line;
	const char *unkept = NULL;
	bool first = true;
	int lock, result = -1;

	if (self == NULL)
		return 0;
	line = json_object_new_object();
	set_path(line, edit->path);
	if (checkpoint_folder_make(self->root) == 0) {
		if (self->list == -1 && checkpoint_prune_due(self->root))
			(void)checkpoint_prune(self->root, &self->limits);
		first = self->list == -1 || !has_path(self, line);
		unkept = first ? reason_against(self, edit) : edit->unkept;
		lock = checkpoint_folder_lock(self->root, false);
		if (lock != -1)
			result = record(self, edit, unkept, line);
		fd_close(&lock);
	}
	if (result == -1) {
		buffer_printf(error, "%s", strerror(errno));
		log_warning(
		    "checkpoints", "%s: no checkpoint: %s", edit->path, strerror(errno));
	} else if (first && unkept != NULL) {
		buffer_append_text(error, unkept);
		result = -1;
	}
	json_object_put(line);
	return result;
}

bool
checkpoint_is_known(struct json_object *change, const char *name)
{
	struct json_object *known = json_member_array(change, "known");
	size_t count = known != NULL ? json_object_array_length(known) : 0, i;

	for (i = 0; i < count; i++)
		if (strcmp(json_object_get_string(json_object_array_get_idx(known, i)), name) ==
		    0)
			return true;
	return false;
}

/* The first line of a file in a turn: what it was before. */
static void
merge_first(struct json_object *changes, const char *path, struct json_object *line)
{
	static const char *const members[] = {"before", "mode", "folders", "unkept"};
	struct json_object *change = json_member_object(changes, path), *known;
	const char *before = json_member_string(line, "before");
	size_t i;

	if (change == NULL) {
		change = json_object_new_object();
		json_set(changes, path, change);
		for (i = 0; i < sizeof members / sizeof members[0]; i++)
			if (json_has(line, members[i]))
				json_set(change, members[i],
				    json_object_get(json_member(line, members[i])));
	} else if (before == NULL || !checkpoint_is_known(change, before)) {
		json_set_boolean(change, "between", true);
	}
	known = json_object_new_array();
	if (before != NULL)
		json_object_array_add(known, json_new_text(before));
	json_set(change, "known", known);
}

static void
merge_list(struct json_object *changes, struct json_object *list)
{
	struct json_object *seen = json_object_new_object(), *line;
	size_t count = json_object_array_length(list), i;
	const char *path, *after;

	for (i = 1; i < count; i++) {
		line = json_object_array_get_idx(list, i);
		path = json_member_string(line, "path");
		if (path == NULL)
			continue;
		if (!json_has(seen, path))
			merge_first(changes, path, line);
		json_set_boolean(seen, path, true);
		after = json_member_string(line, "after");
		if (after != NULL)
			json_object_array_add(
			    json_member_array(json_member_object(changes, path), "known"),
			    json_new_text(after));
	}
	json_object_put(seen);
}

struct json_object *
checkpoints_changes(struct checkpoints *self, int64_t *turns)
{
	struct numbers numbers = find_numbers(self);
	struct json_object **lists = xcalloc(numbers.count + 1, sizeof(struct json_object *));
	struct json_object *changes = json_object_new_object();
	size_t i = numbers.count, begin;
	int64_t found = 0;
	char *path;

	/* A list without a line of a file belongs to a turn that got no further. */
	while (i > 0 && found < *turns) {
		path = list_path(self, numbers.items[--i]);
		lists[i] = checkpoint_folder_list(path);
		found += lists[i] != NULL && json_object_array_length(lists[i]) > 1;
		free(path);
	}
	for (begin = i; i < numbers.count; i++)
		if (lists[i] != NULL)
			merge_list(changes, lists[i]);
	for (i = begin; i < numbers.count; i++)
		json_object_put(lists[i]);
	free(lists);
	free(numbers.items);
	*turns = found;
	return changes;
}

int
checkpoints_read(struct checkpoints *self, const char *name, struct buffer *bytes)
{
	char *path, hash[STATE_HASH_SIZE];
	int fd, result = -1;

	if (!checkpoint_folder_is_hash(name))
		return -1;
	path = xasprintf("%s/objects/%s", self->root, name);
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	free(path);
	if (fd != -1 && fd_read_all(fd, bytes, SIZE_MAX / 8) == 0 && !bytes->failed) {
		state_hash(buffer_text(bytes), bytes->length, hash);
		result = strcmp(hash, name) == 0 ? 0 : -1;
	}
	fd_close(&fd);
	return result;
}

static void
remove_file(const char *folder, const char *name, void *arg)
{
	char *path = xasprintf("%s/%s", folder, name);

	(void)arg;
	(void)unlink(path);
	free(path);
}

void
checkpoints_forget(const char *home, const char *session)
{
	static const struct checkpoint_limits limits = {
	    .total_bytes = INT64_MAX, .seconds = INT64_MAX};
	char *root = xasprintf("%s/checkpoints/acp", home);
	char *folder = checkpoint_folder_session(root, session);

	checkpoint_folder_each(folder, remove_file, NULL);
	if (rmdir(folder) == 0)
		(void)checkpoint_prune(root, &limits);
	free(folder);
	free(root);
}
