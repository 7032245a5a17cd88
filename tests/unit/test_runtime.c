/*
 * Configuration and the runtime that comes out of it. The rule that matters most: a key
 * reaches no host that it does not belong to.
 */
#include <config.h>

#include "worker/config/provider_table.h"
#include "worker/config/configuration.h"
#include "worker/config/endpoint.h"
#include "worker/config/runtime.h"

#include "tests/unit/config_home.h"

#define ROUTER_KEY "sk-or-v1-abcdef"
#define OPENAI_KEY "sk-openai-abcdef"

struct world {
	struct config_home home;
	struct configuration *configuration;
	struct runtime runtime;
	struct buffer error;
};

static int
make_world(void **state)
{
	struct world *world = xcalloc(1, sizeof *world);

	config_home_init(&world->home, scratch_new());
	config_home_enter(&world->home);
	*state = world;
	return 0;
}

static void
forget(struct world *world)
{
	runtime_clear(&world->runtime);
	configuration_free(world->configuration);
	world->configuration = NULL;
	buffer_clear(&world->error);
}

static int
remove_world(void **state)
{
	static const char *const names[] = {"config.yaml", ".env", NULL};
	struct world *world = *state;

	forget(world);
	buffer_free(&world->error);
	scratch_remove_only(world->home.folder, names);
	config_home_clear(&world->home);
	free(world);
	return 0;
}

/* Loads these two files and resolves. */
static int
resolve_as(struct world *world, const char *dotenv, const char *yaml, const char *provider,
    const char *model)
{
	forget(world);
	scratch_put_text(world->home.dotenv, dotenv);
	scratch_put_text(world->home.yaml, yaml);
	world->configuration = configuration_load();
	return runtime_resolve(
	    world->configuration, provider, model, &world->runtime, &world->error);
}

static int
resolve(struct world *world, const char *dotenv, const char *yaml)
{
	return resolve_as(world, dotenv, yaml, NULL, NULL);
}

static void
expect_mode(struct world *world, const char *provider, const char *base_url, const char *key,
    const char *mode)
{
	assert_string_equal(buffer_text(&world->error), "");
	assert_string_equal(world->runtime.provider, provider);
	assert_string_equal(world->runtime.base_url, base_url);
	assert_string_equal(
	    world->runtime.api_key != NULL ? world->runtime.api_key : "(none)", key);
	assert_string_equal(world->runtime.api_mode, mode);
}

static void
expect(struct world *world, const char *provider, const char *base_url, const char *key)
{
	bool responses = strstr(base_url, "//api.openai.com/") != NULL ||
			 strstr(base_url, "//api.x.ai/") != NULL;

	expect_mode(
	    world, provider, base_url, key, responses ? "codex_responses" : "chat_completions");
}

static void
expect_anthropic(
    struct world *world, const char *provider, const char *base_url, const char *key)
{
	expect_mode(world, provider, base_url, key, "anthropic_messages");
}

static void
expect_error(struct world *world, const char *part)
{
	if (strstr(buffer_text(&world->error), part) == NULL)
		assert_string_equal(buffer_text(&world->error), part);
	assert_null(world->runtime.provider);
	assert_null(world->runtime.api_key);
}

static void
test_nothing_configured(void **state)
{
	struct world *world = *state;

	assert_int_equal(resolve(world, "", ""), -1);
	expect_error(world, "No model provider is configured");
	expect_error(world, world->home.dotenv);
	expect_error(world, "hermes-acp --setup");
	unlink(world->home.yaml);
	forget(world);
	world->configuration = configuration_load();
	assert_int_equal(
	    runtime_resolve(world->configuration, NULL, NULL, &world->runtime, &world->error),
	    -1);
	expect_error(world, "config.yaml does not exist");
	assert_string_equal(configuration_problems(world->configuration), "");
	assert_int_equal(resolve(world, "OPENROUTER_API_KEY=changeme\n", ""), -1);
	expect_error(world, "OPENROUTER_API_KEY is set but does not hold a key");
}

