/*
 * Checks of payloads that become part of a line.
 */
#ifndef HERMES_SUPERVISOR_PAYLOAD_H
#define HERMES_SUPERVISOR_PAYLOAD_H

#include <stdbool.h>
#include <stddef.h>

/* True when the bytes are one JSON object on one line. `forbidden` may not be among its
 * members; `required` must be there as a string. Both may be NULL. */
bool
payload_is_object(const char *text, size_t length, const char *forbidden, const char *required);
/* True when the bytes are one JSON value on one line. */
bool payload_is_line(const char *text, size_t length);

#endif
