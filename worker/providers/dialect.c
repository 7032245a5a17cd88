/*
 * One exchange with a model's server: the transfer, the event stream or the whole body, and
 * the judgement of what came. It must never take a failure for an answer: what is not one ends
 * with an error that says what came. What an event means is the dialect's matter.
 */
#include <config.h>

#include "worker/providers/dialect.h"
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

struct exchange {
	const struct dialect *dialect;
	struct http_transfer *transfer;
	void *assembler;
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
destroy(struct exchange *exchange)
{
	http_free(exchange->transfer);
	exchange->dialect->assembler_free(exchange->assembler);
	sse_free(&exchange->sse);
	buffer_free(&exchange->head);
	buffer_free(&exchange->body);
	free(exchange->label);
	free(exchange);
}

static void
leave(struct exchange *exchange)
{
	if (--exchange->busy == 0 && exchange->cancelled)
		destroy(exchange);
}

static void
pass_text(const char *bytes, size_t length, void *arg)
{
	struct exchange *exchange = arg;

	if (!exchange->cancelled)
		exchange->callbacks.text(bytes, length, exchange->arg);
}

static void
pass_thought(const char *bytes, size_t length, void *arg)
{
	struct exchange *exchange = arg;

	if (!exchange->cancelled)
		exchange->callbacks.thought(bytes, length, exchange->arg);
}

static bool
take_event(const char *name, const char *data, size_t length, void *arg)
{
	struct exchange *exchange = arg;

	/* An event that the end of the stream cut off is no event. */
	if (exchange->ending && length > 0 && data[0] == '{' &&
	    json_scan_check(data, length, JSON_DEPTH_MAX) != NULL) {
		exchange->torn = true;
		return true;
	}
	return exchange->dialect->event(exchange->assembler, name, data, length) &&
	       !exchange->cancelled;
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
	" was cut off: the stream ended without "},
};

static void
set_failure(struct exchange *exchange, enum http_end end, const char *message,
    struct model_answer *answer)
{
	size_t i = 0;
	char *text;

	while (failures[i].end != end)
		i++;
	text = xasprintf("%s%s%s%s%s%s", failures[i].before, exchange->label, failures[i].after,
	    end == HTTP_END_DONE ? exchange->dialect->last : "", message[0] != '\0' ? ": " : "",
	    message);
	http_error_set(answer, failures[i].kind, text);
	free(text);
}

/* The connection did its part, but what came is no answer. */
static void
set_nonsense(struct exchange *exchange, const char *why, struct model_answer *answer)
{
	const char *type = http_header(exchange->transfer, "content-type");
	char *excerpt =
	    http_error_excerpt(buffer_text(&exchange->head), exchange->head.length, 200);
	char *kind = type != NULL ? http_error_excerpt(type, strlen(type), 80) : NULL;
	struct buffer text = BUFFER_EMPTY;

	buffer_printf(&text, "%s sent no answer that makes sense (HTTP %d", exchange->label,
	    http_status(exchange->transfer));
	if (type != NULL)
		buffer_printf(&text, ", %s", kind);
	buffer_printf(&text, "%s%s): ", why != NULL ? ", " : "", why != NULL ? why : "");
	if (excerpt[0] == '\0')
		buffer_append_text(&text, "it was empty");
	else if (exchange->mode == MODE_STREAM && exchange->sse.events == 0 &&
		 exchange->sse.comments > 0)
		buffer_printf(&text, "it had only comments: %s", excerpt);
	else
		buffer_append_text(&text, excerpt);
	http_error_set(answer, MODEL_ERROR_ANSWER, buffer_text(&text));
	buffer_free(&text);
	free(kind);
	free(excerpt);
}

