/*
 * What the tests of search_files share: a project, and a PATH on which there is no ripgrep.
 * HERMES_ACP_GUARD names the guard.
 */
#ifndef HERMES_TESTS_UNIT_SEARCH_FIXTURE_H
#define HERMES_TESTS_UNIT_SEARCH_FIXTURE_H

#include "tests/lib/portable.h"
#include "tests/unit/process_fixture.h"
#include "tests/unit/tool_fixture.h"
#include "worker/tools/search_command.h"
#include "worker/tools/tool_rows.h"

struct search_fixture {
	struct tool_fixture tool;
	char *programs, *guard, *path;
};

/* A folder with find, grep and xargs but without ripgrep. */
static inline void
link_programs(struct search_fixture *fixture)
{
	static const char *const names[] = {"find", "grep", "xargs"};
	char *from, *to;
	size_t i;

	assert_int_equal(mkdir(fixture->programs, 0700), 0);
	for (i = 0; i < sizeof names / sizeof *names; i++) {
		from = xasprintf("/usr/bin/%s", names[i]);
		if (access(from, X_OK) != 0) {
			free(from);
			from = xasprintf("/bin/%s", names[i]);
		}
		to = xasprintf("%s/%s", fixture->programs, names[i]);
		assert_int_equal(symlink(from, to), 0);
		free(from);
		free(to);
	}
}

static inline int
set_up(void **state)
{
	struct search_fixture *fixture = xcalloc(1, sizeof *fixture);

	tool_fixture_init(&fixture->tool, ".hid/project");
	fixture->programs = xasprintf("%s/bin", fixture->tool.folder);
	fixture->guard = realpath(guard_path(), NULL);
	fixture->path = xstrdup(getenv("PATH"));
	link_programs(fixture);
	fixture->tool.context.guard = fixture->guard;
	*state = fixture;
	return 0;
}

/* Lets the guards of freed processes end. */
static inline void
settle(struct search_fixture *fixture)
{
	struct event_base *base = fixture->tool.context.base;
	int64_t end = monotonic_ms() + 5000;

	while (
	    event_base_get_num_events(base, EVENT_BASE_COUNT_ADDED) > 0 && monotonic_ms() < end)
		event_base_loop(base, EVLOOP_ONCE);
}

static inline int
tear_down(void **state)
{
	struct search_fixture *fixture = *state;

	setenv("PATH", fixture->path, 1);
	tool_fixture_clear(&fixture->tool);
	free(fixture->programs);
	free(fixture->guard);
	free(fixture->path);
	free(fixture);
	return 0;
}

#define SEARCH_CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

static inline void
search(struct tool_fixture *fixture, const char *arguments)
{
	tool_fixture_run(fixture, &tool_search_files, arguments);
}

/* Runs `check` with ripgrep, when it is installed, and without. */
static inline void
with_both(struct search_fixture *fixture, void (*check)(struct tool_fixture *fixture))
{
	char *ripgrep = search_command_ripgrep();

	if (fixture->guard == NULL) {
		free(ripgrep);
		LEAVE_OUT("the guard is not built");
	}
	if (ripgrep != NULL)
		check(&fixture->tool);
	free(ripgrep);
	setenv("PATH", fixture->programs, 1);
	check(&fixture->tool);
	settle(fixture);
}

/* Asserts that the member of the result is this JSON. */
static inline void
result_is(const struct tool_fixture *fixture, const char *member, const char *expected)
{
	struct json_object *value = json_member(fixture->result, member);
	const char *text = value != NULL ? json_text(value, NULL) : "nothing";

	if (fixture->failed || strcmp(text, expected) != 0)
		fail_msg("%s is %s, not %s\n%s", member, text, expected,
		    json_text(fixture->result, NULL));
}

/* A search with this number of results. */
static inline void
finds(struct tool_fixture *fixture, const char *arguments, const char *count)
{
	search(fixture, arguments);
	result_is(fixture, "total_count", count);
}

/* A search that fails with an error that says this. */
static inline void
refuses(struct tool_fixture *fixture, const char *arguments, const char *says)
{
	search(fixture, arguments);
	tool_fixture_error_has(fixture, says);
}

#endif
