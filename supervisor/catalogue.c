/*
 * The catalogue worker and its settings. The supervisor must be able to work without it:
 * after a second it does.
 */
#include <config.h>

#include "supervisor/catalogue.h"
#include "supervisor/payload.h"
#include "supervisor/tail_commits.h"
#include "supervisor/worker_hello.h"
#include "supervisor/worker_process.h"
#include "common/json.h"
#include "common/log.h"
#include "common/monotonic.h"
#include "common/wire.h"

#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#define ANSWER_MS 1000
#define DELAY_FIRST_MS 250
#define DELAY_MOST_MS 8000
#define IDLE_MOST_MS ((int64_t)365 * 24 * 3600 * 1000)
#define LIFE_MS 10000 /* one that has lived this long is replaced at once */

struct catalogue {
	struct worker_list *list;
	struct worker_process *worker;
	struct event *answer_timer, *start_timer;
	char *setup;
	size_t setup_length;
	struct settings settings;
	struct catalogue_callbacks callbacks;
	void *arg;
	struct tail_commits *commits;
	int64_t delay, started;
	bool hello, ready, stopped;
};

static void start(struct catalogue *catalogue);

static void
replace(char **place, const char *text)
{
	free(*place);
	*place = text != NULL ? strdup(text) : NULL;
}

static void
take_settings(struct catalogue *catalogue, const void *payload, size_t length)
{
	struct json_object *value;
	const char *reason;
	int64_t idle = 0;

	value = json_parse(payload, length, &reason);
	if (!json_object_is_type(value, json_type_object)) {
		json_object_put(value);
		worker_violation(catalogue->worker, "malformed SETTINGS");
		return;
	}
	replace(&catalogue->settings.provider, json_member_string(value, "provider"));
	replace(&catalogue->settings.label,
	    json_member_text(value, "label", catalogue->settings.provider));
	json_member_integer(value, "workerIdleMs", &idle);
	catalogue->settings.worker_idle_ms =
	    idle < 0 || idle > IDLE_MOST_MS ? IDLE_MOST_MS : idle;
	catalogue->settings.known = true;
	json_object_put(value);
	event_del(catalogue->answer_timer);
	catalogue->callbacks.changed(catalogue->arg);
}

static void
take_committed(struct catalogue *catalogue, const char *payload, size_t length)
{
	struct wire_cursor cursor;
	char *session;
	const char *text;
	size_t text_length;

	wire_start(&cursor, payload, length);
	text = wire_get_text(&cursor, &text_length);
	session = text != NULL ? strndup(text, text_length) : NULL;
	if (session == NULL || !tail_commits_done(catalogue->commits, session))
		worker_violation(catalogue->worker, "TAIL_COMMITTED without a COMMIT_TAIL");
	else
		catalogue->callbacks.committed(session, catalogue->arg);
	free(session);
}

static void
on_given_up(const char *session, void *arg)
{
	struct catalogue *catalogue = arg;

	catalogue->callbacks.committed(session, catalogue->arg);
}

static void
take_response(struct catalogue *catalogue, uint32_t token, const char *payload, size_t length)
{
	if (payload_is_object(payload, length, NULL, NULL))
		catalogue->callbacks.answered(token, payload, length, catalogue->arg);
	else
		worker_violation(catalogue->worker, "malformed RESPONSE");
}

static void
take_error(struct catalogue *catalogue, uint32_t token, const char *payload, size_t length)
{
	struct wire_cursor cursor;
	const char *message, *data;
	size_t message_length, data_length;
	int code;

	wire_start(&cursor, payload, length);
	code = (int)(int32_t)wire_get_u32(&cursor);
	message = wire_get_text(&cursor, &message_length);
	data = wire_get_rest(&cursor, &data_length);
	if (message == NULL || (data_length > 0 && !payload_is_line(data, data_length)))
		worker_violation(catalogue->worker, "malformed RESPONSE_ERROR");
	else
		catalogue->callbacks.failed(
		    token, code, message, message_length, data, data_length, catalogue->arg);
}

static void
catalogue_message(struct worker_process *worker, const struct frame_header *header,
    const void *payload, size_t length, void *arg)
{
	struct catalogue *catalogue = arg;
	const struct message_row *row = message_row(header->type);

	if ((row->peer & MESSAGE_PEER_CATALOGUE) == 0) {
		worker_violation(worker, "not a message of the catalogue worker");
	} else if (header->type == TO_SUPERVISOR_LOG) {
		worker_hello_log(worker, payload, length);
	} else if (header->type == TO_SUPERVISOR_HELLO && !catalogue->hello) {
		catalogue->hello = worker_hello_check(worker, payload, length);
	} else if (header->type == TO_SUPERVISOR_READY && catalogue->hello &&
		   !catalogue->ready) {
		catalogue->ready = true;
	} else if (header->type == TO_SUPERVISOR_SETTINGS && catalogue->ready) {
		take_settings(catalogue, payload, length);
	} else if (header->type == TO_SUPERVISOR_TAIL_COMMITTED && catalogue->ready) {
		take_committed(catalogue, payload, length);
	} else if (header->type == TO_SUPERVISOR_RESPONSE && catalogue->ready) {
		take_response(catalogue, header->request, payload, length);
	} else if (header->type == TO_SUPERVISOR_RESPONSE_ERROR && catalogue->ready) {
		take_error(catalogue, header->request, payload, length);
	} else {
		worker_violation(worker, "message in the wrong state");
	}
}

