/*
 * Where paths lead and what they are: links, missing files, names in other cases, keys.
 */
#include <config.h>

#include "worker/tools/path_rules.h"

#include "tests/unit/tool_fixture.h"

struct fixture {
	struct tool_fixture tool;
	char *home, *hermes;
};

static int
set_up(void **state)
{
	struct fixture *fixture = xcalloc(1, sizeof *fixture);

	unsetenv("TMPDIR");
	tool_fixture_init(&fixture->tool, "project");
	fixture->home = xasprintf("%s/home", fixture->tool.folder);
	fixture->hermes = xasprintf("%s/home/.hermes", fixture->tool.folder);
	assert_int_equal(mkdir(fixture->home, 0700), 0);
	assert_int_equal(mkdir(fixture->hermes, 0700), 0);
	fixture->tool.context.user_home = fixture->home;
	fixture->tool.context.home = fixture->hermes;
	*state = fixture;
	return 0;
}

static int
tear_down(void **state)
{
	struct fixture *fixture = *state;

	tool_fixture_clear(&fixture->tool);
	free(fixture->home);
	free(fixture->hermes);
	free(fixture);
	return 0;
}

static void
resolve(struct fixture *fixture, const char *path, struct path_target *target)
{
	struct buffer error = BUFFER_EMPTY;
	int status = path_rules_resolve(&fixture->tool.context, path, target, &error);

	if (status != 0)
		print_error("%s: %s\n", path, buffer_text(&error));
	assert_int_equal(status, 0);
	buffer_free(&error);
}

/* Asserts that `path` leads to base + `expected`. */
static void
leads_to(struct fixture *fixture, const char *path, const char *expected)
{
	struct path_target target;
	char *full = xasprintf("%s%s", fixture->tool.folder, expected);

	resolve(fixture, path, &target);
	assert_string_equal(target.real, full);
	path_target_clear(&target);
	free(full);
}

static unsigned
flags_of(struct fixture *fixture, const char *path)
{
	struct path_target target;
	unsigned flags;

	resolve(fixture, path, &target);
	flags = target.flags;
	assert_true((flags != 0) == (target.label != NULL));
	path_target_clear(&target);
	return flags;
}

static void
test_forms(void **state)
{
	struct fixture *fixture = *state;

	leads_to(fixture, "a.txt", "/project/a.txt");
	leads_to(fixture, "./x/../a.txt", "/project/a.txt");
	leads_to(fixture, "x//y/./z", "/project/x/y/z");
	leads_to(fixture, "../other/f", "/other/f");
	leads_to(fixture, "~/notes", "/home/notes");
	leads_to(fixture, "~", "/home");
	leads_to(fixture, "~other/f", "/project/~other/f");
	leads_to(fixture, ".", "/project");
	leads_to(fixture, "new/folder/", "/project/new/folder");
}

static void
test_links(void **state)
{
	struct fixture *fixture = *state;
	struct path_target target;

	tool_fixture_link(&fixture->tool, "../home", "out");
	tool_fixture_link(&fixture->tool, "out/deep", "dangling");
	tool_fixture_link(&fixture->tool, "/nowhere/at/all", "absolute");
	leads_to(fixture, "out/f", "/home/f");
	leads_to(fixture, "out/new/f", "/home/new/f");
	leads_to(fixture, "dangling/f", "/home/deep/f");
	leads_to(fixture, "out/..", ""); /* the parent of what the link leads to */
	resolve(fixture, "absolute/x", &target);
	assert_string_equal(target.real, "/nowhere/at/all/x");
	assert_false(target.inside);
	path_target_clear(&target);
}

static void
test_link_loop(void **state)
{
	struct fixture *fixture = *state;
	struct buffer error = BUFFER_EMPTY;
	struct path_target target;

	tool_fixture_link(&fixture->tool, "two", "one");
	tool_fixture_link(&fixture->tool, "one", "two");
	assert_int_equal(
	    path_rules_resolve(&fixture->tool.context, "one/f", &target, &error), -1);
	assert_non_null(strstr(buffer_text(&error), "one/f"));
	assert_null(target.real);
	buffer_free(&error);
}