static void
test_choice_by_key(void **state)
{
	struct world *world = *state;

	assert_int_equal(
	    resolve(world, "OPENAI_API_KEY=" OPENAI_KEY "\nOPENROUTER_API_KEY=" ROUTER_KEY,
		"model: a/b"),
	    0);
	expect(world, "openrouter", "https://openrouter.ai/api/v1", ROUTER_KEY);
	assert_string_equal(world->runtime.model, "a/b");
	assert_non_null(json_member(world->runtime.headers, "X-Title"));
	assert_int_equal(resolve(world, "OPENAI_API_KEY=" OPENAI_KEY, "model: gpt-5"), 0);
	expect(world, "openai-api", "https://api.openai.com/v1", OPENAI_KEY);
	assert_int_equal(world->runtime.context_length, 400000);
	assert_int_equal(
	    resolve(world, "ANTHROPIC_API_KEY=sk-ant-x\nDEEPSEEK_API_KEY=sk-d\n", "model: d"),
	    0);
	expect_anthropic(world, "anthropic", "https://api.anthropic.com", "sk-ant-x");
	assert_int_equal(world->runtime.silence_timeout_ms, 900000);
	assert_int_equal(resolve(world, "ANTHROPIC_TOKEN=sk-ant-oat01-y\n",
			     "model: {provider: claude, default: c}"),
	    0);
	expect_anthropic(world, "anthropic", "https://api.anthropic.com", "sk-ant-oat01-y");
	assert_int_equal(
	    resolve(world, "", "model: {provider: bedrock, default: m, api_mode: x}"), -1);
}

static void
test_environment_of_a_test_server(void **state)
{
	struct world *world = *state;

	setenv("OPENAI_API_KEY", "test", 1);
	setenv("OPENAI_BASE_URL", "http://127.0.0.1:4000/v1/", 1);
	assert_int_equal(resolve(world, "", ""), -1);
	expect_error(world, "model.default");
	setenv("HERMES_MODEL", "mock", 1);
	assert_int_equal(resolve(world, "", ""), 0);
	expect(world, "openai-api", "http://127.0.0.1:4000/v1", "test");
	assert_string_equal(world->runtime.model, "mock");
	assert_int_equal(resolve(world, "OPENAI_API_KEY=fromfile", "model: m"), 0);
	expect(world, "openai-api", "http://127.0.0.1:4000/v1", "fromfile");
	assert_string_equal(world->runtime.model, "m");
	/* The same with a config.yaml that cannot be read: the address is clear. */
	assert_int_equal(resolve(world, "", "model: [\n"), 0);
	assert_non_null(
	    strstr(configuration_problems(world->configuration), "config.yaml line 2"));
}

static void
test_a_broken_file_chooses_nobody(void **state)
{
	struct world *world = *state;

	assert_int_equal(
	    resolve(world, "OPENROUTER_API_KEY=" ROUTER_KEY "\nHERMES_MODEL=m", "a: b: c\n"),
	    -1);
	expect_error(world, "config.yaml line 1: mapping values");
}

