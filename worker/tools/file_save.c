/*
 * Atomic saving. Paths are walked one component at a time without following links, so that a
 * link which was put there after the user's permission leads nowhere. It must never leave a
 * temporary file behind, name one in an error, or make a read-only file writable.
 */
#include <config.h>

#include "worker/tools/file_save.h"

#include "common/alloc.h"
#include "common/fd.h"
#include "worker/tools/file_attributes.h"
#include "worker/tools/file_temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef O_PATH
#define OPEN_FOLDER (O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#else
#define OPEN_FOLDER (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#endif

struct target {
	int folder;		 /* the parent, open */
	char name[NAME_MAX + 1]; /* the last component */
	bool exists;
	struct stat status; /* when it exists */
};

static int
fail(struct buffer *error, const char *doing, const char *shown, const char *reason)
{
	(void)buffer_printf(error, "Cannot %s %s: %s.", doing, shown, reason);
	return -1;
}

static const char *
kind_of(mode_t mode)
{
	if (S_ISDIR(mode))
		return "it is a folder";
	if (S_ISLNK(mode))
		return "it has become a symbolic link";
	if (S_ISFIFO(mode))
		return "it is a named pipe";
	if (S_ISSOCK(mode))
		return "it is a socket";
	return "it is a device";
}

/* Opens `name` below `folder`, making it when `make` allows; counts in *made. */
static int
enter_folder(int folder, const char *name, size_t *made)
{
	int inner = openat(folder, name, OPEN_FOLDER);

	if (inner != -1 || errno != ENOENT || made == NULL)
		return inner;
	if (mkdirat(folder, name, 0777) == 0)
		++*made;
	else if (errno != EEXIST)
		return -1;
	return openat(folder, name, OPEN_FOLDER);
}

/* Walks to the parent of `path`. 0; or -1 with errno. `made` NULL: folders are not made. */
static int
open_target(struct target *target, const char *path, size_t *made)
{
	char component[NAME_MAX + 1];
	const char *at = path, *end;
	size_t length;
	int inner;

	memset(target, 0, sizeof *target);
	target->folder = open("/", OPEN_FOLDER);
	while (target->folder != -1) {
		at += strspn(at, "/");
		end = strchr(at, '/');
		length = end != NULL ? (size_t)(end - at) : strlen(at);
		if (length > NAME_MAX || length == 0) {
			errno = length == 0 ? EISDIR : ENAMETOOLONG;
			break;
		}
		if (end == NULL) {
			memcpy(target->name, at, length);
			target->exists = fstatat(target->folder, target->name, &target->status,
					     AT_SYMLINK_NOFOLLOW) == 0;
			if (target->exists || errno == ENOENT)
				return 0;
			break;
		}
		memcpy(component, at, length);
		component[length] = '\0';
		inner = enter_folder(target->folder, component, made);
		fd_close(&target->folder);
		target->folder = inner;
		at = end;
	}
	fd_close(&target->folder);
	return -1;
}

static const char *
reason_for(int code)
{
	if (code == ENOTDIR || code == ELOOP)
		return "a part of the path is not a folder";
	if (code == EISDIR)
		return "it is a folder";
	return strerror(code);
}

/* The existing file may be replaced. */
static int
check_existing(const struct target *target, const char *shown, struct buffer *error)
{
	if (!S_ISREG(target->status.st_mode))
		return fail(error, "write", shown, kind_of(target->status.st_mode));
	if ((target->status.st_mode & 0222) == 0)
		return fail(error, "write", shown,
		    "it is read-only (make it writable first if that is wanted)");
	if (faccessat(target->folder, target->name, W_OK, AT_EACCESS) == -1)
		return fail(error, "write", shown, strerror(errno));
	return 0;
}

int
file_save_check(const char *path, const char *shown, struct buffer *error)
{
	struct target target;
	int result;

	if (open_target(&target, path, NULL) == -1)
		return errno == ENOENT ? 0 : fail(error, "write", shown, reason_for(errno));
	result = target.exists ? check_existing(&target, shown, error) : 0;
	fd_close(&target.folder);
	return result;
}

/* Gives the new file the owner of the old one; -1 when that cannot be. */
static int
take_owner(int fd, const struct stat *old)
{
	struct stat now;

	if (fstat(fd, &now) == -1)
		return -1;
	if (now.st_uid == old->st_uid && now.st_gid == old->st_gid)
		return 0;
	return fchown(fd, old->st_uid, old->st_gid);
}

/* Sets mode and attributes, after the content: writing takes set-user-ID bits away. */
static int
take_mode(int fd, const struct file_save *save, const struct target *target)
{
	if (!target->exists && save->mode == FILE_SAVE_DEFAULT_MODE)
		return 0;
	if (!target->exists)
		return fchmod(fd, save->mode & 07777);
	if (fchmod(fd, target->status.st_mode & 07777) == -1)
		return -1;
	file_attributes_copy(target->folder, target->name, fd);
	return 0;
}

/* How writing through a temporary file went. */
enum outcome { SAVED, FAILED, IN_PLACE };

