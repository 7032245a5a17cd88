/*
 * Loads a rehearsal script and chooses what is played. It must never keep anything between
 * two requests: the place in the script follows from the conversation alone.
 */
#include <config.h>

#include "worker/providers/rehearsal_script.h"

#include "common/alloc.h"
#include "common/fd.h"
#include "common/json_scan.h"
#include "worker/providers/rehearsal_check.h"

#include <errno.h>
#include <fcntl.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SCRIPT_SIZE_MAX (16U << 20)
/* How much of a prompt is compared: a regular expression over megabytes would hold up the loop.
 */
#define MATCH_LENGTH_MAX (64U << 10)

struct rehearsal_script {
	struct json_object *root;
};

static int
read_file(const char *file, struct buffer *text, struct buffer *error)
{
	struct stat status;
	int fd, result = -1;

	/* A FIFO must not hold up the loop. */
	fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd == -1) {
		buffer_printf(error, "%s: %s", file, strerror(errno));
		return -1;
	}
	if (fstat(fd, &status) == -1)
		buffer_printf(error, "%s: %s", file, strerror(errno));
	else if (!S_ISREG(status.st_mode))
		buffer_printf(error, "%s: not a regular file", file);
	else if (fd_read_all(fd, text, SCRIPT_SIZE_MAX) == 0)
		result = 0;
	else if (errno == EFBIG)
		buffer_printf(error, "%s: bigger than %u MiB", file, SCRIPT_SIZE_MAX >> 20);
	else
		buffer_printf(error, "%s: %s", file, strerror(errno));
	fd_close(&fd);
	return result;
}

/* Why the text is not JSON, with line and column as editors count them. */
static void
explain_syntax(const char *text, size_t length, const char *reason, struct buffer *error)
{
	struct json_scan scan;
	size_t i, line = 1, column = 1;

	json_scan_start(&scan, JSON_DEPTH_MAX, false, NULL, 0);
	if (json_scan_feed(&scan, text, length) == 0)
		json_scan_end(&scan);
	for (i = 0; i < scan.offset && i < length; i++) {
		column++;
		if (text[i] == '\n') {
			line++;
			column = 1;
		}
	}
	buffer_printf(error, "line %zu, column %zu: %s", line, column,
	    reason != NULL ? reason : "not a JSON object");
}

static struct json_object *
parse(const char *name, const struct buffer *text, bool check, struct buffer *error)
{
	const char *reason;
	struct json_object *root;

	root = json_parse(buffer_text(text), text->length, &reason);
	if (root == NULL) {
		buffer_printf(error, "%s: ", name);
		explain_syntax(buffer_text(text), text->length, reason, error);
		return NULL;
	}
	if (!check)
		return root;
	buffer_printf(error, "%s: ", name);
	if (rehearsal_check(root, error) == 0) {
		buffer_clear(error);
		return root;
	}
	json_object_put(root);
	return NULL;
}

struct rehearsal_script *
rehearsal_script_load(const char *file, struct buffer *error)
{
	struct rehearsal_script *script = NULL;
	struct json_object *root = NULL;
	struct buffer text = BUFFER_EMPTY;

	if (file == NULL)
		buffer_append_text(&text, rehearsal_builtin);
	else if (read_file(file, &text, error) == -1)
		goto out;
	root = parse(file != NULL ? file : "the built-in script", &text, file != NULL, error);
	if (root == NULL)
		goto out;
	script = xcalloc(1, sizeof *script);
	script->root = root;
out:
	buffer_free(&text);
	return script;
}

void
rehearsal_script_free(struct rehearsal_script *script)
{
	if (script == NULL)
		return;
	json_object_put(script->root);
	free(script);
}

/* The text of a message, whose content is a string or an array of parts. */
static void
append_message_text(struct json_object *message, struct buffer *text)
{
	struct json_object *content = json_member(message, "content"), *part;
	const char *piece;
	size_t i, count;

	if (json_object_is_type(content, json_type_string)) {
		buffer_append_text(text, json_object_get_string(content));
		return;
	}
	if (!json_object_is_type(content, json_type_array))
		return;
	count = json_object_array_length(content);
	for (i = 0; i < count; i++) {
		part = json_object_array_get_idx(content, i);
		piece = json_member_string(part, "text");
		if (piece == NULL)
			continue;
		if (text->length > 0)
			buffer_append_byte(text, '\n');
		buffer_append_text(text, piece);
	}
}

