/*
 * What an error of the agent means to the user.
 */
#ifndef HERMES_CONTRIB_ACP_CHAT_FAILURE_H
#define HERMES_CONTRIB_ACP_CHAT_FAILURE_H

#include "common/json.h"
#include "contrib/acp-chat/render.h"

#define FAILURE_SIGN_IN_NEEDED (-32000)

/* Prints an error answer to `method`; `methods` are the agent's ways to sign in, `command`
 * is how it was started. Both are for the error "authentication required". */
void failure_show(struct render *render, const char *method, struct json_object *error,
    struct json_object *methods, char *const *command);

#endif
