/*
 * Gathering texts from the editor. The rules for files come first: the editor is never asked
 * for what the disk would not be asked for.
 */
#include <config.h>

#include "worker/tools/editor_texts.h"

#include "common/alloc.h"
#include "common/fd.h"
#include "worker/tools/editor.h"
#include "worker/tools/file_stamps.h"
#include "worker/tools/path_rules.h"
#include "worker/tools/text_file.h"
#include "worker/tools/tool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PARALLEL_MAX 8 /* questions at a time; the client may answer one after the other */

struct entry {
	struct editor_texts *texts;
	char *real, *shown;
	struct editor_request *request;
	struct editor_reading reading;
};

struct editor_texts {
	const struct tool_context *context;
	void (*gathered)(void *arg);
	void *arg;
	struct entry **entries;
	size_t count, asked, open;
};

struct editor_texts *
editor_texts_new(const struct tool_context *context, void (*gathered)(void *arg), void *arg)
{
	struct editor_texts *texts = xcalloc(1, sizeof *texts);

	texts->context = context;
	texts->gathered = gathered;
	texts->arg = arg;
	return texts;
}

static struct entry *
find(const struct editor_texts *texts, const char *real)
{
	size_t i;

	for (i = 0; i < texts->count; i++)
		if (strcmp(texts->entries[i]->real, real) == 0)
			return texts->entries[i];
	return NULL;
}

bool
editor_texts_sample(int fd, struct text_sample *sample)
{
	char bytes[TEXT_SAMPLE + 1];
	ssize_t got;

	do {
		got = pread(fd, bytes, sizeof bytes, 0);
	} while (got == -1 && errno == EINTR);
	if (got == -1)
		return false;
	text_sample_judge(bytes, (size_t)got, (size_t)got < sizeof bytes, sample);
	return true;
}

/* What is on the disk there would be read as UTF-8 text, or there is nothing. */
static bool
suits(const struct entry *entry)
{
	struct buffer error = BUFFER_EMPTY;
	enum text_failure failure = TEXT_READ;
	struct text_sample sample;
	struct stat status;
	int fd = text_file_open(entry->real, &status, &failure, &error);
	bool result = failure == TEXT_ABSENT;

	if (fd != -1)
		result = editor_texts_sample(fd, &sample) && !sample.binary &&
			 !sample.foreign && sample.encoding == TEXT_UTF8 &&
			 status.st_size <= (off_t)EDITOR_TEXT_MAX;
	fd_close(&fd);
	buffer_free(&error);
	return result;
}

static bool
may_ask(const struct tool_context *context, const struct path_target *target)
{
	if ((target->flags & (PATH_UNREADABLE | PATH_UNWRITABLE)) != 0)
		return false;
	return (target->flags & PATH_SECRET) == 0 ||
	       file_stamps_query(context->stamps, target->real, NULL) != FILE_NEVER_SEEN;
}

void
editor_texts_want(struct editor_texts *texts, const char *path)
{
	struct path_target target = {0};
	struct buffer error = BUFFER_EMPTY;
	struct entry *entry;

	if (path_rules_resolve(texts->context, path, &target, &error) == 0 &&
	    may_ask(texts->context, &target) && find(texts, target.real) == NULL) {
		entry = xcalloc(1, sizeof *entry);
		entry->texts = texts;
		entry->real = xstrdup(target.real);
		entry->shown = xstrdup(target.shown);
		texts->entries =
		    xreallocarray(texts->entries, texts->count + 1, sizeof(struct entry *));
		texts->entries[texts->count++] = entry;
	}
	path_target_clear(&target);
	buffer_free(&error);
}

static void
explain(struct entry *entry, const char *reason)
{
	entry->reading.note = xasprintf(
	    "%s: the editor could not be asked (%s); what counted is the file on the disk.",
	    entry->shown, reason);
}

static void ask_next(struct editor_texts *texts);

static void
on_answer(const struct editor_reply *reply, void *arg)
{
	struct entry *entry = arg;
	struct editor_texts *texts = entry->texts;

	entry->request = NULL;
	entry->reading.refused = reply->outcome == EDITOR_REFUSED;
	if (reply->outcome == EDITOR_DONE) {
		entry->reading.text = xstrndup(reply->text, reply->length);
		entry->reading.length = reply->length;
	} else if (entry->reading.refused) {
		entry->reading.note = xstrdup(reply->reason);
	} else {
		explain(entry, reply->reason);
	}
	texts->open--;
	ask_next(texts);
	if (texts->open == 0)
		texts->gathered(texts->arg);
}

static void
ask_next(struct editor_texts *texts)
{
	const struct editor *editor = texts->context->editor;
	struct entry *entry;
	const char *why;

	while (texts->asked < texts->count && texts->open < PARALLEL_MAX) {
		entry = texts->entries[texts->asked++];
		if (!suits(entry))
			continue;
		entry->request =
		    editor->read(entry->real, 1, 0, on_answer, entry, &why, editor->arg);
		if (entry->request != NULL)
			texts->open++;
		else if (why != NULL)
			explain(entry, why);
	}
}

bool
editor_texts_start(struct editor_texts *texts)
{
	ask_next(texts);
	return texts->open > 0;
}

void
editor_texts_stop(struct editor_texts *texts)
{
	size_t i;

	for (i = 0; i < texts->count; i++)
		if (texts->entries[i]->request != NULL) {
			texts->context->editor->cancel(texts->entries[i]->request);
			texts->entries[i]->request = NULL;
		}
	texts->open = 0;
	texts->asked = texts->count;
}

void
editor_texts_free(struct editor_texts *texts)
{
	struct entry *entry;
	size_t i;

	if (texts == NULL)
		return;
	editor_texts_stop(texts);
	for (i = 0; i < texts->count; i++) {
		entry = texts->entries[i];
		free(entry->real);
		free(entry->shown);
		free(entry->reading.text);
		free(entry->reading.note);
		free(entry);
	}
	free(texts->entries);
	free(texts);
}

const struct editor_reading *
editor_texts_find(const struct editor_texts *texts, const char *real)
{
	const struct entry *entry = texts != NULL ? find(texts, real) : NULL;

	return entry != NULL && (entry->reading.text != NULL || entry->reading.note != NULL)
		   ? &entry->reading
		   : NULL;
}
