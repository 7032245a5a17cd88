/*
 * Pools of keys: how long a key rests, which one is next, and what is written down. Nothing of
 * auth.json that is not ours may be lost.
 */
#include <config.h>

#include "worker/config/auth_file.h"
#include "worker/config/configuration.h"
#include "worker/config/credential_pool.h"
#include "worker/config/endpoint.h"
#include "worker/config/runtime.h"
#include "common/json.h"

#include "tests/unit/config_home.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOW 1700000000.0

struct world {
	struct config_home home;
	char *path;
	struct credential_pool *pool;
};

static int
make_world(void **state)
{
	struct world *world = xcalloc(1, sizeof *world);

	config_home_init(&world->home, scratch_new());
	config_home_enter(&world->home);
	world->path = xasprintf("%s/auth.json", world->home.folder);
	*state = world;
	return 0;
}

static int
remove_world(void **state)
{
	static const char *const names[] = {
	    "auth.json", "auth.lock", "config.yaml", ".env", NULL};
	struct world *world = *state;

	credential_pool_release(world->pool);
	scratch_remove_only(world->home.folder, names);
	config_home_clear(&world->home);
	free(world->path);
	free(world);
	return 0;
}

/* A pool of keys a, b and c; the members of their entries come from `entries`. */
static void
begin(struct world *world, const char *strategy, const char *const entries[3])
{
	static const char *const ids[] = {"a", "b", "c"};
	struct buffer text = BUFFER_EMPTY;
	char key[16];
	int i;

	buffer_append_text(&text, "{\"credential_pool\":{\"p\":[");
	for (i = 0; i < 3; i++)
		buffer_printf(&text, "%s{\"id\":\"%s\",\"priority\":%d%s%s}", i > 0 ? "," : "",
		    ids[i], i, *entries[i] != '\0' ? "," : "", entries[i]);
	buffer_append_text(&text, "]}}");
	scratch_put_text(world->path, buffer_text(&text));
	buffer_free(&text);
	credential_pool_release(world->pool);
	world->pool = credential_pool_new(world->home.folder, "p", strategy);
	for (i = 0; i < 3; i++) {
		snprintf(key, sizeof key, "key-of-%s", ids[i]);
		assert_true(credential_pool_add(world->pool, ids[i], ids[i], key));
	}
}

static size_t
choose(struct world *world, size_t wanted, uint32_t tried)
{
	return credential_pool_choose(world->pool, wanted, tried, NOW, 1);
}

static double
until(const char *text, bool sole)
{
	const char *reason;
	struct json_object *entry = json_parse(text, strlen(text), &reason);
	double result;

	assert_non_null(entry);
	result = credential_state_until(entry, sole);
	json_object_put(entry);
	return result;
}

