/*
 * The session's title: the client is told the one that is stored, which a clash may have given
 * a number. Where the user wants it, a model makes a better one than the first prompt's first
 * line, between the turns; no turn waits for that or fails by it.
 */
#include <config.h>

#include "worker/worker.h"
#include "worker/acp/encode_v1.h"
#include "worker/agent/title_call.h"
#include "worker/providers/provider.h"
#include "worker/store/store_sqlite.h"
#include "worker/supervisor_link.h"
#include "common/log.h"

#include <string.h>

/* A request that the next prompt broke off is made again, after no later turn than this. */
#define TURNS_MAX 3
#define TIMEOUT_SECONDS 30
#define TIMEOUT_SECONDS_MAX 600

void
session_tell_title(struct worker *worker, const char *title)
{
	struct buffer line = BUFFER_EMPTY;

	worker->titled = true;
	session_tell_state(worker);
	encode_v1_info(&line, title);
	link_send(worker->link, TO_SUPERVISOR_SESSION_UPDATE, 0, 0, line.data, line.length);
	buffer_free(&line);
}

static void
on_title(const char *title, const char *source, void *arg)
{
	struct worker *worker = arg;

	session_note_store(worker); /* the prompt was the first to need the database */
	if (title == NULL || worker->titled)
		return;
	worker->title_derived = source != NULL && strcmp(source, "derived") == 0;
	session_tell_title(worker, title);
}

void
session_look_for_title(struct worker *worker)
{
	if (worker->durable && !worker->titled)
		store_sqlite_read_title(worker->agent.store, on_title, worker);
}

static void
on_stored(const char *title, void *arg)
{
	if (title != NULL)
		session_tell_title(arg, title);
}

static void
on_made(const char *title, const struct model_usage *usage, const struct runtime *runtime,
    void *arg)
{
	struct worker *worker = arg;

	worker->title_call = NULL;
	worker->title_derived = false; /* once is enough, whatever came of it */
	if (usage != NULL)
		session_count_usage(worker, usage, runtime, TITLE_CALL_TASK);
	if (title != NULL)
		store_sqlite_set_title(worker->agent.store, title, "llm", on_stored, worker);
}

static bool
is_wanted(const struct configuration *configuration)
{
	return configuration_boolean(configuration, "acp.generate_titles", false) &&
	       configuration_boolean(
		   configuration, "auxiliary.title_generation.enabled", true) &&
	       configuration_boolean(
		   configuration, "auxiliary.title_generation.model_upgrade_enabled", true);
}

/* The text of the first prompt, NULL when it has none; counts the prompts. */
static const char *
first_prompt(const struct conversation *conversation, size_t *count)
{
	struct json_object *messages = conversation_messages(conversation), *message, *parts;
	size_t length = json_object_array_length(messages), i, k;
	const char *text = NULL;

	*count = 0;
	for (i = 0; i < length; i++) {
		message = json_object_array_get_idx(messages, i);
		if (strcmp(json_member_text(message, "role", ""), "user") != 0 || ++*count > 1)
			continue;
		text = json_member_string(message, "content");
		parts = json_member_array(message, "content");
		for (k = 0;
		     parts != NULL && text == NULL && k < json_object_array_length(parts); k++)
			text = json_member_string(json_object_array_get_idx(parts, k), "text");
	}
	return text;
}

static int64_t
timeout_ms(const struct configuration *configuration)
{
	int64_t seconds = configuration_integer(
	    configuration, "auxiliary.title_generation.timeout", TIMEOUT_SECONDS);

	if (seconds < 1 || seconds > TIMEOUT_SECONDS_MAX)
		seconds = TIMEOUT_SECONDS;
	return seconds * 1000;
}

static void
ask(struct worker *worker, const char *prompt)
{
	const struct configuration *configuration = worker->configuration;
	struct runtime runtime;
	struct buffer error = BUFFER_EMPTY;
	struct title_wanted wanted = {.runtime = &runtime,
	    .session_id = worker->session_id,
	    .prompt = prompt,
	    .language =
		configuration_string(configuration, "auxiliary.title_generation.language", ""),
	    .instructions = configuration_string(
		configuration, "auxiliary.title_generation.instructions", ""),
	    .timeout_ms = timeout_ms(configuration)};

	if (runtime_resolve_task(TITLE_CALL_TASK, &worker->agent.chosen, &runtime, &error) ==
	    -1) {
		log_warning("title", "no title is made: %s", buffer_text(&error));
		worker->title_derived = false;
	} else {
		worker->title_call = title_call_start(worker->base, &wanted, on_made, worker);
		runtime_clear(&runtime);
	}
	buffer_free(&error);
}

void
session_make_title(struct worker *worker, const struct turn_end *end)
{
	const char *prompt;
	size_t turns;

	if (!worker->durable || !worker->titled || !worker->title_derived || worker->ending ||
	    end->code != 0 || end->reason != STOP_REASON_END_TURN ||
	    !is_wanted(worker->configuration))
		return;
	prompt = first_prompt(worker->agent.conversation, &turns);
	if (prompt != NULL && turns <= TURNS_MAX)
		ask(worker, prompt);
}

void
session_stop_title(struct worker *worker)
{
	title_call_cancel(worker->title_call);
	worker->title_call = NULL;
}
