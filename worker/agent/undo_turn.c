/*
 * The turn of /undo. Without an explicit yes nothing is changed; it does not begin before its
 * start is on record, and after a death it is never done again by itself: what it has written
 * has checkpoints of its own.
 */
#include <config.h>

#include "worker/agent/undo_turn.h"

#include "worker/agent/display.h"
#include "worker/store/checkpoints.h"
#include "worker/tools/undo.h"
#include "common/alloc.h"
#include "common/identifier.h"
#include "common/log.h"

#include <stdlib.h>
#include <string.h>

#define CALL_PREFIX "hermes-undo-"

enum undo_phase { UNDO_GATHERING, UNDO_ASKING, UNDO_STARTING, UNDO_RUNNING, UNDO_SAVING };

struct undo_turn {
	struct agent *agent;
	enum undo_phase phase;
	struct tool_run *run;
	struct json_object *blocks; /* the prompt */
	char *text;		    /* what is said at the end */
	bool card, failed;
	enum stop_reason reason;
};

static void
say(struct agent *agent, const char *text)
{
	char id[IDENTIFIER_SIZE];

	identifier_uuid(id);
	agent->output.text(OUTPUT_TEXT, id, text, strlen(text), agent->output.arg);
}

static void
end(struct agent *agent, enum stop_reason reason)
{
	const struct turn_end end = {.reason = reason};
	const struct output *output = &agent->output;

	checkpoints_turn(agent->tools.checkpoints, NULL, false);
	output->usage(agent_context_tokens(agent), agent->runtime.context_length, &agent->usage,
	    output->arg);
	output->finished(&end, output->arg);
}

static void
free_turn(struct undo_turn *turn)
{
	turn->agent->undo = NULL;
	if (turn->run != NULL)
		tool_run_free(turn->run);
	json_object_put(turn->blocks);
	free(turn->text);
	free(turn);
}

static void
finish(struct undo_turn *turn)
{
	struct agent *agent = turn->agent;
	const struct output *output = &agent->output;
	enum stop_reason reason = turn->reason;

	if (turn->card)
		output->card(
		    turn->run, turn->failed ? CARD_FAILED : CARD_COMPLETED, output->arg);
	if (turn->text != NULL)
		say(agent, turn->text);
	free_turn(turn);
	end(agent, reason);
}

static void
on_note_saved(const char *error, void *arg)
{
	(void)arg;
	if (error != NULL)
		log_warning("store", "the note of an undo could not be saved: %s", error);
}

static void
on_saved(const char *error, void *arg)
{
	on_note_saved(error, NULL);
	finish(arg);
}

/* For the model: files are not what it left. Shown again as the prompt and its answer. */
static void
save_note(struct undo_turn *turn)
{
	struct agent *agent = turn->agent;
	struct buffer text = BUFFER_EMPTY;
	struct json_object *message;
	char id[IDENTIFIER_SIZE];

	turn->phase = UNDO_SAVING;
	buffer_printf(&text,
	    "[The user ran /undo: files were given back what they held before edits of earlier "
	    "turns. Do not make these edits again unless asked, and read the files before "
	    "working on them.]\n\n%s",
	    turn->text);
	message = conversation_user(json_new_bytes(buffer_text(&text), text.length));
	buffer_free(&text);
	display_prompt(message, turn->blocks);
	conversation_append(agent->conversation, message);
	store_append_user(agent->store, message, on_note_saved, NULL);
	json_object_put(message);
	identifier_uuid(id);
	message = conversation_assistant(turn->text, strlen(turn->text), NULL, NULL, 0);
	display_answer(message, id, "");
	display_mark_texts(message, 1);
	conversation_append(agent->conversation, message);
	store_append_assistant(agent->store, message, on_note_saved, NULL);
	json_object_put(message);
	store_turn_end(agent->store, false, on_saved, turn);
}

static void
on_finished(struct tool_run *run, struct json_object *result, bool failed, void *arg)
{
	struct undo_turn *turn = arg;

	turn->run = run;
	turn->failed = failed;
	if (turn->text == NULL)
		turn->text = xstrdup(json_member_text(result, failed ? "error" : "text", ""));
	if (!failed)
		save_note(turn);
	else if (turn->card)
		finish(turn);
}

static void
start_run(void *arg)
{
	struct undo_turn *turn = arg;

	if (turn->phase != UNDO_STARTING)
		return;
	turn->phase = UNDO_RUNNING;
	tool_run_start(turn->run);
}

