/*
 * Choosing among keys and writing down what became of them. The keys are read once; what is
 * read again and again is only how they stand. A key is never written anywhere.
 */
#include <config.h>

#include "worker/config/credential_pool.h"

#include "worker/config/auth_file.h"

#include "common/alloc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum strategy { FILL_FIRST, ROUND_ROBIN, RANDOM, LEAST_USED, STRATEGY_COUNT };

static const char *const strategy_names[STRATEGY_COUNT] = {
    "fill_first", "round_robin", "random", "least_used"};

struct credential {
	char *id; /* NULL: not in the file */
	char *label, *key;
};

struct credential_pool {
	unsigned holders;
	enum strategy strategy;
	char *home, *provider;
	struct credential keys[CREDENTIAL_POOL_MAX];
	size_t count;
};

static enum strategy
find_strategy(const char *name)
{
	int i = 0;

	while (i < STRATEGY_COUNT && strcmp(strategy_names[i], name) != 0)
		i++;
	return (enum strategy)i;
}

bool
credential_pool_strategy_known(const char *strategy)
{
	return find_strategy(strategy) < STRATEGY_COUNT;
}

struct credential_pool *
credential_pool_new(const char *home, const char *provider, const char *strategy)
{
	struct credential_pool *pool = xcalloc(1, sizeof *pool);

	pool->holders = 1;
	pool->home = xstrdup(home);
	pool->provider = xstrdup(provider);
	pool->strategy = strategy != NULL ? find_strategy(strategy) : FILL_FIRST;
	return pool;
}

bool
credential_pool_add(
    struct credential_pool *pool, const char *id, const char *label, const char *key)
{
	struct credential *credential = &pool->keys[pool->count];
	size_t i;

	for (i = 0; i < pool->count; i++)
		if (strcmp(pool->keys[i].key, key) == 0)
			return false;
	if (pool->count == CREDENTIAL_POOL_MAX)
		return false;
	credential->id = id != NULL ? xstrdup(id) : NULL;
	credential->label = xstrdup(label);
	credential->key = xstrdup(key);
	pool->count++;
	return true;
}

struct credential_pool *
credential_pool_hold(struct credential_pool *pool)
{
	if (pool != NULL)
		pool->holders++;
	return pool;
}

void
credential_pool_release(struct credential_pool *pool)
{
	size_t i;

	if (pool == NULL || --pool->holders > 0)
		return;
	for (i = 0; i < pool->count; i++) {
		explicit_bzero(pool->keys[i].key, strlen(pool->keys[i].key));
		free(pool->keys[i].key);
		free(pool->keys[i].label);
		free(pool->keys[i].id);
	}
	free(pool->home);
	free(pool->provider);
	free(pool);
}

size_t
credential_pool_count(const struct credential_pool *pool)
{
	return pool != NULL ? pool->count : 0;
}

const char *
credential_pool_key(const struct credential_pool *pool, size_t index)
{
	return pool->keys[index].key;
}

const char *
credential_pool_label(const struct credential_pool *pool, size_t index)
{
	return pool->keys[index].label;
}

/* The entry of a key; NULL when it is not in the file (any more). */
static struct json_object *
entry_of(const struct credential_pool *pool, struct json_object *file, size_t index)
{
	struct json_object *list = auth_file_pool(file, pool->provider), *entry;
	const char *id = pool->keys[index].id;
	size_t i;

	for (i = 0; id != NULL && list != NULL && i < json_object_array_length(list); i++) {
		entry = json_object_array_get_idx(list, i);
		if (strcmp(json_member_text(entry, "id", ""), id) == 0)
			return entry;
	}
	return NULL;
}

static int64_t
number_of(struct json_object *entry, const char *key)
{
	int64_t number = 0;

	json_member_integer(entry, key, &number);
	return number;
}

/* Whether the strategy prefers the second of two keys that may both be used. */
static bool
prefers(
    const struct credential_pool *pool, struct json_object *first, struct json_object *second)
{
	if (first == NULL || second == NULL) /* those of variables are the last */
		return first == NULL && second != NULL;
	if (pool->strategy == LEAST_USED)
		return number_of(second, "request_count") < number_of(first, "request_count");
	return number_of(second, "priority") < number_of(first, "priority");
}

/* How the keys stand. */
struct standing {
	struct json_object *entries[CREDENTIAL_POOL_MAX];
	double until[CREDENTIAL_POOL_MAX];
};

static void
look(const struct credential_pool *pool, struct json_object *file, struct standing *standing)
{
	size_t i;

	for (i = 0; i < pool->count; i++) {
		standing->entries[i] = entry_of(pool, file, i);
		standing->until[i] =
		    credential_state_until(standing->entries[i], pool->count == 1);
	}
}

