/*
 * Puts JSON-RPC errors into words.
 */
#include <config.h>

#include "contrib/acp-chat/failure.h"

#include <inttypes.h>
#include <string.h>

/* The members of `data` in which agents put the words, best first. */
static const char *const detail_members[] = {"details", "reason", "error", "message"};

static void
append_details(struct json_object *data, struct buffer *text)
{
	const char *words = NULL;

	if (data == NULL)
		return;
	if (json_object_is_type(data, json_type_string))
		words = json_object_get_string(data);
	for (size_t i = 0;
	     words == NULL && i < sizeof detail_members / sizeof detail_members[0]; i++)
		words = json_member_string(data, detail_members[i]);
	buffer_printf(text, ": %s", words != NULL ? words : json_text(data, NULL));
}

/* A word of a command line as a shell needs it. */
static void
append_word(const char *word, struct buffer *text)
{
	if (text->length > 0)
		buffer_append_byte(text, ' ');
	if (*word != '\0' &&
	    word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
			      "0123456789_-+=./:,@%")] == '\0') {
		buffer_append_text(text, word);
		return;
	}
	buffer_append_byte(text, '\'');
	for (; *word != '\0'; word++) {
		if (*word == '\'')
			buffer_append_text(text, "'\\''");
		else
			buffer_append_byte(text, *word);
	}
	buffer_append_byte(text, '\'');
}

/* The agent's own command with the arguments that make it sign in. */
static void
append_terminal_command(struct json_object *method, char *const *command, struct buffer *text)
{
	struct json_object *arguments = json_member_array(method, "args"), *environment;
	struct buffer pair = BUFFER_EMPTY;
	size_t i, count = arguments != NULL ? json_object_array_length(arguments) : 0;
	const char *word;

	environment = json_member_object(method, "env");
	if (environment != NULL) {
		json_object_object_foreach(environment, name, value)
		{
			buffer_clear(&pair);
			buffer_printf(&pair, "%s=%s", name, json_object_get_string(value));
			append_word(buffer_text(&pair), text);
		}
	}
	for (i = 0; command[i] != NULL; i++)
		append_word(command[i], text);
	for (i = 0; i < count; i++) {
		word = json_object_get_string(json_object_array_get_idx(arguments, i));
		append_word(word != NULL ? word : "", text);
	}
	buffer_free(&pair);
}

static void
show_method(struct render *render, struct json_object *method, char *const *command)
{
	struct buffer text = BUFFER_EMPTY;

	if (strcmp(json_member_text(method, "type", "agent"), "terminal") == 0) {
		append_terminal_command(method, command, &text);
	} else {
		buffer_append_text(&text, "acp-chat --auth");
		append_word(json_member_text(method, "id", "?"), &text);
		append_word("--", &text);
		for (size_t i = 0; command[i] != NULL; i++)
			append_word(command[i], &text);
	}
	render_message(render, "  %s  (%s)", buffer_text(&text),
	    json_member_text(method, "description", json_member_text(method, "name", "?")));
	buffer_free(&text);
}

static void
show_methods(struct render *render, struct json_object *methods, char *const *command)
{
	size_t i, count = json_object_is_type(methods, json_type_array)
			      ? json_object_array_length(methods)
			      : 0;

	if (count == 0) {
		render_message(render,
		    "the agent wants a sign-in and names no way to do it; its manual may");
		return;
	}
	render_message(render, "the agent wants a sign-in first. Run one of these:");
	for (i = 0; i < count; i++)
		show_method(render, json_object_array_get_idx(methods, i), command);
}

void
failure_show(struct render *render, const char *method, struct json_object *error,
    struct json_object *methods, char *const *command)
{
	struct buffer text = BUFFER_EMPTY;
	int64_t code = 0;

	json_member_integer(error, "code", &code);
	append_details(json_member(error, "data"), &text);
	render_message(render, "%s failed with error %" PRId64 ": %s%s", method, code,
	    json_member_text(error, "message", "no message"), buffer_text(&text));
	if (code == FAILURE_SIGN_IN_NEEDED)
		show_methods(render, methods, command);
	buffer_free(&text);
}