static void
on_answer(enum user_answer answer, void *arg)
{
	struct undo_turn *turn = arg;
	const struct output *output = &turn->agent->output;

	if (answer != USER_ALLOWS_ONCE) {
		turn->text = xstrdup(answer == USER_SAYS_NOTHING
					 ? "Nothing was changed: there was no answer."
					 : "Nothing was changed.");
		tool_finish_error(turn->run, "%s", turn->text);
		return;
	}
	turn->phase = UNDO_STARTING;
	output->card(turn->run, CARD_IN_PROGRESS, output->arg);
	if (output->started(turn->run->call_id, start_run, turn, output->arg))
		start_run(turn);
}

/* The number of turns; 0 = it is not one. */
static int64_t
parse_turns(const char *argument)
{
	char *rest;
	long number;

	if (argument[0] == '\0')
		return 1;
	if (argument[0] < '0' || argument[0] > '9')
		return 0;
	number = strtol(argument, &rest, 10);
	rest += strspn(rest, " \t\r\n");
	return *rest == '\0' && number <= UNDO_TURNS_MAX ? number : 0;
}

/* Asks the user, or tells that there is nothing to ask about. */
static void
on_gathered(struct tool_run *run, void *arg)
{
	struct undo_turn *turn = arg;
	const struct output *output = &turn->agent->output;

	tool_run_prepare(run);
	if (turn->text != NULL) {
		finish(turn);
		return;
	}
	turn->phase = UNDO_ASKING;
	turn->card = true;
	output->card(run, CARD_PENDING, output->arg);
	output->ask(run, on_answer, turn, output->arg);
}

static void
begin(struct undo_turn *turn, int64_t turns)
{
	struct agent *agent = turn->agent;
	struct json_object *arguments = json_object_new_object();
	char id[IDENTIFIER_SIZE], *call_id;

	identifier_uuid(id);
	call_id = xasprintf("%s%s", CALL_PREFIX, id);
	json_set_integer(arguments, "turns", turns);
	turn->run = tool_run_new(
	    &tool_undo, &agent->tools, call_id, arguments, on_finished, NULL, turn);
	json_object_put(arguments);
	free(call_id);
	if (!tool_run_gather(turn->run, on_gathered))
		on_gathered(turn->run, turn);
}

void
undo_turn_start(struct agent *agent, const char *argument, struct json_object *blocks)
{
	struct undo_turn *turn = xcalloc(1, sizeof *turn);
	int64_t turns = parse_turns(argument);

	agent->undo = turn;
	turn->agent = agent;
	turn->blocks = json_object_get(blocks);
	turn->reason = STOP_REASON_END_TURN;
	if (turns > 0) {
		begin(turn, turns);
		return;
	}
	turn->text = xasprintf("How many turns? /undo takes a number from 1 to %d, or nothing "
			       "for the last turn that changed files.",
	    UNDO_TURNS_MAX);
	finish(turn);
}

void
undo_turn_cancel(struct agent *agent)
{
	struct undo_turn *turn = agent->undo;
	const struct output *output = &agent->output;
	bool shown;

	if (turn == NULL || turn->phase > UNDO_STARTING)
		return;
	if (turn->phase == UNDO_ASKING)
		output->unask(turn->run, output->arg);
	turn->phase = UNDO_SAVING;
	turn->reason = STOP_REASON_CANCELLED;
	shown = turn->card; /* then it ends with its card */
	tool_finish_error(turn->run, "Nothing was changed: the user cancelled.");
	if (!shown)
		finish(turn);
}

void
undo_turn_abandon(struct agent *agent)
{
	if (agent->undo != NULL)
		free_turn(agent->undo);
}

bool
undo_turn_recover(struct agent *agent, struct json_object *calls)
{
	static const char *const texts[] = {
	    "Nothing was changed: the process that asked died. Run /undo again.",
	    "The process died while it gave files back: it is not known how far it came. Run "
	    "/undo to see, and to take back what it did."};
	size_t count = calls != NULL ? json_object_array_length(calls) : 0, i;
	struct json_object *call;
	const char *id, *text = NULL;

	for (i = 0; i < count; i++) {
		call = json_object_array_get_idx(calls, i);
		id = json_member_text(call, "id", "");
		if (strncmp(id, CALL_PREFIX, sizeof CALL_PREFIX - 1) != 0)
			continue;
		text = texts[json_member_boolean(call, "started", true)];
		agent->output.lost_card(id, true, text, agent->output.arg);
	}
	if (text == NULL)
		return false;
	say(agent, text);
	end(agent, STOP_REASON_END_TURN);
	return true;
}
