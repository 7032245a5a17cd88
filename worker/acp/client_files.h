/*
 * The client's file system: fs/read_text_file and fs/write_text_file, as far as the client
 * has advertised them.
 */
#ifndef HERMES_WORKER_ACP_CLIENT_FILES_H
#define HERMES_WORKER_ACP_CLIENT_FILES_H

#include "common/json.h"
#include "worker/tools/editor.h"

struct client_calls;
struct client_files;
struct turn_output;

/* NULL when `capabilities` (what the client has said at initialize) has neither. `params` are
 * those of the session: its folders as the client spells them. `roots` are the same folders
 * with links resolved, ended by NULL; borrowed, as are the others. */
struct client_files *client_files_new(struct client_calls *calls, struct turn_output *output,
    struct json_object *capabilities, struct json_object *params, char *const *roots);
void client_files_free(struct client_files *files);
/* What tools call; NULL for NULL. */
const struct editor *client_files_editor(const struct client_files *files);

#endif
