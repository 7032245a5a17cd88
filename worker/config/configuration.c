/*
 * The configuration of one process. It must never fail: whatever is wrong becomes a line of
 * configuration_problems(), and the rest counts.
 */
#include <config.h>

#include "worker/config/configuration.h"

#include "worker/config/auth_file.h"
#include "worker/config/config_file.h"
#include "worker/config/configuration_private.h"
#include "worker/config/dotenv.h"
#include "worker/config/problems.h"
#include "worker/config/provider_table.h"
#include "worker/config/yaml_tree.h"

#include "common/alloc.h"
#include "common/log.h"

#include <ctype.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct configuration {
	char *home, *yaml_path, *dotenv_path;
	struct yaml_tree tree;
	struct dotenv dotenv;
	struct json_object *auth;
	bool has_dotenv, absent;
	size_t expanded;		 /* bytes of values with ${VAR} so far */
	struct problems *problems;	 /* grows while values are read */
	struct json_object *live_models; /* of live_models.c */
};

/* Inherited from some parent, these would redirect the user's own set-up: when there is a
 * .env they count only from there. */
static const char *const own_names[] = {"HERMES_ACP_AUTH_METHOD", "HERMES_ACP_AUTO_APPROVE",
    "HERMES_COPILOT_ACP_COMMAND", "HERMES_COPILOT_ACP_ARGS", "COPILOT_CLI_PATH",
    "COPILOT_ACP_BASE_URL"};

/* Members of config.yaml whose values are keys. */
static const char *const secret_members[] = {"api_key", "token", "password", "client_secret"};

/* Bytes that all filled-in values may have together. */
#define EXPANDED_MAX (4 * 1024 * 1024)

static char *
user_home(void)
{
	const char *home = getenv("HOME");
	const struct passwd *user;

	if (home != NULL && *home == '/')
		return xstrdup(home);
	user = getpwuid(getuid());
	return xstrdup(user != NULL && user->pw_dir != NULL ? user->pw_dir : "/");
}

static void
trim_slashes(char *path)
{
	size_t length = strlen(path);

	while (length > 1 && path[length - 1] == '/')
		path[--length] = '\0';
}

/* A copy of the home folder's name ($HERMES_HOME, else ~/.hermes); the caller frees it. */
static char *
find_home(void)
{
	const char *named = getenv("HERMES_HOME");
	char *base, *home;

	if (named != NULL && *named == '/') {
		home = xstrdup(named);
	} else if (named != NULL && *named != '\0' && *named != '~') {
		base = getcwd(NULL, 0);
		home = xasprintf("%s/%s", base != NULL ? base : "", named);
		free(base);
	} else {
		base = user_home();
		if (named != NULL && (strcmp(named, "~") == 0 || strncmp(named, "~/", 2) == 0))
			home = xasprintf("%s%s", base, named + 1);
		else
			home = xasprintf("%s/.hermes", strcmp(base, "/") == 0 ? "" : base);
		free(base);
	}
	trim_slashes(home);
	return home;
}

/* The value as it stands, "" included; NULL when unset. */
static const char *
raw_variable(const struct configuration *configuration, const char *name)
{
	const struct dotenv_entry *entry = dotenv_find(&configuration->dotenv, name);
	size_t i;

	if (entry != NULL && entry->value != NULL)
		return entry->value;
	for (i = 0; configuration->has_dotenv && i < sizeof own_names / sizeof *own_names; i++)
		if (strcmp(name, own_names[i]) == 0)
			return NULL;
	return getenv(name);
}

const char *
configuration_variable(const struct configuration *configuration, const char *name)
{
	const char *value = raw_variable(configuration, name);

	return value != NULL && *value != '\0' ? value : NULL;
}

