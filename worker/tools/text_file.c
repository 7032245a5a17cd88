/*
 * Opening and reading text files. It must never wait for a fifo or a device, never read more
 * than its limit, and never call something text that is not.
 */
#include <config.h>

#include "worker/tools/text_file.h"

#include "common/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define READ_SIZE 65536

static const char *
kind_of_file(mode_t mode)
{
	if (S_ISDIR(mode))
		return "a folder";
	if (S_ISFIFO(mode))
		return "a named pipe";
	if (S_ISSOCK(mode))
		return "a socket";
	if (S_ISCHR(mode) || S_ISBLK(mode))
		return "a device";
	return "not a regular file";
}

static int
fail_open(enum text_failure *failure, struct buffer *error, const char *path, int number)
{
	if (number == ENOENT || number == ENOTDIR) {
		*failure = TEXT_ABSENT;
		buffer_printf(error, "File not found: %s", path);
	} else {
		*failure = TEXT_UNREADABLE;
		buffer_printf(error, "Cannot read %s: %s", path, strerror(number));
	}
	return -1;
}

static int
check_regular(const struct stat *status, enum text_failure *failure, struct buffer *error,
    const char *path)
{
	if (S_ISREG(status->st_mode))
		return 0;
	*failure = TEXT_NOT_REGULAR;
	buffer_printf(
	    error, "%s is %s, not a regular file", path, kind_of_file(status->st_mode));
	return -1;
}

int
text_file_open(
    const char *path, struct stat *status, enum text_failure *failure, struct buffer *error)
{
	int fd;

	/* Looked at before it is opened, because opening a device can already do something. */
	if (lstat(path, status) != 0)
		return fail_open(failure, error, path, errno);
	if (!S_ISLNK(status->st_mode) && check_regular(status, failure, error, path) != 0)
		return -1;
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW);
	if (fd == -1 && errno == ELOOP) {
		*failure = TEXT_UNREADABLE;
		buffer_printf(error, "Cannot read %s: it is a symbolic link", path);
		return -1;
	}
	if (fd == -1)
		return fail_open(failure, error, path, errno);
	if (fstat(fd, status) != 0)
		fail_open(failure, error, path, errno);
	else if (check_regular(status, failure, error, path) == 0)
		return fd;
	fd_close(&fd);
	return -1;
}

/* Reads to the end; false when there is more than `limit` or an error (errno is set). */
static bool
read_whole(int fd, size_t limit, struct buffer *bytes)
{
	ssize_t got;

	for (;;) {
		if (buffer_reserve(bytes, READ_SIZE) != 0) {
			errno = ENOMEM;
			return false;
		}
		got = read(fd, bytes->data + bytes->length, READ_SIZE);
		if (got == -1 && errno == EINTR)
			continue;
		if (got == -1)
			return false;
		if (got == 0)
			return true;
		bytes->length += (size_t)got;
		if (bytes->length > limit) {
			errno = EFBIG;
			return false;
		}
	}
}

static enum text_failure
fail_big(struct buffer *error, const char *path, size_t limit)
{
	buffer_printf(error, "%s is too big: more than %zu bytes", path, limit);
	return TEXT_TOO_BIG;
}

/* Turns the bytes of the file into the text of `file`; the bytes are used up. */
static enum text_failure
decode(struct buffer *bytes, const char *path, struct text_file *file, struct buffer *error)
{
	struct text_sample sample;
	struct buffer text = BUFFER_EMPTY;

	text_sample_judge(buffer_text(bytes), bytes->length, true, &sample);
	if (sample.binary) {
		buffer_printf(error, "%s is a binary file (%s)", path,
		    sample.type != NULL ? sample.type : "not text");
		return TEXT_BINARY;
	}
	buffer_consume(bytes, sample.bom_length);
	if (sample.encoding != TEXT_UTF8) {
		text_decode_utf16(buffer_text(bytes), bytes->length,
		    sample.encoding == TEXT_UTF16_BE, true, &text);
		buffer_free(bytes);
		*bytes = text;
	}
	file->length = bytes->length;
	buffer_append(bytes, "", 0);
	file->text = bytes->data != NULL ? buffer_take(bytes) : strdup("");
	if (file->text == NULL) {
		buffer_printf(error, "Cannot read %s: %s", path, strerror(ENOMEM));
		return TEXT_UNREADABLE;
	}
	return TEXT_READ;
}

enum text_failure
text_file_read(const char *path, size_t limit, struct text_file *file, struct buffer *error)
{
	struct buffer bytes = BUFFER_EMPTY;
	enum text_failure failure = TEXT_READ;
	struct stat status;
	int fd;

	memset(file, 0, sizeof *file);
	fd = text_file_open(path, &status, &failure, error);
	if (fd == -1)
		return failure;
	if (status.st_size > 0 && (uintmax_t)status.st_size > limit) {
		failure = fail_big(error, path, limit);
	} else if (!read_whole(fd, limit, &bytes)) {
		failure = errno == EFBIG ? fail_big(error, path, limit) : TEXT_UNREADABLE;
		if (failure == TEXT_UNREADABLE)
			buffer_printf(error, "Cannot read %s: %s", path, strerror(errno));
	} else {
		failure = decode(&bytes, path, file, error);
	}
	fd_close(&fd);
	buffer_free(&bytes);
	return failure;
}

void
text_file_clear(struct text_file *file)
{
	free(file->text);
	memset(file, 0, sizeof *file);
}
