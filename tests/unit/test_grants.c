/*
 * What the user allowed and refused in a session, and which paths a command must not name
 * after an edit of them was denied.
 */
#include <config.h>

#include "worker/tools/grants.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void
test_grants(void **state)
{
	struct grants *grants = grants_new();

	(void)state;
	assert_false(grants_has(grants, "recursive delete"));
	grants_add(grants, "recursive delete");
	assert_true(grants_has(grants, "recursive delete"));
	assert_false(grants_has(grants, "recursive"));
	grants_add(grants, "edit:/a/b");
	grants_add(grants, "edit:");
	assert_true(grants_cover_edit(grants, "/a/b/c"));
	assert_true(grants_cover_edit(grants, "/a/b"));
	assert_false(grants_cover_edit(grants, "/a/bc"));
	assert_false(grants_cover_edit(grants, "/x"));
	grants_refuse(grants, "question");
	assert_true(grants_refused(grants, "question"));
	assert_false(grants_refused(grants, "other"));
	assert_false(grants_refused(grants, NULL));
	grants_free(grants);
}

static void
test_denied_paths(void **state)
{
	struct grants *grants = grants_new();

	(void)state;
	grants_deny_path(grants, "/srv/src/main.c");
	assert_true(grants_denied_in(grants, "sed -i s/a/b/ src/main.c"));
	assert_true(grants_denied_in(grants, "cd src; echo x >main.c"));
	assert_true(grants_denied_in(grants, "cat > '/srv/src/main.c' <<E"));
	assert_false(grants_denied_in(grants, "cat domain.c main.cc"));
	grants_forget_denied(grants);
	assert_false(grants_denied_in(grants, "echo x >main.c"));
	grants_free(grants);
}

/* Another process of the session knows what the user said, and nothing else. */
static void
test_description(void **state)
{
	struct grants *grants = grants_new(), *other = grants_new();
	struct json_object *description;

	(void)state;
	grants_add(grants, "recursive delete");
	grants_add(grants, "edit:/srv/src");
	grants_refuse(grants, "question");
	grants_deny_path(grants, "/srv/src/main.c");
	description = grants_describe(grants);
	grants_restore(other, description);
	assert_true(grants_has(other, "recursive delete"));
	assert_true(grants_cover_edit(other, "/srv/src/a"));
	assert_false(grants_cover_edit(other, "/srv/a"));
	assert_true(grants_refused(other, "question"));
	assert_false(grants_denied_in(other, "cat main.c"));
	grants_restore(other, NULL);
	assert_true(grants_has(other, "recursive delete"));
	json_object_put(description);
	grants_free(other);
	grants_free(grants);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_grants),
	    cmocka_unit_test(test_denied_paths),
	    cmocka_unit_test(test_description),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