/* Seconds that a key rests, by what stopped it. */
static void
test_rests(void **state)
{
	static const struct {
		const char *text;
		double among, alone;
	} rows[] = {
	    {"{}", 0, 0},
	    {"{\"last_status\":\"ok\",\"last_status_at\":100}", 0, 0},
	    {"{\"last_status\":\"exhausted\"}", 0, 0},
	    {"{\"last_status\":\"exhausted\",\"last_status_at\":100,\"last_error_code\":429}",
		3700, 160},
	    {"{\"last_status\":\"exhausted\",\"last_status_at\":100,\"last_error_code\":401}",
		400, 400},
	    {"{\"last_status\":\"exhausted\",\"last_status_at\":100,\"last_error_code\":402}",
		3700, 3700},
	    {"{\"last_status\":\"exhausted\",\"last_status_at\":100,\"last_error_code\":403,"
	     "\"failure_reason\":\"billing\"}",
		3700, 3700},
	    {"{\"last_status\":\"exhausted\",\"last_status_at\":100,\"last_error_code\":null}",
		3700, 160},
	    {"{\"last_status\":\"exhausted\",\"last_status_at\":100,\"last_error_code\":429,"
	     "\"last_error_reset_at\":130.5}",
		130.5, 130.5},
	    {"{\"last_status\":\"exhausted\",\"last_error_reset_at\":1700000000500}",
		1700000000.5, 1700000000.5},
	    {"{\"last_status\":\"exhausted\",\"last_error_reset_at\":\"2023-11-14T22:13:20Z\"}",
		NOW, NOW},
	    {"{\"last_status\":\"exhausted\","
	     "\"last_error_reset_at\":\"2023-11-15T00:13:20.5+02:00\"}",
		NOW + 0.5, NOW + 0.5},
	    {"{\"last_status\":\"exhausted\",\"last_status_at\":\"soon\"}", 0, 0},
	    {"{\"last_status\":5,\"last_status_at\":[]}", 0, 0},
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof rows / sizeof *rows; i++) {
		assert_true(fabs(until(rows[i].text, false) - rows[i].among) < 0.01);
		assert_true(fabs(until(rows[i].text, true) - rows[i].alone) < 0.01);
	}
	assert_true(isinf(until("{\"last_status\":\"dead\"}", true)));
	assert_true(credential_state_until(NULL, false) == 0);
}

/* Which key is next. */
static void
test_choice(void **state)
{
	static const char *const fresh[] = {"", "", ""};
	static const char *const one_rests[] = {
	    "\"last_status\":\"exhausted\",\"last_error_reset_at\":1700000100", "", ""};
	static const char *const all_rest[] = {
	    "\"last_status\":\"exhausted\",\"last_error_reset_at\":1700000100",
	    "\"last_status\":\"exhausted\",\"last_error_reset_at\":1700000050",
	    "\"last_status\":\"dead\""};
	static const char *const used[] = {
	    "\"request_count\":5", "\"request_count\":2", "\"request_count\":9"};
	struct world *world = *state;

	begin(world, NULL, fresh);
	assert_int_equal(choose(world, CREDENTIAL_NONE, 0), 0);
	assert_int_equal(choose(world, 2, 0), 2);
	assert_int_equal(choose(world, 2, 4), 0);
	assert_int_equal(choose(world, CREDENTIAL_NONE, 1), 1);
	assert_int_equal(choose(world, CREDENTIAL_NONE, 7), CREDENTIAL_NONE);
	begin(world, "fill_first", one_rests);
	assert_int_equal(choose(world, 0, 0), 1);
	begin(world, NULL, all_rest);
	assert_int_equal(choose(world, 0, 0), 1);
	assert_int_equal(choose(world, CREDENTIAL_NONE, 1), CREDENTIAL_NONE);
	begin(world, "least_used", used);
	assert_int_equal(choose(world, CREDENTIAL_NONE, 0), 1);
	assert_int_equal(choose(world, CREDENTIAL_NONE, 2), 0);
	begin(world, "random", fresh);
	assert_int_equal(choose(world, CREDENTIAL_NONE, 0), 1);
	assert_int_equal(choose(world, CREDENTIAL_NONE, 2), 2);
	assert_true(credential_pool_strategy_known("round_robin"));
	assert_false(credential_pool_strategy_known("best"));
	assert_false(credential_pool_add(world->pool, "d", "d", "key-of-a"));
}

