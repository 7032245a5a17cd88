/*
 * Every event as a message of the contract. A card's open and close are told beside the
 * update, so that the supervisor can close it when this process dies.
 */
#include <config.h>

#include "worker/acp/turn_output.h"
#include "worker/acp/encode_v1.h"
#include "worker/acp/permission.h"
#include "worker/agent/usage_total.h"
#include "worker/supervisor_link.h"
#include "common/alloc.h"
#include "common/log.h"
#include "common/wire.h"

#include <stdlib.h>
#include <string.h>

/* One who waits for the queue to be written. */
struct writing {
	void (*written)(void *arg);
	void *arg;
};

/* How much had been streamed when a save began. */
struct mark {
	uint32_t turn;
	uint64_t texts;
};

struct turn_output {
	struct supervisor_link *link;
	struct permission_list *permissions;
	uint32_t turn;
	uint64_t texts;	    /* TEXT messages of this turn */
	struct mark *marks; /* saves that are under way, oldest first */
	size_t mark_count;
	struct json_object *open; /* cards that a dead process left on the screen, as keys */
	struct buffer line;
	struct usage_total used; /* by the session, as last told */
	struct writing *waiting;
	size_t waiting_count;
};

static void
send_line(struct turn_output *self, enum message_type type)
{
	xrequire(!self->line.failed);
	if (self->line.length <= MESSAGE_UPDATE_MAX)
		link_send(self->link, type, 0, self->turn, self->line.data, self->line.length);
	else
		log_warning("output", "an update of %zu bytes was left out", self->line.length);
	if (self->line.capacity > 256 * 1024)
		buffer_free(&self->line);
	else
		buffer_clear(&self->line);
}

static void
on_text(enum output_voice voice, const char *message_id, const char *bytes, size_t length,
    void *arg)
{
	struct turn_output *self = arg;

	encode_v1_chunk(&self->line, voice, message_id, bytes, length);
	send_line(self, TO_SUPERVISOR_TEXT);
	self->texts++;
}

static void
on_say(enum output_voice voice, const char *message_id, const char *bytes, size_t length,
    void *arg)
{
	struct turn_output *self = arg;

	/* Of no turn: a prompt whose turn has said nothing may still be given to a successor. */
	encode_v1_chunk(&self->line, voice, message_id, bytes, length);
	link_send(self->link, TO_SUPERVISOR_SESSION_UPDATE, 0, 0, self->line.data,
	    self->line.length);
	buffer_clear(&self->line);
}

static void
on_card(const struct tool_run *run, enum card_status status, void *arg)
{
	struct turn_output *self = arg;

	if (status == CARD_PENDING && json_has(self->open, run->call_id))
		return; /* the process that died has shown it */
	link_hold(self->link, true);
	if (status == CARD_PENDING) {
		link_send_text(self->link, TO_SUPERVISOR_CALL_OPEN, self->turn, run->call_id);
		encode_v1_card(&self->line, run);
	} else {
		encode_v1_card_update(&self->line, run, status);
	}
	send_line(self, TO_SUPERVISOR_TURN_UPDATE);
	if (status == CARD_COMPLETED || status == CARD_FAILED)
		link_send_text(self->link, TO_SUPERVISOR_CALL_CLOSED, self->turn, run->call_id);
	link_hold(self->link, false);
}

static void
on_failed_call(const char *call_id, const char *name, const char *text, void *arg)
{
	struct turn_output *self = arg;

	encode_v1_failed_call(&self->line, call_id, name, text);
	send_line(self, TO_SUPERVISOR_TURN_UPDATE);
}

static void
on_lost_card(const char *call_id, bool failed, const char *text, void *arg)
{
	struct turn_output *self = arg;

	if (!json_has(self->open, call_id))
		return;
	encode_v1_lost_card(&self->line, call_id, failed, text);
	link_hold(self->link, true);
	send_line(self, TO_SUPERVISOR_TURN_UPDATE);
	link_send_text(self->link, TO_SUPERVISOR_CALL_CLOSED, self->turn, call_id);
	link_hold(self->link, false);
}

static bool
on_started(const char *call_id, void (*written)(void *arg), void *written_arg, void *arg)
{
	struct turn_output *self = arg;

	link_send_text(self->link, TO_SUPERVISOR_CALL_STARTED, self->turn, call_id);
	if (link_flush(self->link))
		return true;
	self->waiting =
	    xreallocarray(self->waiting, self->waiting_count + 1, sizeof *self->waiting);
	self->waiting[self->waiting_count].written = written;
	self->waiting[self->waiting_count++].arg = written_arg;
	return false;
}

