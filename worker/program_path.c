/*
 * Finding our own helper programs. PATH plays no part in it.
 */
#include <config.h>

#include "worker/program_path.h"
#include "common/alloc.h"
#include "common/platform.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef HERMES_LIBEXECDIR
#define HERMES_LIBEXECDIR "/usr/local/libexec/hermes-acp"
#endif

char *
program_path(const char *variable, const char *name)
{
	const char *named = getenv(variable);
	char own[PATH_MAX], *slash, *path;

	if (named != NULL && named[0] == '/')
		return xstrdup(named);
	if (platform_executable(own, sizeof own) == 0 && (slash = strrchr(own, '/')) != NULL) {
		*slash = '\0';
		path = xasprintf("%s/%s", own, name);
		if (access(path, X_OK) == 0)
			return path;
		free(path);
	}
	return xasprintf("%s/%s", HERMES_LIBEXECDIR, name);
}
