/*
 * hermes-acp sessions export: the whole conversation, for people or for programs.
 */
#include <config.h>

#include "worker/sessions/sessions_verbs.h"
#include "worker/sessions/sessions_conversation.h"
#include "worker/sessions/sessions_file.h"
#include "worker/sessions/sessions_find.h"
#include "worker/sessions/sessions_markdown.h"
#include "worker/sessions/sessions_message.h"
#include "worker/sessions/sessions_output.h"
#include "common/exit_cause.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The object with "type" in front of its members; the caller owns it. */
static struct json_object *
typed(const char *type, struct json_object *object)
{
	struct json_object *line = json_object_new_object();

	json_set_text(line, "type", type);
	json_object_object_foreach(object, key, value)
	{
		json_set(line, key, json_object_get(value));
	}
	return line;
}

static void
write_line(struct sessions_output *output, const char *type, struct json_object *object)
{
	struct json_object *line = typed(type, object);

	sessions_output_json(output, line);
	json_object_put(line);
}

static void
write_jsonl(struct sessions_output *output, const struct sessions_conversation *conversation)
{
	size_t i, count = json_object_array_length(conversation->messages);
	struct json_object *record;

	write_line(output, "session", conversation->session);
	for (i = 0; i < count && sessions_output_flush(output); i++) {
		record = sessions_message_record(
		    json_object_array_get_idx(conversation->messages, i));
		write_line(output, "message", record);
		json_object_put(record);
	}
}

static int
write_conversation(int fd, const char *name, enum sessions_format format,
    const struct sessions_conversation *conversation)
{
	struct sessions_output *output = sessions_output_new(fd, name);

	if (format == SESSIONS_JSONL)
		write_jsonl(output, conversation);
	else
		sessions_markdown_write(output, conversation);
	return sessions_output_end(output);
}

static int
write_file(
    const struct sessions_options *options, const struct sessions_conversation *conversation)
{
	struct sessions_file *file = sessions_file_new(options->output, options->force);
	int result;

	if (file == NULL)
		return -1;
	result = write_conversation(
	    sessions_file_descriptor(file), options->output, options->format, conversation);
	return sessions_file_end(file, result == 0) == 0 ? result : -1;
}

int
sessions_export(struct sessions_database *database, const struct sessions_options *options)
{
	struct sessions_conversation conversation = {0};
	char *id = sessions_find(database, options->ids[0], options->all_sources);
	bool to_file = options->output != NULL && strcmp(options->output, "-") != 0;
	int result = -1;

	if (id != NULL && sessions_conversation_read(database, id, &conversation) == 0)
		result = to_file ? write_file(options, &conversation)
				 : write_conversation(STDOUT_FILENO, "standard output",
				       options->format, &conversation);
	sessions_conversation_clear(&conversation);
	free(id);
	return result == 0 ? EXIT_DONE : EXIT_PROBLEM;
}