/* Without a file, and with one that cannot be used, the order counts. */
static void
test_no_file(void **state)
{
	static const char *const fresh[] = {"", "", ""};
	static const char *const broken[] = {"", "{", "[]", "null",
	    "{\"version\":2,\"credential_pool\":{\"p\":[]}}", "{\"version\":\"x\"}"};
	struct credential_failure failure = {.status = 429, .reset_after = -1};
	struct world *world = *state;
	struct buffer error = BUFFER_EMPTY;
	size_t i;

	begin(world, NULL, fresh);
	for (i = 0; i < sizeof broken / sizeof *broken; i++) {
		scratch_put_text(world->path, broken[i]);
		assert_int_equal(choose(world, CREDENTIAL_NONE, 1), 1);
		buffer_clear(&error);
		assert_int_equal(
		    credential_pool_fail(world->pool, 0, &failure, NOW, &error), -1);
		assert_int_equal(errno, 0);
		assert_non_null(strstr(buffer_text(&error), "auth.json"));
		scratch_holds(world->path, broken[i]);
	}
	unlink(world->path);
	assert_int_equal(choose(world, CREDENTIAL_NONE, 1), 1);
	buffer_clear(&error);
	assert_int_equal(credential_pool_fail(world->pool, 0, &failure, NOW, &error), 0);
	assert_int_equal(access(world->path, F_OK), -1);
	buffer_free(&error);
}

static void
test_lock(void **state)
{
	static const char *const fresh[] = {"", "", ""};
	struct credential_failure failure = {
	    .status = 429, .reset_after = 5, .reason = "rate_limit", .message = "slow"};
	struct world *world = *state;
	struct buffer error = BUFFER_EMPTY;
	char *lock = xasprintf("%s/auth.lock", world->home.folder);
	int fd = open(lock, O_RDWR | O_CREAT, 0600);

	begin(world, NULL, fresh);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	assert_int_equal(credential_pool_fail(world->pool, 0, &failure, NOW, &error), -1);
	assert_int_equal(errno, EWOULDBLOCK);
	close(fd);
	assert_int_equal(credential_pool_fail(world->pool, 0, &failure, NOW, &error), 0);
	assert_int_equal(choose(world, 0, 0), 1);
	assert_int_equal(scratch_mode(world->path) & 0777, 0600);
	buffer_free(&error);
	free(lock);
}

static int64_t
member_of(struct world *world, size_t index, const char *key)
{
	struct buffer problem = BUFFER_EMPTY;
	struct json_object *file = auth_file_read(world->home.folder, &problem);
	int64_t value = -1;

	assert_string_equal(buffer_text(&problem), "");
	json_member_integer(
	    json_object_array_get_idx(auth_file_pool(file, "p"), index), key, &value);
	json_object_put(file);
	buffer_free(&problem);
	return value;
}

/* The chosen key goes to the end of the row, or gets a stroke. */
static void
test_turns(void **state)
{
	static const char *const fresh[] = {"", "", ""};
	static const size_t order[] = {0, 1, 2, 0, 1};
	struct world *world = *state;
	struct buffer error = BUFFER_EMPTY;
	size_t i;

	begin(world, "round_robin", fresh);
	for (i = 0; i < 5; i++) {
		assert_int_equal(choose(world, CREDENTIAL_NONE, 0), order[i]);
		assert_int_equal(credential_pool_taken(world->pool, order[i], &error), 0);
	}
	assert_int_equal(member_of(world, 2, "priority"), 0);
	assert_int_equal(member_of(world, 1, "priority"), 2);
	begin(world, "least_used", fresh);
	for (i = 0; i < 5; i++) {
		assert_int_equal(choose(world, CREDENTIAL_NONE, 0), order[i]);
		assert_int_equal(credential_pool_taken(world->pool, order[i], &error), 0);
	}
	assert_int_equal(member_of(world, 0, "request_count"), 2);
	begin(world, "fill_first", fresh);
	assert_int_equal(credential_pool_taken(world->pool, 0, &error), 0);
	assert_int_equal(member_of(world, 0, "priority"), 0);
	buffer_free(&error);
}

