/*
 * Comparing folders.
 */
#include <config.h>

#include "worker/store/state_folder.h"
#include "common/alloc.h"
#include "common/json.h"

#include <stdlib.h>
#include <string.h>

struct state_folder {
	char *resolved;
	struct json_object *known; /* path → is it the one */
};

/* Drops "//", "/./", "/../" and slashes at the end. */
static char *
normalise(const char *path)
{
	struct buffer out = BUFFER_EMPTY;
	size_t length;

	while (*path != '\0') {
		path += strspn(path, "/");
		length = strcspn(path, "/");
		if (length == 2 && path[0] == '.' && path[1] == '.') {
			while (out.length > 0 && out.data[--out.length] != '/')
				continue;
		} else if (length > 0 && !(length == 1 && path[0] == '.')) {
			buffer_append_byte(&out, '/');
			buffer_append(&out, path, length);
		}
		path += length;
	}
	if (out.length == 0)
		buffer_append_byte(&out, '/');
	buffer_append_byte(&out, '\0');
	return out.data;
}

static char *
resolve(const char *path)
{
	char *resolved = realpath(path, NULL);

	return resolved != NULL ? resolved : normalise(path);
}

struct state_folder *
state_folder_new(const char *path)
{
	struct state_folder *folder = xcalloc(1, sizeof *folder);

	if (path != NULL)
		folder->resolved = resolve(path);
	folder->known = json_object_new_object();
	return folder;
}

void
state_folder_free(struct state_folder *folder)
{
	if (folder == NULL)
		return;
	free(folder->resolved);
	json_object_put(folder->known);
	free(folder);
}

bool
state_folder_is(struct state_folder *folder, const char *path)
{
	char *resolved;
	bool same;

	if (folder->resolved == NULL)
		return true;
	if (path == NULL || path[0] != '/')
		return false;
	if (json_has(folder->known, path))
		return json_member_boolean(folder->known, path, false);
	resolved = resolve(path);
	same = resolved != NULL && strcmp(resolved, folder->resolved) == 0;
	free(resolved);
	json_set_boolean(folder->known, path, same);
	return same;
}
