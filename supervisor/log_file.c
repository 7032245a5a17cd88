/*
 * Log sinks of the supervisor. The file is opened once, before the loop; a record is at most
 * 4 KiB, so that O_APPEND keeps it whole beside other processes.
 */
#include <config.h>

#include "supervisor/log_file.h"
#include "common/fd.h"
#include "common/log.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct log_file {
	int file, error;
	enum log_level error_level;
};

static void
sink(enum log_level level, const char *record, size_t length, void *arg)
{
	struct log_file *log = arg;

	if (level <= log->error_level)
		log_sink_fd(level, record, length, &log->error);
	if (log->file != -1 && level <= LOG_LEVEL_INFO)
		log_sink_fd(level, record, length, &log->file);
}

static int
open_file(void)
{
	const char *home = getenv("HERMES_HOME"), *user = getenv("HOME");
	char folder[PATH_MAX - 32], path[PATH_MAX];

	if (home != NULL && home[0] != '\0' && home[0] != '/')
		return -1; /* where it leads is not for this process to find out */
	if (home != NULL && home[0] == '/')
		snprintf(folder, sizeof folder, "%s", home);
	else if (user != NULL && user[0] == '/')
		snprintf(folder, sizeof folder, "%s/.hermes", user);
	else
		return -1;
	mkdir(folder, 0700);
	snprintf(path, sizeof path, "%s/logs", folder);
	mkdir(path, 0700);
	snprintf(path, sizeof path, "%s/logs/hermes-acp.log", folder);
	return open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0600);
}

struct log_file *
log_file_open(int verbosity)
{
	struct log_file *log = calloc(1, sizeof *log);
	enum log_level level;

	if (log == NULL)
		return NULL;
	log->error = STDERR_FILENO;
	log->error_level = verbosity == 0   ? LOG_LEVEL_ERROR
			   : verbosity == 1 ? LOG_LEVEL_INFO
					    : LOG_LEVEL_DEBUG;
	log->file = open_file();
	level = log->error_level > LOG_LEVEL_INFO ? log->error_level : LOG_LEVEL_INFO;
	log_open("hermes-acp", level, sink, log);
	return log;
}

void
log_file_close(struct log_file *log)
{
	if (log == NULL)
		return;
	log_open("hermes-acp", LOG_LEVEL_ERROR, NULL, NULL);
	fd_close(&log->file);
	free(log);
}