static void
test_too_long(void **state)
{
	struct fixture *fixture = *state;
	struct buffer error = BUFFER_EMPTY, path = BUFFER_EMPTY;
	struct path_target target;
	int i;

	for (i = 0; i < 3000; i++)
		buffer_append_text(&path, "ab/");
	assert_int_equal(
	    path_rules_resolve(&fixture->tool.context, buffer_text(&path), &target, &error),
	    -1);
	assert_int_equal(path_rules_resolve(&fixture->tool.context, "", &target, &error), -1);
	buffer_free(&path);
	buffer_free(&error);
}

static void
test_inside(void **state)
{
	struct fixture *fixture = *state;

	/* The fixture lies below /tmp, so another TMPDIR shows what the roots alone cover. */
	setenv("TMPDIR", "/var/tmp", 1);
	assert_true(path_rules_inside(&fixture->tool.context, fixture->tool.cwd));
	assert_false(path_rules_inside(&fixture->tool.context, fixture->home));
	assert_false(path_rules_inside(&fixture->tool.context, fixture->tool.folder));
	assert_true(path_rules_inside(&fixture->tool.context, "/var/tmp/x"));
	setenv("TMPDIR", "/", 1);
	assert_false(path_rules_inside(&fixture->tool.context, "/usr"));
	unsetenv("TMPDIR");
	assert_true(path_rules_inside(&fixture->tool.context, "/tmp/x"));
	assert_true(path_rules_below("/a/b", "/a/b/c"));
	assert_false(path_rules_below("/a/b", "/a/bc"));
	assert_true(path_rules_below("/", "/a"));
	assert_true(path_rules_below("/a/", "/a"));
}

/* Asserts that each of these paths has the flag; `says` is what is wrong without it. */
static void
have_flag(struct fixture *fixture, const char *const *names, size_t count, unsigned flag,
    const char *says)
{
	size_t i;

	for (i = 0; i < count; i++)
		if ((flags_of(fixture, names[i]) & flag) == 0)
			fail_msg("%s %s", names[i], says);
}

#define HAVE_FLAG(fixture, names, flag, says)                                                  \
	have_flag(fixture, names, sizeof names / sizeof *names, flag, says)

static void
test_sensitive(void **state)
{
	static const char *const names[] = {".git/config", "x/.GIT/hooks/pre-commit",
	    ".ssh/id_rsa", ".env", ".Env.Production", ".env.local", ".env.other", ".envrc",
	    "id_rsa", "ID_ED25519", "server.pem", "tls.key", ".netrc", ".npmrc", ".pypirc",
	    ".git-credentials", ".pgpass", "sub/.aws/credentials", "~/.aws/credentials",
	    "~/.kube/config", "~/.docker/config.json", "~/.bashrc"};
	struct fixture *fixture = *state;

	HAVE_FLAG(fixture, names, PATH_SENSITIVE, "is not sensitive");
	assert_int_equal(flags_of(fixture, "src/main.c"), 0);
	assert_int_equal(flags_of(fixture, ".gitignore"), 0);
	assert_int_equal(flags_of(fixture, ".github/workflows/a.yml"), 0);
	assert_int_equal(flags_of(fixture, "environment.txt"), 0);
	assert_int_equal(flags_of(fixture, ".env.example") & PATH_SECRET, 0);
}

static void
test_never_read(void **state)
{
	static const char *const names[] = {".env", "deep/.ENV", ".envrc", ".env.staging",
	    "~/.hermes/auth.json", "~/.hermes/.env", "~/.hermes/mcp-tokens/a.json",
	    "/proc/self/environ", "/proc/1/cmdline", "/proc/self/fd/0", "/dev/stdin",
	    "/dev/zero", "/dev/urandom", "/proc/1/task/1/maps"};
	struct fixture *fixture = *state;

	HAVE_FLAG(fixture, names, PATH_UNREADABLE, "may be read");
	assert_int_equal(flags_of(fixture, "/proc/self/status") & PATH_UNREADABLE, 0);
	assert_int_equal(flags_of(fixture, ".env.example") & PATH_UNREADABLE, 0);
	assert_int_equal(flags_of(fixture, "auth.json") & PATH_UNREADABLE, 0);
}

