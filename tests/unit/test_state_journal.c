/*
 * Which kind of journal is used: by the version of the library, and by what is there.
 */
#include <config.h>

#include "tests/unit/state_fixture.h"
#include "worker/store/state_schema.h"

static void
test_wal_versions(void **state)
{
	static const struct {
		int library;
		bool safe;
	} rows[] = {{3006023, true}, {3007000, false}, {3040001, false}, {3044005, false},
	    {3044006, true}, {3045000, false}, {3050006, false}, {3050007, true},
	    {3051000, false}, {3051002, false}, {3051003, true}, {3052000, true}};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof rows / sizeof rows[0]; i++)
		assert_true(state_wal_is_safe(rows[i].library) == rows[i].safe);
}

static void
test_journal_by_version(void **state)
{
	struct buffer error = BUFFER_EMPTY;
	struct state *one = state_new(home);

	(void)state;
	one->library = 3040001;
	assert_int_equal(state_open(one, &error), SQLITE_OK);
	state_free(one);
	assert_string_equal(value("PRAGMA journal_mode"), "delete");
	one = state_new(home);
	one->library = 3051003;
	assert_int_equal(state_open(one, &error), SQLITE_OK);
	assert_true(one->wal);
	state_free(one);
	assert_string_equal(value("PRAGMA journal_mode"), "wal");
	one = state_new(home);
	one->library = 3040001; /* what is there is kept, and never reset from here */
	assert_int_equal(state_open(one, &error), SQLITE_OK);
	assert_true(one->wal);
	assert_int_equal(
	    run_write(one, "INSERT INTO state_meta VALUES ('k', 'v')", &error), SQLITE_OK);
	state_free(one);
	assert_string_equal(value("PRAGMA journal_mode"), "wal");
	assert_string_equal(value("SELECT value FROM state_meta WHERE key = 'k'"), "v");
	buffer_free(&error);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    STATE_CASE(test_wal_versions),
	    STATE_CASE(test_journal_by_version),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
