/*
 * The dialect of OpenAI's Chat Completions, which most servers speak. It must never take a
 * failure for an answer: what is not one ends with an error that says what came.
 */
#include <config.h>

#include "worker/providers/chat_completions.h"
#include "worker/providers/chat_assembler.h"
#include "worker/providers/chat_request.h"
#include "worker/providers/http.h"
#include "worker/providers/http_error.h"
#include "worker/providers/http_error_words.h"
#include "worker/providers/sse.h"
#include "worker/config/runtime.h"
#include "common/alloc.h"
#include "common/json_scan.h"
#include "common/log.h"

#include <stdlib.h>
#include <string.h>

#define HEAD_MAX 800		    /* bytes that are kept to tell what came */
#define BODY_MAX (64u << 20)	    /* of an answer that is no stream */
#define ERROR_BODY_MAX (256u << 10) /* of an error */
#define AFTER_FINISH_MS 5000	    /* wait for usage and [DONE] once the answer is complete */

enum mode { MODE_UNKNOWN, MODE_STREAM, MODE_BODY };

struct chat {
	struct http_transfer *transfer;
	struct chat_assembler *assembler;
	struct sse sse;
	enum mode mode;
	struct buffer head, body;
	uint64_t life; /* events and comments when the limit for silence last started */
	struct model_callbacks callbacks;
	void *arg;
	char *label;
	int64_t silence_ms;
	bool ending;	/* the stream is over: a last event may be cut off */
	bool torn;	/* … and it was */
	bool finishing; /* only usage is waited for */
	bool told;	/* finished() was called */
	unsigned busy;	/* callbacks on the stack */
	bool cancelled; /* freed once they have returned */
};

static void
destroy(struct chat *chat)
{
	http_free(chat->transfer);
	chat_assembler_free(chat->assembler);
	sse_free(&chat->sse);
	buffer_free(&chat->head);
	buffer_free(&chat->body);
	free(chat->label);
	free(chat);
}

static void
leave(struct chat *chat)
{
	if (--chat->busy == 0 && chat->cancelled)
		destroy(chat);
}

static void
pass_text(const char *bytes, size_t length, void *arg)
{
	struct chat *chat = arg;

	if (!chat->cancelled)
		chat->callbacks.text(bytes, length, chat->arg);
}

static void
pass_thought(const char *bytes, size_t length, void *arg)
{
	struct chat *chat = arg;

	if (!chat->cancelled)
		chat->callbacks.thought(bytes, length, chat->arg);
}

static bool
take_event(const char *name, const char *data, size_t length, void *arg)
{
	struct chat *chat = arg;

	/* An event that the end of the stream cut off is no event. */
	if (chat->ending && length > 0 && data[0] == '{' &&
	    json_scan_check(data, length, JSON_DEPTH_MAX) != NULL) {
		chat->torn = true;
		return true;
	}
	return chat_assembler_event(chat->assembler, name, data, length) && !chat->cancelled;
}

/* --- the end ---------------------------------------------------------------------------- */

/* How each failure is told: what stands before and after the server's name. */
static const struct {
	enum http_end end;
	enum model_error kind;
	const char *before, *after;
} failures[] = {
    {HTTP_END_REQUEST, MODEL_ERROR_REQUEST, "The request to ", " could not be sent"},
    {HTTP_END_CONNECT, MODEL_ERROR_CONNECT, "No connection to ", ""},
    {HTTP_END_CUT, MODEL_ERROR_INTERRUPTED, "The answer of ", " was cut off"},
    {HTTP_END_SILENT, MODEL_ERROR_SILENT, "", " went silent"},
    {HTTP_END_TIME, MODEL_ERROR_INTERRUPTED, "The answer of ", " did not end in time"},
    {HTTP_END_GARBLED, MODEL_ERROR_ANSWER, "", " sent an answer that cannot be read"},
    {HTTP_END_DONE, MODEL_ERROR_INTERRUPTED, "The answer of ",
	" was cut off: the stream ended without a finish reason"},
};

static void
set_failure(
    struct chat *chat, enum http_end end, const char *message, struct model_answer *answer)
{
	size_t i = 0;
	char *text;

	while (failures[i].end != end)
		i++;
	text = xasprintf("%s%s%s%s%s", failures[i].before, chat->label, failures[i].after,
	    message[0] != '\0' ? ": " : "", message);
	http_error_set(answer, failures[i].kind, text);
	free(text);
}

