/*
 * The memory backend: what it is given lives as long as the process. It saves at once and
 * cannot fail, so its callbacks run from within the verbs.
 */
#include <config.h>

#include "worker/store/store.h"
#include "common/alloc.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct store_memory {
	struct store store;
	struct json_object *rows;
	struct json_object *started; /* ids of calls that may have had a side effect */
	bool partial;		     /* the last row is a partial */
};

static struct store_memory *
memory(struct store *store)
{
	return (struct store_memory *)store;
}

static void
memory_free(struct store *store)
{
	json_object_put(memory(store)->rows);
	json_object_put(memory(store)->started);
	free(store);
}

static void
drop_partial(struct store_memory *self)
{
	size_t count = json_object_array_length(self->rows);

	if (self->partial && count > 0)
		json_object_array_del_idx(self->rows, count - 1, 1);
	self->partial = false;
}

static void
append(struct store *store, struct json_object *message, store_saved saved, void *arg)
{
	drop_partial(memory(store));
	json_object_array_add(memory(store)->rows, json_object_get(message));
	saved(NULL, arg);
}

static void
memory_call_started(
    struct store *store, struct json_object *message, store_saved saved, void *arg)
{
	json_object_array_add(memory(store)->started,
	    json_new_text(json_member_text(message, "tool_call_id", "")));
	saved(NULL, arg);
}

static void
memory_save_partial(
    struct store *store, struct json_object *message, store_saved saved, void *arg)
{
	drop_partial(memory(store));
	json_object_array_add(memory(store)->rows, json_object_get(message));
	memory(store)->partial = true;
	saved(NULL, arg);
}

/* The last message of the user and everything behind it. */
static void
memory_drop_exchange(struct store *store, store_saved saved, void *arg)
{
	struct store_memory *self = memory(store);
	size_t count = json_object_array_length(self->rows), at = count;

	while (at > 0 && strcmp(json_member_text(
				    json_object_array_get_idx(self->rows, at - 1), "role", ""),
			     "user") != 0)
		at--;
	if (at > 0)
		json_object_array_del_idx(self->rows, at - 1, count - at + 1);
	self->partial = false;
	saved(NULL, arg);
}

static void
memory_turn_end(struct store *store, bool failed, store_saved saved, void *arg)
{
	(void)failed;
	memory(store)->partial = false;
	saved(NULL, arg);
}

static bool
memory_keeps(const struct store *store)
{
	(void)store;
	return false;
}

static const struct store_backend backend = {
    .name = "memory",
    .free = memory_free,
    .append_user = append,
    .append_assistant = append,
    .call_started = memory_call_started,
    .call_result = append,
    .save_partial = memory_save_partial,
    .drop_exchange = memory_drop_exchange,
    .turn_end = memory_turn_end,
    .keeps = memory_keeps,
};

struct store *
store_memory_new(void)
{
	struct store_memory *self = xcalloc(1, sizeof *self);

	self->store.backend = &backend;
	self->rows = json_object_new_array();
	self->started = json_object_new_array();
	return &self->store;
}
