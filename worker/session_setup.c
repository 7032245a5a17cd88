/*
 * A session's worker gets what it needs: folders, configuration, model, tools. Whatever is
 * wrong is told with SETUP_FAILED before anything was begun.
 */
#include <config.h>

#include "worker/worker.h"
#include "worker/allow_list.h"
#include "worker/model_watch.h"
#include "worker/acp/client_calls.h"
#include "worker/acp/client_files.h"
#include "worker/acp/encode_v1.h"
#include "worker/acp/permission.h"
#include "worker/acp/turn_output.h"
#include "worker/agent/agent_model.h"
#include "worker/agent/model_route.h"
#include "worker/agent/request.h"
#include "worker/agent/slash_commands.h"
#include "worker/program_path.h"
#include "worker/providers/provider.h"
#include "worker/store/checkpoints.h"
#include "worker/store/store_sqlite.h"
#include "worker/supervisor_link.h"
#include "worker/tools/file_stamps.h"
#include "worker/tools/grants.h"
#include "worker/tools/memory.h"
#include "worker/tools/path_rules.h"
#include "worker/tools/shell_state.h"
#include "worker/tools/todo.h"
#include "common/alloc.h"
#include "common/log.h"
#include "common/wire.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define INVALID_PARAMS (-32602)
#define INTERNAL_ERROR (-32603)
#define AUTH_REQUIRED (-32000)
#define APPROVAL_SECONDS 300
/* Of checkpoints, as in Hermes. */
#define CHECKPOINT_FILE_MB 10
#define CHECKPOINT_TOTAL_MB 500
#define CHECKPOINT_DAYS 7
#define CHECKPOINT_MAX 1000000
#define APPROVAL_SECONDS_MAX ((int64_t)365 * 24 * 3600)

static int
fail(struct worker *worker, int code, const char *message, const char *details,
    const char *field)
{
	link_send_failure(
	    worker->link, TO_SUPERVISOR_SETUP_FAILED, 0, 0, code, message, details, field);
	return -1;
}

/* A folder that is there, absolute, its links followed; NULL after an answer. */
static char *
take_folder(struct worker *worker, const char *path, const char *field)
{
	struct stat status;
	char *message, *real = NULL;
	const char *fault = NULL;

	if (path == NULL || path[0] != '/')
		fault = "is not an absolute path";
	else if (stat(path, &status) == -1)
		fault = strerror(errno);
	else if (!S_ISDIR(status.st_mode))
		fault = "is not a folder";
	else if (access(path, R_OK | X_OK) == -1)
		fault = strerror(errno);
	else if ((real = path_rules_real(path)) == NULL)
		fault = strerror(errno);
	if (fault == NULL)
		return real;
	message = xasprintf("%s: %s: %s", field, path != NULL ? path : "(none)", fault);
	fail(worker, INVALID_PARAMS, message, message, field);
	free(message);
	return NULL;
}

static int
take_roots(struct worker *worker, struct json_object *params)
{
	struct json_object *more = json_member_array(params, "additionalDirectories");
	size_t count = more != NULL ? json_object_array_length(more) : 0, i;

	worker->cwd = take_folder(worker, json_member_string(params, "cwd"), "cwd");
	if (worker->cwd == NULL)
		return -1;
	worker->roots = xcalloc(count + 2, sizeof *worker->roots);
	worker->roots[0] = xstrdup(worker->cwd);
	for (i = 0; i < count; i++) {
		worker->roots[i + 1] = take_folder(worker,
		    json_object_get_string(json_object_array_get_idx(more, i)),
		    "additionalDirectories");
		if (worker->roots[i + 1] == NULL)
			return -1;
	}
	worker->agent.tools.roots = (const char *const *)worker->roots;
	worker->agent.tools.root_count = count + 1;
	return 0;
}

static enum reasoning_echo
reasoning_echo(const struct configuration *configuration)
{
	static const char path[] = "model.reasoning_echo";

	if (configuration_value(configuration, path) == NULL)
		return REASONING_ECHO_DEFAULT;
	return configuration_boolean(configuration, path, false) ? REASONING_ECHO_ON
								 : REASONING_ECHO_OFF;
}

