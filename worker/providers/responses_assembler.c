/*
 * A Responses answer from its first event to its last. An answer that broke off must never
 * look like one that ended, and a broken event is never passed over in silence.
 */
#include <config.h>

#include "worker/providers/responses_assembler.h"
#include "worker/providers/chat_usage.h"
#include "worker/providers/responses_merge.h"
#include "common/alloc.h"

#include <stdlib.h>
#include <string.h>

void *
responses_assembler_new(const char *label, const struct chat_sink *sink)
{
	struct responses_assembler *assembler = xcalloc(1, sizeof *assembler);

	answer_failure_start(&assembler->failure, label);
	chat_output_start(&assembler->output, sink);
	chat_usage_clear(&assembler->usage);
	assembler->number = -1;
	return assembler;
}

void
responses_assembler_free(void *state)
{
	struct responses_assembler *assembler = state;

	if (assembler == NULL)
		return;
	answer_failure_free(&assembler->failure);
	chat_output_free(&assembler->output);
	responses_items_free(&assembler->items);
	buffer_free(&assembler->clean);
	free(assembler->issuer);
	free(assembler->end_message);
	free(assembler);
}

void
responses_assembler_issuer(struct responses_assembler *assembler, const char *issuer)
{
	free(assembler->issuer);
	assembler->issuer = xstrdup(issuer);
}

void
responses_assembler_flush(void *state)
{
	struct responses_assembler *assembler = state;

	chat_output_flush(&assembler->output);
}

const char *
responses_assembler_body(void *state, const char *data, size_t length)
{
	struct responses_assembler *assembler = state;
	const char *reason = NULL;
	struct json_object *object =
	    delta_text_parse(data, length, &assembler->armoured, &reason);

	if (reason == NULL)
		responses_merge_response(assembler, "", object);
	json_object_put(object);
	return reason;
}

static void
take_json(
    struct responses_assembler *assembler, const char *name, const char *data, size_t length)
{
	const char *reason = NULL;
	struct json_object *object =
	    delta_text_parse(data, length, &assembler->armoured, &reason);

	if (reason != NULL)
		answer_failure_not_json(&assembler->failure, reason, data, length);
	else
		responses_merge_event(assembler, name, object);
	json_object_put(object);
}

/* A call that never ends must not fill the memory. */
static bool
is_bounded(struct responses_assembler *assembler)
{
	if (assembler->items.too_long)
		answer_failure_set(&assembler->failure, MODEL_ERROR_ANSWER,
		    "sent tool calls whose arguments are longer than 16 MiB");
	return !assembler->items.too_long;
}

bool
responses_assembler_event(void *state, const char *name, const char *data, size_t length)
{
	struct responses_assembler *assembler = state;

	if (assembler->done || assembler->has_finish || assembler->failure.failed)
		return false;
	delta_text_trim(&data, &length);
	if (delta_text_is_done(data, length)) {
		assembler->done = true;
		return false;
	}
	if (length > 0 && *data == '{')
		take_json(assembler, name, data, length);
	else if (strcmp(name, "error") == 0)
		answer_failure_text(&assembler->failure, data, length);
	/* Anything else is a keep-alive of somebody's own making. */
	return is_bounded(assembler) && !assembler->failure.failed && !assembler->has_finish;
}

bool
responses_assembler_finishing(const void *state)
{
	const struct responses_assembler *assembler = state;

	return assembler->has_finish;
}

/* --- the end ---------------------------------------------------------------------------- */

/* True when there are items and all of them came as a whole. */
static bool
all_done(const struct responses_assembler *assembler)
{
	size_t i;

	for (i = 0; i < assembler->items.count; i++)
		if (!assembler->items.list[i].done)
			return false;
	return assembler->items.count > 0;
}

