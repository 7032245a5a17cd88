/*
 * Loaded before the C library: a look-up of a name that ends in ".slow.test" gets no answer for
 * a minute, as from a name server that does not answer. All other names are left alone.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netdb.h>
#include <string.h>
#include <unistd.h>

typedef int (*look_up)(const char *, const char *, const struct addrinfo *, struct addrinfo **);

int
getaddrinfo(const char *name, const char *service, const struct addrinfo *hints,
    struct addrinfo **found)
{
	static const char end[] = ".slow.test";
	size_t length = name != NULL ? strlen(name) : 0;
	look_up next;

	if (length >= sizeof end && strcmp(name + length - (sizeof end - 1), end) == 0) {
		sleep(60);
		return EAI_AGAIN;
	}
	*(void **)&next = dlsym(RTLD_NEXT, "getaddrinfo");
	return next(name, service, hints, found);
}