static int
take_runtime(struct worker *worker, struct json_object *options)
{
	struct buffer error = BUFFER_EMPTY;
	struct runtime runtime = {0};
	int status = 0;

	worker->agent.reasoning_echo = reasoning_echo(worker->configuration);
	if (json_member_boolean(options, "rehearsal", false))
		runtime_rehearsal(json_member_string(options, "script"),
		    json_member_boolean(options, "faults", false), &runtime);
	else if (runtime_resolve(worker->configuration, NULL, NULL, &runtime, &error) == -1)
		status = fail(worker, AUTH_REQUIRED, "No usable model provider is configured",
		    buffer_text(&error), NULL);
	if (status == 0)
		agent_choose_model(&worker->agent, &runtime);
	buffer_free(&error);
	return status;
}

static char *
scratch_below(const char *folder)
{
	char *path = xasprintf("%s/hermes-acp-XXXXXX", folder);

	if (mkdtemp(path) != NULL)
		return path;
	free(path);
	return NULL;
}

/* $TMPDIR may name a folder that is not there. */
static int
make_scratch(struct worker *worker)
{
	const char *temporary = getenv("TMPDIR");

	if (temporary != NULL && temporary[0] == '/')
		worker->scratch = scratch_below(temporary);
	if (worker->scratch == NULL)
		worker->scratch = scratch_below("/tmp");
	if (worker->scratch != NULL)
		return 0;
	return fail(worker, INTERNAL_ERROR, "No folder for temporary files could be made",
	    strerror(errno), NULL);
}

static void
on_allow_always(const char *label, void *arg)
{
	struct worker *worker = arg;

	allow_list_add(worker->allowed, label);
}

static struct memory *
make_memory(const struct configuration *configuration)
{
	const struct memory_options options = {
	    .enabled = {configuration_boolean(configuration, "memory.memory_enabled", true),
		configuration_boolean(configuration, "memory.user_profile_enabled", true)},
	    .limits = {configuration_integer(configuration, "memory.memory_char_limit", 0),
		configuration_integer(configuration, "memory.user_char_limit", 0)},
	    .ask = configuration_boolean(configuration, "memory.write_approval", false)};

	return memory_new(configuration_home(configuration), &options);
}

/* The limits are those of Hermes' own checkpoints, its switch is not: it is off there. */
static struct checkpoints *
make_checkpoints(const struct worker *worker)
{
	const struct configuration *configuration = worker->configuration;
	static const char *const keys[] = {"checkpoints.max_file_size_mb",
	    "checkpoints.max_total_size_mb", "checkpoints.retention_days"};
	int64_t values[] = {CHECKPOINT_FILE_MB, CHECKPOINT_TOTAL_MB, CHECKPOINT_DAYS}, value;
	struct checkpoint_limits limits;
	size_t i;

	if (!configuration_boolean(configuration, "acp.checkpoints", true))
		return NULL;
	for (i = 0; i < sizeof keys / sizeof keys[0]; i++) {
		value = configuration_integer(configuration, keys[i], values[i]);
		if (value > 0)
			values[i] = value < CHECKPOINT_MAX ? value : CHECKPOINT_MAX;
	}
	limits.file_bytes = values[0] << 20;
	limits.total_bytes = values[1] << 20;
	limits.seconds = values[2] * 24 * 3600;
	return checkpoints_new(configuration_home(configuration), worker->session_id, &limits);
}

static void
make_tools(struct worker *worker)
{
	struct tool_context *tools = &worker->agent.tools;
	const char *home = getenv("HOME");

	worker->user_home = home != NULL && home[0] == '/' ? xstrdup(home) : NULL;
	worker->guard = program_path("HERMES_ACP_GUARD", "hermes-acp-guard");
	tools->base = worker->base;
	tools->session_id = worker->session_id;
	tools->cwd = worker->cwd;
	tools->home = configuration_home(worker->configuration);
	tools->user_home = worker->user_home;
	tools->guard = worker->guard;
	tools->scratch = worker->scratch;
	tools->config = configuration_tree(worker->configuration);
	tools->stamps = file_stamps_new();
	tools->checkpoints = make_checkpoints(worker);
	tools->grants = grants_new();
	tools->shell = shell_state_new();
	tools->todo = todo_list_new();
	tools->memory = make_memory(worker->configuration);
}