/* What is left of a call may still look like one. */
static void
check_calls(struct responses_assembler *assembler)
{
	size_t i;

	for (i = 0; i < assembler->items.count; i++)
		if (assembler->items.list[i].gap && !assembler->items.list[i].whole)
			answer_failure_set(&assembler->failure, MODEL_ERROR_INTERRUPTED,
			    "sent a tool call of which a piece is missing");
}

static enum answer_state
state_of(const struct responses_assembler *assembler)
{
	if (assembler->failure.failed)
		return ANSWER_FAILED;
	/* Some say no more than [DONE]. */
	if (assembler->has_finish || (assembler->done && all_done(assembler)))
		return ANSWER_COMPLETE;
	return assembler->started ? ANSWER_PART : ANSWER_NOTHING;
}

static enum finish_reason
finish_of(const struct responses_assembler *assembler, const struct model_answer *answer)
{
	if (assembler->refused)
		return FINISH_REFUSAL;
	if (assembler->has_finish && assembler->finish != FINISH_STOP)
		return assembler->finish;
	return answer->call_count > 0 ? FINISH_TOOL_CALLS : FINISH_STOP;
}

/* What the items of one type are sent back as; NULL when there is nothing. */
static struct json_object *
stored_items(const struct responses_assembler *assembler, enum item_type type)
{
	struct json_object *list = json_object_new_array();
	size_t i;

	for (i = 0; i < assembler->items.count; i++) {
		if (assembler->items.list[i].type != type)
			continue;
		if (assembler->items.list[i].stored != NULL)
			json_object_array_add(list, json_copy(assembler->items.list[i].stored));
		else if (type == ITEM_MESSAGE)
			break; /* the text is whole with all of them only */
	}
	if (json_object_array_length(list) > 0 &&
	    (type != ITEM_MESSAGE || i == assembler->items.count))
		return list;
	json_object_put(list);
	return NULL;
}

static struct json_object *
thoughts_to_store(const struct responses_assembler *assembler)
{
	struct json_object *list = stored_items(assembler, ITEM_REASONING);
	size_t i;

	for (i = 0;
	     list != NULL && assembler->issuer != NULL && i < json_object_array_length(list);
	     i++)
		json_set_text(
		    json_object_array_get_idx(list, i), "_issuer_kind", assembler->issuer);
	return list;
}

/* Under the names that Hermes uses. */
static struct json_object *
extra_of(const struct responses_assembler *assembler)
{
	const struct buffer *shown = &assembler->output.thoughts;
	struct json_object *thoughts = thoughts_to_store(assembler);
	struct json_object *messages = stored_items(assembler, ITEM_MESSAGE);
	struct json_object *extra;

	if (shown->length == 0 && thoughts == NULL && messages == NULL)
		return NULL;
	extra = json_object_new_object();
	if (shown->length > 0)
		json_set(extra, "reasoning", json_new_bytes(shown->data, shown->length));
	if (thoughts != NULL)
		json_set(extra, "codex_reasoning_items", thoughts);
	if (messages != NULL)
		json_set(extra, "codex_message_items", messages);
	return extra;
}

enum answer_state
responses_assembler_end(void *state, struct model_answer *answer)
{
	struct responses_assembler *assembler = state;
	enum answer_state ended;

	check_calls(assembler);
	ended = state_of(assembler);
	responses_merge_end(assembler);
	chat_output_end(&assembler->output);
	memset(answer, 0, sizeof *answer);
	answer->retry_after_ms = -1;
	answer->usage = assembler->usage;
	responses_items_sort(&assembler->items);
	responses_items_calls(&assembler->items, answer);
	answer->finish = ended == ANSWER_COMPLETE ? finish_of(assembler, answer) : FINISH_ERROR;
	if (ended == ANSWER_FAILED) {
		answer_failure_move(&assembler->failure, answer);
	} else if (answer->finish == FINISH_LENGTH) {
		answer->message = assembler->end_message;
		assembler->end_message = NULL;
	}
	answer->extra = extra_of(assembler);
	return ended;
}
