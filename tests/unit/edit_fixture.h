/*
 * What the tests of the tools that edit share: files of a session's folder, the calls of
 * write_file and patch, and how they end.
 */
#ifndef HERMES_TESTS_UNIT_EDIT_FIXTURE_H
#define HERMES_TESTS_UNIT_EDIT_FIXTURE_H

#include "tests/unit/tool_fixture.h"
#include "worker/tools/tool_rows.h"

static struct tool_fixture session;

static inline int
set_up(void **state)
{
	(void)state;
	(void)umask(022);
	tool_fixture_init(&session, "project");
	return 0;
}

static inline int
tear_down(void **state)
{
	(void)state;
	tool_fixture_clear(&session);
	return 0;
}

#define EDIT_CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

/* The path of a file, in a buffer of this function. */
static inline const char *
at(const char *name)
{
	static char path[256];

	(void)snprintf(path, sizeof path, "%s/%s", session.cwd, name);
	return path;
}

static inline void
put(const char *name, const char *text)
{
	scratch_put_text(at(name), text);
}

static inline void
holds(const char *name, const char *expected)
{
	scratch_holds(at(name), expected);
}

static inline bool
exists(const char *name)
{
	return access(at(name), F_OK) == 0;
}

/* What read_file notes. */
static inline void
seen(const char *name)
{
	struct stat status;

	assert_int_equal(stat(at(name), &status), 0);
	file_stamps_record(session.context.stamps, at(name), &status, true);
}

/* Prepares a call; arguments as name, value pairs that end with NULL. */
static inline void
prepare(const struct tool *tool, ...)
{
	struct json_object *arguments = json_object_new_object();
	const char *name;
	va_list list;

	va_start(list, tool);
	while ((name = va_arg(list, const char *)) != NULL)
		json_set_text(arguments, name, va_arg(list, const char *));
	va_end(list);
	tool_fixture_prepare(&session, tool, arguments);
}

/* Ends the call that was prepared; the tools that edit do so at once. */
static inline void
finish(void)
{
	if (!session.finished)
		tool_run_start(session.run);
	assert_true(session.finished);
}

static inline void
succeeds(void)
{
	finish();
	if (session.failed)
		fail_msg("%s", json_text(session.result, NULL));
	assert_true(json_member_boolean(session.result, "success", false));
}

static inline void
fails(const char *says)
{
	finish();
	tool_fixture_error_has(&session, says);
}

static inline void
replace(const char *name, const char *old, const char *new)
{
	prepare(&tool_patch, "path", name, "old_string", old, "new_string", new, NULL);
}

static inline void
patch(const char *text)
{
	prepare(&tool_patch, "mode", "patch", "patch", text, NULL);
}

static inline void
write_file(const char *name, const char *content)
{
	prepare(&tool_write_file, "path", name, "content", content, NULL);
}

#endif