static void
load_dotenv(struct configuration *configuration)
{
	struct buffer bytes = BUFFER_EMPTY, reason = BUFFER_EMPTY;
	const char *path = configuration->dotenv_path, *why = NULL;
	char *text = NULL;
	size_t i;

	switch (config_file_read(path, DOTENV_SIZE_MAX, &bytes, &reason)) {
	case CONFIG_FILE_READ:
		configuration->has_dotenv = true;
		text = dotenv_decode(buffer_text(&bytes), bytes.length, &why);
		if (text != NULL)
			dotenv_parse(
			    &configuration->dotenv, text, path, configuration->problems);
		else
			problems_note(configuration->problems, path, 0, NULL, "%s", why);
		break;
	case CONFIG_FILE_UNREADABLE:
		problems_note(configuration->problems, path, 0, NULL, "%s; it is not used",
		    buffer_text(&reason));
		break;
	case CONFIG_FILE_ABSENT:
		break;
	}
	for (i = 0; i < configuration->dotenv.count; i++)
		if (dotenv_name_is_secret(configuration->dotenv.entries[i].name))
			secret_register(configuration->dotenv.entries[i].value);
	free(text);
	buffer_free(&bytes);
	buffer_free(&reason);
}

static void
load_yaml(struct configuration *configuration)
{
	struct buffer text = BUFFER_EMPTY, reason = BUFFER_EMPTY;
	enum config_file_state state =
	    config_file_read(configuration->yaml_path, YAML_TREE_SIZE_MAX, &text, &reason);

	yaml_tree_parse(&configuration->tree,
	    state == CONFIG_FILE_READ ? buffer_text(&text) : "",
	    state == CONFIG_FILE_READ ? text.length : 0, configuration->yaml_path,
	    configuration->problems);
	configuration->absent = state == CONFIG_FILE_ABSENT;
	if (state == CONFIG_FILE_UNREADABLE) {
		configuration->tree.broken = true;
		problems_note(configuration->problems, configuration->yaml_path, 0, NULL,
		    "%s; nothing of this file is used", buffer_text(&reason));
	}
	buffer_free(&text);
	buffer_free(&reason);
}

static void
load_auth(struct configuration *configuration)
{
	char *path = xasprintf("%s/auth.json", configuration->home);
	struct buffer problem = BUFFER_EMPTY;

	configuration->auth = auth_file_read(configuration->home, &problem);
	if (problem.length > 0)
		problems_note(configuration->problems, path, 0, NULL,
		    "%s; no key of this file is used, and it is not changed",
		    buffer_text(&problem));
	buffer_free(&problem);
	free(path);
}

/* The length of ${NAME} or ${env:NAME} at `text`, 0 when it is none; *name is a copy. */
static size_t
read_reference(const char *text, char **name)
{
	const char *start = text + 2;
	size_t length = 0;

	if (text[0] != '$' || text[1] != '{')
		return 0;
	if (strncmp(start, "env:", 4) == 0)
		start += 4;
	while (isalnum((unsigned char)start[length]) || start[length] == '_')
		length++;
	if (length == 0 || start[length] != '}')
		return 0;
	*name = xstrndup(start, length);
	return (size_t)(start - text) + length + 1;
}

/* The text with every reference filled in; what is unset stays as it is. */
static char *
expand_text(const struct configuration *configuration, const char *text, const char *path)
{
	struct buffer out = BUFFER_EMPTY;
	const char *value;
	size_t length;
	char *name;

	while (*text != '\0' && out.length <= EXPANDED_MAX) {
		length = read_reference(text, &name);
		if (length == 0) {
			buffer_append_byte(&out, *text++);
			continue;
		}
		value = raw_variable(configuration, name);
		if (value == NULL)
			configuration_note(configuration, path,
			    "the variable %s is not set; the text stays as it is", name);
		if (value != NULL)
			buffer_append_text(&out, value);
		else
			buffer_append(&out, text, length);
		free(name);
		text += length;
	}
	return out.data != NULL ? buffer_take(&out) : xstrdup("");
}

static bool
is_secret_member(const char *key)
{
	size_t i;

	for (i = 0; i < sizeof secret_members / sizeof *secret_members; i++)
		if (strcmp(key, secret_members[i]) == 0)
			return true;
	return false;
}

static void
expand_string(
    struct configuration *configuration, struct json_object *value, struct buffer *path)
{
	const char *text = json_object_get_string(value), *key;
	char *expanded;

