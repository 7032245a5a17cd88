/*
 * The setup and the check, driven through files as pipes would drive them.
 */
#include <config.h>

#include "worker/config/check.h"
#include "worker/config/provider_table.h"
#include "worker/config/runtime.h"
#include "worker/config/setup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct world {
	char parent[64], home[80];
	char yaml[112], dotenv[112];
	char *output;
	size_t output_length;
};

static int
make_world(void **state)
{
	struct world *world = calloc(1, sizeof *world);
	const struct provider_row *rows;
	size_t count, i, k;

	strcpy(world->parent, "/tmp/test-setup-XXXXXX");
	if (mkdtemp(world->parent) == NULL)
		return -1;
	snprintf(world->home, sizeof world->home, "%s/home", world->parent);
	snprintf(world->yaml, sizeof world->yaml, "%s/config.yaml", world->home);
	snprintf(world->dotenv, sizeof world->dotenv, "%s/.env", world->home);
	setenv("HERMES_HOME", world->home, 1);
	unsetenv("HERMES_MODEL");
	rows = provider_table(&count);
	for (i = 0; i < count; i++) {
		for (k = 0; k < PROVIDER_KEYS_MAX && rows[i].keys[k] != NULL; k++)
			unsetenv(rows[i].keys[k]);
		if (rows[i].base_variable != NULL)
			unsetenv(rows[i].base_variable);
	}
	*state = world;
	return 0;
}

static int
remove_world(void **state)
{
	static const char *const names[] = {
	    "config.yaml", ".env", "config.yaml.lock", ".env.lock", "script.json"};
	struct world *world = *state;
	char path[128];
	size_t i;

	for (i = 0; i < sizeof names / sizeof *names; i++) {
		snprintf(path, sizeof path, "%s/%s", world->home, names[i]);
		unlink(path);
	}
	rmdir(world->home);
	assert_int_equal(rmdir(world->parent), 0);
	free(world->output);
	free(world);
	return 0;
}

static int
setup(struct world *world, const char *answers)
{
	FILE *in = tmpfile(), *out;
	int status;

	free(world->output);
	world->output = NULL;
	out = open_memstream(&world->output, &world->output_length);
	assert_true(in != NULL && out != NULL);
	fputs(answers, in);
	rewind(in);
	status = setup_run(in, out);
	fclose(in);
	fclose(out);
	return status;
}

static int
check(struct world *world, const char *program, const char *script)
{
	const struct check_options options = {program, program, script};
	FILE *out;
	int status;

	free(world->output);
	world->output = NULL;
	out = open_memstream(&world->output, &world->output_length);
	status = check_run(out, &options);
	fclose(out);
	return status;
}

static void
expect_text(const char *path, const char *text)
{
	char bytes[1024] = "";
	struct stat status;
	FILE *file = fopen(path, "r");

	assert_non_null(file);
	bytes[fread(bytes, 1, sizeof bytes - 1, file)] = '\0';
	fclose(file);
	assert_string_equal(bytes, text);
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0600);
}

static void
put(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
	chmod(path, 0600);
}

static void
test_provider(void **state)
{
	struct world *world = *state;

	assert_int_equal(setup(world, "openrouter\nsk-or-v1-abcdefgh\nmaker/model\n"), 0);
	expect_text(world->dotenv, "OPENROUTER_API_KEY=sk-or-v1-abcdefgh\n");
	expect_text(world->yaml, "model:\n  provider: openrouter\n  default: maker/model\n");
	assert_null(strstr(world->output, "sk-or-v1-abcdefgh"));
	/* The first of the list; the key that is there stays. */
	assert_int_equal(setup(world, "1\n\nother/model"), 0);
	expect_text(world->dotenv, "OPENROUTER_API_KEY=sk-or-v1-abcdefgh\n");
	expect_text(world->yaml, "model:\n  provider: openrouter\n  default: other/model\n");
}

