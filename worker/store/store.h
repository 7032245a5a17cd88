/*
 * Where a conversation is kept. Exactly these verbs; each tells by its callback when what it
 * was given is as durable as the backend makes it, and nothing is shown before that.
 */
#ifndef HERMES_WORKER_STORE_STORE_H
#define HERMES_WORKER_STORE_STORE_H

#include "common/json.h"

#include <stdbool.h>
#include <stddef.h>

struct store;

/* `error` is NULL, or why it could not be saved. May be called from within the verb. */
typedef void (*store_saved)(const char *error, void *arg);

struct store_backend {
	const char *name;
	void (*free)(struct store *store);
	/* All messages are in the Chat Completions form and borrowed. */
	void (*append_user)(
	    struct store *store, struct json_object *message, store_saved saved, void *arg);
	void (*append_assistant)(
	    struct store *store, struct json_object *message, store_saved saved, void *arg);
	/* `message`: the result as long as nobody knows the true one. */
	void (*call_started)(
	    struct store *store, struct json_object *message, store_saved saved, void *arg);
	void (*call_result)(
	    struct store *store, struct json_object *message, store_saved saved, void *arg);
	/* The assistant's text so far; replaces an earlier partial of the same turn. */
	void (*save_partial)(
	    struct store *store, struct json_object *message, store_saved saved, void *arg);
	/* The model refused: the exchange of the running turn counts no more. */
	void (*drop_exchange)(struct store *store, store_saved saved, void *arg);
	/* `failed`: an answer that was saved as a partial stays one, so that whoever comes
	 * before the end was told does not take it for the whole. */
	void (*turn_end)(struct store *store, bool failed, store_saved saved, void *arg);
	bool (*keeps)(const struct store *store);
};

/* Every backend's struct begins with this. */
struct store {
	const struct store_backend *backend;
};

void store_free(struct store *store);
void store_append_user(
    struct store *store, struct json_object *message, store_saved saved, void *arg);
void store_append_assistant(
    struct store *store, struct json_object *message, store_saved saved, void *arg);
void store_call_started(
    struct store *store, struct json_object *message, store_saved saved, void *arg);
void store_call_result(
    struct store *store, struct json_object *message, store_saved saved, void *arg);
void store_save_partial(
    struct store *store, struct json_object *message, store_saved saved, void *arg);
void store_drop_exchange(struct store *store, store_saved saved, void *arg);
void store_turn_end(struct store *store, bool failed, store_saved saved, void *arg);
/* Something could not be saved for a reason that may pass (a lock, a full disk): it is kept and
 * saved with what comes next. */
bool store_keeps(const struct store *store);

/* The backend that keeps everything for the life of the process. */
struct store *store_memory_new(void);

#endif
