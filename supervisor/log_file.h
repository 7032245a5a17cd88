/*
 * The log's two sinks: standard error, and a file in the Hermes home folder.
 */
#ifndef HERMES_SUPERVISOR_LOG_FILE_H
#define HERMES_SUPERVISOR_LOG_FILE_H

struct log_file;

/* Opens $HERMES_HOME/logs/hermes-acp.log (0600, folder 0700) and the log. `verbosity` 0:
 * errors alone go to standard error. Without a home folder only standard error is used. */
struct log_file *log_file_open(int verbosity);
void log_file_close(struct log_file *log);

#endif
