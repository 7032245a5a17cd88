/*
 * What commands find in their environment. It must never pass on a variable that is not in
 * one of the tables below or in terminal.env_passthrough of the user's configuration.
 */
#include <config.h>

#include "worker/tools/command_environment.h"

#include "common/alloc.h"
#include "common/buffer.h"
#include "common/json.h"
#include "worker/tools/tool.h"

#include <fnmatch.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

struct environment {
	char **items;
	size_t count;
};

struct variable {
	const char *name, *value;
};

/* Passed on when set. */
static const char *const passed[] = {
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "TZ",
    "TMPDIR",
    "XDG_*",
    /* the user's own ways to answer prompts, and the desktop they show themselves on */
    "SSH_AUTH_SOCK",
    "SSH_ASKPASS",
    "SSH_ASKPASS_REQUIRE",
    "GIT_ASKPASS",
    "SUDO_ASKPASS",
    "GPG_AGENT_INFO",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "DBUS_SESSION_BUS_ADDRESS",
    /* the network as it is here */
    "http_proxy",
    "https_proxy",
    "ftp_proxy",
    "all_proxy",
    "no_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "FTP_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "CURL_CA_BUNDLE",
    "REQUESTS_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
    "GIT_SSL_CAINFO",
    "NIX_SSL_CERT_FILE",
    "PIP_CERT",
    /* where tools and their files are */
    "LD_LIBRARY_PATH",
    "DYLD_LIBRARY_PATH",
    "LIBRARY_PATH",
    "CPATH",
    "C_INCLUDE_PATH",
    "CPLUS_INCLUDE_PATH",
    "PKG_CONFIG_PATH",
    "MANPATH",
    "INFOPATH",
    "NIX_PATH",
    "NIX_PROFILES",
    "CC",
    "CXX",
    "CPP",
    "AR",
    "LD",
    "CFLAGS",
    "CXXFLAGS",
    "CPPFLAGS",
    "LDFLAGS",
    "MAKEFLAGS",
    "JAVA_HOME",
    "MAVEN_HOME",
    "GRADLE_HOME",
    "GRADLE_USER_HOME",
    "ANDROID_HOME",
    "ANDROID_SDK_ROOT",
    "ANDROID_NDK_HOME",
    "GOPATH",
    "GOROOT",
    "GOBIN",
    "GOPROXY",
    "GOFLAGS",
    "GOPRIVATE",
    "CARGO_HOME",
    "CARGO_TARGET_DIR",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "RUSTFLAGS",
    "NVM_DIR",
    "NVM_BIN",
    "FNM_DIR",
    "VOLTA_HOME",
    "PNPM_HOME",
    "BUN_INSTALL",
    "DENO_DIR",
    "NODE_PATH",
    "NODE_OPTIONS",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "CONDA_DEFAULT_ENV",
    "CONDA_EXE",
    "PYENV_ROOT",
    "PYENV_VERSION",
    "PYTHONPATH",
    "PYTHONHOME",
    "PIP_INDEX_URL",
    "PIP_FIND_LINKS",
    "UV_CACHE_DIR",
    "POETRY_HOME",
    "RBENV_ROOT",
    "GEM_HOME",
    "GEM_PATH",
    "BUNDLE_PATH",
    "PERL5LIB",
    "DOTNET_ROOT",
    "CUDA_HOME",
    "CUDA_PATH",
    "CUDA_VISIBLE_DEVICES",
    "SDKMAN_DIR",
    "ASDF_DIR",
    "ASDF_DATA_DIR",
    "MISE_DATA_DIR",
    "HOMEBREW_PREFIX",
    "HOMEBREW_CELLAR",
    "HOMEBREW_REPOSITORY",
    "GIT_AUTHOR_NAME",
    "GIT_AUTHOR_EMAIL",
    "GIT_COMMITTER_NAME",
    "GIT_COMMITTER_EMAIL",
    "CI",
    "WSL_DISTRO_NAME",
    "WSL_INTEROP",
};

/* Never passed on by a pattern of the table above. */
static const char *const secret_names[] = {
    "*KEY*",
    "*TOKEN*",
    "*SECRET*",
    "*PASSW*",
    "*CREDENTIAL*",
    "*AUTH*",
};

/* No program may wait for a person who is not there. */
static const struct variable fixed[] = {
    {"TERM", "dumb"},
    {"PAGER", "cat"},
    {"GIT_PAGER", "cat"},
    {"MANPAGER", "cat"},
    {"SYSTEMD_PAGER", "cat"},
    {"GH_PAGER", "cat"},
    {"BAT_PAGER", "cat"},
    {"AWS_PAGER", ""},
    {"EDITOR", "true"},
    {"VISUAL", "true"},
    {"GIT_EDITOR", "true"},
    {"GIT_SEQUENCE_EDITOR", "true"},
    {"GIT_TERMINAL_PROMPT", "0"},
    {"GCM_INTERACTIVE", "never"},
    {"DEBIAN_FRONTEND", "noninteractive"},
};

/* PATH gets these when they are missing: always, and when they exist. */
static const char *const system_folders[] = {
    "/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"};
static const char *const common_folders[] = {"~/.local/bin", "~/bin", "~/.cargo/bin",
    "~/go/bin", "~/.bun/bin", "~/.deno/bin", "/opt/homebrew/bin", "/opt/homebrew/sbin",
    "/home/linuxbrew/.linuxbrew/bin", "/snap/bin"};

#define COUNT(table) (sizeof(table) / sizeof *(table))

static size_t
name_length(const char *item)
{
	return strcspn(item, "=");
}

