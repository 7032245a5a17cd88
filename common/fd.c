/*
 * Descriptor helpers. They must keep errno over a close and never loop on EAGAIN without
 * waiting.
 */
#include <config.h>

#include "common/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

int
fd_set_cloexec(int fd, bool on)
{
	int flags = fcntl(fd, F_GETFD);

	if (flags == -1)
		return -1;
	return fcntl(fd, F_SETFD, on ? flags | FD_CLOEXEC : flags & ~FD_CLOEXEC);
}

int
fd_set_nonblocking(int fd, bool on)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags == -1)
		return -1;
	return fcntl(fd, F_SETFL, on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK);
}

int
fd_move(int fd, int least)
{
	int moved = fcntl(fd, F_DUPFD_CLOEXEC, least);

	if (moved != -1)
		close(fd);
	return moved;
}

int
fd_point_at_null(int fd, int flags)
{
	int null = open("/dev/null", flags | O_CLOEXEC);

	if (null == -1)
		return -1;
	if (null == fd)
		return fd_set_cloexec(fd, false);
	if (dup2(null, fd) == -1) {
		fd_close(&null);
		return -1;
	}
	close(null);
	return 0;
}

int
fd_write_all(int fd, const void *bytes, size_t length)
{
	const char *at = bytes;
	struct pollfd ready = {.fd = fd, .events = POLLOUT};
	ssize_t n;

	while (length > 0) {
		n = write(fd, at, length);
		if (n >= 0) {
			at += n;
			length -= (size_t)n;
		} else if (errno == EAGAIN) {
			poll(&ready, 1, -1);
		} else if (errno != EINTR) {
			return -1;
		}
	}
	return 0;
}

int
fd_read_all(int fd, struct buffer *buffer, size_t limit)
{
	char chunk[16384];
	ssize_t n;

	for (;;) {
		n = read(fd, chunk, sizeof chunk);
		if (n == 0)
			return 0;
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1)
			return -1;
		if (buffer->length + (size_t)n > limit) {
			errno = EFBIG;
			return -1;
		}
		if (buffer_append(buffer, chunk, (size_t)n) == -1) {
			errno = ENOMEM;
			return -1;
		}
	}
}

void
fd_sync_folder(const char *path)
{
	int saved = errno, fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd != -1)
		(void)fsync(fd);
	fd_close(&fd);
	errno = saved;
}

void
fd_close(int *fd)
{
	int saved = errno;

	if (*fd != -1)
		close(*fd);
	*fd = -1;
	errno = saved;
}
