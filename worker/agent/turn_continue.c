/*
 * An answer that was cut off is kept and the model asked to go on with it. The part stands in
 * the conversation once, as the model's, and a message of the user's follows: that is what
 * every provider takes. The client sees one text.
 */
#include <config.h>

#include "worker/agent/display.h"
#include "worker/agent/turn_internal.h"

static const char go_on[] =
    "Your answer was cut off. Continue exactly where it stopped: do not "
    "repeat anything of it and do not mention the interruption.";

void
turn_ask_to_go_on(struct turn *turn)
{
	struct agent *agent = turn->agent;
	struct json_object *user, *display = json_object_new_object();

	turn->continued = true;
	user = conversation_user(json_new_text(go_on));
	json_set_boolean(display, "hidden", true);
	json_set(user, DISPLAY_MEMBER, display);
	conversation_append(agent->conversation, user);
	agent->output.saving(agent->output.arg);
	store_append_user(agent->store, user, turn_on_saved, agent);
	json_object_put(user);
}