static enum outcome
write_beside(struct file_save *save, const struct target *target)
{
	bool plain = !target->exists && save->mode == FILE_SAVE_DEFAULT_MODE;
	char name[FILE_TEMPORARY_NAME];
	enum outcome outcome = FAILED;
	int fd, code;

	file_temporary_sweep(target->folder);
	fd = file_temporary_open(target->folder, plain ? 0666 : 0600, name);
	if (fd == -1)
		return target->exists && (errno == EACCES || errno == EPERM) ? IN_PLACE
									     : FAILED;
	if (target->exists && take_owner(fd, &target->status) == -1) {
		outcome = IN_PLACE;
		goto failed;
	}
	if (fd_write_all(fd, save->bytes, save->length) == -1 ||
	    take_mode(fd, save, target) == -1 || fsync(fd) == -1 ||
	    !file_temporary_holds(fd, save->bytes, save->length) ||
	    fstat(fd, &save->done) == -1)
		goto failed;
	if (renameat(target->folder, name, target->folder, target->name) == -1) {
		/* A mount point or a sticky folder with somebody else's file. */
		if (target->exists && (errno == EPERM || errno == EACCES || errno == EBUSY))
			outcome = IN_PLACE;
		goto failed;
	}
	/* The rename changed the time of change. */
	(void)fstat(fd, &save->done);
	fd_close(&fd);
	return SAVED;
failed:
	code = errno;
	(void)unlinkat(target->folder, name, 0);
	fd_close(&fd);
	errno = code;
	return outcome;
}

/* Puts the old content back after a failure. */
static void
restore(int fd, const struct buffer *old)
{
	int code = errno, ignored = 0;

	if (lseek(fd, 0, SEEK_SET) == 0 && fd_write_all(fd, buffer_text(old), old->length) == 0)
		ignored = ftruncate(fd, (off_t)old->length);
	(void)ignored; /* the first error is what counts */
	errno = code;
}

static enum outcome
write_in_place(struct file_save *save, const struct target *target)
{
	int fd =
	    openat(target->folder, target->name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct buffer old = BUFFER_EMPTY;
	enum outcome outcome = FAILED;

	if (fd == -1)
		return FAILED;
	if (fstat(fd, &save->done) == -1 || !S_ISREG(save->done.st_mode) ||
	    fd_read_all(fd, &old, SIZE_MAX / 8) == -1 || lseek(fd, 0, SEEK_SET) == -1)
		goto done;
	if (fd_write_all(fd, save->bytes, save->length) == -1 ||
	    ftruncate(fd, (off_t)save->length) == -1 || fsync(fd) == -1 ||
	    !file_temporary_holds(fd, save->bytes, save->length)) {
		restore(fd, &old);
		goto done;
	}
	/* Only its owner may; for others the bits that writing took away stay away. */
	if ((target->status.st_mode & 07000) != 0)
		(void)fchmod(fd, target->status.st_mode & 07777);
	outcome = fstat(fd, &save->done) == 0 ? SAVED : FAILED;
done:
	buffer_free(&old);
	fd_close(&fd);
	return outcome;
}

int
file_save_write(struct file_save *save, struct buffer *error)
{
	struct target target;
	enum outcome outcome = IN_PLACE;
	int result = -1;

	save->folders = 0;
	if (open_target(&target, save->path, &save->folders) == -1) {
		result = fail(error, "write", save->shown, reason_for(errno));
		goto done;
	}
	if (target.exists && save->only_new) {
		result = fail(error, "make", save->shown, strerror(EEXIST));
		goto done;
	}
	if (target.exists && check_existing(&target, save->shown, error) == -1)
		goto done;
	if (!target.exists || target.status.st_nlink == 1)
		outcome = write_beside(save, &target);
	if (outcome == IN_PLACE)
		outcome = write_in_place(save, &target);
	result = outcome == SAVED ? 0 : fail(error, "write", save->shown, strerror(errno));
done:
	fd_close(&target.folder);
	if (result == -1)
		file_save_remove_folders(save->path, save->folders);
	return result;
}

int
file_save_make_folders(const char *path, const char *shown, size_t *made, struct buffer *error)
{
	struct target target;

	if (open_target(&target, path, made) == 0) {
		fd_close(&target.folder);
		return 0;
	}
	(void)fail(error, "write", shown, reason_for(errno));
	file_save_remove_folders(path, *made);
	*made = 0;
	return -1;
}

int
file_save_remove(const char *path, const char *shown, struct buffer *error)
{
	struct target target;
	int result = 0;

	if (open_target(&target, path, NULL) == -1)
		return fail(error, "delete", shown, reason_for(errno));
	if (!target.exists)
		result = fail(error, "delete", shown, strerror(ENOENT));
	else if (!S_ISREG(target.status.st_mode))
		result = fail(error, "delete", shown, kind_of(target.status.st_mode));
	else if (unlinkat(target.folder, target.name, 0) == -1)
		result = fail(error, "delete", shown, strerror(errno));
	fd_close(&target.folder);
	return result;
}

void
file_save_remove_folders(const char *path, size_t count)
{
	char *folder = xstrdup(path), *slash;

	for (; count > 0 && (slash = strrchr(folder, '/')) != NULL && slash > folder; count--) {
		*slash = '\0';
		if (rmdir(folder) == -1)
			break;
	}
	free(folder);
}
