/*
 * Rows of sessions: making, completing, changing, ending, deleting, forking; titles, usage and
 * leases.
 */
#include <config.h>

#include "tests/unit/state_database.h"
#include "worker/store/state_fork.h"
#include "worker/store/state_lease.h"
#include "worker/store/state_messages.h"
#include "worker/store/state_session.h"
#include "worker/store/state_title.h"
#include "worker/store/state_usage.h"

#include <signal.h>

static double stamp;

static void
create(const char *id)
{
	struct store_session_info info = {.session_id = id,
	    .cwd = "/w/a",
	    .model = "m1",
	    .provider = "openrouter",
	    .base_url = "https://example.org/v1",
	    .api_mode = "chat_completions",
	    .system_prompt = "Be good."};

	info.config = parsed_json("{\"mode\": \"plan\"}");
	assert_int_equal(state_session_create(database, &info, &error), SQLITE_OK);
	json_object_put(info.config);
}

static void
say(const char *id, const char *json)
{
	struct json_object *message = parsed_json(json);
	int64_t row;

	assert_int_equal(
	    state_messages_append(database, id, message, 0, &stamp, &row), SQLITE_OK);
	json_object_put(message);
}

static void
exchange(const char *id)
{
	say(id, "{\"role\": \"user\", \"content\": \"question\"}");
	say(id,
	    "{\"role\": \"assistant\", \"content\": null, \"tool_calls\": [{\"id\": \"c1\", "
	    "\"function\": {\"name\": \"todo\", \"arguments\": \"{}\"}}, {\"id\": \"c2\"}]}");
	say(id, "{\"role\": \"tool\", \"tool_call_id\": \"c1\", \"content\": \"1\"}");
	say(id, "{\"role\": \"tool\", \"tool_call_id\": \"c2\", \"content\": \"2\"}");
	say(id, "{\"role\": \"assistant\", \"content\": \"answer\"}");
}

static void
test_create(void **state)
{
	struct json_object *session;

	(void)state;
	create("s");
	assert_int_equal(state_session_read(database, "s", &session), SQLITE_OK);
	assert_string_equal(json_member_text(session, "cwd", ""), "/w/a");
	assert_string_equal(json_member_text(session, "model", ""), "m1");
	assert_string_equal(
	    json_member_text(json_member(session, "config"), "mode", ""), "plan");
	assert_string_equal(json_member_text(json_member(session, "config"), "api_mode", ""),
	    "chat_completions");
	json_object_put(session);
	assert_string_equal(value("SELECT model_config FROM sessions"),
	    "{\"cwd\": \"/w/a\", \"provider\": \"openrouter\", \"base_url\": "
	    "\"https://example.org/v1\", \"api_mode\": \"chat_completions\", \"mode\": "
	    "\"plan\"}");
	assert_string_equal(value("SELECT prompt FROM system_prompts JOIN sessions ON hash = "
				  "system_prompt_hash"),
	    "Be good.");
	assert_string_equal(value("SELECT hash FROM system_prompts"),
	    "8b979bed848ca68e88fc5f1840f9edb1267e906ae967f6b964aa5b3e10ff4e10");
	assert_string_equal(
	    value("SELECT system_prompt IS NULL AND source = 'acp' FROM sessions"), "1");
}

static void
test_create_completes(void **state)
{
	(void)state;
	sql("INSERT INTO sessions(id, source, started_at, model, ended_at, end_reason, "
	    "model_config) VALUES ('s', 'unknown', 1, 'older', 2, 'idle_timeout', "
	    "'{\"mode\": \"default\", \"other\": 1}')");
	create("s");
	assert_string_equal(value("SELECT source || ' ' || model || ' ' || cwd FROM sessions"),
	    "acp older /w/a");
	assert_string_equal(
	    value("SELECT ended_at IS NULL AND end_reason IS NULL AND started_at "
		  "= 1 FROM sessions"),
	    "1");
	assert_string_equal(value("SELECT json_extract(model_config, '$.mode') || "
				  "json_extract(model_config, '$.other') FROM sessions"),
	    "default1");
}

