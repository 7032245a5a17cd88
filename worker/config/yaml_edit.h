/*
 * Changes one place in the text of a YAML file and leaves every other byte alone.
 */
#ifndef HERMES_WORKER_CONFIG_YAML_EDIT_H
#define HERMES_WORKER_CONFIG_YAML_EDIT_H

#include "common/buffer.h"

struct yaml_edit {
	const char *section; /* "model"; for an item the name of a list at the top level */
	const char *key;     /* "default"; NULL: append `value` as an item */
	const char *value;   /* always stored as text; NULL: the key goes (or becomes "" where
			      * it cannot be cut out) */
};

/* Makes one change to `text`, which must be valid YAML. NULL, or why it cannot be made, as a
 * phrase; `text` is as it was then. An item that is in the list already is left alone. */
const char *yaml_edit_once(struct buffer *text, const struct yaml_edit *edit);

#endif
