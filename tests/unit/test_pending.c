/*
 * Open requests in both directions: each is answered once, found by the right key only, and
 * the lines are exact.
 */
#include <config.h>

#include "tests/lib/fake_supervisor.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static int
set_up(void **state)
{
	*state = fake_new();
	return 0;
}

static int
tear_down(void **state)
{
	fake_delete(*state);
	return 0;
}

static void
expect(struct fake *fake, const char *text)
{
	fake_run(fake);
	assert_string_equal(buffer_text(&fake->got), text);
	buffer_clear(&fake->got);
}

static void
test_answers(void **state)
{
	struct fake *fake = *state;
	struct pending_table *table = fake->supervisor.pending;
	struct pending *a, *b, *c, *d;

	assert_true(pending_table_empty(table));
	a = pending_new(table, PENDING_NEW, "1", 1, NULL);
	b = pending_new(table, PENDING_PROMPT, "\"x\\u00e9\"yyy", 9, NULL);
	c = pending_new(table, PENDING_CALL, "null", 4, NULL);
	d = pending_new(table, PENDING_CLOSE, "-9223372036854775808", 20, NULL);
	assert_false(pending_table_empty(table));
	pending_result(b, "{\"a\":1}", 7);
	expect(fake, "{\"jsonrpc\":\"2.0\",\"id\":\"x\\u00e9\",\"result\":{\"a\":1}}\n");
	pending_error(c, -32603, "line\nbreak \xff", NULL, 0);
	expect(fake, "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32603,\"message\":"
		     "\"line\\nbreak \xef\xbf\xbd\"}}\n");
	pending_error_with(d, -32002, "No", "k\"", "v");
	expect(fake,
	    "{\"jsonrpc\":\"2.0\",\"id\":-9223372036854775808,\"error\":{\"code\":-32002,"
	    "\"message\":\"No\",\"data\":{\"k\\\"\":\"v\"}}}\n");
	pending_start_result(a);
	client_writer_text(fake->supervisor.writer, "[]}\n");
	pending_done(a);
	expect(fake, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":[]}\n");
	assert_true(pending_table_empty(table));
}

static void
test_finding(void **state)
{
	struct fake *fake = *state;
	struct pending_table *table = fake->supervisor.pending;
	struct session *one = session_new(fake->supervisor.sessions, &fake->supervisor, NULL);
	struct session *two = session_new(fake->supervisor.sessions, &fake->supervisor, NULL);
	struct pending *a = pending_new(table, PENDING_CALL, "1", 1, one);
	struct pending *b = pending_new(table, PENDING_CALL, "11", 2, two);
	struct pending *c = pending_new(table, PENDING_CALL, "1", 1, one);

	assert_int_not_equal(pending_token(a), 0);
	assert_int_not_equal(pending_token(a), pending_token(b));
	assert_ptr_equal(pending_find(table, pending_token(a), one), a);
	assert_null(pending_find(table, pending_token(a), two)); /* another session's */
	assert_null(pending_find(table, 0, one));
	assert_null(pending_find(table, 4711, one));
	assert_ptr_equal(pending_find_id(table, "1", 1), a);
	assert_ptr_equal(pending_find_id(table, "11", 2), b);
	assert_null(pending_find_id(table, "\"1\"", 3));
	assert_null(pending_find_id(table, "111", 3));
	assert_ptr_equal(pending_first(table, PENDING_CALL, one), a);
	assert_null(pending_first(table, PENDING_CLOSE, one));
	pending_set_kind(a, PENDING_FORWARDED);
	assert_int_equal(pending_get_kind(a), PENDING_FORWARDED);
	assert_ptr_equal(pending_first(table, PENDING_CALL, one), c);
	assert_ptr_equal(pending_session(b), two);
	pending_done(a);
	assert_ptr_equal(pending_find_id(table, "1", 1), c);
	/* The rest is dropped with the table. */
}

static void
send_one(struct fake *fake, struct session *session, uint32_t request, const char *params)
{
	const struct client_question question = {.worker_request = request,
	    .turn = 1,
	    .method = "fs/read_text_file",
	    .method_length = 17,
	    .call = "",
	    .params = params,
	    .length = strlen(params)};

	assert_int_equal(
	    client_request_send(fake->supervisor.requests, session, session->quoted, &question),
	    0);
}

static void
test_client_requests(void **state)
{
	struct fake *fake = *state;
	struct client_request_table *table = fake->supervisor.requests;
	struct session *one = session_new(fake->supervisor.sessions, &fake->supervisor, NULL);
	struct session *two = session_new(fake->supervisor.sessions, &fake->supervisor, NULL);
	struct client_request *request;
	char line[300];

	send_one(fake, one, 7, "{}");
	snprintf(line, sizeof line,
	    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"fs/read_text_file\",\"params\":"
	    "{\"sessionId\":%s}}\n",
	    one->quoted);
	expect(fake, line);
	send_one(fake, two, 7, "{ \t\"path\":\"/a\"}");
	snprintf(line, sizeof line,
	    "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"fs/read_text_file\",\"params\":"
	    "{\"sessionId\":%s,\"path\":\"/a\"}}\n",
	    two->quoted);
	expect(fake, line);
	assert_int_equal(client_request_count(table, one), 1);
	assert_null(client_request_find(table, 3));
	assert_null(client_request_find(table, 0));
	assert_null(client_request_find(table, -1));
	request = client_request_find(table, 2);
	assert_non_null(request);
	assert_ptr_equal(client_request_session(request), two);
	assert_int_equal(client_request_number(request), 7);
	client_request_done(table, request);
	assert_null(client_request_find(table, 2)); /* a second answer */
	client_request_cancel(table, two, 7);	    /* already answered: nothing */
	client_request_cancel(table, one, 8);	    /* another number: nothing */
	expect(fake, "");
	client_request_cancel(table, one, 7);
	expect(fake, "{\"jsonrpc\":\"2.0\",\"method\":\"$/cancel_request\",\"params\":"
		     "{\"requestId\":1}}\n");
	send_one(fake, one, 1, "{}");
	send_one(fake, two, 1, "{}");
	send_one(fake, one, 2, "{}");
	fake_run(fake);
	buffer_clear(&fake->got);
	client_request_cancel_all(table, one);
	expect(fake, "{\"jsonrpc\":\"2.0\",\"method\":\"$/cancel_request\",\"params\":"
		     "{\"requestId\":3}}\n"
		     "{\"jsonrpc\":\"2.0\",\"method\":\"$/cancel_request\",\"params\":"
		     "{\"requestId\":5}}\n");
	assert_ptr_equal(client_request_session(client_request_find(table, 4)), two);
}

static void
test_allowed_methods(void **state)
{
	(void)state;
	assert_true(client_request_allowed("fs/read_text_file", 17));
	assert_true(client_request_allowed("session/request_permission", 26));
	assert_false(client_request_allowed("fs/read_text_file", 16));
	assert_false(client_request_allowed("session/update", 14));
	assert_false(client_request_allowed("", 0));
	assert_false(client_request_allowed("fs/read_text_file\",\"x", 20));
}

#define ROW(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    ROW(test_answers),
	    ROW(test_finding),
	    ROW(test_client_requests),
	    cmocka_unit_test(test_allowed_methods),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
