/*
 * The script of the rehearsal provider: reading it, checking it, choosing what is played.
 * Its format is described in hermes-acp-rehearsal(5).
 */
#ifndef HERMES_WORKER_PROVIDERS_REHEARSAL_SCRIPT_H
#define HERMES_WORKER_PROVIDERS_REHEARSAL_SCRIPT_H

#include "common/buffer.h"
#include "common/json.h"

#include <stddef.h>

struct rehearsal_script;

/* What a conversation has come to: the steps to play, and the texts behind placeholders. */
struct rehearsal_scene {
	struct json_object
	    *steps;	   /* array, borrowed from the script; NULL = past the last round */
	char *prompt;	   /* text of the last user message, never NULL */
	char *last_result; /* text of the last tool result, never NULL */
};

/* The script that is played when no file is given. */
extern const char rehearsal_builtin[];

/* Reads a script; `file` NULL = the built-in one. NULL with a text in `error` that names the
 * file and the place in it. The caller frees it. */
struct rehearsal_script *rehearsal_script_load(const char *file, struct buffer *error);
void rehearsal_script_free(struct rehearsal_script *script);

/* Finds the scene for `messages` (Chat Completions form). Nothing is remembered between
 * calls, so that a new process goes on where an older one ended. `task` as in a request: what
 * is played for a title stands in a place of its own. */
void rehearsal_scene_find(const struct rehearsal_script *script, const char *task,
    struct json_object *messages, struct rehearsal_scene *scene);
void rehearsal_scene_clear(struct rehearsal_scene *scene);
/* A copy of `text` with ${prompt} and ${last_result} filled in; the caller frees it. */
char *rehearsal_scene_text(const struct rehearsal_scene *scene, const char *text);
/* A copy of a JSON value with the placeholders of all its strings filled in. */
struct json_object *
rehearsal_scene_value(const struct rehearsal_scene *scene, struct json_object *value);

#endif