static void
test_keys_stay_with_their_hosts(void **state)
{
	static const char keys[] =
	    "OPENAI_API_KEY=" OPENAI_KEY "\nOPENROUTER_API_KEY=" ROUTER_KEY
	    "\nANTHROPIC_API_KEY=sk-ant-x\nGROQ_API_KEY=gsk-abc\n";
	static const char *const strangers[] = {"http://127.0.0.1:9/v1",
	    "https://openrouter.ai.evil.example/v1", "https://evilopenrouter.ai/v1",
	    "https://api.openai.example/v1", "https://anthropic.example/v1",
	    "https://[::1]:8080/v1", "http://192.0.2.7/v1"};
	struct world *world = *state;
	char yaml[256];
	size_t i;

	for (i = 0; i < sizeof strangers / sizeof *strangers; i++) {
		snprintf(yaml, sizeof yaml,
		    "model: {provider: custom, default: m, base_url: \"%s\"}", strangers[i]);
		assert_int_equal(resolve(world, keys, yaml), 0);
		expect(world, "custom", strangers[i], "(none)");
	}
	assert_int_equal(resolve(world, keys,
			     "model: {provider: custom, default: m, base_url: "
			     "https://api.groq.com/openai/v1}"),
	    0);
	expect(world, "custom", "https://api.groq.com/openai/v1", "gsk-abc");
	assert_int_equal(resolve(world, keys,
			     "model: {provider: openrouter, default: m, base_url: "
			     "http://127.0.0.1:9/v1}"),
	    0);
	expect(world, "openrouter", "http://127.0.0.1:9/v1", "(none)");
	setenv("OPENROUTER_BASE_URL", "http://127.0.0.1:9/v1", 1);
	assert_int_equal(resolve(world, keys, "model: {provider: openrouter, default: m}"), 0);
	expect(world, "openrouter", "http://127.0.0.1:9/v1", "(none)");
	assert_int_equal(resolve(world, keys,
			     "model: {provider: openai-api, default: m, base_url: "
			     "https://proxy.example/v1}"),
	    -1);
	expect_error(world, "OPENAI_API_KEY is not sent to proxy.example");
	assert_int_equal(
	    resolve(world, keys,
		"model: {provider: openai-api, default: m, key_env: OPENAI_API_KEY, "
		"base_url: https://proxy.example/v1}"),
	    0);
	expect(world, "openai-api", "https://proxy.example/v1", OPENAI_KEY);
}

static void
test_a_configured_key_stays_with_its_block(void **state)
{
	static const char yaml[] = "model:\n  provider: custom\n  default: m\n"
				   "  base_url: https://one.example/v1\n  api_key: key-one\n";
	struct world *world = *state;

	assert_int_equal(resolve(world, "", yaml), 0);
	expect(world, "custom", "https://one.example/v1", "key-one");
	assert_int_equal(resolve(world, "CUSTOM_BASE_URL=https://two.example/v1", yaml), 0);
	expect(world, "custom", "https://two.example/v1", "(none)");
	/* Another provider than the configured one gets neither address nor key. */
	assert_int_equal(
	    resolve_as(world, "DEEPSEEK_API_KEY=sk-d", yaml, "deepseek", "deepseek-chat"), 0);
	expect(world, "deepseek", "https://api.deepseek.com/v1", "sk-d");
	assert_int_equal(resolve_as(world, "", yaml, "deepseek", "deepseek-chat"), -1);
	expect_error(world, "DEEPSEEK_API_KEY=");
}

static void
test_named_endpoints(void **state)
{
	static const char yaml[] =
	    "model: {provider: 'custom:My Box', default: m}\n"
	    "custom_providers:\n"
	    "- {name: my box, base_url: 'http://10.0.0.5:1/v1', key_env: BOX, model: boxed}\n"
	    "providers:\n"
	    "  lab:\n    api: https://lab.example/v1\n    api_key: lab-key\n    model: "
	    "lab-model\n"
	    "    request_timeout_seconds: 12.5\n    extra_headers: {X-Team: a, 'bad name': b}\n"
	    "    extra_body: {top_k: 3}\n"
	    "    models: {lab-model: {context_length: 65536}}\n"
	    "  deepseek: {stale_timeout_seconds: 7}\n";
	struct world *world = *state;

	assert_int_equal(resolve(world, "BOX=box-secret\n", yaml), 0);
	expect(world, "custom:my box", "http://10.0.0.5:1/v1", "box-secret");
	assert_string_equal(world->runtime.model, "m");
	assert_int_equal(resolve_as(world, "", yaml, "lab", NULL), 0);
	expect(world, "custom:lab", "https://lab.example/v1", "lab-key");
	assert_string_equal(world->runtime.model, "lab-model");
	assert_int_equal(world->runtime.total_timeout_ms, 12500);
	assert_int_equal(world->runtime.context_length, 65536);
	assert_string_equal(json_text(world->runtime.headers, NULL), "{\"X-Team\":\"a\"}");
	assert_string_equal(json_text(world->runtime.extra_body, NULL), "{\"top_k\":3}");
	assert_non_null(
	    strstr(configuration_problems(world->configuration), "key providers.lab.bad name"));
	assert_int_equal(resolve_as(world, "DEEPSEEK_API_KEY=sk-d", yaml, "deepseek", "x"), 0);
	assert_int_equal(world->runtime.silence_timeout_ms, 7000);
	assert_int_equal(resolve_as(world, "", yaml, "custom:none", NULL), -1);
	expect_error(world, "\"custom:none\" is not defined");
}