static void
test_custom(void **state)
{
	struct world *world = *state;
	struct configuration *configuration;
	struct runtime runtime;
	struct buffer error = BUFFER_EMPTY;

	assert_int_equal(
	    setup(world, "custom\nftp://x\nhttp://127.0.0.1:9/v1/\nlocal-key\nmock\n"), 0);
	expect_text(world->dotenv, "CUSTOM_API_KEY=local-key\n");
	configuration = configuration_load();
	assert_int_equal(runtime_resolve(configuration, NULL, NULL, &runtime, &error), 0);
	assert_string_equal(runtime.provider, "custom");
	assert_string_equal(runtime.base_url, "http://127.0.0.1:9/v1");
	assert_string_equal(runtime.api_key, "local-key");
	assert_string_equal(runtime.model, "mock");
	runtime_clear(&runtime);
	configuration_free(configuration);
	/* Another provider takes nothing over. */
	assert_int_equal(setup(world, "deepseek\nsk-deep\ndeepseek-chat\n"), 0);
	expect_text(world->yaml, "model:\n  provider: deepseek\n  default: deepseek-chat\n");
	buffer_free(&error);
}

static void
test_giving_up_writes_nothing(void **state)
{
	static const char *const answers[] = {"", "\n", "openrouter\n", "openrouter\n\n",
	    "openrouter\nsk-or-v1-abcdefgh\n", "openrouter\nsk-or-v1-abcdefgh\n\n",
	    "custom\n\n", "99\n98\n97\n", "openrouter\nwrong\nwrong\nwrong\n",
	    "anthropic\nbedrock\n\n"};
	struct world *world = *state;
	struct stat status;
	size_t i;

	for (i = 0; i < sizeof answers / sizeof *answers; i++) {
		assert_int_equal(setup(world, answers[i]), 1);
		assert_non_null(strstr(world->output, "nothing was stored"));
		assert_int_equal(stat(world->home, &status), -1);
	}
}

static void
test_broken_file_first(void **state)
{
	struct world *world = *state;

	assert_int_equal(mkdir(world->home, 0700), 0);
	put(world->yaml, "a: b: c\n");
	assert_int_equal(setup(world, "openrouter\nsk-or-v1-abcdefgh\nm\n"), 1);
	assert_non_null(strstr(world->output, "config.yaml line 1: "));
	expect_text(world->yaml, "a: b: c\n");
	assert_int_equal(access(world->dotenv, F_OK), -1);
}

static void
test_check(void **state)
{
	struct world *world = *state;
	char script[128];

	assert_int_equal(check(world, "/bin/sh", NULL), 1);
	assert_non_null(strstr(world->output, "problem  provider: No model provider"));
	assert_non_null(strstr(world->output, "note     home: "));
	assert_int_equal(mkdir(world->home, 0700), 0);
	put(world->dotenv, "OPENROUTER_API_KEY=sk-or-v1-abcdefgh\n");
	put(world->yaml, "model: m\n");
	assert_int_equal(check(world, "/bin/sh", NULL), 0);
	assert_non_null(strstr(world->output, "ok       provider: openrouter (model m, "));
	assert_null(strstr(world->output, "sk-or-v1-abcdefgh"));
	put(world->yaml, "model: m\nterminal:\n  timeout: abc\n");
	assert_int_equal(check(world, "/nonexistent", NULL), 1);
	assert_non_null(strstr(world->output, "config.yaml line 3, key terminal.timeout: "));
	assert_non_null(strstr(world->output, "problem  worker: /nonexistent: "));
	put(world->yaml, "");
	put(world->dotenv, "");
	snprintf(script, sizeof script, "%s/script.json", world->home);
	put(script, "{}");
	assert_int_equal(check(world, "/bin/sh", script), 0);
	put(script, "{,}");
	assert_int_equal(check(world, "/bin/sh", script), 1);
	assert_non_null(strstr(world->output, "is not JSON"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(test_provider, make_world, remove_world),
	    cmocka_unit_test_setup_teardown(test_custom, make_world, remove_world),
	    cmocka_unit_test_setup_teardown(
		test_giving_up_writes_nothing, make_world, remove_world),
	    cmocka_unit_test_setup_teardown(test_broken_file_first, make_world, remove_world),
	    cmocka_unit_test_setup_teardown(test_check, make_world, remove_world),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
