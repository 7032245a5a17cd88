/*
 * Rules for programs with commands of their own: git, sudo, package managers, containers,
 * and Hermes itself.
 */
#include <config.h>

#include "worker/tools/command_view.h"

#include <string.h>
#include <strings.h>

/* The index of git's command: options before it are skipped. */
static size_t
git_action(const struct command_view *view)
{
	size_t i;

	for (i = 1; i < view->command->count; i++) {
		const char *text = command_view_word(view, i);

		if (command_view_listed("-C -c --git-dir --work-tree --namespace", text))
			i++;
		else if (text[0] != '-')
			return i;
	}
	return view->command->count;
}

static bool
git_does(const struct command_view *view, const char *action)
{
	return strcmp(command_view_word(view, git_action(view)), action) == 0;
}

/* True when an option after git's command has the letter. */
static bool
git_short(const struct command_view *view, const char *letters)
{
	size_t i;

	for (i = git_action(view) + 1; i < view->command->count; i++) {
		const char *text = view->command->words[i].text;

		if (strcmp(text, "--") == 0)
			break;
		if (text[0] == '-' && text[1] != '-' && strpbrk(text + 1, letters) != NULL)
			return true;
	}
	return false;
}

static bool
git_resets(const struct command_view *view)
{
	return git_does(view, "reset") && command_view_long(view, "--hard", 3);
}

static bool
git_forces(const struct command_view *view)
{
	return git_does(view, "push") && (command_view_long(view, "--force", 6) ||
					     command_view_long(view, "--force-with-lease", 8) ||
					     command_view_long(view, "--mirror", 5));
}

/* -f, or a refspec that begins with "+". */
static bool
git_forces_short(const struct command_view *view)
{
	size_t i;

	if (!git_does(view, "push"))
		return false;
	for (i = 1; i < view->command->count; i++)
		if (view->command->words[i].text[0] == '+')
			return true;
	return git_short(view, "f");
}

static bool
git_cleans(const struct command_view *view)
{
	return git_does(view, "clean") &&
	       (git_short(view, "f") || command_view_long(view, "--force", 3));
}

static bool
git_drops_branch(const struct command_view *view)
{
	return git_does(view, "branch") && git_short(view, "D");
}

static bool
git_drops_branch_long(const struct command_view *view)
{
	return git_does(view, "branch") &&
	       (command_view_long(view, "--delete", 5) || git_short(view, "d")) &&
	       (command_view_long(view, "--force", 3) || git_short(view, "f"));
}

/* The letters that matter of an option word of sudo, in front of its command. */
static bool
sudo_flag(const struct command_view *view, bool combined)
{
	size_t i, length;

	for (i = 1; i < view->command->count; i++) {
		const char *text = view->command->words[i].text;

		if (text[0] != '-' || strcmp(text, "--") == 0)
			break;
		length = strlen(text);
		if (text[1] == '-') {
			if (!combined && command_view_listed(
					     "--stdin --askpass --shell --login --list", text))
				return true;
		} else if ((length > 2) == combined && strpbrk(text, "SAsil") != NULL) {
			return true;
		}
		if (length == 2 && strchr("CDghpRrTtUu", text[1]) != NULL)
			i++;
	}
	return false;
}

static bool
sudo_single(const struct command_view *view)
{
	return sudo_flag(view, false);
}

static bool
sudo_combined(const struct command_view *view)
{
	return sudo_flag(view, true);
}

static bool
uninstalls(const struct command_view *view)
{
	return command_view_action(view, "uninstall remove rm un unlink purge autoremove");
}

static bool
uninstalls_module(const struct command_view *view)
{
	return command_view_has(view, "pip") && command_view_has(view, "uninstall");
}

/* Options in front of the command of docker or podman. */
static bool
container_option(const struct command_view *view, const char *names)
{
	size_t i;

	for (i = 1; i < view->command->count; i++) {
		char name[32];
		const char *text = view->command->words[i].text;
		size_t length = strcspn(text, "=");

		if (text[0] != '-')
			break;
		if (length >= sizeof name)
			continue;
		memcpy(name, text, length);
		name[length] = '\0';
		if (command_view_listed(names, name))
			return true;
	}
	return false;
}

static bool
docker_host(const struct command_view *view)
{
	return container_option(view, "-H --host");
}

static bool
docker_context(const struct command_view *view)
{
	return container_option(view, "--context -c");
}

static bool
docker_context_use(const struct command_view *view)
{
	return strcmp(command_view_word(view, 1), "context") == 0 &&
	       strcmp(command_view_word(view, 2), "use") == 0;
}

static bool
podman_host(const struct command_view *view)
{
	return container_option(view, "--url --connection --identity");
}

static bool
podman_remote(const struct command_view *view)
{
	return container_option(view, "-r --remote");
}

