/*
 * What the user should know beside the conversation, told once: as a notice where the client
 * shows such, else as text of the first turn that comes. None of it is a reason to fail.
 */
#include <config.h>

#include "worker/worker.h"
#include "worker/acp/encode_v1.h"
#include "worker/acp/turn_output.h"
#include "worker/store/store_sqlite.h"
#include "worker/supervisor_link.h"
#include "common/identifier.h"

#include <stdlib.h>

void
session_take_notes(struct worker *worker, struct json_object *params)
{
	struct json_object *servers = json_member_array(params, "mcpServers");
	size_t count = servers != NULL ? json_object_array_length(servers) : 0, i;
	const char *problems = configuration_problems(worker->configuration);

	if (problems[0] != '\0')
		buffer_printf(
		    &worker->notes, "The configuration has problems:\n\n%s\n", problems);
	if (count == 0)
		return;
	buffer_printf(&worker->notes, "MCP servers are not started by this version:");
	for (i = 0; i < count; i++)
		buffer_printf(&worker->notes, " %s",
		    json_member_text(json_object_array_get_idx(servers, i), "name", "?"));
	buffer_append_text(&worker->notes, ".\n");
}

static void
tell_notice(struct worker *worker)
{
	struct buffer line = BUFFER_EMPTY;

	encode_v1_notice(&line, "Please note", buffer_text(&worker->notes));
	link_send(worker->link, TO_SUPERVISOR_SESSION_UPDATE, 0, 0, line.data, line.length);
	buffer_free(&line);
}

static void
tell_text(struct worker *worker)
{
	const struct output *output = &worker->agent.output;
	char id[IDENTIFIER_SIZE];

	if (worker->agent.turn != NULL) {
		turn_say(&worker->agent, buffer_text(&worker->notes));
		return;
	}
	identifier_uuid(id);
	output->say(OUTPUT_TEXT, id, worker->notes.data, worker->notes.length, output->arg);
}

void
session_tell_notes(struct worker *worker)
{
	if (worker->notes.length == 0)
		return;
	if (worker->notices)
		tell_notice(worker);
	else if (turn_output_turn(worker->output) != 0)
		tell_text(worker);
	else
		return;
	buffer_free(&worker->notes);
	worker->noted = true;
	session_tell_state(worker);
}

void
session_note_store(struct worker *worker)
{
	char *notice = worker->durable ? store_sqlite_notice(worker->agent.store) : NULL;

	if (notice == NULL)
		return;
	buffer_printf(&worker->notes, "%s\n", notice);
	worker->store_noted = true;
	free(notice);
	if (worker->set_up)
		session_tell_notes(worker);
}
