/*
 * The model's list of what is to be done. It lives in the session; every result of the tool
 * holds the whole list, so that it can be restored from the conversation.
 */
#ifndef HERMES_WORKER_TOOLS_TODO_H
#define HERMES_WORKER_TOOLS_TODO_H

#include "common/json.h"

#include <stdbool.h>
#include <stddef.h>

#define TODO_ITEMS_MAX 256    /* as in Hermes */
#define TODO_CONTENT_MAX 4000 /* characters of one item, likewise */

struct todo_list;

enum todo_status { TODO_PENDING, TODO_IN_PROGRESS, TODO_COMPLETED, TODO_CANCELLED };
#define TODO_STATUS_COUNT 4

struct todo_item {
	char *id;
	char *content;
	char *parent; /* id of the item that it belongs to; NULL = none */
	enum todo_status status;
};

struct todo_list *todo_list_new(void);
void todo_list_free(struct todo_list *list);

size_t todo_list_count(const struct todo_list *list);
/* Borrowed until the list changes; what is in progress stands before what is pending. */
const struct todo_item *todo_list_item(const struct todo_list *list, size_t index);

/* Replaces the list by an array of items, or with `merge` changes items by id and appends
 * new ones. -1 with a sentence in `error` when it would be too long; nothing is changed then.
 */
int todo_list_update(
    struct todo_list *list, struct json_object *items, bool merge, struct buffer *error);
/* The tool's result: {todos, revision, summary}. Owned by the caller. */
struct json_object *todo_list_result(const struct todo_list *list);
/* Takes the list over from an earlier result; anything else empties it. */
void todo_list_restore(struct todo_list *list, struct json_object *result);
/* The entries of an ACP plan: an array of {content, priority, status}; what was cancelled is
 * shown as completed with a mark. Owned by the caller. */
struct json_object *todo_list_plan(const struct todo_list *list);

#endif