static void
test_never_written(void **state)
{
	static const char *const names[] = {"/etc/passwd", "/etc/hosts", "/boot/x",
	    "/usr/lib/systemd/system/a.service", "/proc/self/oom_adj", "/dev/sda",
	    "~/.ssh/authorized_keys", "~/.ssh/id_rsa", "~/.aws/x", "~/.gnupg/x", "~/.npmrc",
	    "~/.hermes/config.yaml", "~/.hermes/state.db", "~/.hermes/state.db-wal",
	    "~/.hermes/sessions/1.json", "~/.config/gh/hosts.yml"};
	struct fixture *fixture = *state;

	HAVE_FLAG(fixture, names, PATH_UNWRITABLE, "may be written");
	assert_int_equal(flags_of(fixture, "~/.ssh/config") & PATH_UNWRITABLE, 0);
	assert_int_equal(flags_of(fixture, ".npmrc") & PATH_UNWRITABLE, 0);
	assert_int_equal(flags_of(fixture, "etc/passwd"), 0);
}

static void
test_through_links(void **state)
{
	struct fixture *fixture = *state;

	tool_fixture_link(&fixture->tool, ".env", "harmless.txt");
	tool_fixture_link(&fixture->tool, "../home/.hermes", "state");
	tool_fixture_link(&fixture->tool, "plain.txt", "id_rsa");
	assert_true((flags_of(fixture, "harmless.txt") & PATH_UNREADABLE) != 0);
	assert_true((flags_of(fixture, "state/auth.json") & PATH_UNREADABLE) != 0);
	/* The name as written counts as well. */
	assert_true((flags_of(fixture, "id_rsa") & PATH_SECRET) != 0);
}

static void
test_instructions(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(flags_of(fixture, "AGENTS.md"), PATH_INSTRUCTIONS);
	assert_int_equal(flags_of(fixture, "docs/claude.MD"), PATH_INSTRUCTIONS);
	assert_int_equal(flags_of(fixture, ".cursorrules"), PATH_INSTRUCTIONS);
	assert_int_equal(flags_of(fixture, ".hermes.md"), PATH_INSTRUCTIONS);
	assert_int_equal(flags_of(fixture, "README.md"), 0);
}

static void
test_safe_root(void **state)
{
	struct fixture *fixture = *state;
	char *list = xasprintf("/nowhere:%s/project/safe", fixture->tool.folder);

	setenv("HERMES_WRITE_SAFE_ROOT", list, 1);
	assert_int_equal(flags_of(fixture, "safe/f"), 0);
	assert_true((flags_of(fixture, "f") & PATH_UNWRITABLE) != 0);
	unsetenv("HERMES_WRITE_SAFE_ROOT");
	free(list);
}

static void
test_shown(void **state)
{
	struct fixture *fixture = *state;
	struct path_target target;
	char *path = xasprintf("%s/a\xff\nb", fixture->tool.cwd), *shown;

	scratch_put_text(path, "");
	shown = path_rules_shown(&fixture->tool.context, path);
	assert_string_equal(shown, "a\\xff\\x0ab");
	/* What was shown can be used again. */
	resolve(fixture, shown, &target);
	assert_string_equal(target.real, path);
	path_target_clear(&target);
	free(shown);
	shown = path_rules_shown(&fixture->tool.context, fixture->tool.cwd);
	assert_string_equal(shown, ".");
	free(shown);
	shown = path_rules_shown(&fixture->tool.context, "/etc/hosts");
	assert_string_equal(shown, "/etc/hosts");
	free(shown);
	free(path);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    CASE(test_forms),
	    CASE(test_links),
	    CASE(test_link_loop),
	    CASE(test_too_long),
	    CASE(test_inside),
	    CASE(test_sensitive),
	    CASE(test_never_read),
	    CASE(test_never_written),
	    CASE(test_through_links),
	    CASE(test_instructions),
	    CASE(test_safe_root),
	    CASE(test_shown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
