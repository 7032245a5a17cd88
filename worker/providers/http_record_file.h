/*
 * The files of records: one per exchange, numbered, in the folder that the user has named.
 * Private to http_record.c.
 */
#ifndef HERMES_WORKER_PROVIDERS_HTTP_RECORD_FILE_H
#define HERMES_WORKER_PROVIDERS_HTTP_RECORD_FILE_H

#include "common/buffer.h"

#include <stdbool.h>

#define HTTP_RECORD_VARIABLE "HERMES_ACP_RECORD_PROVIDER"
#define HTTP_RECORD_COUNT 1000 /* files in a folder; more are not made */
#define HTTP_RECORD_NAME "%06u.jsonl"

/* Makes the next file; -1 when none is wanted, or after a warning in the log. */
int http_record_file_open(void);
/* False after a warning. */
bool http_record_file_write(int fd, const struct buffer *text);
void http_record_file_close(int fd);

#endif
