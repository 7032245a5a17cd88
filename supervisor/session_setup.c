/*
 * Building SETUP. The client's own text is passed on as it is: the worker reads it.
 */
#include <config.h>

#include "supervisor/session_setup.h"
#include "supervisor/supervisor.h"
#include "common/identifier.h"

#include <stdlib.h>

static void
append_options(const struct supervisor_options *options, struct buffer *setup)
{
	buffer_printf(setup,
	    ",\"options\":{\"rehearsal\":%s,\"faults\":%s,\"verbosity\":%d,\"script\":",
	    options->rehearsal ? "true" : "false", options->faults ? "true" : "false",
	    options->verbosity);
	if (options->script != NULL)
		buffer_append_json_text(setup, options->script);
	else
		buffer_append_text(setup, "null");
	buffer_append_byte(setup, '}');
}

int
session_setup_build(
    struct supervisor *supervisor, struct session *session, const char *params, size_t length)
{
	struct buffer setup = BUFFER_EMPTY;
	const char *capabilities = supervisor->connection.capabilities;
	char opening[IDENTIFIER_SIZE];
	size_t setup_length;
	char *text;

	if (identifier_uuid(opening) == -1)
		return -1;

	buffer_append_text(&setup, "{\"role\":\"session\",\"sessionId\":");
	buffer_append_text(&setup, session->quoted);
	append_options(&supervisor->options, &setup);
	buffer_printf(&setup, ",\"opening\":\"%s\"", opening);
	buffer_append_text(&setup, ",\"client\":");
	buffer_append_text(&setup, capabilities != NULL ? capabilities : "{}");
	buffer_append_text(&setup, ",\"params\":");
	buffer_append(&setup, params, length);
	setup_length = setup.length;
	text = buffer_take(&setup);
	if (text == NULL)
		return -1;
	free(session->setup);
	session->setup = text;
	session->setup_length = setup_length;
	return 0;
}

void
session_setup_catalogue(const struct supervisor_options *options, struct buffer *setup)
{
	buffer_append_text(setup, "{\"role\":\"catalogue\"");
	append_options(options, setup);
	buffer_append_byte(setup, '}');
}
