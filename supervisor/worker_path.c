/*
 * Finding the worker program. PATH must play no part in it.
 */
#include <config.h>

#include "supervisor/worker_path.h"
#include "common/platform.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef HERMES_LIBEXECDIR
#define HERMES_LIBEXECDIR "/usr/local/libexec/hermes-acp"
#endif

void
worker_path(char *path, size_t size)
{
	const char *named = getenv("HERMES_ACP_WORKER");
	char *slash;

	if (named != NULL && named[0] == '/') {
		snprintf(path, size, "%s", named);
		return;
	}
	if (platform_executable(path, size) == 0 && (slash = strrchr(path, '/')) != NULL &&
	    (size_t)(slash - path) + sizeof "/hermes-acp-worker" <= size) {
		strcpy(slash, "/hermes-acp-worker");
		if (access(path, X_OK) == 0)
			return;
	}
	snprintf(path, size, "%s/hermes-acp-worker", HERMES_LIBEXECDIR);
}
