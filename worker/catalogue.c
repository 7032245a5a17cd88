/*
 * The catalogue worker: reads the configuration and the list of sessions for the supervisor.
 * It opens no session and no connection, and no key of it leaves the process.
 */
#include <config.h>

#include "worker/worker.h"
#include "worker/config/runtime.h"
#include "worker/store/state_queue.h"
#include "worker/supervisor_link.h"
#include "common/log.h"
#include "common/wire.h"

#define IDLE_SECONDS 1800
#define IDLE_SECONDS_MAX ((int64_t)365 * 24 * 3600)

/* 0 keeps every worker, and nothing else does. */
static int64_t
idle_ms(const struct configuration *configuration)
{
	int64_t seconds =
	    configuration_integer(configuration, "acp.worker_idle_timeout", IDLE_SECONDS);

	if (seconds < 0)
		seconds = IDLE_SECONDS;
	return 1000 * (seconds < IDLE_SECONDS_MAX ? seconds : IDLE_SECONDS_MAX);
}

static void
send_settings(struct worker *worker)
{
	struct json_object *settings = json_object_new_object();
	struct runtime runtime = {0};
	struct buffer error = BUFFER_EMPTY;
	bool found = true;

	if (worker->rehearsal)
		runtime_rehearsal(NULL, false, &runtime);
	else
		found =
		    runtime_resolve(worker->configuration, NULL, NULL, &runtime, &error) == 0;
	if (found) {
		json_set_text(settings, "provider", runtime.provider);
		json_set_text(settings, "label", runtime.label);
		runtime_clear(&runtime);
	} else {
		log_info("catalogue", "%s", buffer_text(&error));
	}
	json_set_integer(settings, "workerIdleMs", idle_ms(worker->configuration));
	link_send_json(worker->link, TO_SUPERVISOR_SETTINGS, 0, 0, settings);
	json_object_put(settings);
	buffer_free(&error);
}

void
catalogue_set_up(struct worker *worker, struct json_object *setup)
{
	struct buffer payload = BUFFER_EMPTY;

	worker->rehearsal =
	    json_member_boolean(json_member_object(setup, "options"), "rehearsal", false);
	worker->configuration = configuration_load();
	worker->state = state_new(configuration_home(worker->configuration));
	worker->queue = state_queue_new(worker->base, worker->state);
	wire_put_text(&payload, "", 0);
	buffer_append_text(&payload, "{}");
	link_send(worker->link, TO_SUPERVISOR_READY, 0, 0, payload.data, payload.length);
	buffer_free(&payload);
	send_settings(worker);
}

void
catalogue_message(struct worker *worker, enum message_type type, uint32_t request,
    const char *payload, size_t length)
{
	if (type == TO_WORKER_REQUEST) {
		catalogue_request(worker, request, payload, length);
	} else if (type == TO_WORKER_COMMIT_TAIL) {
		catalogue_commit_tail(worker, payload, length);
	} else if (type == TO_WORKER_SETTINGS_QUERY) {
		configuration_free(worker->configuration);
		worker->configuration = configuration_load();
		send_settings(worker);
	}
}
