/*
 * The log: one line per record, with a level and a subsystem token. Control bytes are
 * escaped and known secrets masked before anything is written. Never stdout.
 */
#ifndef HERMES_COMMON_LOG_H
#define HERMES_COMMON_LOG_H

#include <stddef.h>

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

#define LOG_RECORD_MAX 4096 /* bytes of one record, so that O_APPEND keeps it whole */

/* A sink gets finished records, newline included. */
typedef void (*log_sink)(enum log_level level, const char *record, size_t length, void *arg);

/* `level`: the least urgent level that is passed on. `program` is borrowed. */
void log_open(const char *program, enum log_level level, log_sink sink, void *arg);
void log_set_level(enum log_level level);
/* Writes records to `fd` with a time stamp. */
void log_sink_fd(enum log_level level, const char *record, size_t length, void *arg);

void log_write(enum log_level level, const char *subsystem, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
#define log_error(...) log_write(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(...) log_write(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_info(...) log_write(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_write(LOG_LEVEL_DEBUG, __VA_ARGS__)

/* Registers a secret; every record and every text passed to secret_mask() shows it as
 * "***". Shorter than 8 bytes is ignored. At most 4096 are kept. */
void secret_register(const char *secret);
/* Masks registered secrets in place, also one that the end of the text cuts off. */
void secret_mask(char *text);
/* The secrets one by one, from 0; NULL after the last. Borrowed. */
const char *secret_at(size_t index);

#endif
