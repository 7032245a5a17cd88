/*
 * Asking before something is gone for good.
 */
#ifndef HERMES_WORKER_SESSIONS_SESSIONS_CONFIRM_H
#define HERMES_WORKER_SESSIONS_SESSIONS_CONFIRM_H

#include "worker/sessions/sessions_options.h"
#include "common/json.h"

/* Shows the sessions (as of state_overview()) and asks on the terminal. True with --yes, and
 * when the answer is yes; false otherwise, and after a complaint when there is nobody to ask.
 */
bool sessions_confirm(const struct sessions_options *options, struct json_object *sessions);

#endif