/* The connection did its part, but what came is no answer. */
static void
set_nonsense(struct chat *chat, const char *why, struct model_answer *answer)
{
	const char *type = http_header(chat->transfer, "content-type");
	char *excerpt = http_error_excerpt(buffer_text(&chat->head), chat->head.length, 200);
	struct buffer text = BUFFER_EMPTY;

	buffer_printf(&text, "%s sent no answer that makes sense (HTTP %d", chat->label,
	    http_status(chat->transfer));
	if (type != NULL)
		buffer_printf(&text, ", %.80s", type);
	buffer_printf(&text, "%s%s): ", why != NULL ? ", " : "", why != NULL ? why : "");
	if (excerpt[0] == '\0')
		buffer_append_text(&text, "it was empty");
	else if (chat->mode == MODE_STREAM && chat->sse.events == 0 && chat->sse.comments > 0)
		buffer_printf(&text, "it had only comments: %s", excerpt);
	else
		buffer_append_text(&text, excerpt);
	http_error_set(answer, MODEL_ERROR_ANSWER, buffer_text(&text));
	buffer_free(&text);
	free(excerpt);
}

/* An error status. */
static void
set_status(struct chat *chat, struct model_answer *answer)
{
	const char *reason;
	struct json_object *json =
	    json_parse(buffer_text(&chat->body), chat->body.length, &reason);
	struct http_error error = {
	    .label = chat->label,
	    .status = http_status(chat->transfer),
	    .json = json,
	    .body = buffer_text(&chat->body),
	    .body_length = chat->body.length,
	    .retry_after = http_header(chat->transfer, "retry-after"),
	    .retry_after_ms = http_header(chat->transfer, "retry-after-ms"),
	    .location = http_header(chat->transfer, "location"),
	};

	http_error_answer(&error, answer);
	json_object_put(json);
}

static bool
is_success(int status)
{
	return status >= 200 && status < 300;
}

/* Judges the answer once nothing more comes. */
static void
judge(struct chat *chat, enum http_end end, const char *message, struct model_answer *answer)
{
	int status = http_status(chat->transfer);
	const char *why = chat->sse.error;
	enum chat_state state;

	if (chat->mode == MODE_BODY && is_success(status))
		why = chat_assembler_body(
		    chat->assembler, buffer_text(&chat->body), chat->body.length);
	state = chat_assembler_end(chat->assembler, answer);
	answer->status = status;
	if (state == CHAT_COMPLETE || state == CHAT_FAILED)
		return; /* complete is complete, however the connection ended */
	if (status >= 300 && end != HTTP_END_CONNECT && end != HTTP_END_REQUEST)
		set_status(chat, answer);
	else if (end != HTTP_END_DONE)
		set_failure(chat, end, message, answer);
	else if (chat->mode == MODE_STREAM && chat->sse.error == NULL &&
		 (state == CHAT_PART || chat->torn))
		set_failure(chat, end, "", answer);
	else
		set_nonsense(chat, why, answer);
}

static void
conclude(struct chat *chat, enum http_end end, const char *message)
{
	struct model_answer answer;

	if (chat->told || chat->cancelled)
		return;
	chat->told = true;
	judge(chat, end, message, &answer);
	log_debug("http", "%s: HTTP %d, %s%s%s", chat->label, http_status(chat->transfer),
	    answer.error == MODEL_ERROR_NONE ? "answered" : model_error_name(answer.error),
	    answer.message != NULL ? ": " : "", answer.message != NULL ? answer.message : "");
	if (end == HTTP_END_DONE && answer.error == MODEL_ERROR_NONE)
		http_release(chat->transfer);
	else
		http_free(chat->transfer);
	chat->transfer = NULL;
	if (!chat->cancelled)
		chat->callbacks.finished(&answer, chat->arg);
	model_answer_clear(&answer);
}

static void
on_finished(enum http_end end, const char *message, void *arg)
{
	struct chat *chat = arg;

	chat->busy++;
	chat->ending = true;
	if (chat->mode == MODE_STREAM)
		sse_end(&chat->sse);
	conclude(chat, end, message);
	leave(chat);
}

/* --- what arrives ----------------------------------------------------------------------- */