/* 0 waits for ever, and nothing else does. */
static int64_t
approval_ms(const struct configuration *configuration)
{
	int64_t seconds =
	    configuration_integer(configuration, "approvals.timeout", APPROVAL_SECONDS);

	if (seconds < 0)
		seconds = APPROVAL_SECONDS;
	return 1000 * (seconds < APPROVAL_SECONDS_MAX ? seconds : APPROVAL_SECONDS_MAX);
}

static void
make_agent(struct worker *worker, int64_t starts)
{
	struct agent *agent = &worker->agent;

	agent->base = worker->base;
	agent->route = model_route_new(worker->configuration);
	agent->conversation = conversation_new((unsigned)starts);
	agent->limits.requests =
	    configuration_integer(worker->configuration, "agent.max_turns", 90);
	if (agent->limits.requests < 1)
		agent->limits.requests = INT64_MAX;
	agent->limits.result_characters = 100000;
	worker->allowed =
	    allow_list_new(worker->base, configuration_home(worker->configuration));
	worker->client_calls = client_calls_new(worker->base, worker->link);
	worker->permissions =
	    permission_list_new(worker->client_calls, approval_ms(worker->configuration));
	worker->output = turn_output_new(worker->link, worker->permissions);
	agent->output = turn_output_callbacks(worker->output);
	agent->allow_always = on_allow_always;
	agent->allow_arg = worker;
	agent->on_model = session_on_model;
	agent->model_arg = worker;
}

/* The client's files are used when it offers them and the user does not forbid it. */
static void
take_client_files(struct worker *worker, struct json_object *client, struct json_object *params)
{
	if (!configuration_boolean(worker->configuration, "acp.client_fs", true))
		return;
	worker->client_files = client_files_new(
	    worker->client_calls, worker->output, client, params, worker->roots);
	worker->agent.tools.editor = client_files_editor(worker->client_files);
}

/* Space-separated: these act at once when a turn runs. */
static void
put_commands(struct buffer *payload)
{
	const struct slash_command *command;
	struct buffer names = BUFFER_EMPTY;

	for (command = slash_commands(); command->name != NULL; command++)
		if (command->run != NULL)
			buffer_printf(
			    &names, "%s%s", names.length > 0 ? " " : "", command->name);
	wire_put_text(payload, buffer_text(&names), names.length);
	buffer_free(&names);
}

static void
send_update(struct worker *worker, struct buffer *line)
{
	link_send(worker->link, TO_SUPERVISOR_SESSION_UPDATE, 0, 0, line->data, line->length);
	buffer_clear(line);
}

/* The answer to session/new, and what follows it at once. */
static void
tell_ready(struct worker *worker)
{
	struct buffer line = BUFFER_EMPTY;
	struct agent *agent = &worker->agent;
	struct option_values values;

	put_commands(&line);
	session_options(worker, &values);
	encode_v1_session(&line, &values);
	session_options_clear(&values);
	link_send(worker->link, TO_SUPERVISOR_READY, 0, 0, line.data, line.length);
	buffer_clear(&line);
	if (worker->opening != SESSION_OPEN_REVIVE) { /* else the client has them */
		encode_v1_commands(&line);
		send_update(worker, &line);
		encode_v1_usage(&line, agent_context_tokens(agent),
		    agent->runtime.context_length, &agent->usage);
		send_update(worker, &line);
	}
	buffer_free(&line);
	session_tell_notes(worker);
}

static enum session_opening
opening_of(const char *name)
{
	static const char *const names[] = {"new", "load", "resume", "revive"};
	int i;

	for (i = SESSION_OPEN_REVIVE; i > SESSION_OPEN_NEW; i--)
		if (strcmp(names[i], name) == 0)
			break;
	return (enum session_opening)i;
}

static void
on_usage(const struct model_usage *usage, const struct runtime *runtime, void *arg)
{
	struct worker *worker = arg;

	session_count_usage(worker, usage, runtime, NULL);
}

static void
on_turn_end(const struct turn_end *end, void *arg)
{
	struct worker *worker = arg;

	checkpoints_turn(worker->agent.tools.checkpoints, NULL, false);
	session_note_store(worker);
	session_make_title(worker, end);
}

