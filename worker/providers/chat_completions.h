/*
 * The row of the dialect "chat_completions", for api_mode.c's table.
 */
#ifndef HERMES_WORKER_PROVIDERS_CHAT_COMPLETIONS_H
#define HERMES_WORKER_PROVIDERS_CHAT_COMPLETIONS_H

#include "worker/providers/provider.h"

extern const struct api_mode api_mode_chat_completions;

#endif