static bool
daemon_variable(const struct command_view *view)
{
	size_t i;

	for (i = 0; i < view->command->assignment_count; i++)
		if (strncmp(view->command->assignments[i].text, "DOCKER_HOST=", 12) == 0 ||
		    strncmp(view->command->assignments[i].text, "CONTAINER_HOST=", 15) == 0)
			return true;
	return false;
}

static bool
daemon_exported(const struct command_view *view)
{
	size_t i;

	for (i = 1; i < view->command->count; i++)
		if (strncmp(view->command->words[i].text, "DOCKER_HOST=", 12) == 0 ||
		    strncmp(view->command->words[i].text, "CONTAINER_HOST=", 15) == 0)
			return true;
	return false;
}

static bool
compose_stops(const struct command_view *view)
{
	bool compose = strcmp(view->program, "docker-compose") == 0 ||
		       command_view_action(view, "compose");
	size_t i;

	for (i = 1; compose && i < view->command->count; i++)
		if (command_view_listed("restart stop kill down", command_view_word(view, i)))
			return true;
	return false;
}

static bool
container_stops(const struct command_view *view)
{
	return command_view_action(view, "restart stop kill") ||
	       (command_view_action(view, "container") &&
		   command_view_listed("restart stop kill", command_view_word(view, 2)));
}

static bool
gateway_stops(const struct command_view *view)
{
	return strcmp(command_view_word(view, 1), "gateway") == 0 &&
	       command_view_listed("stop restart", command_view_word(view, 2));
}

static bool
gateway_starts(const struct command_view *view)
{
	return strcmp(command_view_word(view, 1), "gateway") == 0 &&
	       command_view_listed("run start", command_view_word(view, 2));
}

static bool
updates(const struct command_view *view)
{
	return strcmp(command_view_word(view, 1), "update") == 0;
}

static bool
names_us(const struct command_view *view)
{
	size_t i;

	for (i = 1; i < view->command->count; i++)
		if (strcasestr(view->command->words[i].text, "hermes") != NULL)
			return true;
	return false;
}

static bool
launchd_stops(const struct command_view *view)
{
	return names_us(view) &&
	       command_view_action(view, "stop unload bootout kickstart kill remove disable");
}

static bool
kills_found(const struct command_view *view)
{
	size_t i;

	for (i = 1; i < view->command->count; i++)
		if (command_view_runs(view, &view->command->words[i], "pgrep pidof"))
			return true;
	return false;
}

const struct command_rule command_rules_services[] = {
    {"git", git_resets, "git reset --hard (destroys uncommitted changes)", false},
    {"git", git_forces, "git force push (rewrites remote history)", false},
    {"git", git_forces_short, "git force push short flag (rewrites remote history)", false},
    {"git", git_cleans, "git clean with force (deletes untracked files)", false},
    {"git", git_drops_branch, "git branch force delete", false},
    {"git", git_drops_branch_long, "git branch force delete (long flags)", false},
    {"sudo", sudo_single, "sudo with privilege flag (stdin/askpass/shell/list)", false},
    {"sudo", sudo_combined, "sudo with combined-flag privilege escalation", false},
    {"npm pnpm yarn pip pip3 pipx brew apt apt-get dnf yum zypper", uninstalls,
	"package manager uninstall", false},
    {"python python3 uv", uninstalls_module, "package manager uninstall", false},
    {"docker", docker_host, "docker with remote daemon redirect (-H/--host)", false},
    {"docker", docker_context, "docker with daemon redirect (--context: alternate daemon)",
	false},
    {"docker", docker_context_use,
	"docker context use (switches default daemon for future commands)", false},
    {"podman", podman_host,
	"podman with remote daemon redirect (--url/--connection/--identity)", false},
    {"podman", podman_remote, "podman remote mode (-r/--remote: remote daemon)", false},
    {"*", daemon_variable,
	"docker/podman daemon redirect via environment (DOCKER_HOST/CONTAINER_HOST)", false},
    {"export env declare", daemon_exported,
	"docker/podman daemon redirect via environment (DOCKER_HOST/CONTAINER_HOST)", false},
    {"docker docker-compose podman", compose_stops,
	"docker compose restart/stop/kill/down (container lifecycle)", false},
    {"docker podman", container_stops, "docker restart/stop/kill (container lifecycle)", false},
    {"hermes", gateway_stops, "stop/restart hermes gateway (kills running agents)", false},
    {"hermes", gateway_starts,
	"start gateway outside systemd (use 'systemctl --user restart hermes-gateway')", false},
    {"hermes", updates, "hermes update (restarts gateway, kills running agents)", false},
    {"pkill killall", names_us, "kill hermes/gateway process (self-termination)", false},
    {"launchctl", launchd_stops, "stop/restart hermes launchd service (kills running agents)",
	false},
    {"kill", kills_found, "kill process via pgrep/pidof expansion (self-termination)", false},
    {NULL, NULL, NULL, false},
};
