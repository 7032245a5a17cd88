/*
 * The verbs, handed to the backend.
 */
#include <config.h>

#include "worker/store/store.h"

void
store_free(struct store *store)
{
	if (store != NULL)
		store->backend->free(store);
}

void
store_append_user(
    struct store *store, struct json_object *message, store_saved saved, void *arg)
{
	store->backend->append_user(store, message, saved, arg);
}

void
store_append_assistant(
    struct store *store, struct json_object *message, store_saved saved, void *arg)
{
	store->backend->append_assistant(store, message, saved, arg);
}

void
store_call_started(
    struct store *store, struct json_object *message, store_saved saved, void *arg)
{
	store->backend->call_started(store, message, saved, arg);
}

void
store_call_result(
    struct store *store, struct json_object *message, store_saved saved, void *arg)
{
	store->backend->call_result(store, message, saved, arg);
}

void
store_save_partial(
    struct store *store, struct json_object *message, store_saved saved, void *arg)
{
	store->backend->save_partial(store, message, saved, arg);
}

void
store_drop_exchange(struct store *store, store_saved saved, void *arg)
{
	store->backend->drop_exchange(store, saved, arg);
}

void
store_turn_end(struct store *store, bool failed, store_saved saved, void *arg)
{
	store->backend->turn_end(store, failed, saved, arg);
}

bool
store_keeps(const struct store *store)
{
	return store->backend->keeps(store);
}