/* A failure of a key that the user has replaced since, or of a dead one, changes nothing. */
static void
test_stays(void **state)
{
	static const char *const entries[] = {
	    "\"access_token\":\"another\"", "\"last_status\":\"dead\"", ""};
	const struct credential_failure failure = {.status = 401, .reset_after = -1};
	struct world *world = *state;
	struct buffer error = BUFFER_EMPTY, problem = BUFFER_EMPTY;
	struct json_object *file, *list;
	const char *status;
	size_t i;

	begin(world, "fill_first", entries);
	for (i = 0; i < 3; i++)
		assert_int_equal(
		    credential_pool_fail(world->pool, i, &failure, NOW, &error), 0);
	file = auth_file_read(world->home.folder, &problem);
	list = auth_file_pool(file, "p");
	for (i = 0; i < 3; i++) {
		static const char *const expected[] = {"", "dead", "exhausted"};

		status =
		    json_member_text(json_object_array_get_idx(list, i), "last_status", "");
		assert_string_equal(status, expected[i]);
	}
	json_object_put(file);
	buffer_free(&error);
	buffer_free(&problem);
}

/* A key of a variable has no place in the file: it is the last whatever the strategy. */
static void
test_variables_are_last(void **state)
{
	static const char *const used[] = {
	    "\"request_count\":7", "\"request_count\":5", "\"request_count\":6"};
	struct world *world = *state;

	begin(world, "least_used", used);
	assert_true(credential_pool_add(world->pool, NULL, "VARIABLE", "key-of-variable"));
	assert_int_equal(choose(world, CREDENTIAL_NONE, 0), 1);
	assert_int_equal(choose(world, CREDENTIAL_NONE, 7), 3);
}

