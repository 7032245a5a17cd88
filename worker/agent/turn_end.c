/*
 * The end of an answer and of a turn: saved, told, freed. There is no other way out, so that no
 * path can leave a session busy.
 */
#include <config.h>

#include "worker/agent/display.h"
#include "worker/agent/turn_internal.h"
#include "worker/tools/grants.h"
#include "common/alloc.h"
#include "common/log.h"

#include <stdlib.h>

void
turn_free(struct turn *turn)
{
	if (turn->call != NULL)
		model_call_cancel(turn->call);
	call_batch_free(turn->batch);
	json_object_put(turn->request_messages);
	turn_text_free(turn);
	if (turn->save_timer != NULL)
		event_free(turn->save_timer);
	free(turn->message);
	free(turn->details);
	free(turn);
}

/* The only way out. */
static void
turn_end(struct turn *turn, const struct turn_end *end)
{
	struct agent *agent = turn->agent;
	struct output *output = &agent->output;

	turn_text_flush(turn, true);
	agent->turn = NULL;
	grants_forget_denied(agent->tools.grants);
	output->usage(agent_context_tokens(agent), agent->runtime.context_length, &agent->usage,
	    output->arg);
	output->finished(end, output->arg);
	if (agent->on_turn_end != NULL)
		agent->on_turn_end(end, agent->on_arg);
	turn_free(turn);
}

/* The end is told once it is saved; a save that fails must not keep the user waiting. */
static void
on_end_saved(const char *error, void *arg)
{
	struct turn *turn = arg;
	struct turn_end end = {.reason = turn->reason,
	    .code = turn->code,
	    .message = turn->message,
	    .details = turn->details};

	if (error != NULL)
		log_warning("store", "the end of a turn could not be saved: %s", error);
	turn_end(turn, &end);
}

void
turn_finish(struct turn *turn, enum stop_reason reason)
{
	if (turn->state == TURN_FINISHING)
		return;
	turn->state = TURN_FINISHING;
	turn->reason = reason;
	turn_text_flush(turn, true);
	store_turn_end(turn->agent->store, false, on_end_saved, turn);
}

void
turn_fail(struct turn *turn, int code, const char *message, const char *details)
{
	if (turn->state == TURN_FINISHING)
		return;
	turn->state = TURN_FINISHING;
	turn->code = code;
	turn->message = xstrdup(message);
	turn->details = xstrdup(details);
	turn_text_flush(turn, true);
	store_turn_end(turn->agent->store, true, on_end_saved, turn);
}
