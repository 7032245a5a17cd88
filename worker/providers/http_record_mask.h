/*
 * What must not stand in a record. Private to http_record.c.
 */
#ifndef HERMES_WORKER_PROVIDERS_HTTP_RECORD_MASK_H
#define HERMES_WORKER_PROVIDERS_HTTP_RECORD_MASK_H

#include "common/buffer.h"

#include <stdbool.h>

/* Blots out every known secret in place, also where it is written with the escapes of JSON or
 * of a URL. */
void http_record_mask(char *bytes, size_t length);
/* A copy of a URL without a password and without secrets; the caller frees it. */
char *http_record_mask_url(const char *url);
/* Appends the value of a header as a JSON string, "***" when it may be a secret. */
void http_record_mask_header(
    struct buffer *out, const char *name, const char *value, bool of_request);

#endif
