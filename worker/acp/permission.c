/*
 * session/request_permission and its answers.
 */
#include <config.h>

#include "worker/acp/permission.h"
#include "worker/acp/client_calls.h"
#include "worker/acp/encode_v1.h"
#include "common/alloc.h"
#include "common/log.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

struct question {
	TAILQ_ENTRY(question) entry;
	struct permission_list *list;
	struct client_call *call;
	const struct tool_run *run;
	void (*answered)(enum user_answer answer, void *arg);
	void *arg;
};

struct permission_list {
	TAILQ_HEAD(, question) questions;
	struct client_calls *calls;
	int64_t timeout_ms;
};

static void
drop(struct question *question)
{
	TAILQ_REMOVE(&question->list->questions, question, entry);
	free(question);
}

struct permission_list *
permission_list_new(struct client_calls *calls, int64_t timeout_ms)
{
	struct permission_list *list = xcalloc(1, sizeof *list);

	TAILQ_INIT(&list->questions);
	list->calls = calls;
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
	struct question *question;

	while (list != NULL && !TAILQ_EMPTY(&list->questions)) {
		question = TAILQ_FIRST(&list->questions);
		client_call_drop(question->call);
		drop(question);
	}
}

static enum user_answer
judge(const struct tool_run *run, enum client_reply reply, struct json_object *value)
{
	enum user_answer answer =
	    reply == CLIENT_RESULT ? encode_v1_answer(value) : USER_REJECTS_ONCE;

	if (answer == USER_ALLOWS_ALWAYS && run->permission.grant == NULL)
		answer = USER_REJECTS_ONCE; /* that was not among the options */
	log_info("permission", "%s: %s", run->call_id,
	    answer == USER_ALLOWS_ONCE || answer == USER_ALLOWS_ALWAYS ? "allowed" : "refused");
	return answer;
}

static void
on_reply(enum client_reply reply, struct json_object *value, void *arg)
{
	struct question *question = arg;
	void (*answered)(enum user_answer, void *) = question->answered;
	void *answered_arg = question->arg;
	enum user_answer answer = USER_SAYS_NOTHING;

	if (reply == CLIENT_SILENT)
		log_info("permission", "%s: no answer in time", question->run->call_id);
	else
		answer = judge(question->run, reply, value);
	drop(question);
	answered(answer, answered_arg);
}

void
permission_ask(struct permission_list *list, uint32_t turn, const struct tool_run *run,
    void (*answered)(enum user_answer answer, void *arg), void *arg)
{
	struct question *question = xcalloc(1, sizeof *question);
	struct buffer params = BUFFER_EMPTY;
	/* A successor that asks the same for the same call gets the answer to this question. */
	struct client_call_request request = {.turn = turn,
	    .method = "session/request_permission",
	    .call_id = run->call_id,
	    .timeout_ms = list->timeout_ms};

	question->list = list;
	question->run = run;
	question->answered = answered;
	question->arg = arg;
	TAILQ_INSERT_TAIL(&list->questions, question, entry);
	encode_v1_permission(&params, run);
	request.params = buffer_text(&params);
	request.length = params.length;
	question->call = client_calls_send(list->calls, &request, on_reply, question);
	buffer_free(&params);
}

void
permission_withdraw(struct permission_list *list, const struct tool_run *run)
{
	struct question *question;

	TAILQ_FOREACH(question, &list->questions, entry)
	if (question->run == run) {
		client_call_withdraw(question->call);
		drop(question);
		return;
	}
}