/* Eight processes count at the same time. */
static void
test_writers(void **state)
{
	static const char *const fresh[] = {"", "", ""};
	struct world *world = *state;
	int status, i, done;

	begin(world, "least_used", fresh);
	for (i = 0; i < 8; i++)
		if (fork() == 0) {
			struct buffer error = BUFFER_EMPTY;

			for (done = 0; done < 10;)
				if (credential_pool_taken(world->pool, 1, &error) == 0)
					done++;
				else if (errno != EWOULDBLOCK)
					_exit(1);
			_exit(0);
		}
	for (i = 0; i < 8; i++) {
		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	assert_int_equal(member_of(world, 1, "request_count"), 80);
}

static void
expect_key(struct world *world, const char *dotenv, const char *yaml, const char *auth,
    const char *base_url, const char *key)
{
	struct configuration *configuration;
	struct buffer error = BUFFER_EMPTY;
	struct runtime runtime;

	scratch_put_text(world->home.dotenv, dotenv);
	scratch_put_text(world->home.yaml, yaml);
	scratch_put_text(world->path, auth);
	configuration = configuration_load();
	if (runtime_resolve(configuration, NULL, "m", &runtime, &error) == -1) {
		assert_string_equal(buffer_text(&error), "");
		fail();
	}
	assert_string_equal(runtime.base_url, base_url);
	assert_string_equal(runtime.api_key != NULL ? runtime.api_key : "(none)", key);
	runtime_clear(&runtime);
	configuration_free(configuration);
	buffer_free(&error);
}

#define ENTRY(key, more) "{\"id\":\"" key "\",\"access_token\":\"" key "\"" more "}"
#define POOL(provider, entries) "{\"credential_pool\":{\"" provider "\":[" entries "]}}"

/* Which key of the file goes where. */
static void
test_resolve(void **state)
{
	static const char deepseek[] = "https://api.deepseek.com/v1";
	static const char named[] = "model: {provider: deepseek}\n";
	struct world *world = *state;

	/* before the variables, and for a variable its value */
	expect_key(world, "DEEPSEEK_API_KEY=of-the-variable\n", named,
	    POOL("deepseek", ENTRY("of-the-file", "")), deepseek, "of-the-file");
	expect_key(world, "DEEPSEEK_API_KEY=of-the-variable\n", named,
	    POOL("deepseek", ENTRY("stale", ",\"source\":\"env:DEEPSEEK_API_KEY\"")), deepseek,
	    "of-the-variable");
	/* not what is a login, a placeholder or not a header */
	expect_key(world, "DEEPSEEK_API_KEY=of-the-variable\n", named,
	    POOL("deepseek",
		ENTRY("login", ",\"auth_type\":\"oauth\"") "," ENTRY("none", "") "," ENTRY(
		    "with blank", "") ",7," ENTRY("stale", ",\"source\":\"env:HOME\"")),
	    deepseek, "of-the-variable");
	/* not to an address of somebody else */
	expect_key(world, "",
	    "model: {provider: deepseek, base_url: 'http://127.0.0.1:9/v1'}\n",
	    POOL("deepseek", ENTRY("of-the-file", "")), "http://127.0.0.1:9/v1", "(none)");
	expect_key(world, "",
	    "model: {provider: deepseek, base_url: 'http://127.0.0.1:9/v1'}\n",
	    POOL("deepseek",
		ENTRY("elsewhere", ",\"base_url\":\"http://127.0.0.1:8/v1\"") "," ENTRY(
		    "there", ",\"base_url\":\"http://127.0.0.1:9/\"")),
	    "http://127.0.0.1:9/v1", "there");
	/* its own address where none is named */
	expect_key(world, "", named,
	    POOL("deepseek",
		ENTRY("of-the-file", ",\"base_url\":\"https://eu.example.com/v2/\"")),
	    "https://eu.example.com/v2", "of-the-file");
	/* a key that is named in config.yaml comes first; names of own servers as Hermes writes
	 * them */
	expect_key(world, "",
	    "model: {provider: 'custom:My Lab'}\ncustom_providers:\n- {name: My Lab, base_url: "
	    "'https://lab.example.com'}\n",
	    POOL("custom:my-lab", ENTRY("of-the-file", "")), "https://lab.example.com",
	    "of-the-file");
	expect_key(world, "",
	    "model: {provider: 'custom:lab'}\ncustom_providers:\n- {name: lab, api_key: "
	    "inline, "
	    "base_url: 'https://lab.example.com'}\n",
	    POOL("custom:lab", ENTRY("of-the-file", "")), "https://lab.example.com", "inline");
	/* by itself: OpenRouter before others, the active one, the first */
	expect_key(world, "", "",
	    "{\"active_provider\":\"xai\",\"credential_pool\":{\"deepseek\":[" ENTRY(
		"first", "") "]}}",
	    deepseek, "first");
}

static void
test_origins(void **state)
{
	(void)state;
	assert_true(endpoint_same_origin("https://A.example/v1", "https://a.example:443"));
	assert_false(endpoint_same_origin("https://a.example", "http://a.example"));
	assert_false(endpoint_same_origin("http://127.0.0.1:1", "http://127.0.0.1:2"));
	assert_false(endpoint_same_origin("http://a.example.com", "http://example.com"));
	assert_false(endpoint_same_origin("nonsense", "nonsense"));
	assert_true(endpoint_is_local("http://192.168.1.5:1234/v1"));
	assert_true(endpoint_is_local("http://172.31.0.1"));
	assert_true(endpoint_is_local("http://host.docker.internal:1"));
	assert_true(endpoint_is_local("http://ollama:11434"));
	assert_false(endpoint_is_local("http://172.32.0.1"));
	assert_false(endpoint_is_local("https://api.example.com"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_rests),
	    cmocka_unit_test(test_origins),
	    cmocka_unit_test_setup_teardown(test_choice, make_world, remove_world),
	    cmocka_unit_test_setup_teardown(test_no_file, make_world, remove_world),
	    cmocka_unit_test_setup_teardown(test_lock, make_world, remove_world),
	    cmocka_unit_test_setup_teardown(test_turns, make_world, remove_world),
	    cmocka_unit_test_setup_teardown(test_stays, make_world, remove_world),
	    cmocka_unit_test_setup_teardown(test_variables_are_last, make_world, remove_world),
	    cmocka_unit_test_setup_teardown(test_writers, make_world, remove_world),
	    cmocka_unit_test_setup_teardown(test_resolve, make_world, remove_world),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
