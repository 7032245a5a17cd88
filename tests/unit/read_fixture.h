/*
 * What the tests of read_file say and expect: one call, and what its result holds.
 */
#ifndef HERMES_TESTS_UNIT_READ_FIXTURE_H
#define HERMES_TESTS_UNIT_READ_FIXTURE_H

#include "tests/unit/tool_fixture.h"
#include "worker/tools/tool_rows.h"

static inline void
read_with(struct tool_fixture *fixture, const char *arguments)
{
	tool_fixture_run(fixture, &tool_read_file, arguments);
}

/* Asserts that the last call has succeeded. */
static inline const char *
content(const struct tool_fixture *fixture)
{
	const char *text = json_member_string(fixture->result, "content");

	if (text == NULL)
		fail_msg("no content: %s", json_text(fixture->result, NULL));
	assert_false(fixture->failed);
	return text;
}

static inline int64_t
number_of(const struct tool_fixture *fixture, const char *name)
{
	int64_t number = -1;

	json_member_integer(fixture->result, name, &number);
	return number;
}

static inline const char *
hint_of(const struct tool_fixture *fixture)
{
	return json_member_text(fixture->result, "hint", "");
}

/* A call whose content is exactly this. */
static inline void
reads(struct tool_fixture *fixture, const char *arguments, const char *expected)
{
	read_with(fixture, arguments);
	assert_string_equal(content(fixture), expected);
}

/* A call that fails with an error that says this. */
static inline void
refuses(struct tool_fixture *fixture, const char *arguments, const char *says)
{
	read_with(fixture, arguments);
	tool_fixture_error_has(fixture, says);
}

#endif
