/*
 * Requests for files to the client. It asks only for what is below the session's folders,
 * never for what the client did not offer, and takes no answer that is not what the protocol
 * says. A client that is silent is left alone for a while.
 */
#include <config.h>

#include "worker/acp/client_files.h"
#include "worker/acp/client_calls.h"
#include "worker/acp/turn_output.h"
#include "worker/tools/path_rules.h"
#include "common/alloc.h"
#include "common/log.h"
#include "common/message.h"
#include "common/monotonic.h"
#include "common/utf8.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define ANSWER_MS 10000
#define SILENCE_MS 60000 /* how long a silent client is not asked again */
#define REASON_MAX 200	 /* bytes shown of what the client says */

struct root {
	char *given; /* as the client spells it, without a slash at the end */
	const char *real;
};

struct client_files {
	struct editor editor;
	struct client_calls *calls;
	struct turn_output *output;
	struct root *roots;
	size_t root_count;
	int64_t silent_until; /* 0: it answers */
};

struct editor_request {
	struct client_files *files;
	struct client_call *call;
	bool reading;
	editor_answered answered;
	void *arg;
};

/* The folder as the client wrote it, when that leads to `real`. */
static char *
spelling(const char *given, const char *real)
{
	size_t length = given != NULL ? strlen(given) : 0;

	while (length > 1 && given[length - 1] == '/')
		length--;
	return length > 0 && given[0] == '/' ? xstrndup(given, length) : xstrdup(real);
}

static void
take_roots(struct client_files *files, struct json_object *params, char *const *roots)
{
	struct json_object *more = json_member_array(params, "additionalDirectories");
	size_t count = 0, i;
	const char *given;

	while (roots[count] != NULL)
		count++;
	files->roots = xcalloc(count + 1, sizeof *files->roots);
	files->root_count = count;
	for (i = 0; i < count; i++) {
		given = i == 0 ? json_member_string(params, "cwd")
			       : json_object_get_string(json_object_array_get_idx(more, i - 1));
		files->roots[i].real = roots[i];
		files->roots[i].given = spelling(given, roots[i]);
	}
}

/* The path as the client knows it: below a folder that it named, in its spelling. NULL when
 * it is below none. The innermost folder counts. */
static char *
client_path(const struct client_files *files, const char *path)
{
	const struct root *best = NULL;
	size_t i, length;

	for (i = 0; i < files->root_count; i++)
		if (path_rules_below(files->roots[i].real, path) &&
		    (best == NULL || strlen(files->roots[i].real) > strlen(best->real)))
			best = &files->roots[i];
	if (best == NULL)
		return NULL;
	length = strlen(best->real);
	if (length == 1)
		return xstrdup(path); /* the root of all */
	return xasprintf(
	    "%s%s", strcmp(best->given, "/") == 0 ? "" : best->given, path + length);
}

/* A refusal must not be got around by doing the same on the disk. */
static bool
sounds_like_no(const char *text)
{
	static const char *const words[] = {
	    "denied", "reject", "declined", "refused", "not permitted", "not allowed"};
	size_t i;

	for (i = 0; i < sizeof words / sizeof *words; i++)
		if (strcasestr(text, words[i]) != NULL)
			return true;
	return false;
}

/* What the client said, as one line. The caller frees it. */
static char *
error_text(struct json_object *error)
{
	const char *message = json_member_text(error, "message", "");
	const char *details =
	    json_member_text(json_member_object(error, "data"), "details", "");
	char *text = xasprintf(
		 "%s%s%s", message, *message != '\0' && *details != '\0' ? ": " : "", details),
	     *at;

	text[utf8_floor(text, strlen(text), REASON_MAX)] = '\0';
	for (at = text; *at != '\0'; at++)
		if ((unsigned char)*at < ' ')
			*at = ' ';
	if (*text != '\0')
		return text;
	free(text);
	return xstrdup("it answered an error");
}

static void
judge_text(struct json_object *value, struct editor_reply *reply)
{
	struct json_object *content = json_member(value, "content");

	reply->outcome = EDITOR_FAILED;
	if (!json_object_is_type(content, json_type_string)) {
		reply->reason = "its answer has no text, or too much of it";
		return;
	}
	reply->text = json_object_get_string(content);
	reply->length = (size_t)json_object_get_string_len(content);
	if (reply->length > EDITOR_TEXT_MAX)
		reply->reason = "its text is too long";
	else if (memchr(reply->text, '\0', reply->length) != NULL)
		reply->reason = "its text has a NUL in it";
	else
		reply->outcome = EDITOR_DONE;
}

