/*
 * The rules of a rehearsal script. See hermes-acp-rehearsal(5).
 */
#ifndef HERMES_WORKER_PROVIDERS_REHEARSAL_CHECK_H
#define HERMES_WORKER_PROVIDERS_REHEARSAL_CHECK_H

#include "common/buffer.h"
#include "common/json.h"

/* Checks a parsed script; 0, or -1 with the first mistake and its place in `error`. */
int rehearsal_check(struct json_object *script, struct buffer *error);

#endif