/* An event stream begins with a field or a colon; what begins otherwise is a body. */
static enum mode
mode_of(const struct chat *chat, const char *bytes, size_t length)
{
	if (!is_success(http_status(chat->transfer)))
		return MODE_BODY;
	if (length >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0) {
		bytes += 3;
		length -= 3;
	}
	while (length > 0 && strchr(" \t\r\n", *bytes) != NULL && *bytes != '\0') {
		bytes++;
		length--;
	}
	if (length == 0)
		return MODE_UNKNOWN;
	return *bytes == '{' || *bytes == '[' || *bytes == '<' ? MODE_BODY : MODE_STREAM;
}

static void
take_body(struct chat *chat, const char *bytes, size_t length)
{
	size_t limit = is_success(http_status(chat->transfer)) ? BODY_MAX : ERROR_BODY_MAX;

	http_alive(chat->transfer);
	if (chat->body.length < limit)
		buffer_append(&chat->body, bytes,
		    length < limit - chat->body.length ? length : limit - chat->body.length);
}

static void
take_stream(struct chat *chat, const char *bytes, size_t length)
{
	uint64_t life;

	sse_feed(&chat->sse, bytes, length);
	chat_assembler_flush(chat->assembler);
	if (chat->cancelled)
		return;
	if (chat->sse.stopped) {
		conclude(chat, HTTP_END_DONE, "");
		return;
	}
	life = chat->sse.events + chat->sse.comments;
	if (life != chat->life && !chat->finishing)
		http_alive(chat->transfer);
	chat->life = life;
	if (!chat->finishing && chat_assembler_finishing(chat->assembler)) {
		chat->finishing = true;
		if (chat->silence_ms <= 0 || chat->silence_ms > AFTER_FINISH_MS)
			http_set_silence(chat->transfer, AFTER_FINISH_MS);
	}
}

static void
on_data(const char *bytes, size_t length, void *arg)
{
	struct chat *chat = arg;

	if (chat->told || chat->cancelled)
		return;
	chat->busy++;
	if (chat->head.length < HEAD_MAX)
		buffer_append(&chat->head, bytes,
		    length < HEAD_MAX - chat->head.length ? length
							  : HEAD_MAX - chat->head.length);
	if (chat->mode == MODE_UNKNOWN)
		chat->mode = mode_of(chat, bytes, length);
	if (chat->mode == MODE_BODY)
		take_body(chat, bytes, length);
	else if (chat->mode == MODE_STREAM)
		take_stream(chat, bytes, length);
	leave(chat);
}

/* --- the row ---------------------------------------------------------------------------- */

static void *
start(struct event_base *base, const struct model_request *request,
    const struct model_callbacks *callbacks, void *arg)
{
	static const struct http_handlers handlers = {on_data, on_finished};
	const struct runtime *runtime = request->runtime;
	struct chat *chat = xcalloc(1, sizeof *chat);
	struct chat_sink sink = {pass_text, pass_thought, chat};
	struct http_request http = {.method = "POST"};
	struct buffer error = BUFFER_EMPTY;
	struct chat_request built;

	chat->callbacks = *callbacks;
	chat->arg = arg;
	chat->label =
	    xstrdup(runtime->label != NULL && runtime->label[0] != '\0' ? runtime->label
		    : runtime->provider != NULL				? runtime->provider
									: "the model's server");
	chat->assembler = chat_assembler_new(chat->label, &sink);
	chat->silence_ms = runtime->silence_timeout_ms;
	sse_start(&chat->sse, take_event, chat);
	if (chat_request_build(request, &built, &error) == -1) {
		chat->transfer = http_fail(base, buffer_text(&error), &handlers, chat);
	} else {
		http.url = built.url;
		http.headers = (const char *const *)built.headers;
		http.body = built.body;
		http.body_length = built.body_length;
		http.connect_timeout_ms = runtime->connect_timeout_ms;
		http.silence_timeout_ms = runtime->silence_timeout_ms;
		http.total_timeout_ms = runtime->total_timeout_ms;
		http.fresh = request->attempt > 0;
		built.body = NULL;
		chat->transfer = http_start(base, &http, &handlers, chat);
	}
	chat_request_clear(&built);
	buffer_free(&error);
	return chat;
}

static void
pause_reading(void *state, bool pause)
{
	struct chat *chat = state;

	if (chat->transfer != NULL)
		http_pause(chat->transfer, pause);
}

static void
release(void *state)
{
	struct chat *chat = state;

	chat->cancelled = true;
	if (chat->busy == 0)
		destroy(chat);
}

const struct api_mode api_mode_chat_completions = {
    .name = "chat_completions",
    .start = start,
    .pause = pause_reading,
    .cancel = release,
    .release = release,
};
