/*
 * What the verbs do to the database.
 */
#include <config.h>

#include "worker/store/store_operation.h"
#include "worker/store/state_lease.h"
#include "worker/store/state_messages.h"
#include "worker/store/state_session.h"
#include "worker/store/state_title.h"

#include <stdlib.h>
#include <string.h>

struct run {
	struct state *state;
	const struct store_session_info *info;
	const char *holder;
	struct store_place *place;
	const struct store_operation *operation;
	struct buffer *error;
};

/* Another file stands at the path: nothing that was known holds. */
static void
renew_place(struct run *run)
{
	double stamp = run->place->stamp;

	if (run->place->generation == run->state->generation)
		return;
	memset(run->place, 0, sizeof *run->place);
	run->place->generation = run->state->generation;
	run->place->stamp = stamp;
}

/* The session's row is made with the first message, and completed with every prompt. One that
 * somebody deleted does not come back. */
static int
provide_session(struct run *run)
{
	int64_t value;
	int code = state_sql_integer(run->state->db, &value,
	    "SELECT 1 FROM sessions WHERE id = ?", "t", run->info->session_id);

	if (code == SQLITE_DONE && run->place->row_known) {
		buffer_printf(run->error, "session %s was deleted", run->info->session_id);
		return STATE_REFUSED;
	}
	if (code != SQLITE_ROW && code != SQLITE_DONE)
		return code;
	if (code == SQLITE_ROW && run->place->row_known && run->operation->kind != STORE_USER)
		return SQLITE_OK;
	code = state_session_create(run->state, run->info, run->error);
	run->place->row_known = code == SQLITE_OK;
	return code;
}

/* An answer that an earlier process did not finish is gone on with. */
static int
look_for_partial(struct run *run)
{
	struct store_place *place = run->place;
	bool partial;
	int64_t id;
	int code = SQLITE_OK;

	if (!place->looked) {
		code = state_messages_last(run->state, run->info->session_id, &id, &partial);
		if (partial)
			place->partial = id;
		place->looked = code == SQLITE_OK;
	}
	if (code == SQLITE_OK && place->turn_row == 0)
		code = state_messages_last_user(
		    run->state, run->info->session_id, &place->turn_row);
	return code;
}

/* Two processes that go on with one session would each lose what the other said. */
static int
refuse_stranger(struct run *run)
{
	bool partial;
	int64_t id;
	int code;

	if (!run->place->last_known)
		return SQLITE_OK;
	code = state_messages_last(run->state, run->info->session_id, &id, &partial);
	if (code != SQLITE_OK || id == run->place->last_row)
		return code;
	buffer_printf(run->error,
	    "session %s was gone on with by another program meanwhile; load it again to see "
	    "that",
	    run->info->session_id);
	return STATE_REFUSED;
}

static int
append(struct run *run, struct json_object *message, unsigned marks, int64_t *id)
{
	int code = state_messages_append(
	    run->state, run->info->session_id, message, marks, &run->place->stamp, id);

	if (code == SQLITE_OK) {
		run->place->last_row = *id;
		run->place->last_known = true;
	}
	return code;
}

static int
replace(struct run *run, int64_t id, struct json_object *message, unsigned marks)
{
	return state_messages_replace(
	    run->state, run->info->session_id, id, message, marks, &run->place->stamp);
}

/* The text of a prompt: all of it, or its first part that is text. */
static const char *
text_of(struct json_object *message)
{
	struct json_object *parts = json_member_array(message, "content");
	const char *text = json_member_string(message, "content");
	size_t i, count = parts != NULL ? json_object_array_length(parts) : 0;

	for (i = 0; i < count && text == NULL; i++)
		text = json_member_string(json_object_array_get_idx(parts, i), "text");
	return text;
}

static int
give_title(struct run *run)
{
	const char *text = text_of(run->operation->message);
	char *title = text != NULL ? state_title_derive(text, strlen(text)) : NULL;
	char *present = NULL, *stored = NULL;
	int code = SQLITE_OK;

	if (title != NULL)
		code = state_sql_text(run->state->db, &present,
		    "SELECT title FROM sessions WHERE id = ?", "t", run->info->session_id);
	if (code == SQLITE_ROW)
		code = present != NULL ? SQLITE_OK
				       : state_title_set(run->state, run->info->session_id,
					     title, "derived", &stored);
	free(title);
	free(present);
	free(stored);
	return code;
}