static void
make_store(struct worker *worker)
{
	struct store_session_info info;
	struct buffer error = BUFFER_EMPTY;

	session_describe(worker, &info);
	worker->agent.store = store_sqlite_new(
	    worker->base, configuration_home(worker->configuration), &info, &error);
	json_object_put(info.config);
	worker->agent.on_usage = on_usage;
	worker->agent.on_arg = worker;
	if (worker->agent.store == NULL) {
		log_error("store", "%s", buffer_text(&error));
		worker->agent.store = store_memory_new();
		worker->opening = SESSION_OPEN_NEW;
	} else {
		worker->durable = true;
		worker->agent.tools.sessions = store_sqlite_queue(worker->agent.store);
		worker->agent.on_turn_end = on_turn_end;
	}
	buffer_free(&error);
}

/* What waits may come. */
static void
ready(struct worker *worker)
{
	worker->set_up = true;
	tell_ready(worker);
	if (worker->carried)
		session_tell_state(worker); /* it changes from here on */
	if (worker->opening != SESSION_OPEN_REVIVE)
		agent_note_credential(&worker->agent);
	session_look_for_models(worker);
}

void
session_set_up(struct worker *worker, struct json_object *setup)
{
	struct json_object *params = json_member_object(setup, "params");
	struct json_object *client = json_member_object(setup, "client");
	struct json_object *state = json_member_object(setup, "state");
	const char *mode = json_member_string(state, "mode");
	int64_t starts = 1;

	worker->titled = json_member_boolean(state, "titled", false);
	worker->noted = json_member_boolean(state, "noted", false);
	if (json_has(state, "models"))
		worker->models_shown = xstrdup(json_member_text(state, "models", ""));
	worker->session_id = xstrdup(json_member_text(setup, "sessionId", ""));
	worker->opening_id = xstrdup(json_member_text(setup, "opening", ""));
	if (take_roots(worker, params) == -1)
		return;
	worker->configuration = configuration_load();
	if (take_runtime(worker, json_member_object(setup, "options")) == -1 ||
	    make_scratch(worker) == -1)
		return;
	worker->notices = json_has(json_member_object(client, "session"), "notices");
	make_tools(worker);
	worker->mode_given =
	    mode != NULL && session_mode_parse(mode, &worker->agent.tools.mode);
	worker->opening = opening_of(json_member_text(setup, "open", "new"));
	session_take_choice(worker, state);
	session_take_carried(worker, json_member_object(state, "carried"));
	json_member_integer(setup, "starts", &starts);
	make_agent(worker, starts);
	take_client_files(worker, client, params);
	if (!worker->noted)
		session_take_notes(worker, params);
	make_store(worker);
	worker->agent.tool_list = request_tools(&worker->agent.tools);
	session_open(worker, ready);
}

static int
remove_entry(const char *path, const struct stat *status, int kind, struct FTW *place)
{
	(void)status;
	(void)kind;
	(void)place;
	remove(path);
	return 0;
}

void
session_tear_down(struct worker *worker)
{
	struct agent *agent = &worker->agent;
	size_t i;

	session_stop_title(worker);
	model_watch_free(worker->model_watch);
	turn_abandon(agent);
	shell_state_free(agent->tools.shell);
	if (worker->scratch != NULL)
		nftw(worker->scratch, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
	permission_list_free(worker->permissions);
	client_files_free(worker->client_files);
	client_calls_free(worker->client_calls);
	allow_list_free(worker->allowed);
	turn_output_free(worker->output);
	file_stamps_free(agent->tools.stamps);
	checkpoints_free(agent->tools.checkpoints);
	grants_free(agent->tools.grants);
	todo_list_free(agent->tools.todo);
	memory_free(agent->tools.memory);
	conversation_free(agent->conversation);
	store_free(agent->store);
	json_object_put(agent->tool_list);
	agent_clear_models(agent);
	model_route_free(agent->route);
	free(agent->system_prompt);
	buffer_free(&worker->notes);
	for (i = 0; worker->roots != NULL && worker->roots[i] != NULL; i++)
		free(worker->roots[i]);
	free(worker->roots);
	free(worker->session_id);
	free(worker->stored_id);
	free(worker->opening_id);
	free(worker->level);
	free(worker->models_shown);
	free(worker->cwd);
	free(worker->guard);
	free(worker->scratch);
	free(worker->user_home);
}
