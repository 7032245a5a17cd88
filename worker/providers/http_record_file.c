/*
 * Making the files of records. Several processes write into one folder: a number belongs to the
 * one that could make the file. A file that is there is never opened, a link never followed.
 */
#include <config.h>

#include "worker/providers/http_record_file.h"
#include "common/fd.h"
#include "common/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void
warn(const char *folder, const char *reason)
{
	log_warning("record", "%s: %s: %s; this exchange is not recorded", HTTP_RECORD_VARIABLE,
	    folder, reason);
}

/* A folder of the user's own in which nobody else can make files. */
static int
open_folder(const char *folder)
{
	struct stat status;
	const char *reason = NULL;
	int fd;

	if (mkdir(folder, 0700) == 0)
		(void)chmod(folder, 0700);
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd == -1 || fstat(fd, &status) == -1)
		reason = strerror(errno);
	else if (status.st_uid != geteuid())
		reason = "the folder belongs to somebody else";
	else if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
		reason = "others may write there";
	if (reason == NULL)
		return fd;
	warn(folder, reason);
	fd_close(&fd);
	return -1;
}

static int
make_file(const char *folder, int parent)
{
	char name[32];
	unsigned number;
	int fd = -1;

	for (number = 1; fd == -1 && number <= HTTP_RECORD_COUNT; number++) {
		snprintf(name, sizeof name, HTTP_RECORD_NAME, number);
		fd = openat(
		    parent, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd == -1 && errno != EEXIST) {
			warn(folder, strerror(errno));
			return -1;
		}
	}
	if (fd == -1)
		warn(folder, "there are enough records in it");
	return fd;
}

int
http_record_file_open(void)
{
	const char *folder = getenv(HTTP_RECORD_VARIABLE);
	int parent, fd;

	if (folder == NULL || folder[0] == '\0')
		return -1;
	if (folder[0] != '/') {
		warn(folder, "not an absolute path");
		return -1;
	}
	parent = open_folder(folder);
	if (parent == -1)
		return -1;
	fd = make_file(folder, parent);
	fd_close(&parent);
	return fd;
}

bool
http_record_file_write(int fd, const struct buffer *text)
{
	if (!text->failed && fd_write_all(fd, text->data, text->length) == 0)
		return true;
	log_warning("record", "a record is not complete: %s",
	    text->failed ? "no memory" : strerror(errno));
	return false;
}

void
http_record_file_close(int fd)
{
	fd_close(&fd);
}
