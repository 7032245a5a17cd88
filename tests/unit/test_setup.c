/*
 * The setup and the check, driven through files as pipes would drive them.
 */
#include <config.h>

#include "worker/config/check.h"
#include "worker/config/runtime.h"
#include "worker/config/setup.h"

#include "tests/unit/config_home.h"

struct world {
	char *parent;
	struct config_home home; /* in it, and not there at first */
	char *output;
	size_t output_length;
};

static int
make_world(void **state)
{
	struct world *world = xcalloc(1, sizeof *world);

	world->parent = scratch_new();
	config_home_init(&world->home, xasprintf("%s/home", world->parent));
	config_home_enter(&world->home);
	*state = world;
	return 0;
}

static int
remove_world(void **state)
{
	static const char *const names[] = {"home/config.yaml", "home/.env",
	    "home/config.yaml.lock", "home/.env.lock", "home/script.json", "home", NULL};
	struct world *world = *state;

	scratch_remove_only(world->parent, names);
	free(world->home.folder);
	config_home_clear(&world->home);
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
test_provider(void **state)
{
	struct world *world = *state;

	assert_int_equal(setup(world, "openrouter\nsk-or-v1-abcdefgh\nmaker/model\n"), 0);
	config_home_holds(world->home.dotenv, "OPENROUTER_API_KEY=sk-or-v1-abcdefgh\n");
	config_home_holds(
	    world->home.yaml, "model:\n  provider: openrouter\n  default: maker/model\n");
	assert_null(strstr(world->output, "sk-or-v1-abcdefgh"));
	/* The first of the list; the key that is there stays. */
	assert_int_equal(setup(world, "1\n\nother/model"), 0);
	config_home_holds(world->home.dotenv, "OPENROUTER_API_KEY=sk-or-v1-abcdefgh\n");
	config_home_holds(
	    world->home.yaml, "model:\n  provider: openrouter\n  default: other/model\n");
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
	config_home_holds(world->home.dotenv, "CUSTOM_API_KEY=local-key\n");
	configuration = configuration_load();
	assert_int_equal(runtime_resolve(configuration, NULL, NULL, &runtime, &error), 0);
	assert_string_equal(runtime.provider, "custom");
	assert_string_equal(runtime.base_url, "http://127.0.0.1:9/v1");
	assert_string_equal(runtime.api_key, "local-key");
	assert_string_equal(runtime.model, "mock");
	runtime_clear(&runtime);
	configuration_free(configuration);
	/* A server of another dialect is known by its address. */
	assert_int_equal(setup(world, "custom\nhttp://127.0.0.1:9/anthropic\n\nmock\n"), 0);
	configuration = configuration_load();
	assert_int_equal(runtime_resolve(configuration, NULL, NULL, &runtime, &error), 0);
	assert_string_equal(runtime.api_mode, "anthropic_messages");
	runtime_clear(&runtime);
	configuration_free(configuration);
	assert_int_equal(setup(world, "claude\nsk-ant-api03-abcdefgh\nclaude-x\n"), 0);
	config_home_holds(
	    world->home.yaml, "model:\n  provider: anthropic\n  default: claude-x\n");
	/* Another provider takes nothing over. */
	assert_int_equal(setup(world, "deepseek\nsk-deep\ndeepseek-chat\n"), 0);
	config_home_holds(
	    world->home.yaml, "model:\n  provider: deepseek\n  default: deepseek-chat\n");
	buffer_free(&error);
}

static void
test_giving_up_writes_nothing(void **state)
{
	static const char *const answers[] = {"", "\n", "openrouter\n", "openrouter\n\n",
	    "openrouter\nsk-or-v1-abcdefgh\n", "openrouter\nsk-or-v1-abcdefgh\n\n",
	    "custom\n\n", "99\n98\n97\n", "openrouter\nwrong\nwrong\nwrong\n",
	    "bedrock\nnous\n\n"};
	struct world *world = *state;
	struct stat status;
	size_t i;

	for (i = 0; i < sizeof answers / sizeof *answers; i++) {
		assert_int_equal(setup(world, answers[i]), 1);
		assert_non_null(strstr(world->output, "nothing was stored"));
		assert_int_equal(stat(world->home.folder, &status), -1);
	}
}

static void
test_broken_file_first(void **state)
{
	struct world *world = *state;

	assert_int_equal(mkdir(world->home.folder, 0700), 0);
	scratch_put_text(world->home.yaml, "a: b: c\n");
	assert_int_equal(setup(world, "openrouter\nsk-or-v1-abcdefgh\nm\n"), 1);
	assert_non_null(strstr(world->output, "config.yaml line 1: "));
	config_home_holds(world->home.yaml, "a: b: c\n");
	assert_int_equal(access(world->home.dotenv, F_OK), -1);
}

static void
test_check(void **state)
{
	struct world *world = *state;
	char script[128];

	assert_int_equal(check(world, "/bin/sh", NULL), 1);
	assert_non_null(strstr(world->output, "problem  provider: No model provider"));
	assert_non_null(strstr(world->output, "note     home: "));
	assert_int_equal(mkdir(world->home.folder, 0700), 0);
	scratch_put_text(world->home.dotenv, "OPENROUTER_API_KEY=sk-or-v1-abcdefgh\n");
	scratch_put_text(world->home.yaml, "model: m\n");
	assert_int_equal(check(world, "/bin/sh", NULL), 0);
	assert_non_null(strstr(world->output, "ok       provider: openrouter (model m, "));
	assert_null(strstr(world->output, "sk-or-v1-abcdefgh"));
	scratch_put_text(world->home.yaml, "model: m\nterminal:\n  timeout: abc\n");
	assert_int_equal(check(world, "/nonexistent", NULL), 1);
	assert_non_null(strstr(world->output, "config.yaml line 3, key terminal.timeout: "));
	assert_non_null(strstr(world->output, "problem  worker: /nonexistent: "));
	scratch_put_text(world->home.yaml, "");
	scratch_put_text(world->home.dotenv, "");
	snprintf(script, sizeof script, "%s/script.json", world->home.folder);
	scratch_put_text(script, "{}");
	assert_int_equal(check(world, "/bin/sh", script), 0);
	scratch_put_text(script, "{,}");
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
