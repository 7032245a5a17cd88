/*
 * A place in the list of sessions as text. It names the place by what the list is sorted by,
 * so that it outlives the session that stood there.
 */
#ifndef HERMES_WORKER_STORE_STATE_CURSOR_H
#define HERMES_WORKER_STORE_STATE_CURSOR_H

#include "common/buffer.h"

/* Appends the place behind the session with this activity and id. */
void state_cursor_append(struct buffer *text, double active, const char *id);
/* Reads one; *id points into `text`. -1 when it is not one; nothing is set then. */
int state_cursor_read(const char *text, double *active, const char **id);

#endif
