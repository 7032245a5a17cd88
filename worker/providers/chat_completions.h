/*
 * The dialect "chat_completions", and its row for api_mode.c's table.
 */
#ifndef HERMES_WORKER_PROVIDERS_CHAT_COMPLETIONS_H
#define HERMES_WORKER_PROVIDERS_CHAT_COMPLETIONS_H

#include "worker/providers/dialect.h"

extern const struct dialect dialect_chat_completions;
extern const struct api_mode api_mode_chat_completions;

#endif