static void
on_reply(enum client_reply kind, struct json_object *value, void *arg)
{
	struct editor_request *request = arg;
	struct editor_reply reply = {.outcome = EDITOR_DONE};
	char *text = NULL;

	if (kind == CLIENT_SILENT) {
		request->files->silent_until = monotonic_ms() + SILENCE_MS;
		reply.outcome = EDITOR_SILENT;
		reply.reason = "no answer within 10 s";
		log_warning("files", "the client did not answer a file request within 10 s");
	} else {
		request->files->silent_until = 0;
	}
	if (kind == CLIENT_ERROR) {
		reply.reason = text = error_text(value);
		reply.outcome = sounds_like_no(text) ? EDITOR_REFUSED : EDITOR_FAILED;
	} else if (kind == CLIENT_RESULT && request->reading) {
		judge_text(value, &reply);
	}
	request->answered(&reply, request->arg);
	free(request);
	free(text);
}

static struct editor_request *
send(struct client_files *files, const char *method, const struct buffer *params,
    editor_answered answered, void *answered_arg)
{
	struct editor_request *request = xcalloc(1, sizeof *request);
	/* No call id: a question to the user that waits for a successor is not about this. */
	const struct client_call_request question = {.turn = turn_output_turn(files->output),
	    .method = method,
	    .call_id = "",
	    .params = buffer_text(params),
	    .length = params->length,
	    .timeout_ms = ANSWER_MS};

	request->files = files;
	request->answered = answered;
	request->arg = answered_arg;
	request->call = client_calls_send(files->calls, &question, on_reply, request);
	return request;
}

/* The path for the client; NULL when it cannot be asked. */
static char *
asked_path(const struct client_files *files, const char *path, const char **why)
{
	char *name;

	*why = NULL;
	if (!utf8_valid(path, strlen(path)) || (name = client_path(files, path)) == NULL)
		return NULL;
	if (files->silent_until <= monotonic_ms())
		return name;
	*why = "it did not answer a short time ago and was not asked again";
	free(name);
	return NULL;
}

static struct editor_request *
read_file(const char *path, int64_t line, int64_t limit, editor_answered answered,
    void *answered_arg, const char **why, void *arg)
{
	struct client_files *files = arg;
	struct editor_request *request;
	struct buffer params = BUFFER_EMPTY;
	char *name = asked_path(files, path, why);

	if (name == NULL)
		return NULL;
	buffer_append_text(&params, "{\"path\":");
	buffer_append_json_text(&params, name);
	if (limit > 0)
		buffer_printf(&params, ",\"line\":%" PRId64 ",\"limit\":%" PRId64, line, limit);
	buffer_append_byte(&params, '}');
	free(name);
	request = send(files, "fs/read_text_file", &params, answered, answered_arg);
	request->reading = true;
	buffer_free(&params);
	return request;
}

static struct editor_request *
write_file(const char *path, const char *text, size_t length, editor_answered answered,
    void *answered_arg, const char **why, void *arg)
{
	struct client_files *files = arg;
	struct editor_request *request = NULL;
	struct buffer params = BUFFER_EMPTY;
	char *name = asked_path(files, path, why);

	if (name == NULL)
		return NULL;
	buffer_append_text(&params, "{\"path\":");
	buffer_append_json_text(&params, name);
	buffer_append_text(&params, ",\"content\":");
	buffer_append_json(&params, text, length);
	buffer_append_byte(&params, '}');
	free(name);
	if (params.failed || params.length > MESSAGE_UPDATE_MAX - 256)
		*why = "the text is too long for it";
	else
		request = send(files, "fs/write_text_file", &params, answered, answered_arg);
	buffer_free(&params);
	return request;
}

static void
cancel_request(struct editor_request *request)
{
	client_call_withdraw(request->call);
	free(request);
}

struct client_files *
client_files_new(struct client_calls *calls, struct turn_output *output,
    struct json_object *capabilities, struct json_object *params, char *const *roots)
{
	struct json_object *offered = json_member_object(capabilities, "fs");
	bool reads = json_member_boolean(offered, "readTextFile", false);
	bool writes = json_member_boolean(offered, "writeTextFile", false);
	struct client_files *files;

	if (!reads && !writes)
		return NULL;
	files = xcalloc(1, sizeof *files);
	files->editor = (struct editor){.reads = reads,
	    .writes = writes,
	    .read = read_file,
	    .write = write_file,
	    .cancel = cancel_request,
	    .arg = files};
	files->calls = calls;
	files->output = output;
	take_roots(files, params, roots);
	return files;
}

void
client_files_free(struct client_files *files)
{
	size_t i;

	if (files == NULL)
		return;
	for (i = 0; i < files->root_count; i++)
		free(files->roots[i].given);
	free(files->roots);
	free(files);
}

const struct editor *
client_files_editor(const struct client_files *files)
{
	return files != NULL ? &files->editor : NULL;
}
