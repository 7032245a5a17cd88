/*
 * Rules for permissions, disks, services and processes.
 */
#include <config.h>

#include "worker/tools/command_view.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* One clause of a symbolic mode that lets others write: "o+w", "a=rwx". */
static bool
clause_opens(const char *clause, size_t length)
{
	size_t who = strspn(clause, "ugoa");
	size_t i;
	bool others = false;

	if (who == 0 || who >= length || strchr("+=", clause[who]) == NULL)
		return false;
	for (i = 0; i < who; i++)
		others = others || clause[i] == 'o' || clause[i] == 'a';
	return others && memchr(clause + who, 'w', length - who) != NULL;
}

static bool
mode_opens(const char *mode)
{
	size_t length = strlen(mode);

	if (length >= 3 && strspn(mode, "01234567") == length)
		return ((mode[length - 1] - '0') & 2) != 0;
	for (;; mode += length + 1) {
		length = strcspn(mode, ",");
		if (clause_opens(mode, length))
			return true;
		if (mode[length] == '\0')
			return false;
	}
}

static bool
opens_permissions(const struct command_view *view)
{
	size_t index = 1;
	const struct shell_word *mode = command_view_operand(view, &index);

	return mode != NULL && mode_opens(mode->text);
}

static bool
opens_permissions_long(const struct command_view *view)
{
	return opens_permissions(view) && command_view_long(view, "--recursive", 5);
}

static bool
opens_permissions_plain(const struct command_view *view)
{
	return opens_permissions(view) && !command_view_long(view, "--recursive", 5);
}

static bool
gives_to_root(const struct command_view *view)
{
	size_t index = 1;
	const struct shell_word *owner = command_view_operand(view, &index);

	return owner != NULL &&
	       (strncmp(owner->text, "root", 4) == 0 || strcmp(owner->text, "0") == 0 ||
		   strncmp(owner->text, "0:", 2) == 0);
}

static bool
gives_to_root_short(const struct command_view *view)
{
	return command_view_short(view, "R") && gives_to_root(view);
}

static bool
gives_to_root_long(const struct command_view *view)
{
	return command_view_long(view, "--recursive", 5) && gives_to_root(view);
}

static bool
always(const struct command_view *view)
{
	(void)view;
	return true;
}

static bool
makes_filesystem(const struct command_view *view)
{
	return strcmp(view->program, "mkfs") == 0 || strncmp(view->program, "mkfs.", 5) == 0;
}

static bool
names_device(const struct command_view *view)
{
	size_t i;

	for (i = 1; i < view->command->count; i++)
		if (strncmp(view->command->words[i].text, "/dev/", 5) == 0)
			return true;
	return false;
}

static bool
erases_disk(const struct command_view *view)
{
	size_t i;

	for (i = 1; i < view->command->count; i++)
		if (strncasecmp(view->command->words[i].text, "erase", 5) == 0)
			return true;
	return false;
}

static bool
wipes_signatures(const struct command_view *view)
{
	return command_view_short(view, "a") || command_view_long(view, "--all", 4);
}

static bool
zaps_table(const struct command_view *view)
{
	return command_view_short(view, "Z") || command_view_long(view, "--zap-all", 5);
}

static bool
copies_to_disk(const struct command_view *view)
{
	size_t i;

	for (i = 1; i < view->command->count; i++)
		if (strncmp(view->command->words[i].text, "of=", 3) == 0 &&
		    command_view_is_disk(view->command->words[i].text + 3))
			return true;
	return false;
}

static bool
copies_raw(const struct command_view *view)
{
	size_t i;

	for (i = 1; i < view->command->count; i++)
		if (strncmp(view->command->words[i].text, "if=", 3) == 0)
			return true;
	return false;
}

static bool
redirects_to_disk(const struct command_view *view)
{
	const struct shell_redirection *at;

	for (at = view->command->redirections; at != NULL; at = at->next)
		if (at->kind == SHELL_REDIRECTION_WRITE && command_view_is_disk(at->word.text))
			return true;
	return false;
}

static bool
writes_disk(const struct command_view *view)
{
	size_t i;

	for (i = 1; i < view->command->count; i++)
		if (command_view_is_disk(view->command->words[i].text))
			return true;
	return false;
}

static bool
is_help(const struct command_view *view)
{
	return command_view_has(view, "--help") || command_view_has(view, "--version");
}

static bool
shuts_down(const struct command_view *view)
{
	return !is_help(view);
}