static void
test_summed_up_session_is_refused(void **state)
{
	struct store_session_info info = {.session_id = "s"};

	(void)state;
	sql("INSERT INTO sessions(id, source, started_at, ended_at, end_reason) VALUES "
	    "('s', 'acp', 1, 2, 'compression')");
	assert_int_equal(state_session_create(database, &info, &error), STATE_REFUSED);
	assert_non_null(strstr(buffer_text(&error), "session s was summed up"));
}

static void
test_unknown_sessions(void **state)
{
	static const char *const ids[] = {"nope", "", "../../x", "'; drop table sessions;--"};
	struct json_object *session;
	size_t i;

	(void)state;
	sql("INSERT INTO sessions(id, source, started_at) VALUES ('cli', 'cli', 1)");
	for (i = 0; i < sizeof ids / sizeof ids[0]; i++) {
		assert_int_equal(
		    state_session_read(database, ids[i], &session), SQLITE_NOTFOUND);
		assert_null(session);
	}
	assert_int_equal(state_session_read(database, "cli", &session), SQLITE_NOTFOUND);
	assert_string_equal(value("SELECT count(*) FROM sessions"), "1");
}

static void
test_update(void **state)
{
	struct store_session_info info = {.session_id = "s", .cwd = "/w/b", .model = "m2"};

	(void)state;
	create("s");
	sql("UPDATE sessions SET git_branch = 'main', model_config = json_set(model_config, "
	    "'$._branched_from', 'p')");
	info.config = parsed_json("{\"mode\": \"default\", \"effort\": \"high\"}");
	assert_int_equal(state_session_update(database, &info), SQLITE_OK);
	json_object_put(info.config);
	assert_string_equal(
	    value("SELECT cwd || model || billing_provider || (git_branch IS NULL) "
		  "|| git_metadata_generation FROM sessions"),
	    "/w/bm2openrouter11");
	assert_string_equal(value("SELECT model_config FROM sessions"),
	    "{\"cwd\": \"/w/b\", \"provider\": \"openrouter\", \"base_url\": "
	    "\"https://example.org/v1\", \"api_mode\": \"chat_completions\", \"mode\": "
	    "\"default\", \"_branched_from\": \"p\", \"effort\": \"high\"}");
	info.session_id = "other";
	info.config = NULL;
	assert_int_equal(state_session_update(database, &info), SQLITE_OK);
	assert_string_equal(value("SELECT count(*) FROM sessions"), "1");
}

static void
test_broken_config_is_replaced(void **state)
{
	struct store_session_info info = {.session_id = "s", .cwd = "/w/c"};
	struct json_object *session;

	(void)state;
	create("s");
	sql("UPDATE sessions SET model_config = '{broken'");
	assert_int_equal(state_session_read(database, "s", &session), SQLITE_OK);
	assert_int_equal(json_object_object_length(json_member(session, "config")), 0);
	json_object_put(session);
	assert_int_equal(state_session_update(database, &info), SQLITE_OK);
	assert_string_equal(value("SELECT model_config FROM sessions"), "{\"cwd\": \"/w/c\"}");
}

static void
title_is(const char *id, const char *title, const char *source, const char *expected)
{
	char *stored;

	assert_int_equal(state_title_set(database, id, title, source, &stored), SQLITE_OK);
	if (expected == NULL)
		assert_null(stored);
	else
		assert_string_equal(stored, expected);
	free(stored);
}

static void
test_titles(void **state)
{
	(void)state;
	create("a");
	create("b");
	create("c");
	title_is("a", "Name", "derived", "Name");
	title_is("b", "Name", "derived", "Name #2");
	title_is("c", "Name #2", "derived", "Name #3");
	title_is("b", "Name #2", "derived", "Name #2"); /* its own */
	title_is("a", "Better", "llm", "Better");
	title_is("a", "Worse", "derived", "Better");
	title_is("a", "Mine", "user", "Mine");
	title_is("a", "Clever", "llm", "Mine");
	title_is("c", "100 % #x", "llm", "100 % #x");
	title_is("b", NULL, "user", NULL);
	assert_string_equal(value("SELECT title_source FROM sessions WHERE id = 'a'"), "user");
	sql("UPDATE sessions SET title = 'Old', title_source = NULL WHERE id = 'c'");
	title_is("c", "New", "llm", "Old");
}