void
turn_output_drained(struct turn_output *self)
{
	size_t count = self->waiting_count, i;
	struct writing *waiting = self->waiting;

	if (count == 0 || !link_flush(self->link))
		return;
	self->waiting = NULL;
	self->waiting_count = 0;
	for (i = 0; i < count; i++)
		waiting[i].written(waiting[i].arg);
	free(waiting);
}

static void
on_ask(const struct tool_run *run, void (*answered)(enum user_answer, void *arg),
    void *answered_arg, void *arg)
{
	struct turn_output *self = arg;

	permission_ask(self->permissions, self->turn, run, answered, answered_arg);
}

static void
on_unask(const struct tool_run *run, void *arg)
{
	struct turn_output *self = arg;

	permission_withdraw(self->permissions, run);
}

static void
on_plan(const struct todo_list *list, void *arg)
{
	struct turn_output *self = arg;

	encode_v1_plan(&self->line, list);
	send_line(self, TO_SUPERVISOR_TURN_UPDATE);
}

static void
on_usage(int64_t used, int64_t size, const struct usage_total *total, void *arg)
{
	struct turn_output *self = arg;

	self->used = *total;
	if (size <= 0)
		return;
	encode_v1_usage(&self->line, used, size, total);
	send_line(self, TO_SUPERVISOR_SESSION_UPDATE);
}

static uint64_t
on_saving(void *arg)
{
	struct turn_output *self = arg;

	self->marks = xreallocarray(self->marks, self->mark_count + 1, sizeof *self->marks);
	self->marks[self->mark_count].turn = self->turn;
	self->marks[self->mark_count++].texts = self->texts;
	return self->texts;
}

static void
on_saved(bool done, void *arg)
{
	struct turn_output *self = arg;
	struct buffer payload = BUFFER_EMPTY;
	struct mark mark;

	if (self->mark_count == 0)
		return;
	mark = self->marks[0];
	memmove(self->marks, self->marks + 1, --self->mark_count * sizeof *self->marks);
	if (!done || mark.turn == 0 || mark.turn != self->turn)
		return;
	wire_put_u64(&payload, mark.texts);
	link_send(
	    self->link, TO_SUPERVISOR_STATE_SAVED, 0, self->turn, payload.data, payload.length);
	buffer_free(&payload);
}

static bool
on_busy(void *arg)
{
	struct turn_output *self = arg;

	return link_busy(self->link);
}

static void
on_finished(const struct turn_end *end, void *arg)
{
	struct turn_output *self = arg;
	struct buffer payload = BUFFER_EMPTY;

	if (end->code != 0) {
		link_send_failure(self->link, TO_SUPERVISOR_TURN_FAILED, 0, self->turn,
		    end->code, end->message, end->details, NULL);
	} else {
		buffer_append_byte(&payload, (char)end->reason);
		if (usage_total_tokens(&self->used) > 0)
			encode_v1_usage_total(&payload, &self->used);
		link_send(self->link, TO_SUPERVISOR_TURN_DONE, 0, self->turn, payload.data,
		    payload.length);
		buffer_free(&payload);
	}
	turn_output_forget(self); /* its calls are gone */
}

struct turn_output *
turn_output_new(struct supervisor_link *link, struct permission_list *permissions)
{
	struct turn_output *self = xcalloc(1, sizeof *self);

	self->link = link;
	self->permissions = permissions;
	return self;
}

void
turn_output_free(struct turn_output *self)
{
	if (self == NULL)
		return;
	buffer_free(&self->line);
	json_object_put(self->open);
	free(self->waiting);
	free(self->marks);
	free(self);
}

struct output
turn_output_callbacks(struct turn_output *self)
{
	struct output output = {
	    .text = on_text,
	    .say = on_say,
	    .card = on_card,
	    .failed_call = on_failed_call,
	    .lost_card = on_lost_card,
	    .started = on_started,
	    .ask = on_ask,
	    .unask = on_unask,
	    .plan = on_plan,
	    .usage = on_usage,
	    .saving = on_saving,
	    .saved = on_saved,
	    .busy = on_busy,
	    .finished = on_finished,
	    .arg = self,
	};

	return output;
}

void
turn_output_begin(struct turn_output *self, uint32_t turn, uint64_t texts)
{
	self->turn = turn;
	self->texts = texts;
}

void
turn_output_forget(struct turn_output *self)
{
	if (self == NULL)
		return;
	self->turn = 0;
	json_object_put(self->open);
	self->open = NULL;
	self->waiting_count = 0;
}

void
turn_output_open_card(struct turn_output *self, const char *call_id)
{
	if (self->open == NULL)
		self->open = json_object_new_object();
	json_set_boolean(self->open, call_id, true);
}

uint32_t
turn_output_turn(const struct turn_output *self)
{
	return self->turn;
}