static bool
changes_runlevel(const struct command_view *view)
{
	return command_view_action(view, "0 6");
}

static bool
ends_system(const struct command_view *view)
{
	return command_view_action(view, "poweroff reboot halt kexec");
}

static bool
stops_service(const struct command_view *view)
{
	return command_view_action(view, "stop restart disable mask");
}

static bool
stops_old_service(const struct command_view *view)
{
	const char *action = command_view_word(view, 2);

	return strcmp(action, "stop") == 0 || strcmp(action, "restart") == 0;
}

/* "-1" as an operand means every process; "kill -1 123" is a signal. */
static bool
kills_all(const struct command_view *view)
{
	size_t i, count = view->command->count;

	for (i = 1; i < count; i++)
		if (strcmp(view->command->words[i].text, "-1") == 0 && (i > 1 || count == 2))
			return true;
	return false;
}

static bool
names_kill_signal(const char *text)
{
	if (strncasecmp(text, "SIG", 3) == 0)
		text += 3;
	return strcmp(text, "9") == 0 || strcasecmp(text, "KILL") == 0;
}

/* -9, -KILL, -SIGKILL */
static bool
kills_by_force(const struct command_view *view)
{
	size_t i;

	for (i = 1; i < view->command->count; i++)
		if (view->command->words[i].text[0] == '-' &&
		    names_kill_signal(view->command->words[i].text + 1))
			return true;
	return false;
}

/* -s KILL, --signal=KILL */
static bool
kills_by_named_force(const struct command_view *view)
{
	const char *text;
	size_t i;

	for (i = 1; i < view->command->count; i++) {
		text = view->command->words[i].text;
		if ((strcmp(text, "-s") == 0 || strcmp(text, "--signal") == 0) &&
		    names_kill_signal(command_view_word(view, i + 1)))
			return true;
		if (strncmp(text, "--signal=", 9) == 0 && names_kill_signal(text + 9))
			return true;
		if (strncmp(text, "-s", 2) == 0 && names_kill_signal(text + 2))
			return true;
	}
	return false;
}

static bool
kills_by_force_any(const struct command_view *view)
{
	return kills_by_force(view) || kills_by_named_force(view);
}

static bool
kills_by_expression(const struct command_view *view)
{
	return command_view_short(view, "r") || command_view_long(view, "--regexp", 5);
}

const struct command_rule command_rules_system[] = {
    {"*", makes_filesystem, "format filesystem (mkfs)", true},
    {"mke2fs mkswap newfs blkdiscard", names_device, "format filesystem (mkfs)", true},
    {"diskutil", erases_disk, "format filesystem (mkfs)", true},
    {"wipefs", wipes_signatures, "format filesystem (mkfs)", true},
    {"sgdisk", zaps_table, "format filesystem (mkfs)", true},
    {"shred", writes_disk, "format filesystem (mkfs)", true},
    {"dd", copies_to_disk, "dd to raw block device", true},
    {"*", redirects_to_disk, "redirect to raw block device", true},
    {"kill", kills_all, "kill all processes", true},
    {"shutdown reboot halt poweroff", shuts_down, "system shutdown/reboot", true},
    {"init", changes_runlevel, "init 0/6 (shutdown/reboot)", true},
    {"telinit", changes_runlevel, "telinit 0/6 (shutdown/reboot)", true},
    {"systemctl", ends_system, "systemctl poweroff/reboot", true},

    {"chmod", opens_permissions_plain, "world/other-writable permissions", false},
    {"chmod", opens_permissions_long, "recursive world/other-writable (long flag)", false},
    {"chown", gives_to_root_short, "recursive chown to root", false},
    {"chown", gives_to_root_long, "recursive chown to root (long flag)", false},
    {"mke2fs mkswap newfs fdisk sfdisk parted wipefs sgdisk", always, "format filesystem",
	false},
    {"dd", copies_raw, "disk copy", false},
    {"tee cp mv install cat", writes_disk, "write to block device", false},
    {"systemctl", stops_service, "stop/restart system service", false},
    {"service rc-service", stops_old_service, "stop/restart system service", false},
    {"pkill", kills_by_force_any, "force kill processes", false},
    {"killall", kills_by_force, "force kill processes (killall -KILL)", false},
    {"killall", kills_by_named_force, "force kill processes (killall -s KILL)", false},
    {"killall", kills_by_expression, "kill processes by regex (killall -r)", false},
    {NULL, NULL, NULL, false},
};