static size_t
choose_free(const struct credential_pool *pool, const struct standing *standing, uint32_t tried,
    double now, uint32_t random)
{
	size_t usable[CREDENTIAL_POOL_MAX], count = 0, best, i;

	for (i = 0; i < pool->count; i++)
		if ((tried >> i & 1) == 0 && standing->until[i] <= now)
			usable[count++] = i;
	if (count == 0)
		return CREDENTIAL_NONE;
	if (pool->strategy == RANDOM)
		return usable[random % count];
	best = usable[0];
	for (i = 1; i < count; i++)
		if (prefers(pool, standing->entries[best], standing->entries[usable[i]]))
			best = usable[i];
	return best;
}

size_t
credential_pool_choose(const struct credential_pool *pool, size_t wanted, uint32_t tried,
    double now, uint32_t random)
{
	struct buffer problem = BUFFER_EMPTY;
	struct json_object *file = auth_file_read(pool->home, &problem);
	struct standing standing;
	size_t chosen, i;

	look(pool, file, &standing);
	if (wanted < pool->count && (tried >> wanted & 1) == 0 && standing.until[wanted] <= now)
		chosen = wanted;
	else
		chosen = choose_free(pool, &standing, tried, now, random);
	if (chosen == CREDENTIAL_NONE && tried == 0 && pool->count > 0) {
		chosen = 0;
		for (i = 1; i < pool->count; i++)
			if (standing.until[i] < standing.until[chosen])
				chosen = i;
	}
	json_object_put(file);
	buffer_free(&problem);
	return chosen;
}

struct change {
	const struct credential_pool *pool;
	size_t index;
	const struct credential_failure *failure;
	double now;
};

/* The user has put another key there since. Entries of variables do not hold theirs. */
static bool
is_other_key(struct json_object *entry, const char *key)
{
	const char *token = json_member_text(entry, "access_token", key);

	return strncmp(json_member_text(entry, "source", ""), "env:", 4) != 0 &&
	       strcmp(token, key) != 0;
}

static bool
enter_failure(struct json_object *file, void *arg)
{
	struct change *change = arg;
	struct json_object *entry = entry_of(change->pool, file, change->index);

	if (entry == NULL || is_other_key(entry, change->pool->keys[change->index].key) ||
	    strcmp(json_member_text(entry, "last_status", ""), "dead") == 0)
		return false;
	credential_state_fail(entry, change->failure, change->now);
	return true;
}

int
credential_pool_fail(const struct credential_pool *pool, size_t index,
    const struct credential_failure *failure, double now, struct buffer *error)
{
	struct change change = {pool, index, failure, now};

	if (pool->keys[index].id == NULL)
		return 0;
	return auth_file_change(pool->home, enter_failure, &change, error);
}

/* How many of the others come before an entry: by priority, then by place. */
static int64_t
rank_of(const int64_t *priorities, size_t count, size_t chosen, size_t index)
{
	int64_t rank = 0;
	size_t i;

	for (i = 0; i < count; i++)
		if (i != chosen && (priorities[i] < priorities[index] ||
				       (priorities[i] == priorities[index] && i < index)))
			rank++;
	return rank;
}

/* The chosen one goes to the end (as in Hermes). */
static void
rotate(struct json_object *list, struct json_object *chosen)
{
	size_t count = json_object_array_length(list), place = 0, i;
	int64_t *priorities = xcalloc(count, sizeof *priorities);

	for (i = 0; i < count; i++) {
		priorities[i] = number_of(json_object_array_get_idx(list, i), "priority");
		if (json_object_array_get_idx(list, i) == chosen)
			place = i;
	}
	for (i = 0; i < count; i++)
		if (i != place &&
		    json_object_is_type(json_object_array_get_idx(list, i), json_type_object))
			json_set_integer(json_object_array_get_idx(list, i), "priority",
			    rank_of(priorities, count, place, i));
	json_set_integer(chosen, "priority", (int64_t)count - 1);
	free(priorities);
}

static bool
enter_choice(struct json_object *file, void *arg)
{
	struct change *change = arg;
	const struct credential_pool *pool = change->pool;
	struct json_object *entry = entry_of(pool, file, change->index);

	if (entry == NULL)
		return false;
	if (pool->strategy == LEAST_USED)
		json_set_integer(entry, "request_count", number_of(entry, "request_count") + 1);
	else
		rotate(auth_file_pool(file, pool->provider), entry);
	return true;
}

int
credential_pool_taken(const struct credential_pool *pool, size_t index, struct buffer *error)
{
	struct change change = {.pool = pool, .index = index};

	errno = 0;
	if (pool == NULL || pool->keys[index].id == NULL || pool->count < 2 ||
	    (pool->strategy != LEAST_USED && pool->strategy != ROUND_ROBIN))
		return 0;
	return auth_file_change(pool->home, enter_choice, &change, error);
}
