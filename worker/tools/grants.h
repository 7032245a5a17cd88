/*
 * What the user has allowed or refused in this session. Deny is the default: only what was
 * put in here is remembered, and nothing here outlives the session.
 */
#ifndef HERMES_WORKER_TOOLS_GRANTS_H
#define HERMES_WORKER_TOOLS_GRANTS_H

#include "common/json.h"

#include <stdbool.h>

struct grants;

struct grants *grants_new(void);
void grants_free(struct grants *grants);

/* A grant is a label ("recursive delete") or a folder ("edit:/abs/folder"). */
void grants_add(struct grants *grants, const char *grant);
bool grants_has(const struct grants *grants, const char *grant);
/* True when an "edit:" grant covers `path` (absolute, symlinks resolved): the folder itself
 * or anything below it. */
bool grants_cover_edit(const struct grants *grants, const char *path);

/* The user said "reject always" to this question. */
void grants_refuse(struct grants *grants, const char *question);
bool grants_refused(const struct grants *grants, const char *question);

/* Paths whose edit was refused in the running turn: a command that names one asks. */
void grants_deny_path(struct grants *grants, const char *path);
bool grants_denied_in(const struct grants *grants, const char *command);
void grants_forget_denied(struct grants *grants);

/* What outlives a turn as {"allowed": […], "refused": […]}, for another process of the same
 * session; the caller owns it. */
struct json_object *grants_describe(const struct grants *grants);
void grants_restore(struct grants *grants, struct json_object *description);

#endif
