/*
 * The dialect "anthropic_messages", and its row for api_mode.c's table.
 */
#ifndef HERMES_WORKER_PROVIDERS_ANTHROPIC_MESSAGES_H
#define HERMES_WORKER_PROVIDERS_ANTHROPIC_MESSAGES_H

#include "worker/providers/dialect.h"

extern const struct dialect dialect_anthropic_messages;
extern const struct api_mode api_mode_anthropic_messages;

#endif
