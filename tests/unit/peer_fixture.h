/*
 * A real descriptor for the code under test, the other end of it, and an event loop. Both
 * ends do not block, so that neither can hang the test.
 */
#ifndef HERMES_TESTS_UNIT_PEER_FIXTURE_H
#define HERMES_TESTS_UNIT_PEER_FIXTURE_H

#include <errno.h>
#include <event2/event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

struct peer {
	struct event_base *base;
	int fd; /* the other end; -1 when it is closed */
};

static inline int
peer_init(struct peer *peer, int theirs, int ours)
{
	assert_int_equal(evutil_make_socket_nonblocking(theirs), 0);
	assert_int_equal(evutil_make_socket_nonblocking(ours), 0);
	peer->base = event_base_new();
	assert_non_null(peer->base);
	peer->fd = theirs;
	return ours;
}

/* A pipe whose writing end is the peer's; returns the reading end. */
static inline int
peer_writes(struct peer *peer)
{
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	return peer_init(peer, fds[1], fds[0]);
}

/* A pipe whose reading end is the peer's; returns the writing end. */
static inline int
peer_reads(struct peer *peer)
{
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	return peer_init(peer, fds[0], fds[1]);
}

/* A pair of sockets; returns the one that is not the peer's. */
static inline int
peer_talks(struct peer *peer)
{
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	return peer_init(peer, fds[1], fds[0]);
}

/* Runs what is due and returns. */
static inline void
peer_run(struct peer *peer)
{
	event_base_loop(peer->base, EVLOOP_NONBLOCK);
}

/* The peer writes all of this; the loop runs while there is no room. */
static inline void
peer_send(struct peer *peer, const char *bytes, size_t length)
{
	ssize_t n;

	while (length > 0) {
		n = write(peer->fd, bytes, length);
		if (n == -1) {
			assert_int_equal(errno, EAGAIN);
			peer_run(peer);
			continue;
		}
		bytes += n;
		length -= (size_t)n;
	}
}

static inline void
peer_close(struct peer *peer)
{
	if (peer->fd != -1)
		close(peer->fd);
	peer->fd = -1;
}

/* Call it when the code under test has let go of the loop. */
static inline void
peer_clear(struct peer *peer)
{
	peer_close(peer);
	event_base_free(peer->base);
}

#endif