static bool
reply_matches(struct json_object *reply, const char *prompt)
{
	const char *part = json_member_string(reply, "match");
	const char *pattern = json_member_string(reply, "match_regex");
	regex_t regex;
	bool matches;

	if (part != NULL)
		return strcasestr(prompt, part) != NULL;
	if (pattern == NULL || regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB) != 0)
		return false;
	matches = regexec(&regex, prompt, 0, NULL, 0) == 0;
	regfree(&regex);
	return matches;
}

static struct json_object *
choose_reply(const struct rehearsal_script *script, const char *prompt)
{
	struct json_object *replies = json_member_array(script->root, "replies"), *reply = NULL;
	size_t i, count = replies != NULL ? json_object_array_length(replies) : 0;
	char *head = xstrndup(prompt, MATCH_LENGTH_MAX);

	for (i = 0; i < count; i++) {
		reply = json_object_array_get_idx(replies, i);
		if (reply_matches(reply, head))
			break;
	}
	free(head);
	return i < count ? reply : json_member_object(script->root, "default");
}

void
rehearsal_scene_find(const struct rehearsal_script *script, const char *task,
    struct json_object *messages, struct rehearsal_scene *scene)
{
	struct buffer prompt = BUFFER_EMPTY, result = BUFFER_EMPTY;
	struct json_object *message, *reply, *rounds;
	size_t i, round = 0,
		  count = json_object_is_type(messages, json_type_array)
			      ? json_object_array_length(messages)
			      : 0;
	bool found_result = false;
	const char *role;

	for (i = count; i > 0; i--) {
		message = json_object_array_get_idx(messages, i - 1);
		role = json_member_text(message, "role", "");
		if (strcmp(role, "user") == 0) {
			append_message_text(message, &prompt);
			break;
		}
		round += strcmp(role, "assistant") == 0;
		if (strcmp(role, "tool") == 0 && !found_result) {
			append_message_text(message, &result);
			found_result = true;
		}
	}
	memset(scene, 0, sizeof *scene);
	scene->prompt = xstrdup(buffer_text(&prompt));
	scene->last_result = xstrdup(buffer_text(&result));
	reply = task != NULL ? json_member_object(script->root, "title")
			     : choose_reply(script, scene->prompt);
	rounds = json_member_array(reply, "rounds");
	if (rounds != NULL && round < json_object_array_length(rounds))
		scene->steps = json_object_array_get_idx(rounds, round);
	buffer_free(&prompt);
	buffer_free(&result);
}

void
rehearsal_scene_clear(struct rehearsal_scene *scene)
{
	free(scene->prompt);
	free(scene->last_result);
	memset(scene, 0, sizeof *scene);
}

char *
rehearsal_scene_text(const struct rehearsal_scene *scene, const char *text)
{
	const struct {
		const char *mark, *value;
	} marks[] = {{"${prompt}", scene->prompt}, {"${last_result}", scene->last_result}};
	struct buffer out = BUFFER_EMPTY;
	const char *dollar;
	size_t i;
	char *copy;

	while ((dollar = strstr(text, "${")) != NULL) {
		buffer_append(&out, text, (size_t)(dollar - text));
		text = dollar;
		for (i = 0; i < sizeof marks / sizeof marks[0]; i++)
			if (strncmp(text, marks[i].mark, strlen(marks[i].mark)) == 0)
				break;
		if (i < sizeof marks / sizeof marks[0]) {
			buffer_append_text(&out, marks[i].value);
			text += strlen(marks[i].mark);
		} else {
			buffer_append(&out, text, 2);
			text += 2;
		}
	}
	buffer_append_text(&out, text);
	copy = buffer_take(&out);
	return copy != NULL ? copy : xstrdup("");
}

static struct json_object *
fill_array(const struct rehearsal_scene *scene, struct json_object *array)
{
	struct json_object *copy = json_object_new_array();
	size_t i;

	for (i = 0; i < json_object_array_length(array); i++)
		json_object_array_add(
		    copy, rehearsal_scene_value(scene, json_object_array_get_idx(array, i)));
	return copy;
}

struct json_object *
rehearsal_scene_value(const struct rehearsal_scene *scene, struct json_object *value)
{
	struct json_object *copy;
	char *text;

	switch (json_object_get_type(value)) {
	case json_type_string:
		text = rehearsal_scene_text(scene, json_object_get_string(value));
		copy = json_new_text(text);
		free(text);
		return copy;
	case json_type_array:
		return fill_array(scene, value);
	case json_type_object:
		copy = json_object_new_object();
		json_object_object_foreach(value, key, member)
		{
			json_set(copy, key, rehearsal_scene_value(scene, member));
		}
		return copy;
	default:
		return json_copy(value);
	}
}
