/*
 * auth.json: the logins and keys that the programs of the family share. It belongs to all of
 * them: what is not understood is kept, and a file that cannot be read is never replaced.
 */
#ifndef HERMES_WORKER_CONFIG_AUTH_FILE_H
#define HERMES_WORKER_CONFIG_AUTH_FILE_H

#include "common/buffer.h"
#include "common/json.h"

#include <stdbool.h>

/* The file as an object that the caller owns; NULL when there is none, or when it cannot be
 * used, with the reason as a phrase in `problem`. */
struct json_object *auth_file_read(const char *home, struct buffer *problem);
/* Reads the file under its lock, lets `change` change it and puts it in its place when that
 * says that it did. 0, or -1 with a sentence in `error`; errno is EWOULDBLOCK then when another
 * program has the lock, else 0. Waits no longer than 8 ms. A file that is not there is not
 * made. */
int auth_file_change(const char *home, bool (*change)(struct json_object *file, void *arg),
    void *arg, struct buffer *error);
/* The entries of a provider's pool; NULL when there are none. Borrowed. */
struct json_object *auth_file_pool(struct json_object *file, const char *provider);

#endif