static void
test_names(void **state)
{
	struct world *world = *state;

	assert_int_equal(
	    resolve(world, "XAI_API_KEY=xai-k", "model: {provider: grok, name: g}"), 0);
	expect(world, "xai", "https://api.x.ai/v1", "xai-k");
	assert_string_equal(world->runtime.model, "g");
	assert_int_equal(resolve(world, "", "model: {provider: nonsense, default: m}"), -1);
	expect_error(world, "\"nonsense\" is not known");
	assert_int_equal(resolve(world, "", "model: {provider: bedrock, default: m}"), -1);
	expect_error(world, "not supported by this version: it needs AWS");
	assert_int_equal(resolve(world, "", "model: {provider: lmstudio, default: m}"), 0);
	expect(world, "lmstudio", "http://127.0.0.1:1234/v1", "(none)");
	assert_int_equal(
	    resolve(world, "", "model: {default: m, base_url: 'http://localhost:8080'}"), 0);
	expect(world, "custom", "http://localhost:8080", "(none)");
	assert_int_equal(resolve(world, "", "model: {provider: rehearsal}"), 0);
	assert_string_equal(world->runtime.api_mode, "rehearsal");
	assert_int_equal(resolve(world, "MINIMAX_API_KEY=abcd",
			     "model: {provider: minimax, "
			     "default: m}"),
	    0);
	assert_string_equal(world->runtime.api_mode, "anthropic_messages");
	assert_int_equal(
	    resolve(world, "KIMI_API_KEY=sk-kimi-abcd", "model: {provider: kimi, default: m}"),
	    0);
	expect_anthropic(world, "kimi-coding", "https://api.kimi.com/coding", "sk-kimi-abcd");
	assert_int_equal(resolve(world, "XAI_API_KEY=abcd",
			     "model: {provider: xai, default: m, api_mode: codex_app_server}"),
	    -1);
	expect_error(world, "codex_app_server");
	assert_int_equal(resolve(world, "XAI_API_KEY=abcd",
			     "model: {provider: xai, default: m, api_mode: q}"),
	    -1);
	expect_error(world, "\"q\" at model.api_mode");
}

/* The dialect is that of the address, unless it is named. */
static void
test_modes(void **state)
{
	static const struct {
		const char *model, *mode;
	} cases[] = {
	    {"provider: openai-api", "codex_responses"},
	    {"provider: openai-api, api_mode: chat_completions", "chat_completions"},
	    {"provider: openai-api, base_url: 'https://us.api.openai.com/v1'",
		"codex_responses"},
	    {"provider: openai-api, base_url: 'https://x.openai.azure.com/openai/v1'",
		"chat_completions"},
	    {"base_url: 'http://localhost:1/v1'", "chat_completions"},
	    {"base_url: 'http://localhost:1/v1', api_mode: responses", "codex_responses"},
	    {"base_url: 'http://localhost:1/v1', transport: codex_responses",
		"codex_responses"},
	};
	struct world *world = *state;
	struct buffer yaml = BUFFER_EMPTY;
	size_t i;

	for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		buffer_clear(&yaml);
		buffer_printf(&yaml, "model: {default: m, %s}", cases[i].model);
		assert_int_equal(
		    resolve(world, "OPENAI_API_KEY=" OPENAI_KEY, buffer_text(&yaml)), 0);
		assert_string_equal(world->runtime.api_mode, cases[i].mode);
	}
	buffer_free(&yaml);
	/* What --setup offers. */
	assert_true(provider_table_row_supported(provider_table_find("openai")));
	assert_true(provider_table_row_supported(provider_table_find("xai")));
}

