/*
 * The tool "memory": changes what is remembered for later sessions. It waits for the lock of
 * the file without keeping the loop, and never writes without it.
 */
#include <config.h>

#include "worker/tools/memory_change.h"
#include "worker/tools/tool_rows.h"

#include "common/alloc.h"
#include "common/fd.h"
#include "common/json.h"
#include "common/monotonic.h"
#include "common/utf8.h"
#include "worker/config/config_file.h"
#include "worker/tools/grants.h"

#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#define RETRY_MS 30
#define PATIENCE_MS 10000
#define SHOWN_MAX 500 /* characters of a text on the card (as in Hermes) */
#define OPERATIONS_SHOWN 8

/* The name under which "always" and "never" are remembered. */
static const char grant[] = "memory";

struct attempt {
	struct memory_change change;
	struct event *timer; /* while somebody else has the lock */
	int64_t deadline;
};

static void
fail(struct tool_run *run, const char *text)
{
	struct json_object *result = json_object_new_object();

	json_set_boolean(result, "success", false);
	json_set_text(result, "error", text);
	tool_contents_text(&run->shown, text, strlen(text));
	tool_finish(run, result, true);
}

static void
append_shown(struct buffer *text, const char *label, const char *value)
{
	size_t length = strlen(value), cut = utf8_offset(value, length, SHOWN_MAX);

	if (length > 0)
		buffer_printf(
		    text, "%s%.*s%s\n", label, (int)cut, value, cut < length ? "…" : "");
}

static void
show_card(struct tool_run *run, const struct memory_change *change)
{
	struct buffer text = BUFFER_EMPTY;
	size_t i;

	memory_change_title(change, &text);
	tool_card_title(run, "%s", buffer_text(&text));
	buffer_clear(&text);
	for (i = 0; i < change->count && i < OPERATIONS_SHOWN; i++) {
		append_shown(&text, "- ", change->operations[i].old_text);
		append_shown(&text, "+ ", change->operations[i].content);
	}
	if (i < change->count)
		buffer_printf(&text, "… and %zu more\n", change->count - i);
	tool_contents_text(&run->card.contents, buffer_text(&text), text.length);
	buffer_free(&text);
}

static void
ask(struct tool_run *run)
{
	struct tool_permission *permission = &run->permission;

	if (grants_refused(run->context->grants, grant)) {
		permission->verdict = TOOL_REFUSED;
		permission->reason =
		    xstrdup("The user does not want memory to be changed in this session.");
	} else if (memory_asks(run->context->memory) &&
		   !grants_has(run->context->grants, grant)) {
		permission->verdict = TOOL_ASK;
		permission->reason = xstrdup("It is told to the model in later sessions.");
		permission->question = xstrdup(grant);
		permission->grant = xstrdup(grant);
		permission->grant_label =
		    xstrdup("Always allow changes of memory in this session");
	}
}

static bool
offered(const struct tool_context *context)
{
	return memory_enabled(context->memory, MEMORY_NOTES) ||
	       memory_enabled(context->memory, MEMORY_USER);
}

static void
prepare(struct tool_run *run)
{
	struct buffer error = BUFFER_EMPTY;
	struct attempt *attempt;

	if (!offered(run->context)) {
		fail(run, "Memory is turned off in the configuration.");
		return;
	}
	run->state = attempt = xcalloc(1, sizeof *attempt);
	if (memory_change_parse(
		&attempt->change, run->context->memory, run->arguments, &error) == -1) {
		fail(run, buffer_text(&error));
	} else {
		show_card(run, &attempt->change);
		ask(run);
	}
	buffer_free(&error);
}

static void
finish(struct tool_run *run)
{
	struct attempt *attempt = run->state;
	struct buffer text = BUFFER_EMPTY;
	struct json_object *result;
	int64_t count = 0;
	bool failed;

	result = memory_change_run(&attempt->change, run->context, &failed);
	json_member_integer(result, "entry_count", &count);
	if (failed)
		buffer_append_text(&text, json_member_text(result, "error", ""));
	else
		buffer_printf(&text, "%s\n\n%lld entries, %s",
		    json_member_text(result, "message", ""), (long long)count,
		    json_member_text(result, "usage", ""));
	tool_contents_text(&run->shown, buffer_text(&text), text.length);
	buffer_free(&text);
	tool_finish(run, result, failed);
}

