/*
 * The files of memory on disk.
 */
#include <config.h>

#include "worker/tools/memory_file.h"

#include "common/alloc.h"
#include "common/fd.h"
#include "common/utf8.h"
#include "worker/tools/file_save.h"
#include "worker/tools/path_rules.h"
#include "worker/tools/text_file.h"
#include "worker/tools/tool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define READ_MAX (1024 * 1024)

/* A link must not make this tool the way to a file that other tools ask for. */
static bool
may_be_there(const struct tool_context *context, const char *real)
{
	char *folder = path_rules_real(memory_folder(context->memory));
	struct path_places places;
	bool may = folder != NULL && path_rules_below(folder, real);

	if (!may) {
		path_places_find(context, &places);
		may = path_rules_flags(&places, real, NULL) == 0;
		path_places_clear(&places);
	}
	free(folder);
	return may;
}

static int
find(const struct tool_context *context, enum memory_target target, struct memory_file *file,
    struct buffer *error)
{
	char *path =
	    xasprintf("%s/%s", memory_folder(context->memory), memory_file_name(target));

	file->path = path_rules_real(path);
	if (file->path == NULL)
		buffer_printf(error, "%s cannot be found: %s.", path, strerror(errno));
	else if (!may_be_there(context, file->path))
		buffer_printf(
		    error, "%s is a link to %s, which memory must not use.", path, file->path);
	free(path);
	return error->length == 0 ? 0 : -1;
}

/* What only its owner should read is given to nobody else. */
static void
tighten(int fd, const struct stat *status)
{
	if ((status->st_mode & 077) != 0 && fchmod(fd, status->st_mode & 0700) == -1)
		return; /* somebody else's file: it is as it was */
}

static int
take_text(struct memory_file *file, struct buffer *error)
{
	enum text_failure failure;
	struct stat status;
	int fd = text_file_open(file->path, &status, &failure, error);

	if (fd == -1 && failure == TEXT_ABSENT) {
		buffer_clear(error);
		return 0;
	}
	if (fd == -1)
		return -1;
	tighten(fd, &status);
	file->changed = status.st_mtim;
	if (fd_read_all(fd, &file->text, READ_MAX) == -1)
		buffer_printf(error, "%s cannot be read: %s.", file->path, strerror(errno));
	fd_close(&fd);
	return error->length == 0 ? 0 : -1;
}

int
memory_file_read(const struct tool_context *context, enum memory_target target,
    struct memory_file *file, struct buffer *error)
{
	memset(file, 0, sizeof *file);
	if (find(context, target, file, error) == -1 || take_text(file, error) == -1)
		return -1;
	if (file->text.length > 0 && memchr(file->text.data, '\0', file->text.length) != NULL)
		file->damage = "it has NUL bytes in it";
	else if (!utf8_valid(buffer_text(&file->text), file->text.length))
		file->damage = "it is not UTF-8";
	else
		memory_entries_parse(
		    &file->entries, buffer_text(&file->text), file->text.length);
	return 0;
}

void
memory_file_clear(struct memory_file *file)
{
	free(file->path);
	buffer_free(&file->text);
	memory_entries_clear(&file->entries);
	memset(file, 0, sizeof *file);
}

int
memory_file_save(struct memory_file *file, enum memory_target target, struct buffer *error)
{
	struct buffer text = BUFFER_EMPTY;
	struct file_save save = {
	    .path = file->path, .shown = memory_file_name(target), .mode = 0600};
	int result;

	memory_entries_join(&file->entries, &text);
	save.bytes = buffer_text(&text);
	save.length = text.length;
	result = file_save_write(&save, error);
	buffer_free(&text);
	return result;
}

int
memory_file_keep(struct memory_file *file, struct buffer *copy, struct buffer *error)
{
	char *path = xasprintf("%s.bak.%lld.%09ld", file->path, (long long)file->changed.tv_sec,
	    file->changed.tv_nsec);
	struct file_save save = {.path = path,
	    .shown = path,
	    .bytes = buffer_text(&file->text),
	    .length = file->text.length,
	    .mode = 0600};
	int result = file_save_write(&save, error);

	buffer_append_text(copy, path);
	free(path);
	return result;
}
