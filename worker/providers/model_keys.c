/*
 * Keys of one request. No key is tried twice in it because of what a server said of it, so that
 * going over always ends; waiting and trying again with the last one is model_call.c's.
 */
#include <config.h>

#include "worker/providers/model_keys.h"
#include "worker/config/credential_pool.h"
#include "worker/config/runtime.h"
#include "common/alloc.h"
#include "common/log.h"
#include "common/monotonic.h"

#include <errno.h>
#include <event2/event.h>
#include <event2/util.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SAVE_TRIES 200 /* while another program has the file */
#define SAVE_PAUSE_MS 25

/* A failure that is not entered yet. */
struct failure {
	struct failure *next;
	size_t credential;
	struct credential_failure what; /* with a message of its own */
	char *message;
	double at;
	unsigned tries;
};

struct model_keys {
	struct runtime *runtime;
	uint32_t tried; /* a bit per key that has failed in this request */
	struct failure *failures;
	struct event *timer;
};

/* What says that another key may do better. A 403 does not: it speaks of what is asked for. */
static const struct {
	enum model_error kind;
	int status; /* 0 = any */
	int code;   /* what stands for it where the error came within an answer */
	const char *reason;
	const char *told; /* NULL: passes by itself */
} rules[] = {
    {MODEL_ERROR_AUTH, 401, 401, "auth", "was refused"},
    {MODEL_ERROR_BILLING, 0, 402, "billing", "has no credits left"},
    {MODEL_ERROR_RATE_LIMIT, 0, 429, "rate_limit", NULL},
};

#define RULE_COUNT (sizeof rules / sizeof rules[0])

static double
now_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static uint32_t
any_number(void)
{
	uint32_t number;

	evutil_secure_rng_get_bytes(&number, sizeof number);
	return number;
}

static void
drop_first(struct model_keys *keys)
{
	struct failure *failure = keys->failures;

	keys->failures = failure->next;
	free(failure->message);
	free(failure);
}

/* True when nothing is left that could be entered later. */
static bool
save(struct model_keys *keys)
{
	struct buffer error = BUFFER_EMPTY;
	struct failure *failure;
	bool busy = false;

	while (!busy && (failure = keys->failures) != NULL) {
		buffer_clear(&error);
		if (credential_pool_fail(keys->runtime->pool, failure->credential,
			&failure->what, failure->at, &error) == -1) {
			busy = errno == EWOULDBLOCK && ++failure->tries < SAVE_TRIES;
			if (!busy)
				log_warning("model", "a key's rest is not saved: %s",
				    buffer_text(&error));
		}
		if (!busy)
			drop_first(keys);
	}
	buffer_free(&error);
	return keys->failures == NULL;
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct model_keys *keys = arg;
	struct timeval pause = monotonic_interval(SAVE_PAUSE_MS);

	(void)fd;
	(void)what;
	if (!save(keys))
		event_add(keys->timer, &pause);
}

struct model_keys *
model_keys_new(struct event_base *base, struct runtime *runtime)
{
	struct model_keys *keys;
	size_t chosen;

	if (runtime->pool == NULL)
		return NULL;
	keys = xcalloc(1, sizeof *keys);
	keys->runtime = runtime;
	keys->timer = evtimer_new(base, on_timer, keys);
	chosen = credential_pool_choose(
	    runtime->pool, runtime->credential, 0, now_seconds(), any_number());
	if (chosen != runtime->credential && chosen != CREDENTIAL_NONE)
		runtime_use_credential(runtime, chosen);
	return keys;
}

void
model_keys_free(struct model_keys *keys)
{
	if (keys == NULL)
		return;
	if (!save(keys))
		log_warning("model", "a key's rest is not saved: auth.json is in use");
	while (keys->failures != NULL)
		drop_first(keys);
	event_free(keys->timer);
	free(keys);
}

static size_t
rule_of(const struct model_answer *answer)
{
	bool within = answer->status < 400; /* an error in an answer that began well */
	size_t i = 0;

	while (i < RULE_COUNT &&
	       (rules[i].kind != answer->error ||
		   (rules[i].status != 0 && rules[i].status != answer->status && !within)))
		i++;
	return i;
}

static void
note_failure(struct model_keys *keys, const struct model_answer *answer, size_t rule)
{
	struct failure *failure = xcalloc(1, sizeof *failure), **last = &keys->failures;

	failure->credential = keys->runtime->credential;
	failure->at = now_seconds();
	failure->message = xstrdup(answer->message != NULL ? answer->message : "");
	failure->what.status = answer->status >= 400 ? answer->status : rules[rule].code;
	failure->what.billing = answer->error == MODEL_ERROR_BILLING;
	failure->what.reset_after =
	    answer->retry_after_ms >= 0 ? (double)answer->retry_after_ms / 1000 : -1;
	failure->what.reason = rules[rule].reason;
	failure->what.message = failure->message;
	while (*last != NULL)
		last = &(*last)->next;
	*last = failure;
	on_timer(-1, 0, keys);
}

bool
model_keys_next(struct model_keys *keys, const struct model_answer *answer, char **notice)
{
	size_t rule = rule_of(answer), failed, next;
	struct runtime *runtime;

	*notice = NULL;
	if (keys == NULL || answer->finish != FINISH_ERROR || rule == RULE_COUNT)
		return false;
	runtime = keys->runtime;
	failed = runtime->credential;
	if ((keys->tried >> failed & 1) == 0)
		note_failure(keys, answer, rule);
	keys->tried |= UINT32_C(1) << failed;
	next = credential_pool_choose(
	    runtime->pool, CREDENTIAL_NONE, keys->tried, now_seconds(), any_number());
	if (next == CREDENTIAL_NONE)
		return false;
	log_info("model", "key \"%s\": %s; going on with \"%s\"",
	    credential_pool_label(runtime->pool, failed), rules[rule].reason,
	    credential_pool_label(runtime->pool, next));
	if (rules[rule].told != NULL)
		*notice = xasprintf("The key \"%s\" for %s %s; going on with \"%s\"",
		    credential_pool_label(runtime->pool, failed), runtime->label,
		    rules[rule].told, credential_pool_label(runtime->pool, next));
	runtime_use_credential(runtime, next);
	return true;
}