static void
derived_is(const char *text, const char *expected)
{
	char *title = state_title_derive(text, strlen(text));

	if (expected == NULL)
		assert_null(title);
	else
		assert_string_equal(title, expected);
	free(title);
}

static void
test_derived_titles(void **state)
{
	(void)state;
	derived_is("  \n\t\n  Fix   the\tbug \nplease", "Fix the bug");
	derived_is(" \n ", NULL);
	derived_is("", NULL);
	derived_is("123456789 123456789 123456789 123456789 12345678",
	    "123456789 123456789 123456789 123456789 12345678");
	derived_is("123456789 123456789 123456789 123456789 123456789",
	    "123456789 123456789 123456789 123456789\xe2\x80\xa6");
	derived_is("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
	    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\xe2\x80\xa6");
}

static void
test_usage(void **state)
{
	struct store_usage usage = {.model = "m1",
	    .provider = "p",
	    .input = 10,
	    .output = 5,
	    .cache_read = -1,
	    .reasoning = 2,
	    .cost = 0.5,
	    .cost_status = "estimated"};

	(void)state;
	create("s");
	assert_int_equal(state_usage_add(database, "s", &usage), SQLITE_OK);
	usage.cost = -1;
	assert_int_equal(state_usage_add(database, "s", &usage), SQLITE_OK);
	usage.task = "title";
	assert_int_equal(state_usage_add(database, "s", &usage), SQLITE_OK);
	assert_int_equal(state_usage_add(database, "none", &usage), SQLITE_OK);
	assert_string_equal(value("SELECT input_tokens || ' ' || output_tokens || ' ' || "
				  "cache_read_tokens || ' ' || reasoning_tokens || ' ' || "
				  "api_call_count || ' ' || estimated_cost_usd FROM sessions"),
	    "30 15 0 6 3 0.5");
	assert_string_equal(
	    value("SELECT group_concat(task || ':' || api_call_count || ':' || "
		  "input_tokens || ':' || estimated_cost_usd, ' ') FROM (SELECT * "
		  "FROM session_model_usage ORDER BY task)"),
	    ":2:20:0.5 title:1:10:0.0");
}

static void
test_leases(void **state)
{
	char *mine = state_lease_holder(), *other = NULL, text[256];
	bool running = true;
	pid_t pid;

	(void)state;
	assert_int_equal(state_lease_running(database, "s", &running), SQLITE_OK);
	assert_false(running);
	assert_int_equal(state_lease_take(database, "s", mine, &error), SQLITE_OK);
	assert_int_equal(state_lease_take(database, "s", mine, &error), SQLITE_OK);
	assert_int_equal(
	    state_lease_take(database, "s", "pid=1:turn=x", &error), STATE_REFUSED);
	assert_non_null(strstr(buffer_text(&error), "session s is in use"));
	assert_non_null(strstr(buffer_text(&error), mine));
	assert_int_equal(state_lease_drop(database, "s", "pid=1:turn=x"), SQLITE_OK);
	assert_int_equal(state_lease_other(database, "s", "me", &other), SQLITE_OK);
	assert_string_equal(other, mine);
	free(other);
	assert_int_equal(state_lease_drop(database, "s", mine), SQLITE_OK);
	assert_int_equal(state_lease_take(database, "s", "pid=1:turn=x", &error), SQLITE_OK);
	sql("UPDATE session_turn_leases SET expires_at = 5");
	assert_int_equal(state_lease_take(database, "s", mine, &error), SQLITE_OK);
	/* A holder of ours that is dead keeps nobody out, though its parent may not have asked.
	 */
	pid = fork();
	if (pid == 0)
		_exit(0);
#ifdef HERMES_LINUX
	assert_int_equal(waitid(P_PID, (id_t)pid, NULL, WEXITED | WNOWAIT), 0);
#else
	wait_for(pid);
#endif
	(void)snprintf(text, sizeof text,
	    "UPDATE session_turn_leases SET holder = 'pid=%ld' || substr(holder, instr(holder, "
	    "':'))",
	    (long)pid);
	sql(text);
	assert_int_equal(state_lease_running(database, "s", &running), SQLITE_OK);
	assert_false(running);
	assert_int_equal(state_lease_take(database, "s", mine, &error), SQLITE_OK);
#ifdef HERMES_LINUX
	wait_for(pid);
#endif
	free(mine);
}

static void
test_delete(void **state)
{
	struct store_usage usage = {.model = "m1"};
	bool removed = true;

	(void)state;
	create("s");
	create("t");
	exchange("s");
	exchange("t");
	assert_int_equal(state_usage_add(database, "s", &usage), SQLITE_OK);
	sql("INSERT INTO sessions(id, source, started_at, parent_session_id, model_config) "
	    "VALUES "
	    "('fork', 'acp', 1, 's', '{\"_branched_from\": \"s\"}'), "
	    "('help', 'acp', 1, 's', '{\"_delegate_from\": \"s\"}'); INSERT INTO messages("
	    "session_id, role, content, timestamp) VALUES ('help', 'user', 'x', 1)");
	assert_int_equal(
	    state_session_delete(database, "nope", "me", &removed, &error), SQLITE_OK);
	assert_false(removed);
	assert_int_equal(
	    state_session_delete(database, "s", "me", &removed, &error), SQLITE_OK);
	assert_true(removed);
	assert_string_equal(
	    value("SELECT group_concat(id) FROM (SELECT id FROM sessions ORDER BY "
		  "id)"),
	    "fork,t");
	assert_string_equal(
	    value("SELECT count(*) FROM messages WHERE session_id <> 't'"), "0");
	assert_string_equal(value("SELECT count(*) FROM session_model_usage"), "0");
	assert_string_equal(value("SELECT count(*) FROM system_prompts"), "1"); /* t has it */
	assert_int_equal(
	    state_session_delete(database, "t", "me", &removed, &error), SQLITE_OK);
	assert_string_equal(value("SELECT count(*) FROM system_prompts"), "0");
	assert_string_equal(value("SELECT count(*) FROM messages"), "0");
	sql("INSERT INTO messages_fts(messages_fts, rank) VALUES ('integrity-check', 1)");
	assert_string_equal(value("SELECT count(*) FROM messages_fts WHERE messages_fts MATCH "
				  "'answer'"),
	    "0");
}

static void
test_delete_of_a_chain(void **state)
{
	bool removed;

	(void)state;
	sql("INSERT INTO sessions(id, source, started_at, ended_at, end_reason, "
	    "parent_session_id) "
	    "VALUES ('one', 'acp', 1, 2, 'compression', NULL), ('two', 'acp', 2, 3, "
	    "'compression', 'one'), ('three', 'acp', 3, NULL, NULL, 'two')");
	assert_int_equal(
	    state_session_delete(database, "three", "me", &removed, &error), SQLITE_OK);
	assert_string_equal(value("SELECT count(*) FROM sessions"), "0");
}

static void
test_delete_while_a_turn_runs(void **state)
{
	bool removed;

	(void)state;
	create("s");
	assert_int_equal(state_lease_take(database, "s", "pid=1:turn=x", &error), SQLITE_OK);
	assert_int_equal(
	    state_session_delete(database, "s", "me", &removed, &error), STATE_REFUSED);
	assert_false(removed);
	assert_non_null(strstr(buffer_text(&error), "cannot be deleted now"));
	assert_string_equal(value("SELECT count(*) FROM sessions"), "1");
}

static int64_t
fork_of(const char *source, const char *id)
{
	int64_t copied = -1;

	assert_int_equal(
	    state_fork(database, source, id, "/w/fork", &copied, &error), SQLITE_OK);
	return copied;
}

static void
test_fork(void **state)
{
	char *title;

	(void)state;
	create("s");
	exchange("s");
	assert_int_equal(state_title_set(database, "s", "Work", "user", &title), SQLITE_OK);
	free(title);
	assert_int_equal(fork_of("s", "f"), 5);
	assert_string_equal(
	    value("SELECT cwd || ' ' || model || ' ' || parent_session_id || ' ' || "
		  "title || ' ' || message_count || ' ' || tool_call_count FROM "
		  "sessions WHERE id = 'f'"),
	    "/w/fork m1 s Work #2 5 2");
	assert_string_equal(value("SELECT model_config FROM sessions WHERE id = 'f'"),
	    "{\"cwd\": \"/w/fork\", \"provider\": \"openrouter\", \"base_url\": "
	    "\"https://example.org/v1\", \"api_mode\": \"chat_completions\", \"mode\": "
	    "\"plan\", "
	    "\"_branched_from\": \"s\"}");
	assert_string_equal(
	    value("SELECT count(*) FROM messages AS a JOIN messages AS b ON "
		  "a.session_id = 's' AND b.session_id = 'f' AND b.id = a.id + 5 AND "
		  "a.content IS b.content AND a.tool_calls IS b.tool_calls AND "
		  "a.timestamp = b.timestamp"),
	    "5");
	/* What comes later stays on its side. */
	say("s", "{\"role\": \"user\", \"content\": \"only in s\"}");
	say("f", "{\"role\": \"user\", \"content\": \"only in f\"}");
	sql("UPDATE messages SET content = 'changed' WHERE session_id = 's'");
	assert_string_equal(
	    value("SELECT group_concat(coalesce(content, '-'), '|') FROM messages "
		  "WHERE session_id = 'f'"),
	    "question|-|1|2|answer|only in f");
	assert_string_equal(value("SELECT message_count FROM sessions WHERE id = 's'"), "6");
}

static void
test_fork_takes_whole_exchanges(void **state)
{
	(void)state;
	create("s");
	assert_int_equal(fork_of("s", "f0"), 0);
	exchange("s");
	say("s", "{\"role\": \"user\", \"content\": \"next\"}");
	assert_int_equal(fork_of("s", "f1"), 5);
	say("s",
	    "{\"role\": \"assistant\", \"content\": null, \"tool_calls\": [{\"id\": \"c1\"}, "
	    "{\"id\": \"c2\"}]}");
	assert_int_equal(fork_of("s", "f2"), 5);
	say("s", "{\"role\": \"tool\", \"tool_call_id\": \"c2\", \"content\": \"x\"}");
	assert_int_equal(fork_of("s", "f3"), 5);
	say("s", "{\"role\": \"tool\", \"tool_call_id\": \"c1\", \"content\": \"x\"}");
	/* The batch is whole: the end of a cancelled turn, unless the turn still runs. */
	assert_int_equal(fork_of("s", "f4"), 9);
	assert_int_equal(state_lease_take(database, "s", "pid=1:turn=x", &error), SQLITE_OK);
	assert_int_equal(fork_of("s", "f5"), 5);
	say("s", "{\"role\": \"assistant\", \"content\": \"almost\"}");
	assert_int_equal(fork_of("s", "f6"), 5);
	assert_int_equal(state_lease_drop(database, "s", "pid=1:turn=x"), SQLITE_OK);
	assert_int_equal(fork_of("s", "f7"), 10);
}

static void
test_fork_refusals(void **state)
{
	int64_t copied;

	(void)state;
	create("s");
	assert_int_equal(
	    state_fork(database, "nope", "f", "/w", &copied, &error), SQLITE_NOTFOUND);
	assert_string_equal(buffer_text(&error), "there is no session nope");
	buffer_clear(&error);
	assert_int_equal(state_fork(database, "s", "s", "/w", &copied, &error), STATE_REFUSED);
	assert_string_equal(value("SELECT count(*) FROM sessions"), "1");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    DATABASE_CASE(test_create),
	    DATABASE_CASE(test_create_completes),
	    DATABASE_CASE(test_summed_up_session_is_refused),
	    DATABASE_CASE(test_unknown_sessions),
	    DATABASE_CASE(test_update),
	    DATABASE_CASE(test_broken_config_is_replaced),
	    DATABASE_CASE(test_titles),
	    DATABASE_CASE(test_derived_titles),
	    DATABASE_CASE(test_usage),
	    DATABASE_CASE(test_leases),
	    DATABASE_CASE(test_delete),
	    DATABASE_CASE(test_delete_of_a_chain),
	    DATABASE_CASE(test_delete_while_a_turn_runs),
	    DATABASE_CASE(test_fork),
	    DATABASE_CASE(test_fork_takes_whole_exchanges),
	    DATABASE_CASE(test_fork_refusals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