/* Less and less often. */
static void
start_later(struct catalogue *catalogue)
{
	struct timeval interval = monotonic_interval(catalogue->delay);

	event_add(catalogue->start_timer, &interval);
	catalogue->delay =
	    catalogue->delay * 2 > DELAY_MOST_MS ? DELAY_MOST_MS : catalogue->delay * 2;
}

static void
catalogue_gone(struct worker_process *worker, const char *cause, void *arg)
{
	struct catalogue *catalogue = arg;
	(void)worker;
	log_debug("catalogue", "the catalogue worker %s", cause);
	catalogue->worker = NULL;
	tail_commits_lost(catalogue->commits);
	catalogue->callbacks.gone(cause, catalogue->arg);
	if (catalogue->stopped)
		return;
	if (monotonic_ms() - catalogue->started > LIFE_MS)
		catalogue->delay = DELAY_FIRST_MS;
	start_later(catalogue);
}

static const struct worker_callbacks worker_callbacks = {
    .message = catalogue_message,
    .gone = catalogue_gone,
};

static void
start(struct catalogue *catalogue)
{
	struct timeval answer = monotonic_interval(ANSWER_MS);

	catalogue->hello = catalogue->ready = false;
	catalogue->started = monotonic_ms();
	catalogue->worker =
	    worker_start(catalogue->list, "--catalogue", &worker_callbacks, catalogue);
	event_add(catalogue->answer_timer, &answer);
	if (catalogue->worker == NULL) {
		log_error("catalogue", "no worker could be started: %s", strerror(errno));
		start_later(catalogue);
		return;
	}
	worker_send(catalogue->worker, TO_WORKER_SETUP, 0, 0, catalogue->setup,
	    catalogue->setup_length);
	tail_commits_send(catalogue->commits, catalogue->worker);
}

static void
on_start(int fd, short events, void *arg)
{
	(void)fd;
	(void)events;
	start(arg);
}

static void
on_answer(int fd, short events, void *arg)
{
	struct catalogue *catalogue = arg;

	(void)fd;
	(void)events;
	log_warning("catalogue", "no settings within %d ms", ANSWER_MS);
	catalogue->callbacks.changed(catalogue->arg);
}

struct catalogue *
catalogue_new(struct event_base *base, struct worker_list *list, const char *setup,
    size_t length, const struct catalogue_callbacks *callbacks, void *arg)
{
	struct catalogue *catalogue = calloc(1, sizeof *catalogue);

	if (catalogue == NULL)
		return NULL;
	catalogue->list = list;
	catalogue->callbacks = *callbacks;
	catalogue->arg = arg;
	catalogue->delay = DELAY_FIRST_MS;
	catalogue->setup = strndup(setup, length);
	catalogue->setup_length = length;
	catalogue->answer_timer = evtimer_new(base, on_answer, catalogue);
	catalogue->start_timer = evtimer_new(base, on_start, catalogue);
	catalogue->commits = tail_commits_new(base, on_given_up, catalogue);
	if (catalogue->setup == NULL || catalogue->answer_timer == NULL ||
	    catalogue->start_timer == NULL || catalogue->commits == NULL) {
		catalogue_free(catalogue);
		return NULL;
	}
	start(catalogue);
	return catalogue;
}

void
catalogue_free(struct catalogue *catalogue)
{
	if (catalogue == NULL)
		return;
	if (catalogue->answer_timer != NULL)
		event_free(catalogue->answer_timer);
	if (catalogue->start_timer != NULL)
		event_free(catalogue->start_timer);
	tail_commits_free(catalogue->commits);
	free(catalogue->setup);
	free(catalogue->settings.provider);
	free(catalogue->settings.label);
	free(catalogue);
}

int
catalogue_request(struct catalogue *catalogue, uint32_t token, const char *method,
    const char *params, size_t length)
{
	struct buffer payload = BUFFER_EMPTY;
	int status = -1;

	wire_put_text(&payload, method, strlen(method));
	buffer_append(&payload, params, length);
	if (catalogue->worker != NULL && !payload.failed)
		status = worker_send(catalogue->worker, TO_WORKER_REQUEST, token, 0,
		    payload.data, payload.length);
	buffer_free(&payload);
	return status;
}

void
catalogue_commit_tail(
    struct catalogue *catalogue, const char *session, const char *tail, size_t length)
{
	if (tail_commits_add(catalogue->commits, session, tail, length) == 0 &&
	    catalogue->worker != NULL)
		tail_commits_send(catalogue->commits, catalogue->worker);
}

bool
catalogue_commits(const struct catalogue *catalogue, const char *session)
{
	return tail_commits_has(catalogue->commits, session);
}

void
catalogue_query(struct catalogue *catalogue)
{
	struct timeval interval = monotonic_interval(ANSWER_MS);

	if (catalogue->worker != NULL)
		worker_send(catalogue->worker, TO_WORKER_SETTINGS_QUERY, 0, 0, NULL, 0);
	event_add(catalogue->answer_timer, &interval);
}

const struct settings *
catalogue_settings(const struct catalogue *catalogue)
{
	return &catalogue->settings;
}

void
catalogue_stop(struct catalogue *catalogue)
{
	catalogue->stopped = true;
	event_del(catalogue->answer_timer);
	event_del(catalogue->start_timer);
}
