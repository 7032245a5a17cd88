/*
 * Changes config.yaml in place without touching comments, order or anything else in it. It
 * never writes a file whose meaning differs from the old one by more than the change: the
 * result is read again before it replaces the file, and what does not fit is refused.
 */
#ifndef HERMES_WORKER_CONFIG_CONFIG_EDIT_H
#define HERMES_WORKER_CONFIG_CONFIG_EDIT_H

#include "common/buffer.h"
#include "worker/config/yaml_edit.h"

#include <stddef.h>

/* Applies the changes in order, all or none. The file and its folder are made when they are
 * missing. An item that is in the list already is left alone. 0, or -1 with a sentence in
 * `error`. May wait up to 8 ms for another program's lock. */
int config_edit_apply(
    const char *home, const struct yaml_edit *edits, size_t count, struct buffer *error);
/* One item at the end of a list. */
int
config_edit_append(const char *home, const char *list, const char *item, struct buffer *error);

#endif
