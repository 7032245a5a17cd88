/*
 * Sets variables in .env. Every other line stays as it is, byte by byte.
 */
#ifndef HERMES_WORKER_CONFIG_DOTENV_EDIT_H
#define HERMES_WORKER_CONFIG_DOTENV_EDIT_H

#include "common/buffer.h"

/* Sets NAME=value in <home>/.env (0600), which is made when it is missing; the last entry of
 * that name is replaced. 0, or -1 with a sentence in `error`; the value is never in it. */
int
dotenv_edit_set(const char *home, const char *name, const char *value, struct buffer *error);

#endif