static void
try_lock(struct tool_run *run)
{
	struct attempt *attempt = run->state;
	struct timeval pause = monotonic_interval(RETRY_MS);
	struct buffer error = BUFFER_EMPTY;
	int lock = config_file_lock(memory_folder(run->context->memory),
	    memory_file_name(attempt->change.target), &error);

	if (lock != -1) {
		finish(run);
		fd_close(&lock);
	} else if (errno == EWOULDBLOCK && monotonic_ms() < attempt->deadline) {
		event_add(attempt->timer, &pause);
	} else {
		fail(run, buffer_text(&error));
	}
	buffer_free(&error);
}

static void
on_timer(int fd, short events, void *arg)
{
	(void)fd;
	(void)events;
	try_lock(arg);
}

static void
start(struct tool_run *run)
{
	struct attempt *attempt = run->state;

	if (run->context->mode == SESSION_MODE_PLAN) {
		fail(run, "The session is in plan mode: nothing is changed, memory neither.");
		return;
	}
	attempt->deadline = monotonic_ms() + PATIENCE_MS;
	attempt->timer = evtimer_new(run->context->base, on_timer, run);
	try_lock(run);
}

static void
cancel(struct tool_run *run)
{
	fail(run, "Cancelled by the user; memory was not changed.");
}

static void
release(struct tool_run *run)
{
	struct attempt *attempt = run->state;

	if (attempt == NULL)
		return;
	if (attempt->timer != NULL)
		event_free(attempt->timer);
	memory_change_clear(&attempt->change);
	free(attempt);
	run->state = NULL;
}

const struct tool tool_memory = {
    .name = "memory",
    .description =
	"Keeps what should still be known in later sessions, in two small files. Target "
	"\"memory\": your notes about this machine, its projects, conventions and lessons. "
	"Target \"user\": who the user is and how they like to work. Both are shown in the "
	"system prompt of later sessions; what you save now appears there from the next "
	"session on. Save on your own account when the user corrects you, tells a preference "
	"or something lasting about themselves, or when you find out something that would "
	"cost time to find again. Do not save what belongs to the running task (use todo), "
	"what is easily found again, or secrets. Write short, dense entries. \"replace\" and "
	"\"remove\" find an entry by old_text, a part of it that no other entry has. When a "
	"file is full, make room and add in one call with \"operations\", which are done "
	"together or not at all.",
    .parameters =
	"{\"type\":\"object\",\"properties\":{"
	"\"target\":{\"type\":\"string\",\"enum\":[\"memory\",\"user\"],\"description\":"
	"\"memory: your notes; user: the user's profile\"},"
	"\"action\":{\"type\":\"string\",\"enum\":[\"add\",\"replace\",\"remove\"],"
	"\"description\":\"Leave it out with operations\"},"
	"\"content\":{\"type\":\"string\",\"description\":\"The entry; for add and replace\"},"
	"\"old_text\":{\"type\":\"string\",\"description\":\"A part of the entry to replace or "
	"remove that no other entry has\"},"
	"\"operations\":{\"type\":\"array\",\"description\":\"Several changes of one target at "
	"once\",\"items\":{\"type\":\"object\",\"properties\":{"
	"\"action\":{\"type\":\"string\",\"enum\":[\"add\",\"replace\",\"remove\"]},"
	"\"content\":{\"type\":\"string\"},\"old_text\":{\"type\":\"string\"}},"
	"\"required\":[\"action\"]}}},\"required\":[\"target\"]}",
    .kind = TOOL_KIND_OTHER,
    .class = TOOL_CLASS_EXCLUSIVE,
    .offered = offered,
    .prepare = prepare,
    .start = start,
    .cancel = cancel,
    .release = release,
};