static int
run_user(struct run *run)
{
	int64_t id, before = 0;
	bool partial;
	int code = refuse_stranger(run);

	if (code == SQLITE_OK)
		code =
		    state_messages_last(run->state, run->info->session_id, &before, &partial);
	if (code == SQLITE_OK)
		code = append(run, run->operation->message, 0, &id);
	if (code == SQLITE_OK && before == 0)
		code = give_title(run);
	if (code == SQLITE_OK) {
		run->place->turn_row = id;
		run->place->partial = 0;
		run->place->looked = true;
	}
	return code;
}

static int
run_answer(struct run *run)
{
	bool partial = run->operation->kind == STORE_PARTIAL;
	unsigned marks = partial ? STATE_PARTIAL : 0;
	int64_t id = 0;
	int code = look_for_partial(run);

	if (code != SQLITE_OK)
		return code;
	id = run->place->partial;
	if (id != 0)
		code = replace(run, id, run->operation->message, marks);
	if (id == 0 || code == SQLITE_NOTFOUND)
		code = append(run, run->operation->message, marks, &id);
	run->place->partial = partial ? id : 0;
	return code;
}

/* The true result takes the place of this one. */
static int
run_started(struct run *run)
{
	struct json_object *message = run->operation->message;
	int64_t id = 0;
	int code = look_for_partial(run);

	if (code == SQLITE_OK)
		code = state_messages_started(run->state, run->info->session_id,
		    json_member_text(message, "tool_call_id", ""), run->place->turn_row, &id);
	if (code == SQLITE_OK && id == 0)
		code = append(run, message, STATE_UNKNOWN, &id);
	return code;
}

static int
run_result(struct run *run)
{
	struct json_object *message = run->operation->message;
	int64_t id = 0;
	int code = look_for_partial(run);

	if (code == SQLITE_OK)
		code = state_messages_started(run->state, run->info->session_id,
		    json_member_text(message, "tool_call_id", ""), run->place->turn_row, &id);
	if (code != SQLITE_OK)
		return code;
	return id != 0 ? replace(run, id, message, 0) : append(run, message, 0, &id);
}

/* The rows stay for the record, but are not shown, not searched and not sent again. */
static int
run_drop(struct run *run)
{
	struct store_place *place = run->place;
	bool partial;
	int code;

	code = state_sql_run(run->state->db,
	    "UPDATE messages SET active = 0 WHERE session_id = ?1 AND active = 1 AND id >= ?2",
	    "ti", run->info->session_id, place->turn_row);
	if (code == SQLITE_OK)
		code = state_messages_last(
		    run->state, run->info->session_id, &place->last_row, &partial);
	place->partial = 0;
	return code;
}

static int
run_turn_end(struct run *run)
{
	int code = SQLITE_OK;

	if (run->place->partial != 0 && run->operation->kind != STORE_TURN_FAILED)
		code = state_messages_end_partial(run->state, run->info->session_id);
	run->place->partial = 0;
	if (code == SQLITE_OK)
		code = state_lease_drop(run->state, run->info->session_id, run->holder);
	return code;
}

static int
run_nothing(struct run *run)
{
	(void)run;
	return SQLITE_OK;
}

int
store_operation_run(struct state *state, const struct store_session_info *info,
    const char *holder, struct store_place *place, const struct store_operation *operation,
    struct buffer *error)
{
	static int (*const runs[])(struct run * run) = {
	    [STORE_USER] = run_user,
	    [STORE_ASSISTANT] = run_answer,
	    [STORE_PARTIAL] = run_answer,
	    [STORE_STARTED] = run_started,
	    [STORE_RESULT] = run_result,
	    [STORE_DROP] = run_drop,
	    [STORE_TURN_END] = run_turn_end,
	    [STORE_TURN_FAILED] = run_turn_end,
	    [STORE_NOTHING] = run_nothing,
	};
	struct run run = {state, info, holder, place, operation, error};
	int code = SQLITE_OK;

	renew_place(&run);
	if (operation->kind < STORE_TURN_END) {
		code = provide_session(&run);
		if (code == SQLITE_OK)
			code = state_lease_take(state, info->session_id, holder, error);
		if (code == STATE_REFUSED)
			code = STATE_HELD;
	}
	return code == SQLITE_OK ? runs[operation->kind](&run) : code;
}