static void
test_bad_addresses(void **state)
{
	static const char *const bad[] = {"ftp://a/v1", "https://", "https://a b/v1",
	    "https://openrouter.ai@evil.example", "https://evil.example\\\\@openrouter.ai",
	    "https://a:99999/", "https://a/v1?x=1", "${NOT_SET}", "https://%6fpenrouter.ai"};
	struct world *world = *state;
	char yaml[256];
	size_t i;

	for (i = 0; i < sizeof bad / sizeof *bad; i++) {
		snprintf(yaml, sizeof yaml,
		    "model: {provider: custom, default: m, base_url: \"%s\"}", bad[i]);
		assert_int_equal(resolve(world, "", yaml), -1);
		expect_error(world, "of model.base_url cannot be used");
	}
}

static void
test_settings(void **state)
{
	struct world *world = *state;

	assert_int_equal(resolve(world, "",
			     "model: {default: m, base_url: 'http://127.0.0.1:1/v1', "
			     "context_length: 80000, max_tokens: 900}\n"
			     "agent: {reasoning_effort: HIGH}\n"),
	    0);
	assert_int_equal(world->runtime.context_length, 80000);
	assert_int_equal(world->runtime.max_tokens, 900);
	assert_int_equal(world->runtime.silence_timeout_ms, 900000);
	assert_int_equal(world->runtime.total_timeout_ms, 1800000);
	assert_string_equal(world->runtime.reasoning_effort, "high");
	assert_int_equal(resolve(world, "HERMES_API_TIMEOUT=5\n",
			     "model: {default: m, base_url: 'http://127.0.0.1:1/v1', "
			     "context_length: lots}\n"
			     "agent: {reasoning_effort: silly}\n"),
	    0);
	assert_int_equal(world->runtime.context_length, 256000);
	assert_int_equal(world->runtime.total_timeout_ms, 5000);
	assert_string_equal(world->runtime.reasoning_effort, "");
	assert_non_null(strstr(configuration_problems(world->configuration),
	    "config.yaml line 1, key model.context_length: "));
	assert_non_null(strstr(configuration_problems(world->configuration),
	    "config.yaml line 2, key agent.reasoning_effort: "));
}

static void
test_context_lengths(void **state)
{
	(void)state;
	assert_int_equal(runtime_context_length("anthropic/Claude-Opus-4.6"), 1000000);
	assert_int_equal(runtime_context_length("claude-3-5-sonnet"), 200000);
	assert_int_equal(runtime_context_length("openai/gpt-5.4-mini"), 1050000);
	assert_int_equal(runtime_context_length("gpt-4.1"), 1047576);
	assert_int_equal(runtime_context_length("qwen3-coder-plus"), 262144);
	assert_int_equal(runtime_context_length("unheard-of"), 256000);
	assert_int_equal(runtime_context_length(NULL), 256000);
}

