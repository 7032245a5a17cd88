/*
 * session/request_permission and its answers.
 */
#include <config.h>

#include "worker/acp/permission.h"
#include "worker/acp/encode_v1.h"
#include "worker/supervisor_link.h"
#include "common/alloc.h"
#include "common/log.h"
#include "common/monotonic.h"
#include "common/wire.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

struct question {
	TAILQ_ENTRY(question) entry;
	struct permission_list *list;
	uint32_t request, turn;
	const struct tool_run *run;
	void (*answered)(enum user_answer answer, void *arg);
	void *arg;
	struct event *timer;
};

struct permission_list {
	TAILQ_HEAD(, question) questions;
	struct event_base *base;
	struct supervisor_link *link;
	int64_t timeout_ms;
	uint32_t last_request;
};

static void
drop(struct question *question)
{
	TAILQ_REMOVE(&question->list->questions, question, entry);
	if (question->timer != NULL)
		event_free(question->timer);
	free(question);
}

static void
withdraw(struct question *question)
{
	link_send(question->list->link, TO_SUPERVISOR_CLIENT_CANCEL, question->request,
	    question->turn, NULL, 0);
	drop(question);
}

static void
on_timeout(int fd, short events, void *arg)
{
	struct question *question = arg;
	void (*answered)(enum user_answer, void *) = question->answered;
	void *answered_arg = question->arg;

	(void)fd;
	(void)events;
	log_info("permission", "%s: no answer in time", question->run->call_id);
	withdraw(question);
	answered(USER_SAYS_NOTHING, answered_arg);
}

struct permission_list *
permission_list_new(struct event_base *base, struct supervisor_link *link, int64_t timeout_ms)
{
	struct permission_list *list = xcalloc(1, sizeof *list);

	TAILQ_INIT(&list->questions);
	list->base = base;
	list->link = link;
	list->timeout_ms = timeout_ms;
	return list;
}

void
permission_list_free(struct permission_list *list)
{
	if (list == NULL)
		return;
	permission_list_forget(list);
	free(list);
}

void
permission_list_forget(struct permission_list *list)
{
	while (list != NULL && !TAILQ_EMPTY(&list->questions))
		drop(TAILQ_FIRST(&list->questions));
}

void
permission_ask(struct permission_list *list, uint32_t turn, const struct tool_run *run,
    void (*answered)(enum user_answer answer, void *arg), void *arg)
{
	static const char method[] = "session/request_permission";
	struct question *question = xcalloc(1, sizeof *question);
	struct timeval interval = monotonic_interval(list->timeout_ms);
	struct buffer payload = BUFFER_EMPTY;

	question->list = list;
	question->request = ++list->last_request;
	question->turn = turn;
	question->run = run;
	question->answered = answered;
	question->arg = arg;
	if (list->timeout_ms > 0) {
		question->timer = evtimer_new(list->base, on_timeout, question);
		event_add(question->timer, &interval);
	}
	TAILQ_INSERT_TAIL(&list->questions, question, entry);
	wire_put_text(&payload, method, sizeof method - 1);
	/* A successor that asks the same for the same call gets the answer to this question. */
	wire_put_text(&payload, run->call_id, strlen(run->call_id));
	encode_v1_permission(&payload, run);
	link_send(list->link, TO_SUPERVISOR_CLIENT_REQUEST, question->request, turn,
	    payload.data, payload.length);
	buffer_free(&payload);
}

void
permission_withdraw(struct permission_list *list, const struct tool_run *run)
{
	struct question *question;

	TAILQ_FOREACH(question, &list->questions, entry)
	if (question->run == run) {
		withdraw(question);
		return;
	}
}

void
permission_answer(
    struct permission_list *list, uint32_t request, bool failed, struct json_object *value)
{
	struct question *question;
	void (*answered)(enum user_answer, void *);
	enum user_answer answer;
	void *arg;

	TAILQ_FOREACH(question, &list->questions, entry)
	if (question->request == request)
		break;
	if (question == NULL)
		return;
	answer = failed ? USER_REJECTS_ONCE : encode_v1_answer(value);
	if (answer == USER_ALLOWS_ALWAYS && question->run->permission.grant == NULL)
		answer = USER_REJECTS_ONCE; /* that was not among the options */
	log_info("permission", "%s: %s", question->run->call_id,
	    answer == USER_ALLOWS_ONCE || answer == USER_ALLOWS_ALWAYS ? "allowed" : "refused");
	answered = question->answered;
	arg = question->arg;
	drop(question);
	answered(answer, arg);
}