/* An error status. */
static void
set_status(struct exchange *exchange, struct model_answer *answer)
{
	const char *reason;
	struct json_object *json =
	    json_parse(buffer_text(&exchange->body), exchange->body.length, &reason);
	struct http_error error = {
	    .label = exchange->label,
	    .status = http_status(exchange->transfer),
	    .json = json,
	    .body = buffer_text(&exchange->body),
	    .body_length = exchange->body.length,
	    .retry_after = http_header(exchange->transfer, "retry-after"),
	    .retry_after_ms = http_header(exchange->transfer, "retry-after-ms"),
	    .location = http_header(exchange->transfer, "location"),
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
judge(struct exchange *exchange, enum http_end end, const char *message,
    struct model_answer *answer)
{
	int status = http_status(exchange->transfer);
	const char *why = exchange->sse.error;
	enum answer_state state;

	if (exchange->mode == MODE_BODY && is_success(status))
		why = exchange->dialect->body(
		    exchange->assembler, buffer_text(&exchange->body), exchange->body.length);
	state = exchange->dialect->end(exchange->assembler, answer);
	answer->status = status;
	if (state == ANSWER_COMPLETE || state == ANSWER_FAILED)
		return; /* complete is complete, however the connection ended */
	if (status >= 300 && end != HTTP_END_CONNECT && end != HTTP_END_REQUEST)
		set_status(exchange, answer);
	else if (end != HTTP_END_DONE)
		set_failure(exchange, end, message, answer);
	else if (exchange->mode == MODE_STREAM && exchange->sse.error == NULL &&
		 (state == ANSWER_PART || exchange->torn))
		set_failure(exchange, end, "", answer);
	else
		set_nonsense(exchange, why, answer);
}

static void
conclude(struct exchange *exchange, enum http_end end, const char *message)
{
	struct model_answer answer;

	if (exchange->told || exchange->cancelled)
		return;
	exchange->told = true;
	judge(exchange, end, message, &answer);
	if (answer.message != NULL)
		secret_mask(answer.message); /* also where it is no error */
	log_debug("http", "%s: HTTP %d, %s%s%s", exchange->label,
	    http_status(exchange->transfer),
	    answer.error == MODEL_ERROR_NONE ? "answered" : model_error_name(answer.error),
	    answer.message != NULL ? ": " : "", answer.message != NULL ? answer.message : "");
	if (end == HTTP_END_DONE && answer.error == MODEL_ERROR_NONE)
		http_release(exchange->transfer);
	else
		http_free(exchange->transfer);
	exchange->transfer = NULL;
	if (!exchange->cancelled)
		exchange->callbacks.finished(&answer, exchange->arg);
	model_answer_clear(&answer);
}

static void
on_finished(enum http_end end, const char *message, void *arg)
{
	struct exchange *exchange = arg;

	exchange->busy++;
	exchange->ending = true;
	if (exchange->mode == MODE_STREAM)
		sse_end(&exchange->sse);
	conclude(exchange, end, message);
	leave(exchange);
}

/* --- what arrives ----------------------------------------------------------------------- */

/* An event stream begins with a field or a colon; what begins otherwise is a body. */
static enum mode
mode_of(const struct exchange *exchange, const char *bytes, size_t length)
{
	if (!is_success(http_status(exchange->transfer)))
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
take_body(struct exchange *exchange, const char *bytes, size_t length)
{
	size_t limit = is_success(http_status(exchange->transfer)) ? BODY_MAX : ERROR_BODY_MAX;

	http_alive(exchange->transfer);
	if (exchange->body.length < limit)
		buffer_append(&exchange->body, bytes,
		    length < limit - exchange->body.length ? length
							   : limit - exchange->body.length);
}

static void
take_stream(struct exchange *exchange, const char *bytes, size_t length)
{
	uint64_t life;

	sse_feed(&exchange->sse, bytes, length);
	exchange->dialect->flush(exchange->assembler);
	if (exchange->cancelled)
		return;
	if (exchange->sse.stopped) {
		conclude(exchange, HTTP_END_DONE, "");
		return;
	}
	life = exchange->sse.events + exchange->sse.comments;
	if (life != exchange->life && !exchange->finishing)
		http_alive(exchange->transfer);
	exchange->life = life;
	if (!exchange->finishing && exchange->dialect->finishing(exchange->assembler)) {
		exchange->finishing = true;
		if (exchange->silence_ms <= 0 || exchange->silence_ms > AFTER_FINISH_MS)
			http_set_silence(exchange->transfer, AFTER_FINISH_MS);
	}
}

static void
on_data(const char *bytes, size_t length, void *arg)
{
	struct exchange *exchange = arg;

	if (exchange->told || exchange->cancelled)
		return;
	exchange->busy++;
	if (exchange->head.length < HEAD_MAX)
		buffer_append(&exchange->head, bytes,
		    length < HEAD_MAX - exchange->head.length
			? length
			: HEAD_MAX - exchange->head.length);
	if (exchange->mode == MODE_UNKNOWN)
		exchange->mode = mode_of(exchange, bytes, length);
	if (exchange->mode == MODE_BODY)
		take_body(exchange, bytes, length);
	else if (exchange->mode == MODE_STREAM)
		take_stream(exchange, bytes, length);
	leave(exchange);
}

/* --- its life --------------------------------------------------------------------------- */

static struct exchange *
new_exchange(const struct dialect *dialect, const struct model_request *request,
    const struct model_callbacks *callbacks, void *arg)
{
	const struct runtime *runtime = request->runtime;
	struct exchange *exchange = xcalloc(1, sizeof *exchange);
	struct chat_sink sink = {pass_text, pass_thought, exchange};

	exchange->dialect = dialect;
	exchange->callbacks = *callbacks;
	exchange->arg = arg;
	exchange->label =
	    xstrdup(runtime->label != NULL && runtime->label[0] != '\0' ? runtime->label
		    : runtime->provider != NULL				? runtime->provider
									: "the model's server");
	exchange->assembler = dialect->assembler_new(exchange->label, &sink);
	if (dialect->asked != NULL)
		dialect->asked(exchange->assembler, request);
	exchange->silence_ms = runtime->silence_timeout_ms;
	sse_start(&exchange->sse, take_event, exchange);
	return exchange;
}

static const struct http_handlers handlers = {on_data, on_finished};

void *
dialect_start(const struct dialect *dialect, struct event_base *base,
    const struct model_request *request, const struct model_callbacks *callbacks, void *arg)
{
	const struct runtime *runtime = request->runtime;
	struct exchange *exchange = new_exchange(dialect, request, callbacks, arg);
	struct http_request http = {
	    .method = "POST", .dialect = runtime->api_mode, .task = request->task};
	struct buffer error = BUFFER_EMPTY;
	struct dialect_request built;

	if (dialect->build(request, &built, &error) == -1) {
		exchange->transfer = http_fail(base, buffer_text(&error), &handlers, exchange);
	} else {
		http.url = built.url;
		http.headers = (const char *const *)built.headers;
		http.body = built.body;
		http.body_length = built.body_length;
		http.ca_file = runtime->ca_file;
		http.connect_timeout_ms = runtime->connect_timeout_ms;
		http.silence_timeout_ms = runtime->silence_timeout_ms;
		http.total_timeout_ms = runtime->total_timeout_ms;
		http.fresh = request->attempt > 0;
		built.body = NULL;
		exchange->transfer = http_start(base, &http, &handlers, exchange);
	}
	dialect_request_clear(&built);
	buffer_free(&error);
	return exchange;
}

void *
dialect_play(const struct dialect *dialect, struct event_base *base,
    const struct model_request *request, struct http_recording *recording, const char *error,
    const struct model_callbacks *callbacks, void *arg)
{
	struct exchange *exchange = new_exchange(dialect, request, callbacks, arg);

	exchange->transfer = recording != NULL ? http_play(base, recording,
						     exchange->silence_ms, &handlers, exchange)
					       : http_fail(base, error, &handlers, exchange);
	return exchange;
}

void
dialect_pause(void *state, bool pause)
{
	struct exchange *exchange = state;

	if (exchange->transfer != NULL)
		http_pause(exchange->transfer, pause);
}

void
dialect_free(void *state)
{
	struct exchange *exchange = state;

	exchange->cancelled = true;
	if (exchange->busy == 0)
		destroy(exchange);
}