/* Sets NAME=value, also over an earlier one. */
static void
set(struct environment *environment, const char *name, const char *value)
{
	size_t length = strlen(name), i;
	char *item = xasprintf("%s=%s", name, value);

	for (i = 0; i < environment->count; i++)
		if (name_length(environment->items[i]) == length &&
		    strncmp(environment->items[i], name, length) == 0) {
			free(environment->items[i]);
			environment->items[i] = item;
			return;
		}
	environment->items = xreallocarray(
	    environment->items, environment->count + 2, sizeof *environment->items);
	environment->items[environment->count++] = item;
	environment->items[environment->count] = NULL;
}

static bool
is_secret(const char *name)
{
	size_t i;

	for (i = 0; i < COUNT(secret_names); i++)
		if (fnmatch(secret_names[i], name, 0) == 0)
			return true;
	return false;
}

static bool
is_passed(const char *name)
{
	size_t i;

	for (i = 0; i < COUNT(passed); i++) {
		if (strcmp(passed[i], name) == 0)
			return true;
		if (strchr(passed[i], '*') != NULL && fnmatch(passed[i], name, 0) == 0 &&
		    !is_secret(name))
			return true;
	}
	return false;
}

static void
pass_on(struct environment *environment)
{
	char **item, *name;

	for (item = environ; *item != NULL; item++) {
		name = xstrndup(*item, name_length(*item));
		if ((*item)[strlen(name)] == '=' && is_passed(name))
			set(environment, name, *item + strlen(name) + 1);
		free(name);
	}
}

/* Names that the user's configuration asks for; Hermes' own are not for commands. */
static void
pass_on_configured(struct environment *environment, struct json_object *config)
{
	struct json_object *names;
	const char *name, *value;
	size_t i, count;

	names = json_member_array(json_member_object(config, "terminal"), "env_passthrough");
	count = names == NULL ? 0 : json_object_array_length(names);
	for (i = 0; i < count; i++) {
		name = json_object_get_string(json_object_array_get_idx(names, i));
		if (name == NULL || *name == '\0' || strchr(name, '=') != NULL ||
		    strncasecmp(name, "HERMES_", 7) == 0)
			continue;
		value = getenv(name);
		if (value != NULL)
			set(environment, name, value);
	}
}

static bool
path_has(const char *path, const char *folder)
{
	size_t length = strlen(folder);
	const char *at, *end;

	for (at = path; *at != '\0'; at = *end == ':' ? end + 1 : end) {
		end = at + strcspn(at, ":");
		if ((size_t)(end - at) == length && strncmp(at, folder, length) == 0)
			return true;
	}
	return false;
}

static void
add_folder(struct buffer *path, const char *folder)
{
	if (path_has(buffer_text(path), folder))
		return;
	if (path->length > 0)
		buffer_append_byte(path, ':');
	buffer_append_text(path, folder);
}

static void
add_existing_folder(struct buffer *path, const char *home, const char *folder)
{
	char *full = folder[0] == '~' ? xasprintf("%s%s", home, folder + 1) : xstrdup(folder);
	struct stat status;

	if (full[0] == '/' && stat(full, &status) == 0 && S_ISDIR(status.st_mode))
		add_folder(path, full);
	free(full);
}

/* Ours, made complete. Relative folders are left out: the session's folder may be hostile. */
static void
set_path(struct environment *environment, const char *home)
{
	struct buffer path = BUFFER_EMPTY;
	const char *at = getenv("PATH"), *end;
	char *folder;
	size_t i;

	for (; at != NULL && *at != '\0'; at = *end == ':' ? end + 1 : end) {
		end = at + strcspn(at, ":");
		folder = xstrndup(at, (size_t)(end - at));
		if (folder[0] == '/')
			add_folder(&path, folder);
		free(folder);
	}
	for (i = 0; i < COUNT(system_folders); i++)
		add_folder(&path, system_folders[i]);
	for (i = 0; i < COUNT(common_folders); i++)
		add_existing_folder(&path, home, common_folders[i]);
	set(environment, "PATH", buffer_text(&path));
	buffer_free(&path);
}

static void
set_user(struct environment *environment)
{
	const struct passwd *entry;

	if (getenv("USER") != NULL && getenv("LOGNAME") != NULL)
		return;
	entry = getpwuid(geteuid());
	if (entry == NULL)
		return;
	if (getenv("USER") == NULL)
		set(environment, "USER", entry->pw_name);
	if (getenv("LOGNAME") == NULL)
		set(environment, "LOGNAME", entry->pw_name);
}

/* Programs write UTF-8 even when the desktop started us without a locale. */
static void
set_language(struct environment *environment)
{
	const char *language = getenv("LANG");

	if (getenv("LC_ALL") == NULL && getenv("LC_CTYPE") == NULL &&
	    (language == NULL || *language == '\0' || strcmp(language, "C") == 0 ||
		strcmp(language, "POSIX") == 0))
		set(environment, "LANG", "C.UTF-8");
}

char **
command_environment_build(const struct tool_context *context, const char *cwd)
{
	struct environment environment = {NULL, 0};
	const char *home = getenv("HOME");
	size_t i;

	if (home == NULL || *home == '\0')
		home = context->user_home;
	pass_on(&environment);
	if (home != NULL)
		set(&environment, "HOME", home);
	set_user(&environment);
	set_language(&environment);
	set_path(&environment, home == NULL ? "" : home);
	for (i = 0; i < COUNT(fixed); i++)
		set(&environment, fixed[i].name, fixed[i].value);
	pass_on_configured(&environment, context->config);
	set(&environment, "PWD", cwd);
	if (context->session_id != NULL)
		set(&environment, "HERMES_SESSION_ID", context->session_id);
	return environment.items;
}

void
command_environment_free(char **environment)
{
	char **item;

	for (item = environment; item != NULL && *item != NULL; item++)
		free(*item);
	free(environment);
}
