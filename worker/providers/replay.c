/*
 * Recorded exchanges in place of a server, in the order of their numbers: each request takes
 * the next one of its kind, the conversation's or a task's. The bytes of the answer go through
 * the same dialect as when they came; what is asked is not looked at. The places that have been
 * reached are static, because they belong to the process: it is one session.
 */
#include <config.h>

#include "worker/providers/replay.h"
#include "worker/providers/anthropic_messages.h"
#include "worker/providers/chat_completions.h"
#include "worker/providers/dialect.h"
#include "worker/providers/http_recording.h"
#include "worker/providers/responses.h"
#include "worker/config/runtime.h"
#include "common/alloc.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum kind { KIND_CONVERSATION, KIND_TASK, KIND_COUNT };

/* The dialects that are spoken over HTTP. */
static const struct {
	const char *name;
	const struct dialect *dialect;
} dialects[] = {
    {"chat_completions", &dialect_chat_completions},
    {"anthropic_messages", &dialect_anthropic_messages},
    {"codex_responses", &dialect_codex_responses},
};

/* How many exchanges of each kind were played; -1 = none was asked for yet. */
static long played[KIND_COUNT] = {-1, -1};

static int
is_record(const struct dirent *entry)
{
	size_t digits = strspn(entry->d_name, "0123456789");

	return digits > 0 && strcmp(entry->d_name + digits, ".jsonl") == 0;
}

/* By number, however many zeros stand before it. */
static int
compare(const struct dirent **left, const struct dirent **right)
{
	unsigned long a = strtoul((*left)->d_name, NULL, 10);
	unsigned long b = strtoul((*right)->d_name, NULL, 10);

	return a < b ? -1 : a > b;
}

/* A process that takes over a session goes on where the conversation stands. */
static long
answers_in(struct json_object *messages)
{
	size_t count = json_object_is_type(messages, json_type_array)
			   ? json_object_array_length(messages)
			   : 0,
	       i;
	long answers = 0;

	for (i = 0; i < count; i++)
		answers +=
		    strcmp(json_member_text(json_object_array_get_idx(messages, i), "role", ""),
			"assistant") == 0;
	return answers;
}

/* NULL for what was no exchange with a model. */
static const struct dialect *
dialect_of(const struct http_recording *recording)
{
	const char *name = http_recording_dialect(recording);
	size_t i;

	for (i = 0; i < sizeof dialects / sizeof dialects[0]; i++)
		if (strcmp(dialects[i].name, name) == 0)
			return dialects[i].dialect;
	return NULL;
}

static bool
is_wanted(const struct http_recording *recording, const char *task)
{
	return dialect_of(recording) != NULL &&
	       strcmp(http_recording_task(recording), task != NULL ? task : "") == 0;
}

/* The exchange of that place among those of its kind. */
static struct http_recording *
find(const char *folder, const char *task, long place, struct buffer *error)
{
	struct http_recording *recording = NULL;
	struct dirent **entries;
	int count = scandir(folder, &entries, is_record, compare), i;
	char *path;

	if (count == -1) {
		buffer_printf(error, "%s: %s", folder, strerror(errno));
		return NULL;
	}
	for (i = 0; i < count && recording == NULL && error->length == 0; i++) {
		path = xasprintf("%s/%s", folder, entries[i]->d_name);
		recording = http_recording_load(path, error);
		free(path);
		if (recording != NULL && (!is_wanted(recording, task) || place-- > 0)) {
			http_recording_free(recording);
			recording = NULL;
		}
	}
	for (i = 0; i < count; i++)
		free(entries[i]);
	free(entries);
	if (recording == NULL && error->length == 0)
		buffer_printf(error, "%s: the recording has no more exchanges", folder);
	return recording;
}

static void *
start(struct event_base *base, const struct model_request *request,
    const struct model_callbacks *callbacks, void *arg)
{
	enum kind kind = request->task != NULL ? KIND_TASK : KIND_CONVERSATION;
	const struct dialect *dialect = &dialect_chat_completions;
	struct buffer error = BUFFER_EMPTY;
	struct http_recording *recording;
	void *state;

	if (played[kind] < 0)
		played[kind] = kind == KIND_CONVERSATION ? answers_in(request->messages) : 0;
	recording =
	    find(request->runtime->rehearsal_file, request->task, played[kind]++, &error);
	if (recording != NULL)
		dialect = dialect_of(recording);
	state = dialect_play(
	    dialect, base, request, recording, buffer_text(&error), callbacks, arg);
	buffer_free(&error);
	return state;
}

const struct api_mode api_mode_replay = {
    .name = "replay",
    .start = start,
    .pause = dialect_pause,
    .cancel = dialect_free,
    .release = dialect_free,
};
