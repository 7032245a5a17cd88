/*
 * A session's folder and the one tool that runs in it: from arguments in JSON to the result.
 * Every tool is run as the agent runs it, and that a run ends once is asserted for each.
 */
#ifndef HERMES_TESTS_UNIT_TOOL_FIXTURE_H
#define HERMES_TESTS_UNIT_TOOL_FIXTURE_H

#include "common/monotonic.h"
#include "tests/unit/parsed_json.h"
#include "tests/unit/scratch.h"
#include "worker/tools/file_stamps.h"
#include "worker/tools/grants.h"
#include "worker/tools/tool.h"

#include <event2/event.h>
#include <inttypes.h>

struct tool_fixture {
	char *folder; /* everything is below it */
	char *cwd;    /* the session's folder */
	const char *roots[1];
	struct tool_context context;
	/* The last run. */
	struct tool_run *run;
	struct json_object *result;
	unsigned progress; /* how often it has shown how far it is */
	bool finished, failed;
};

/* Makes the folder of a session, `project`, in a new private folder. */
static inline void
tool_fixture_init(struct tool_fixture *fixture, const char *project)
{
	memset(fixture, 0, sizeof *fixture);
	fixture->folder = scratch_new();
	fixture->cwd = xasprintf("%s/%s", fixture->folder, project);
	scratch_make_parents(fixture->cwd);
	assert_int_equal(mkdir(fixture->cwd, 0700), 0);
	fixture->roots[0] = fixture->cwd;
	fixture->context.base = event_base_new();
	fixture->context.session_id = "s-1";
	fixture->context.cwd = fixture->cwd;
	fixture->context.roots = fixture->roots;
	fixture->context.root_count = 1;
	fixture->context.user_home = "/nonexistent";
	fixture->context.home = "/nonexistent/.hermes";
	fixture->context.stamps = file_stamps_new();
	fixture->context.grants = grants_new();
}

static inline void
tool_fixture_forget_run(struct tool_fixture *fixture)
{
	tool_run_free(fixture->run);
	json_object_put(fixture->result);
	fixture->run = NULL;
	fixture->result = NULL;
	fixture->progress = 0;
	fixture->finished = fixture->failed = false;
}

/* Releases everything that tool_fixture_init() has made. */
static inline void
tool_fixture_clear(struct tool_fixture *fixture)
{
	tool_fixture_forget_run(fixture);
	file_stamps_free(fixture->context.stamps);
	grants_free(fixture->context.grants);
	event_base_free(fixture->context.base);
	scratch_remove(fixture->folder);
	free(fixture->cwd);
}

/* For tests that need nothing else: cmocka's set-up and tear-down. */
static inline int
tool_fixture_set_up(void **state)
{
	struct tool_fixture *fixture = xcalloc(1, sizeof *fixture);

	tool_fixture_init(fixture, "project");
	*state = fixture;
	return 0;
}

static inline int
tool_fixture_tear_down(void **state)
{
	tool_fixture_clear(*state);
	free(*state);
	return 0;
}

#define TOOL_CASE(test)                                                                        \
	cmocka_unit_test_setup_teardown(test, tool_fixture_set_up, tool_fixture_tear_down)

/* The path of a file in the session's folder, for free(). */
static inline char *
tool_fixture_path(const struct tool_fixture *fixture, const char *name)
{
	return xasprintf("%s/%s", fixture->cwd, name);
}

static inline void
tool_fixture_put(
    const struct tool_fixture *fixture, const char *name, const void *bytes, size_t length)
{
	char *path = tool_fixture_path(fixture, name);

	scratch_put(path, bytes, length);
	free(path);
}

/* The same for a literal, which may hold NUL. */
#define PUT(fixture, name, text) tool_fixture_put(fixture, name, text, sizeof(text) - 1)

static inline void
tool_fixture_link(const struct tool_fixture *fixture, const char *target, const char *name)
{
	char *path = tool_fixture_path(fixture, name);

	assert_int_equal(symlink(target, path), 0);
	free(path);
}

static inline void
tool_fixture_on_finished(
    struct tool_run *run, struct json_object *result, bool failed, void *arg)
{
	struct tool_fixture *fixture = arg;

	(void)run;
	assert_false(fixture->finished);
	fixture->finished = true;
	fixture->failed = failed;
	fixture->result = json_object_get(result);
}

static inline void
tool_fixture_on_progress(struct tool_run *run, void *arg)
{
	struct tool_fixture *fixture = arg;

	assert_int_equal(run->shown.count, 1);
	fixture->progress++;
}

/* Makes a run and prepares it; takes the arguments over. */
static inline void
tool_fixture_prepare(
    struct tool_fixture *fixture, const struct tool *tool, struct json_object *arguments)
{
	tool_fixture_forget_run(fixture);
	fixture->run = tool_run_new(tool, &fixture->context, "call", arguments,
	    tool_fixture_on_finished, tool_fixture_on_progress, fixture);
	json_object_put(arguments);
	tool_run_prepare(fixture->run);
}

static inline void
tool_fixture_start(struct tool_fixture *fixture, const struct tool *tool, const char *arguments)
{
	tool_fixture_prepare(fixture, tool, parsed_json(arguments));
	tool_run_start(fixture->run);
}

/* Runs a tool to its end. */
static inline void
tool_fixture_run(struct tool_fixture *fixture, const struct tool *tool, const char *arguments)
{
	int64_t end = monotonic_ms() + 20000;

	tool_fixture_start(fixture, tool, arguments);
	while (!fixture->finished && monotonic_ms() < end)
		event_base_loop(fixture->context.base, EVLOOP_ONCE);
	assert_true(fixture->finished);
}

/* Asserts that the last run failed and that its error says this. */
static inline void
tool_fixture_error_has(const struct tool_fixture *fixture, const char *text)
{
	const char *error = json_member_string(fixture->result, "error");

	if (!fixture->failed || error == NULL || strstr(error, text) == NULL)
		fail_msg("no \"%s\" in %s", text, json_text(fixture->result, NULL));
}

#endif
