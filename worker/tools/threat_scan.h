/*
 * Looks for words by which a text tries to command an agent or to carry secrets away. For
 * texts that become part of a system prompt. It is a net with wide meshes, no proof.
 */
#ifndef HERMES_WORKER_TOOLS_THREAT_SCAN_H
#define HERMES_WORKER_TOOLS_THREAT_SCAN_H

#include "common/buffer.h"

#include <stdbool.h>
#include <stddef.h>

/* Longer texts are not looked at: the caller must treat them as unsafe. */
#define THREAT_SCAN_MAX 16384 /* bytes */

/* True when something was found; the names of what was found are appended to `names`, with
 * ", " between them. */
bool threat_scan(const char *text, size_t length, struct buffer *names);

#endif
