/*
 * Project notes. They come from the session's folder and are the project's words, so they
 * are marked as such; no setting is ever taken from there.
 */
#include <config.h>

#include "worker/agent/project_notes.h"
#include "worker/tools/path_rules.h"
#include "worker/tools/text_file.h"
#include "common/alloc.h"
#include "common/utf8.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Read at most this much, show at most that much: 70 % from the head and 20 % from the tail
 * of a longer file (as in Hermes). */
#define READ_MAX (1024 * 1024)
#define SHOW_MAX 20000

static const char *const names[] = {
    ".hermes.md", "HERMES.md", "AGENTS.md", "agents.md", "CLAUDE.md", ".cursorrules"};

/* The text behind a YAML front matter. */
static const char *
skip_front_matter(const char *text)
{
	const char *end;

	if (strncmp(text, "---\n", 4) != 0)
		return text;
	end = strstr(text + 4, "\n---\n");
	return end != NULL ? end + 5 : text;
}

static char *
shorten(const char *text, const char *path)
{
	size_t length = strlen(text), head, tail;
	struct buffer out = BUFFER_EMPTY;

	if (length <= SHOW_MAX)
		return xstrdup(text);
	head = utf8_floor(text, length, SHOW_MAX * 7 / 10);
	tail = utf8_floor(text, length, length - SHOW_MAX * 2 / 10);
	buffer_append(&out, text, head);
	buffer_printf(
	    &out, "\n[… %zu of %zu bytes of %s left out …]\n", tail - head, length, path);
	buffer_append_text(&out, text + tail);
	return buffer_take(&out);
}

char *
project_notes_read(const char *path)
{
	struct text_file file;
	struct buffer error = BUFFER_EMPTY;
	char *real = path_rules_real(path), *notes = NULL, *clean;

	if (real != NULL && text_file_read(real, READ_MAX, &file, &error) == TEXT_READ) {
		clean = utf8_clean(file.text, file.length, NULL);
		if (clean != NULL && clean[strspn(clean, " \t\r\n")] != '\0')
			notes = shorten(skip_front_matter(clean), path);
		free(clean);
		text_file_clear(&file);
	}
	buffer_free(&error);
	free(real);
	return notes;
}

static bool
is_git_root(const char *folder)
{
	char *path = xasprintf("%s/.git", folder);
	bool found = access(path, F_OK) == 0;

	free(path);
	return found;
}

/* True when some folder from `folder` up holds a repository. */
static bool
in_repository(const char *folder)
{
	char path[PATH_MAX];
	char *slash;

	snprintf(path, sizeof path, "%s", folder);
	for (;;) {
		if (is_git_root(path))
			return true;
		slash = strrchr(path, '/');
		if (slash == NULL || slash == path)
			return false;
		*slash = '\0';
	}
}

static bool
append_from(const char *folder, struct buffer *prompt)
{
	char *path, *notes = NULL;
	size_t i;

	for (i = 0; i < sizeof names / sizeof names[0] && notes == NULL; i++) {
		path = xasprintf("%s/%s", folder, names[i]);
		notes = project_notes_read(path);
		if (notes != NULL)
			buffer_printf(
			    prompt, "\nNotes of the project (%s):\n\n%s\n", path, notes);
		free(path);
	}
	i = notes != NULL;
	free(notes);
	return i != 0;
}

void
project_notes_append(const char *cwd, struct buffer *prompt)
{
	char folder[PATH_MAX];
	char *slash;
	bool up = in_repository(cwd);

	snprintf(folder, sizeof folder, "%s", cwd);
	while (!append_from(folder, prompt)) {
		slash = strrchr(folder, '/');
		if (!up || is_git_root(folder) || slash == NULL || slash == folder)
			return;
		*slash = '\0';
	}
}
