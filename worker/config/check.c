/*
 * The checks behind `hermes-acp --check`. They must only look: no file is made, no server
 * asked, no key shown.
 */
#include <config.h>

#include "worker/config/check.h"

#include "worker/config/config_file.h"
#include "worker/config/configuration.h"
#include "worker/config/configuration_private.h"
#include "worker/config/credential_pool.h"
#include "worker/config/runtime.h"

#include "common/alloc.h"
#include "common/json.h"
#include "common/log.h"

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SCRIPT_MAX (16 * 1024 * 1024)

struct check {
	FILE *out;
	const struct check_options *options;
	struct configuration *configuration;
	int problems;
};

static void say(struct check *check, const char *kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* One item on one line. */
static void
say(struct check *check, const char *kind, const char *format, ...)
{
	struct buffer text = BUFFER_EMPTY;
	va_list arguments;
	char *byte;

	va_start(arguments, format);
	buffer_vprintf(&text, format, arguments);
	va_end(arguments);
	for (byte = text.data; byte != NULL && *byte != '\0'; byte++)
		if ((unsigned char)*byte < 0x20 || *byte == 0x7f)
			*byte = ' ';
	if (text.data != NULL)
		secret_mask(text.data);
	fprintf(check->out, "%-8s %s\n", kind, buffer_text(&text));
	buffer_free(&text);
	if (strcmp(kind, "problem") == 0)
		check->problems++;
}

static void
check_provider(struct check *check)
{
	struct buffer error = BUFFER_EMPTY;
	struct runtime runtime;

	if (check->options->rehearsal != NULL) {
		say(check, "ok", "provider: rehearsal (no model is called)");
		return;
	}
	if (runtime_resolve(check->configuration, NULL, NULL, &runtime, &error) == 0) {
		say(check, "ok", "provider: %s (model %s, %" PRId64 " tokens, %s, key %s)",
		    runtime.provider, runtime.model, runtime.context_length,
		    *runtime.base_url != '\0' ? runtime.base_url : "no server",
		    runtime.api_key != NULL ? "found" : "none needed");
		if (runtime.pool != NULL)
			say(check, "ok", "keys: %zu for %s, auth.json's first",
			    credential_pool_count(runtime.pool), runtime.provider);
		runtime_clear(&runtime);
	} else {
		say(check, "problem", "provider: %s", buffer_text(&error));
	}
	buffer_free(&error);
}

/* The models that are asked when that one does not answer. */
static void
check_fallbacks(struct check *check)
{
	struct json_object *list = runtime_fallbacks(check->configuration), *entry;
	struct buffer error = BUFFER_EMPTY;
	struct runtime runtime;
	size_t i;

	for (i = 0; i < json_object_array_length(list); i++) {
		entry = json_object_array_get_idx(list, i);
		buffer_clear(&error);
		if (runtime_resolve_block(entry, &runtime, &error) == -1) {
			say(check, "problem", "fallback %zu: %s", i + 1, buffer_text(&error));
			continue;
		}
		say(check, "ok", "fallback %zu: %s (model %s, %s, key %s)", i + 1,
		    runtime.provider, runtime.model, runtime.base_url,
		    runtime.api_key != NULL ? "found" : "none needed");
		runtime_clear(&runtime);
	}
	json_object_put(list);
	buffer_free(&error);
}

static void
check_mode(struct check *check, const char *path, const struct stat *status, const char *mode)
{
	if ((status->st_mode & 077) != 0)
		say(check, "note", "%s: other users may look into it (mode %03o); chmod %s %s",
		    path, (unsigned)status->st_mode & 0777, mode, path);
}

static void
check_home(struct check *check)
{
	const char *home = configuration_home(check->configuration);
	struct stat status;

	if (stat(home, &status) == -1 && errno == ENOENT) {
		say(check, "note", "home: %s does not exist yet; it is made when it is needed",
		    home);
		return;
	}
	if (stat(home, &status) == -1)
		say(check, "problem", "home: %s: %s", home, strerror(errno));
	else if (!S_ISDIR(status.st_mode))
		say(check, "problem", "home: %s is not a folder; move it away", home);
	else if (access(home, R_OK | W_OK | X_OK) == -1)
		say(check, "problem", "home: %s cannot be written: %s; sessions are not kept",
		    home, strerror(errno));
	else
		say(check, "ok", "home: %s", home);
	if (S_ISDIR(status.st_mode))
		check_mode(check, home, &status, "700");
}

static void
check_file(struct check *check, const char *name, const char *when_absent)
{
	char *path = xasprintf("%s/%s", configuration_home(check->configuration), name);
	struct stat status;

	if (stat(path, &status) == -1) {
		if (errno == ENOENT)
			say(check, "note", "%s: %s does not exist; %s", name, path,
			    when_absent);
		else
			say(check, "problem", "%s: %s: %s", name, path, strerror(errno));
	} else {
		check_mode(check, path, &status, "600");
	}
	free(path);
}

/* Most have none; that is not worth a line. */
static void
check_auth(struct check *check)
{
	char *path = xasprintf("%s/auth.json", configuration_home(check->configuration));
	struct stat status;

	if (stat(path, &status) == 0)
		check_mode(check, path, &status, "600");
	free(path);
}

/* Reads the values that have a kind, so that wrong ones are noted. */
static void
read_values(const struct configuration *configuration)
{
	static const char *const integers[] = {"agent.max_turns",
	    "checkpoints.max_file_size_mb", "checkpoints.max_total_size_mb",
	    "checkpoints.retention_days", "agent.api_max_retries",
	    "agent.local_stream_stale_timeout", "terminal.timeout", "approvals.timeout",
	    "acp.worker_idle_timeout", "memory.memory_char_limit", "memory.user_char_limit",
	    "auxiliary.title_generation.timeout"};
	static const char *const booleans[] = {"acp.rehearsal_faults", "acp.client_fs",
	    "acp.checkpoints", "acp.model_list", "memory.memory_enabled",
	    "memory.user_profile_enabled", "memory.write_approval", "acp.generate_titles",
	    "auxiliary.title_generation.enabled",
	    "auxiliary.title_generation.model_upgrade_enabled"};
	size_t i;

	for (i = 0; i < sizeof integers / sizeof *integers; i++)
		configuration_integer(configuration, integers[i], 0);
	for (i = 0; i < sizeof booleans / sizeof *booleans; i++)
		configuration_boolean(configuration, booleans[i], false);
}

static void
check_configuration(struct check *check)
{
	char *problems, *line, *next;

	check_file(check, "config.yaml", "the defaults count");
	check_file(check, ".env", "only the environment counts");
	check_auth(check);
	read_values(check->configuration);
	problems = xstrdup(configuration_problems(check->configuration));
	if (*problems == '\0')
		say(check, "ok", "configuration: nothing wrong in the files that are there");
	for (next = problems; (line = strsep(&next, "\n")) != NULL;)
		if (*line != '\0')
			say(check, "problem", "configuration: %s", line);
	free(problems);
}

static void
check_program(struct check *check, const char *name, const char *path)
{
	struct stat status;

	if (path == NULL)
		return;
	if (stat(path, &status) == -1)
		say(check, "problem", "%s: %s: %s; install hermes-acp again", name, path,
		    strerror(errno));
	else if (!S_ISREG(status.st_mode) || access(path, X_OK) == -1)
		say(check, "problem", "%s: %s is not a program that may be started", name,
		    path);
	else
		say(check, "ok", "%s: %s", name, path);
}

static void
check_curl(struct check *check)
{
#ifdef HERMES_LINKED_CURL
	say(check, "ok", "libcurl: built in");
#else
	void *library = dlopen("libcurl.so.4", RTLD_LAZY | RTLD_LOCAL);

	if (library == NULL || dlsym(library, "curl_multi_init") == NULL)
		say(check, "problem",
		    "libcurl: libcurl.so.4 cannot be loaded (%s); install it (Debian: "
		    "libcurl4)",
		    library == NULL ? dlerror() : "it is not libcurl");
	else
		say(check, "ok", "libcurl: libcurl.so.4");
	if (library != NULL)
		dlclose(library);
#endif
}

/* The program's path by PATH; the caller frees it. NULL when it is not there. */
static char *
find_program(const char *name)
{
	const char *path = getenv("PATH");
	char *copy = xstrdup(path != NULL ? path : "/usr/local/bin:/usr/bin:/bin");
	char *next = copy, *folder, *found = NULL;
	struct stat status;

	while (found == NULL && (folder = strsep(&next, ":")) != NULL) {
		if (*folder != '/')
			continue;
		found = xasprintf("%s/%s", folder, name);
		if (stat(found, &status) == -1 || !S_ISREG(status.st_mode) ||
		    access(found, X_OK) == -1) {
			free(found);
			found = NULL;
		}
	}
	free(copy);
	return found;
}

static void
check_tools(struct check *check)
{
	static const struct {
		const char *name;
		bool required;
		const char *without;
	} tools[] = {
	    {"bash", true, "commands cannot be run; install bash"},
	    {"rg", false, "files are searched with grep and find, which is slower"},
	    {"git", false, "commands of the model that use it fail"},
	};
	char *path;
	size_t i;

	for (i = 0; i < sizeof tools / sizeof *tools; i++) {
		path = find_program(tools[i].name);
		if (path != NULL)
			say(check, "ok", "%s: %s", tools[i].name, path);
		else
			say(check, tools[i].required ? "problem" : "note",
			    "%s: not found on PATH; %s", tools[i].name, tools[i].without);
		free(path);
	}
}

static void
check_rehearsal(struct check *check)
{
	const char *path = check->options->rehearsal, *reason = NULL;
	struct buffer text = BUFFER_EMPTY, error = BUFFER_EMPTY;
	struct json_object *script = NULL;
	struct stat status;

	if (path == NULL || *path == '\0')
		return;
	if (stat(path, &status) == 0 && S_ISDIR(status.st_mode)) {
		say(check, "ok", "rehearsal: the exchanges recorded in %s", path);
		return;
	}
	switch (config_file_read(path, SCRIPT_MAX, &text, &error)) {
	case CONFIG_FILE_ABSENT:
		say(check, "problem", "rehearsal: %s does not exist", path);
		break;
	case CONFIG_FILE_UNREADABLE:
		say(check, "problem", "rehearsal: %s: %s", path, buffer_text(&error));
		break;
	case CONFIG_FILE_READ:
		script = json_parse(buffer_text(&text), text.length, &reason);
		if (reason != NULL || script == NULL)
			say(check, "problem", "rehearsal: %s is not JSON: %s", path,
			    reason != NULL ? reason : "there is nothing but null in it");
		else
			say(check, "ok", "rehearsal: %s", path);
		break;
	}
	json_object_put(script);
	buffer_free(&text);
	buffer_free(&error);
}

int
check_run(FILE *out, const struct check_options *options)
{
	struct check check = {.out = out, .options = options};

	check.configuration = configuration_load();
	check_provider(&check);
	if (options->rehearsal == NULL)
		check_fallbacks(&check);
	check_home(&check);
	check_configuration(&check);
	check_program(&check, "worker", options->worker);
	check_program(&check, "guard", options->guard);
	check_curl(&check);
	check_tools(&check);
	check_rehearsal(&check);
	configuration_free(check.configuration);
	fflush(out);
	return check.problems > 0 ? 1 : 0;
}
