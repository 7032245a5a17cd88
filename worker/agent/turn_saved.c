/*
 * What the store says about a message. The user learns once that nothing is saved, not with
 * each message.
 */
#include <config.h>

#include "worker/agent/display.h"
#include "worker/agent/turn_internal.h"
#include "common/alloc.h"
#include "common/log.h"

#include <stdlib.h>

void
turn_tell_saving(struct agent *agent, const char *error)
{
	char *text;

	if (error != NULL && !agent->unsaved && agent->turn != NULL) {
		text =
		    xasprintf("(This conversation cannot be saved at the moment: %s. It goes "
			      "on, and is saved when that works again.)\n\n",
			error);
		turn_text_say(agent->turn, OUTPUT_TEXT, text);
		free(text);
	}
	agent->unsaved = error != NULL;
}

void
turn_on_saved(const char *error, void *arg)
{
	struct agent *agent = arg;

	if (error != NULL)
		log_warning("store", "an answer could not be saved: %s", error);
	turn_tell_saving(agent, error);
	agent->output.saved(error == NULL, agent->output.arg);
}

void
turn_save_answer(
    struct turn *turn, struct json_object *message, bool partial, store_saved saved, void *arg)
{
	struct agent *agent = turn->agent;

	display_mark_texts(message, agent->output.saving(agent->output.arg));
	if (partial)
		store_save_partial(agent->store, message, saved, arg);
	else
		store_append_assistant(agent->store, message, saved, arg);
}