	if (strstr(text, "${") != NULL && configuration->expanded <= EXPANDED_MAX &&
	    strlen(text) == (size_t)json_object_get_string_len(value)) {
		expanded = expand_text(configuration, text, buffer_text(path));
		configuration->expanded += strlen(expanded);
		if (configuration->expanded <= EXPANDED_MAX)
			json_object_set_string(value, expanded);
		free(expanded);
	}
	key = strrchr(buffer_text(path), '.');
	if (key != NULL && is_secret_member(key + 1))
		secret_register(json_object_get_string(value));
}

static void
expand(struct configuration *configuration, struct json_object *value, struct buffer *path)
{
	size_t base = path->length, i;

	if (json_object_is_type(value, json_type_string)) {
		expand_string(configuration, value, path);
	} else if (json_object_is_type(value, json_type_array)) {
		for (i = 0; i < json_object_array_length(value); i++) {
			buffer_printf(path, "[%zu]", i);
			expand(configuration, json_object_array_get_idx(value, i), path);
			path->data[path->length = base] = '\0';
		}
	} else if (json_object_is_type(value, json_type_object)) {
		json_object_object_foreach(value, key, member)
		{
			buffer_printf(path, "%s%s", base > 0 ? "." : "", key);
			expand(configuration, member, path);
			path->data[path->length = base] = '\0';
		}
	}
}

/* Keys that came with the environment are as secret as those in the file. */
static void
register_environment(const struct configuration *configuration)
{
	const struct provider_row *rows;
	size_t count, i, k;

	rows = provider_table(&count);
	for (i = 0; i < count; i++)
		for (k = 0; k < PROVIDER_KEYS_MAX && rows[i].keys[k] != NULL; k++)
			secret_register(configuration_variable(configuration, rows[i].keys[k]));
}

struct configuration *
configuration_load(void)
{
	struct configuration *configuration = xcalloc(1, sizeof *configuration);
	struct buffer path = BUFFER_EMPTY;

	configuration->problems = xcalloc(1, sizeof *configuration->problems);
	configuration->live_models = json_object_new_object();
	configuration->home = find_home();
	configuration->yaml_path = xasprintf("%s/config.yaml", configuration->home);
	configuration->dotenv_path = xasprintf("%s/.env", configuration->home);
	load_dotenv(configuration);
	register_environment(configuration);
	load_auth(configuration);
	load_yaml(configuration);
	expand(configuration, configuration->tree.root, &path);
	buffer_free(&path);
	return configuration;
}

void
configuration_free(struct configuration *configuration)
{
	if (configuration == NULL)
		return;
	yaml_tree_clear(&configuration->tree);
	json_object_put(configuration->auth);
	json_object_put(configuration->live_models);
	dotenv_clear(&configuration->dotenv);
	problems_clear(configuration->problems);
	free(configuration->problems);
	free(configuration->home);
	free(configuration->yaml_path);
	free(configuration->dotenv_path);
	free(configuration);
}

const char *
configuration_home(const struct configuration *configuration)
{
	return configuration->home;
}

struct json_object *
configuration_tree(const struct configuration *configuration)
{
	return configuration->tree.root;
}

struct json_object *
configuration_auth(const struct configuration *configuration)
{
	return configuration->auth;
}

struct json_object *
configuration_live_models(const struct configuration *configuration)
{
	return configuration->live_models;
}

const char *
configuration_problems(const struct configuration *configuration)
{
	return buffer_text(&configuration->problems->text);
}

bool
configuration_broken(const struct configuration *configuration)
{
	return configuration->tree.broken;
}

bool
configuration_absent(const struct configuration *configuration)
{
	return configuration->absent;
}

void
configuration_note(
    const struct configuration *configuration, const char *path, const char *format, ...)
{
	struct buffer text = BUFFER_EMPTY;
	va_list arguments;

	va_start(arguments, format);
	buffer_vprintf(&text, format, arguments);
	va_end(arguments);
	problems_note(configuration->problems, configuration->yaml_path,
	    yaml_tree_line(&configuration->tree, path), path, "%s", buffer_text(&text));
	buffer_free(&text);
}

void
configuration_note_variable(
    const struct configuration *configuration, const char *name, const char *reason)
{
	bool here = dotenv_find(&configuration->dotenv, name) != NULL;

	problems_note(configuration->problems,
	    here ? configuration->dotenv_path : "the environment", 0, name, "%s", reason);
}
