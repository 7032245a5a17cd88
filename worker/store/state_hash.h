/*
 * SHA-256 (FIPS 180-4), by which the database names its system prompts. Not for secrets.
 */
#ifndef HERMES_WORKER_STORE_STATE_HASH_H
#define HERMES_WORKER_STORE_STATE_HASH_H

#include <stddef.h>

#define STATE_HASH_SIZE 65 /* 64 hexadecimal digits and a NUL */

/* Writes the hash of `text` as lower-case hexadecimal digits. */
void state_hash(const char *text, size_t length, char hash[STATE_HASH_SIZE]);

#endif
