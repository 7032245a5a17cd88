/*
 * From what the model wrote to the file that it means. Every link on the way is followed by
 * hand, so that files which do not exist yet have a real path as well. It must never hand
 * back a path that still goes through a link.
 */
#include <config.h>

#include "worker/tools/path_rules.h"

#include "common/alloc.h"
#include "common/utf8.h"
#include "worker/tools/tool.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINK_HOPS 40 /* as the Linux kernel does */

/* Takes the last component off an absolute path ("" stands for "/"). */
static void
drop_component(struct buffer *path)
{
	while (path->length > 0 && path->data[path->length - 1] != '/')
		path->length--;
	if (path->length > 0)
		path->length--;
	if (path->data != NULL)
		path->data[path->length] = '\0';
}

/* The way so far and what is left of it. */
struct walk {
	struct buffer real; /* every link followed; "" stands for "/" */
	char *rest;	    /* owns the text that `at` points into */
	const char *at;
	unsigned hops;
};

/* The last component of walk->real is a link: goes on with its target in its place. */
static int
follow_link(struct walk *walk, size_t before)
{
	char target[PATH_MAX], *rest;
	ssize_t length;

	if (++walk->hops > LINK_HOPS) {
		errno = ELOOP;
		return -1;
	}
	length = readlink(walk->real.data, target, sizeof target - 1);
	if (length == -1)
		return -1;
	target[length] = '\0';
	rest = xasprintf("%s/%s", target, walk->at);
	free(walk->rest);
	walk->at = walk->rest = rest;
	walk->real.length = *target == '/' ? 0 : before;
	walk->real.data[walk->real.length] = '\0';
	return 0;
}

/* Goes one component further; 1 at the end, -1 with errno. */
static int
walk_on(struct walk *walk)
{
	const char *name = walk->at + strspn(walk->at, "/");
	const size_t length = strcspn(name, "/"), before = walk->real.length;
	struct stat status;

	walk->at = name + length;
	if (length == 0)
		return 1;
	if (length == 1 && *name == '.')
		return 0;
	if (length == 2 && strncmp(name, "..", 2) == 0) {
		drop_component(&walk->real);
		return 0;
	}
	buffer_append_byte(&walk->real, '/');
	buffer_append(&walk->real, name, length);
	if (walk->real.failed || walk->real.length >= PATH_MAX) {
		errno = ENAMETOOLONG;
		return -1;
	}
	if (lstat(walk->real.data, &status) == 0 && S_ISLNK(status.st_mode))
		return follow_link(walk, before);
	return 0;
}

char *
path_rules_real(const char *path)
{
	struct walk walk = {BUFFER_EMPTY, xstrdup(path), NULL, 0};
	int step;

	walk.at = walk.rest;
	buffer_append(&walk.real, "", 0);
	do {
		step = walk_on(&walk);
	} while (step == 0);
	free(walk.rest);
	if (step == -1) {
		buffer_free(&walk.real);
		return NULL;
	}
	if (walk.real.length == 0)
		buffer_append_byte(&walk.real, '/');
	return buffer_take(&walk.real);
}

bool
path_rules_still_real(const char *real)
{
	char *now = path_rules_real(real);
	bool same = now != NULL && strcmp(now, real) == 0;

	free(now);
	return same;
}

/* Takes "." and ".." out of the text of an absolute path. */
static char *
lexical(const char *path)
{
	struct buffer out = BUFFER_EMPTY;
	const char *at = path, *end;

	buffer_append(&out, "", 0);
	for (; *at != '\0'; at = end) {
		at += strspn(at, "/");
		end = at + strcspn(at, "/");
		if (end - at == 2 && strncmp(at, "..", 2) == 0) {
			drop_component(&out);
		} else if (end > at && !(end - at == 1 && *at == '.')) {
			buffer_append_byte(&out, '/');
			buffer_append(&out, at, (size_t)(end - at));
		}
	}
	if (out.length == 0)
		buffer_append_byte(&out, '/');
	return buffer_take(&out);
}

/* What the model wrote as an absolute path, still with "." and "..". */
static char *
absolute(const struct tool_context *context, const char *path)
{
	if (path[0] == '/')
		return xstrdup(path);
	if (path[0] == '~' && (path[1] == '\0' || path[1] == '/') && context->user_home != NULL)
		return xasprintf("%s%s", context->user_home, path + 1);
	return xasprintf("%s/%s", context->cwd, path);
}

static int
hex_value(char digit)
{
	const char *digits = "0123456789abcdef";
	const char *found = digit != '\0' ? strchr(digits, digit | 0x20) : NULL;

	return found != NULL ? (int)(found - digits) : -1;
}

/* Turns \xHH back into bytes, in place; false when there was none. */
static bool
unescape(char *path)
{
	char *in = path, *out = path;
	bool found = false;
	int high, low;

	while (*in != '\0') {
		high = in[0] == '\\' && in[1] == 'x' ? hex_value(in[2]) : -1;
		low = high >= 0 ? hex_value(in[3]) : -1;
		if (low >= 0 && (high | low) != 0) {
			*out++ = (char)(high << 4 | low);
			in += 4;
			found = true;
		} else {
			*out++ = *in++;
		}
	}
	*out = '\0';
	return found;
}