static void
test_configuration_values(void **state)
{
	struct world *world = *state;
	const struct configuration *configuration;

	setenv("TEST_OUTER", "outer", 1);
	resolve(world, "TEST_OUTER=file\nTEST_EMPTY=\n",
	    "terminal:\n  timeout: abc\n  n: '12'\n  f: 3.0\nacp:\n  on: yes\n  off: \"off\"\n"
	    "  odd: 7\ntext: a ${TEST_OUTER} ${env:TEST_OUTER} $HOME "
	    "${TEST_MISSING}|${TEST_EMPTY}\n"
	    "list: [1]\nflat: 5\n");
	configuration = world->configuration;
	assert_int_equal(configuration_integer(configuration, "terminal.timeout", 180), 180);
	assert_int_equal(configuration_integer(configuration, "terminal.timeout", 180), 180);
	assert_int_equal(configuration_integer(configuration, "terminal.n", 1), 12);
	assert_int_equal(configuration_integer(configuration, "terminal.f", 1), 3);
	assert_int_equal(configuration_integer(configuration, "terminal.none", 1), 1);
	assert_true(configuration_boolean(configuration, "acp.on", false));
	assert_false(configuration_boolean(configuration, "acp.off", true));
	assert_true(configuration_boolean(configuration, "acp.odd", true));
	assert_string_equal(configuration_string(configuration, "acp.odd", ""), "7");
	assert_string_equal(configuration_string(configuration, "list", "x"), "x");
	assert_null(configuration_value(configuration, "flat.inner"));
	assert_string_equal(configuration_string(configuration, "text", ""),
	    "a file file $HOME ${TEST_MISSING}|");
	assert_string_equal(configuration_variable(configuration, "TEST_OUTER"), "file");
	assert_null(configuration_variable(configuration, "TEST_EMPTY"));
	assert_string_equal(configuration_home(configuration), world->home.folder);
	assert_non_null(strstr(configuration_problems(configuration),
	    "config.yaml line 9, key text: the variable TEST_MISSING is not set"));
	assert_non_null(strstr(configuration_problems(configuration),
	    "config.yaml line 2, key terminal.timeout: \"abc\" is not a whole number; the "
	    "default 180 is used\n"));
	assert_non_null(strstr(configuration_problems(configuration), "line 8, key acp.odd"));
	assert_non_null(strstr(configuration_problems(configuration), "line 11, key flat: "));
	unsetenv("TEST_OUTER");
}

static void
test_unreadable_files(void **state)
{
	struct world *world = *state;

	forget(world);
	assert_int_equal(mkdir(world->home.yaml, 0700), 0);
	world->configuration = configuration_load();
	assert_non_null(strstr(configuration_problems(world->configuration),
	    "config.yaml: this is not a regular file"));
	assert_int_equal(
	    json_object_object_length(configuration_tree(world->configuration)), 0);
	assert_int_equal(rmdir(world->home.yaml), 0);
}

static void
test_hosts(void **state)
{
	char host[ENDPOINT_HOST_SIZE], *variable;

	(void)state;
	endpoint_host("HTTPS://API.Example.COM.:8443/v1", host);
	assert_string_equal(host, "api.example.com");
	assert_true(endpoint_is_loopback("http://127.8.9.1/"));
	assert_true(endpoint_is_loopback("http://[::1]:80"));
	assert_true(endpoint_is_loopback("http://x.localhost"));
	assert_false(endpoint_is_loopback("http://127.0.0.1.example.com"));
	assert_false(endpoint_is_loopback("http://localhost.example.com"));
	variable = endpoint_vendor_variable("llm.my-shop.co.uk");
	assert_string_equal(variable, "MY_SHOP_API_KEY");
	free(variable);
	assert_null(endpoint_vendor_variable("10.1.2.3"));
	assert_null(endpoint_vendor_variable("::1"));
	assert_null(endpoint_vendor_variable("machine"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(test_nothing_configured, make_world, remove_world),
	    cmocka_unit_test_setup_teardown(test_choice_by_key, make_world, remove_world),
	    cmocka_unit_test_setup_teardown(
		test_environment_of_a_test_server, make_world, remove_world),
	    cmocka_unit_test_setup_teardown(
		test_a_broken_file_chooses_nobody, make_world, remove_world),
	    cmocka_unit_test_setup_teardown(
		test_keys_stay_with_their_hosts, make_world, remove_world),
	    cmocka_unit_test_setup_teardown(
		test_a_configured_key_stays_with_its_block, make_world, remove_world),
	    cmocka_unit_test_setup_teardown(test_named_endpoints, make_world, remove_world),
	    cmocka_unit_test_setup_teardown(test_names, make_world, remove_world),
	    cmocka_unit_test_setup_teardown(test_modes, make_world, remove_world),
	    cmocka_unit_test_setup_teardown(test_bad_addresses, make_world, remove_world),
	    cmocka_unit_test_setup_teardown(test_settings, make_world, remove_world),
	    cmocka_unit_test(test_context_lengths),
	    cmocka_unit_test_setup_teardown(
		test_configuration_values, make_world, remove_world),
	    cmocka_unit_test_setup_teardown(test_unreadable_files, make_world, remove_world),
	    cmocka_unit_test(test_hosts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
