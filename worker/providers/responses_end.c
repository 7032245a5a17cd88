/*
 * How a Responses answer ends. What the server ended with an error must never look like an
 * answer, and one that is not whole never like one that is.
 */
#include <config.h>

#include "worker/providers/responses_merge.h"
#include "worker/providers/chat_usage.h"
#include "worker/providers/http_error_words.h"
#include "common/alloc.h"

#include <string.h>

/* The server's own words, as an object with a member "error", or as the event itself. */
void
responses_merge_fail(struct responses_assembler *assembler, struct json_object *error,
    struct json_object *otherwise)
{
	struct json_object *object;

	if (!json_object_is_type(error, json_type_object) &&
	    !json_object_is_type(error, json_type_string)) {
		if (otherwise != NULL &&
		    (json_has(otherwise, "message") || json_has(otherwise, "code")))
			answer_failure_object(&assembler->failure, otherwise);
		else
			answer_failure_set(&assembler->failure, MODEL_ERROR_SERVER,
			    "ended the answer with an error that it did not explain");
		return;
	}
	object = json_object_new_object();
	json_set(object, "error", json_object_get(error));
	answer_failure_object(&assembler->failure, object);
	json_object_put(object);
}

/* An answer that is not whole: its reason. */
static void
finish_incomplete(struct responses_assembler *assembler, struct json_object *response)
{
	const char *reason =
	    json_member_text(json_member_object(response, "incomplete_details"), "reason", "");
	char *excerpt;

	assembler->has_finish = true;
	assembler->finish =
	    strcmp(reason, "content_filter") == 0 ? FINISH_REFUSAL : FINISH_LENGTH;
	if (assembler->finish == FINISH_LENGTH && reason[0] != '\0' &&
	    strcmp(reason, "max_output_tokens") != 0 && strcmp(reason, "max_tokens") != 0 &&
	    assembler->end_message == NULL) {
		excerpt = http_error_excerpt(reason, strlen(reason), 200);
		assembler->end_message =
		    xasprintf("The answer was ended by the server: %s.", excerpt);
		free(excerpt);
	}
}

static void
finish_cancelled(struct responses_assembler *assembler, struct json_object *response)
{
	(void)response;
	answer_failure_set(
	    &assembler->failure, MODEL_ERROR_INTERRUPTED, "cancelled the answer");
}

static void
finish_failed(struct responses_assembler *assembler, struct json_object *response)
{
	responses_merge_fail(assembler, json_member(response, "error"), NULL);
}

static void
finish_complete(struct responses_assembler *assembler, struct json_object *response)
{
	(void)response;
	if (assembler->has_finish)
		return;
	assembler->has_finish = true;
	assembler->finish = FINISH_STOP;
}

/* How an answer ends, by its status; where it has none, by the event that it stands in. */
static const struct {
	const char *status, *type;
	void (*finish)(struct responses_assembler *assembler, struct json_object *response);
} ends[] = {
    {"incomplete", "response.incomplete", finish_incomplete},
    {"failed", "response.failed", finish_failed},
    {"cancelled", "response.cancelled", finish_cancelled},
    {"completed", "response.completed", finish_complete},
    {"", "response.done", finish_complete},
};

#define END_COUNT (sizeof ends / sizeof ends[0])

/* END_COUNT while it goes on. */
static size_t
end_of(const char *type, struct json_object *response)
{
	const char *status = json_member_text(response, "status", "");
	size_t by_type = 0, i;

	while (by_type < END_COUNT && strcmp(ends[by_type].type, type) != 0)
		by_type++;
	/* What an answer says of itself before its end is no end. */
	if (by_type == END_COUNT && type[0] != '\0')
		return END_COUNT;
	for (i = 0; status[0] != '\0' && i < END_COUNT; i++)
		if (strcmp(ends[i].status, status) == 0)
			return i;
	/* A body without a status. */
	if (type[0] == '\0' && status[0] == '\0' &&
	    json_member_array(response, "output") != NULL)
		return END_COUNT - 1;
	return by_type;
}

static void
take_output(struct responses_assembler *assembler, struct json_object *output)
{
	size_t count = output != NULL ? json_object_array_length(output) : 0, i;
	size_t seen[ITEM_OTHER + 1] = {0};
	struct responses_item *item;
	struct json_object *object;
	struct item_key key;

	for (i = 0; i < count; i++) {
		object = json_object_array_get_idx(output, i);
		key.type = responses_item_type(object);
		key.index = -1;
		key.id = responses_item_id(object);
		if (key.type == ITEM_OTHER)
			continue;
		item = responses_items_listed(&assembler->items, &key, seen[key.type]++);
		if (item != NULL)
			responses_merge_item(assembler, item, object);
	}
}

void
responses_merge_response(
    struct responses_assembler *assembler, const char *type, struct json_object *response)
{
	struct json_object *error = json_member(response, "error");
	size_t end = end_of(type, response);

	if (json_has(response, "usage"))
		chat_usage_take(&assembler->usage, json_member_object(response, "usage"));
	if (end < END_COUNT || json_has(response, "output"))
		assembler->started = true;
	take_output(assembler, json_member_array(response, "output"));
	if (end < END_COUNT)
		ends[end].finish(assembler, response);
	if (error != NULL && (json_object_is_type(error, json_type_string) ||
				 json_object_is_type(error, json_type_object)))
		responses_merge_fail(assembler, error, NULL);
}