/* A name that was shown with escapes is meant when nothing is called so literally. */
static void
try_unescaped(char **path)
{
	struct stat status;
	char *plain;

	if (strstr(*path, "\\x") == NULL || lstat(*path, &status) == 0)
		return;
	plain = xstrdup(*path);
	if (unescape(plain) && lstat(plain, &status) == 0) {
		free(*path);
		*path = plain;
		return;
	}
	free(plain);
}

static bool
needs_escape(const char *text)
{
	return (unsigned char)*text < ' ' || *text == 0x7f;
}

char *
path_rules_shown(const struct tool_context *context, const char *path)
{
	struct buffer shown = BUFFER_EMPTY;
	size_t length, at, size;

	if (strcmp(context->cwd, path) == 0)
		return xstrdup(".");
	if (path_rules_below(context->cwd, path)) {
		path += strlen(context->cwd);
		path += strspn(path, "/");
	}
	length = strlen(path);
	for (at = 0; at<length; at += size> 0 ? size : 1) {
		size = utf8_sequence(path + at, length - at);
		if (size == 0 || needs_escape(path + at))
			buffer_printf(&shown, "\\x%02x", (unsigned char)path[at]);
		else
			buffer_append(&shown, path + at, size);
	}
	return buffer_take(&shown);
}

/* A folder for temporary files, links followed; NULL when it would cover too much. */
static char *
temporary_folder(const struct tool_context *context)
{
	const char *named = getenv("TMPDIR");
	char *real;

	real = path_rules_real(named != NULL && named[0] == '/' ? named : "/tmp");
	if (real != NULL &&
	    (strcmp(real, "/") == 0 ||
		(context->user_home != NULL && path_rules_below(real, context->user_home) &&
		    strcmp(real, "/tmp") != 0))) {
		free(real);
		real = NULL;
	}
	return real;
}

bool
path_rules_inside(const struct tool_context *context, const char *real)
{
	char *temporary;
	bool inside;
	size_t i;

	for (i = 0; i < context->root_count; i++)
		if (path_rules_below(context->roots[i], real))
			return true;
	if (path_rules_below(context->cwd, real) ||
	    (context->scratch != NULL && path_rules_below(context->scratch, real)))
		return true;
	temporary = temporary_folder(context);
	inside = temporary != NULL && path_rules_below(temporary, real);
	free(temporary);
	return inside;
}

void
path_places_find(const struct tool_context *context, struct path_places *places)
{
	memset(places, 0, sizeof *places);
	if (context->user_home != NULL && context->user_home[0] == '/') {
		places->homes[0] = lexical(context->user_home);
		places->homes[1] = path_rules_real(context->user_home);
	}
	if (context->home != NULL && context->home[0] == '/') {
		places->hermes[0] = lexical(context->home);
		places->hermes[1] = path_rules_real(context->home);
	}
}

void
path_places_clear(struct path_places *places)
{
	size_t i;

	for (i = 0; i < 2; i++) {
		free(places->homes[i]);
		free(places->hermes[i]);
	}
	memset(places, 0, sizeof *places);
}

/* HERMES_WRITE_SAFE_ROOT, a list of folders, confines all writing (as in Hermes). */
static bool
is_confined_out(const char *path)
{
	const char *list = getenv("HERMES_WRITE_SAFE_ROOT");
	char *folder, *real;
	bool inside = false;
	size_t length;

	if (list == NULL || *list == '\0')
		return false;
	for (; !inside && *list != '\0'; list += length + (list[length] == ':')) {
		length = strcspn(list, ":");
		if (length == 0)
			continue;
		folder = xstrndup(list, length);
		real = path_rules_real(folder);
		inside = real != NULL && path_rules_below(real, path);
		free(real);
		free(folder);
	}
	return !inside;
}

static void
judge_target(const struct tool_context *context, struct path_target *target)
{
	const char *given_label, *real_label;
	struct path_places places;
	unsigned given, real;

	path_places_find(context, &places);
	given = path_rules_flags(&places, target->given, &given_label);
	real = path_rules_flags(&places, target->real, &real_label);
	target->flags = given | real;
	target->label = real_label != NULL ? real_label : given_label;
	path_places_clear(&places);
	if (is_confined_out(target->real)) {
		target->flags |= PATH_SENSITIVE | PATH_UNWRITABLE;
		target->label = "outside of HERMES_WRITE_SAFE_ROOT";
	}
}

int
path_rules_resolve(const struct tool_context *context, const char *path,
    struct path_target *target, struct buffer *error)
{
	char *full;

	memset(target, 0, sizeof *target);
	if (*path == '\0') {
		buffer_append_text(error, "The path is empty");
		return -1;
	}
	if (strlen(path) >= PATH_MAX) {
		buffer_printf(error, "The path is too long (%zu bytes, at most %d): %.60s...",
		    strlen(path), PATH_MAX - 1, path);
		return -1;
	}
	full = absolute(context, path);
	try_unescaped(&full);
	target->given = lexical(full);
	/* ".." after a link leads away from the link's target, so it is not taken out first. */
	target->real = path_rules_real(full);
	free(full);
	if (target->real == NULL) {
		buffer_printf(error, "Cannot follow %s: %s", path, strerror(errno));
		path_target_clear(target);
		return -1;
	}
	target->shown = path_rules_shown(context, target->real);
	target->inside = path_rules_inside(context, target->real);
	judge_target(context, target);
	return 0;
}

void
path_target_clear(struct path_target *target)
{
	free(target->given);
	free(target->real);
	free(target->shown);
	memset(target, 0, sizeof *target);
}
