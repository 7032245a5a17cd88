/*
 * The keys of one provider that may go to one address, in the order in which they are tried.
 * Which of them is resting stands in auth.json, so that all programs know of it.
 */
#ifndef HERMES_WORKER_CONFIG_CREDENTIAL_POOL_H
#define HERMES_WORKER_CONFIG_CREDENTIAL_POOL_H

#include "worker/config/credential_state.h"

#include "common/buffer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CREDENTIAL_POOL_MAX 32 /* keys; further ones are not used */
#define CREDENTIAL_NONE SIZE_MAX

struct credential_pool;

/* Names of credential_pool_strategies. */
bool credential_pool_strategy_known(const char *strategy);
/* An empty pool; `strategy` is one of the known names, NULL = fill_first. */
struct credential_pool *
credential_pool_new(const char *home, const char *provider, const char *strategy);
/* Adds a key. `id` is that of its entry in auth.json, NULL when it has none. False when the
 * same key is there already, or when there is no room. */
bool credential_pool_add(
    struct credential_pool *pool, const char *id, const char *label, const char *key);
/* Shares the pool, which nobody changes any more; released as often as it was held, and once
 * more. Both take NULL. */
struct credential_pool *credential_pool_hold(struct credential_pool *pool);
void credential_pool_release(struct credential_pool *pool);

size_t credential_pool_count(const struct credential_pool *pool);
const char *credential_pool_key(const struct credential_pool *pool, size_t index);
const char *credential_pool_label(const struct credential_pool *pool, size_t index);

/* The key to use now: `wanted` (or CREDENTIAL_NONE) when it does not rest, else one by the
 * strategy. Bits in `tried` are keys that have just failed. When all rest: the one that rests
 * the shortest while nothing was tried, else CREDENTIAL_NONE. `random` is any number. */
size_t credential_pool_choose(const struct credential_pool *pool, size_t wanted, uint32_t tried,
    double now, uint32_t random);
/* Enters in auth.json that a key failed, or that it was chosen (which round_robin and
 * least_used go by). As auth_file_change(). */
int credential_pool_fail(const struct credential_pool *pool, size_t index,
    const struct credential_failure *failure, double now, struct buffer *error);
int
credential_pool_taken(const struct credential_pool *pool, size_t index, struct buffer *error);

#endif
