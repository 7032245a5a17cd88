/*
 * Answers of the Messages API: each event cut at each byte gives the same answer; what is
 * missing, out of order or wrong never becomes a normal end; thinking is kept with its
 * signature and in its order.
 */
#include <config.h>

#include "worker/providers/anthropic_assembler.h"
#include "worker/providers/sse.h"
#include "tests/unit/parsed_json.h"

#include <stdlib.h>

#define EVENT(name, rest) "event: " name "\ndata: {\"type\":\"" name "\"" rest "}\n\n"
#define START                                                                                  \
	EVENT("message_start", ",\"message\":{\"id\":\"m\",\"role\":\"assistant\",\"model\":"  \
			       "\"claude-x\",\"content\":[],\"stop_reason\":null,\"usage\":{"  \
			       "\"input_tokens\":10,\"cache_read_input_tokens\":200,"          \
			       "\"cache_creation_input_tokens\":30,\"output_tokens\":1}}")
#define BLOCK(index, block)                                                                    \
	EVENT("content_block_start", ",\"index\":" index ",\"content_block\":" block)
#define DELTA(index, delta)                                                                    \
	EVENT("content_block_delta", ",\"index\":" index ",\"delta\":" delta)
#define TEXT(index, text) DELTA(index, "{\"type\":\"text_delta\",\"text\":\"" text "\"}")
#define THINK(index, text)                                                                     \
	DELTA(index, "{\"type\":\"thinking_delta\",\"thinking\":\"" text "\"}")
#define SIGN(index, text)                                                                      \
	DELTA(index, "{\"type\":\"signature_delta\",\"signature\":\"" text "\"}")
#define INPUT(index, text)                                                                     \
	DELTA(index, "{\"type\":\"input_json_delta\",\"partial_json\":\"" text "\"}")
#define BLOCK_STOP(index) EVENT("content_block_stop", ",\"index\":" index)
#define TEXT_BLOCK(index) BLOCK(index, "{\"type\":\"text\",\"text\":\"\"}")
#define THINK_BLOCK(index)                                                                     \
	BLOCK(index, "{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"\"}")
#define CALL_BLOCK(index, id, name)                                                            \
	BLOCK(index,                                                                           \
	    "{\"type\":\"tool_use\",\"id\":\"" id "\",\"name\":\"" name "\",\"input\":{}}")
#define END(reason)                                                                            \
	EVENT("message_delta", ",\"delta\":{\"stop_reason\":\"" reason                         \
			       "\",\"stop_sequence\":null},\"usage\":{\"output_tokens\":42}")
#define STOP EVENT("message_stop", "")
#define PING EVENT("ping", "")

struct run {
	void *assembler;
	struct buffer text, thought;
	struct model_answer answer;
	enum answer_state state;
};

static void
take_text(const char *bytes, size_t length, void *arg)
{
	assert_true(length > 0);
	buffer_append(&((struct run *)arg)->text, bytes, length);
}

static void
take_thought(const char *bytes, size_t length, void *arg)
{
	assert_true(length > 0);
	buffer_append(&((struct run *)arg)->thought, bytes, length);
}

static bool
take_event(const char *name, const char *data, size_t length, void *arg)
{
	return anthropic_assembler_event(((struct run *)arg)->assembler, name, data, length);
}

static void
begin(struct run *run)
{
	struct chat_sink sink = {take_text, take_thought, run};

	memset(run, 0, sizeof *run);
	run->assembler = anthropic_assembler_new("Test", &sink);
}

/* A stream in two pieces, the first one of `cut` bytes. */
static void
play_cut(struct run *run, const char *stream, size_t cut)
{
	struct sse sse;

	begin(run);
	sse_start(&sse, take_event, run);
	sse_feed(&sse, stream, cut);
	anthropic_assembler_flush(run->assembler);
	sse_feed(&sse, stream + cut, strlen(stream) - cut);
	sse_end(&sse);
	run->state = anthropic_assembler_end(run->assembler, &run->answer);
	assert_int_equal(run->answer.finish == FINISH_ERROR, run->state != ANSWER_COMPLETE);
	sse_free(&sse);
}

static void
play(struct run *run, const char *stream)
{
	play_cut(run, stream, strlen(stream));
}

static void
finish(struct run *run)
{
	model_answer_clear(&run->answer);
	anthropic_assembler_free(run->assembler);
	buffer_free(&run->text);
	buffer_free(&run->thought);
}

static void
check_call(
    const struct run *run, size_t at, const char *id, const char *name, const char *arguments)
{
	assert_true(at < run->answer.call_count);
	assert_string_equal(run->answer.calls[at].id, id);
	assert_string_equal(run->answer.calls[at].name, name);
	assert_string_equal(run->answer.calls[at].arguments, arguments);
}

static void
check_details(const struct run *run, const char *json)
{
	struct json_object *wanted = parsed_json(json);

	if (!json_object_equal(wanted, json_member(run->answer.extra, "reasoning_details")))
		assert_string_equal(json_text(run->answer.extra, NULL), json);
	json_object_put(wanted);
}

static const char whole[] = START PING THINK_BLOCK("0") THINK("0", "Let me \\u00e9")
    THINK("0", " see 🌍") SIGN("0", "AB+/") SIGN("0", "CD==") BLOCK_STOP("0")
	BLOCK("1", "{\"type\":\"redacted_thinking\",\"data\":\"ENC\"}") BLOCK_STOP("1")
	    TEXT_BLOCK("2") PING TEXT("2", "Hel") TEXT("2", "lo \\ud83c\\udf0d\\n")
		BLOCK_STOP("2") CALL_BLOCK("3", "toolu_1", "read_file") INPUT("3", "")
		    INPUT("3", "{\\\"path\\\":") INPUT("3", "\\\"a é\\\"}") BLOCK_STOP("3")
			CALL_BLOCK("4", "toolu_2", "list") BLOCK_STOP("4") END("tool_use") STOP;

static void
check_whole(const struct run *run)
{
	assert_int_equal(run->state, ANSWER_COMPLETE);
	assert_int_equal(run->answer.finish, FINISH_TOOL_CALLS);
	assert_string_equal(buffer_text(&run->text), "Hello 🌍\n");
	assert_string_equal(buffer_text(&run->thought), "Let me é see 🌍");
	assert_int_equal(run->answer.call_count, 2);
	check_call(run, 0, "toolu_1", "read_file", "{\"path\":\"a é\"}");
	check_call(run, 1, "toolu_2", "list", "");
	assert_int_equal(run->answer.usage.input_tokens, 240);
	assert_int_equal(run->answer.usage.output_tokens, 42);
	assert_int_equal(run->answer.usage.cache_read_tokens, 200);
	assert_int_equal(run->answer.usage.cache_write_tokens, 30);
	assert_string_equal(
	    json_member_text(run->answer.extra, "reasoning", ""), "Let me é see 🌍");
	check_details(run,
	    "[{\"type\":\"thinking\",\"thinking\":\"Let me é see 🌍\",\"signature\":"
	    "\"AB+/CD==\"},{\"type\":\"redacted_thinking\",\"data\":\"ENC\"},"
	    "{\"type\":\"anthropic_order\",\"model\":\"claude-x\"}]");
}

static void
test_every_cut(void **state)
{
	struct run run;
	size_t cut;

	(void)state;
	for (cut = 0; cut < sizeof whole; cut++) {
		play_cut(&run, whole, cut);
		check_whole(&run);
		finish(&run);
	}
}

/* The beginning of an answer is never a complete one, wherever it ends. */
static void
test_every_end(void **state)
{
	static const char last[] = END("tool_use");
	size_t length, complete = (size_t)(strstr(whole, last) - whole) + sizeof last - 1;
	struct run run;
	char *stream;

	(void)state;
	for (length = 0; length <= complete; length++) {
		stream = strndup(whole, length);
		play(&run, stream);
		/* The last line's end is not needed: the event is whole without it. */
		if (length >= complete - 2)
			assert_int_equal(run.state, ANSWER_COMPLETE);
		else
			assert_int_not_equal(run.state, ANSWER_COMPLETE);
		finish(&run);
		free(stream);
	}
}

static void
test_stop_reasons(void **state)
{
	static const struct {
		const char *reason;
		enum finish_reason finish;
	} rows[] = {
	    {"end_turn", FINISH_STOP},
	    {"stop_sequence", FINISH_STOP},
	    {"pause_turn", FINISH_STOP},
	    {"tool_use", FINISH_STOP}, /* without one */
	    {"something_new", FINISH_STOP},
	    {"max_tokens", FINISH_LENGTH},
	    {"model_context_window_exceeded", FINISH_LENGTH},
	    {"refusal", FINISH_REFUSAL},
	};
	struct buffer stream = BUFFER_EMPTY;
	struct run run;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		buffer_clear(&stream);
		buffer_append_text(&stream, START TEXT_BLOCK("0") TEXT("0", "x"));
		buffer_printf(&stream,
		    "data: {\"type\":\"message_delta\",\"delta\":"
		    "{\"stop_reason\":\"%s\"}}\n\n",
		    rows[i].reason);
		play(&run, buffer_text(&stream));
		assert_int_equal(run.state, ANSWER_COMPLETE);
		assert_int_equal(run.answer.finish, rows[i].finish);
		assert_int_equal(
		    run.answer.message != NULL, strstr(rows[i].reason, "window") != NULL);
		assert_null(run.answer.extra);
		finish(&run);
	}
	buffer_free(&stream);
}

/* Blocks that go over and over: two texts are two paragraphs, and the order is kept. */
static void
test_interleaved(void **state)
{
	struct run run;

	(void)state;
	play(&run, START THINK_BLOCK("0") THINK("0", "a") SIGN("0", "S1") TEXT_BLOCK("1")
		       TEXT("1", "One.") THINK_BLOCK("2") THINK("2", "b") SIGN("2", "S2")
			   TEXT_BLOCK("3") TEXT("3", "Two.") CALL_BLOCK("4", "c", "n")
			       THINK_BLOCK("5") THINK("5", "unsigned") END("tool_use") STOP);
	assert_string_equal(buffer_text(&run.text), "One.\n\nTwo.");
	assert_string_equal(buffer_text(&run.thought), "a\n\nb\n\nunsigned");
	check_details(&run,
	    "[{\"type\":\"thinking\",\"thinking\":\"a\",\"signature\":\"S1\"},"
	    "{\"type\":\"thinking\",\"thinking\":\"b\",\"signature\":\"S2\"},"
	    "{\"type\":\"anthropic_order\",\"model\":\"claude-x\",\"length\":10,\"order\":["
	    "{\"type\":\"thinking\"},{\"type\":\"text\",\"offset\":0,\"length\":4},"
	    "{\"type\":\"thinking\"},{\"type\":\"text\",\"offset\":6,\"length\":4},"
	    "{\"type\":\"tool_use\"}]}]");
	finish(&run);
}

/* What servers leave out or do in their own way. */
static void
test_lenient(void **state)
{
	struct run run;

	(void)state;
	/* No starts, no index, no names of events, blocks that bring their text. */
	play(&run, "data: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\","
		   "\"text\":\"a\"}}\n\n" BLOCK("7", "{\"type\":\"text\",\"text\":\"b\"}")
		       TEXT("7", "c") THINK("9", "t") "event: message_stop\n\n");
	assert_int_equal(run.state, ANSWER_COMPLETE);
	assert_string_equal(buffer_text(&run.text), "abc");
	assert_string_equal(buffer_text(&run.thought), "t");
	finish(&run);
	/* The type in the event's name only; input in the start; pieces count for more. */
	play(&run, "event: content_block_start\ndata: {\"index\":0,\"content_block\":{\"type\":"
		   "\"tool_use\",\"id\":\"i\",\"name\":\"n\",\"input\":{\"a\":1}}}\n\n" BLOCK(
		       "1", "{\"type\":\"tool_use\",\"id\":\"j\",\"name\":\"n\",\"input\":{"
			    "\"a\":1}}") INPUT("1", "{\\\"b\\\":2}") END("tool_use"));
	check_call(&run, 0, "i", "n", "{\"a\":1}");
	check_call(&run, 1, "j", "n", "{\"b\":2}");
	finish(&run);
	/* Pieces of two calls by turns; blocks and deltas that are not ours. */
	play(&run, START CALL_BLOCK("0", "i", "n") CALL_BLOCK("1", "j", "m")
		       INPUT("1", "{\\\"x\\\":") INPUT("0", "{\\\"y\\\":") INPUT("1", "1}")
			   INPUT("0", "2}") BLOCK("2", "{\"type\":\"server_tool_use\"}")
			       INPUT("2", "{}") DELTA("2", "{\"type\":\"citations_delta\"}")
				   EVENT("brand_new", "") END("tool_use") STOP);
	check_call(&run, 0, "i", "n", "{\"y\":2}");
	check_call(&run, 1, "j", "m", "{\"x\":1}");
	finish(&run);
}

static void
check_failure(const char *stream, enum model_error error, const char *words)
{
	struct run run;

	play(&run, stream);
	assert_int_equal(run.state, ANSWER_FAILED);
	assert_int_equal(run.answer.error, error);
	assert_non_null(strstr(run.answer.message, words));
	finish(&run);
}

static void
test_failures(void **state)
{
	struct run run;

	(void)state;
	check_failure(
	    START TEXT("0", "Par") "event: error\ndata: {\"type\":\"error\",\"error\":"
				   "{\"type\":\"overloaded_error\",\"message\":"
				   "\"Overloaded\"}}\n\n",
	    MODEL_ERROR_OVERLOADED, "Test reported an error: Overloaded");
	check_failure("data: {\"type\":\"error\",\"error\":{\"type\":\"rate_limit_error\","
		      "\"message\":\"slow\"}}\n\n",
	    MODEL_ERROR_RATE_LIMIT, "slow");
	check_failure("data: {\"error\":{\"message\":\"odd\"}}\n\n", MODEL_ERROR_SERVER, "odd");
	check_failure("event: error\ndata: broken pipe\n\n", MODEL_ERROR_SERVER, "broken pipe");
	check_failure(START "data: {\"type\":\"cont\n\n", MODEL_ERROR_ANSWER, "not JSON");
	check_failure(START TEXT("0", "a") INPUT("0", "{}") END("tool_use"), MODEL_ERROR_ANSWER,
	    "belong to no tool call");
	check_failure(START INPUT("0", "{}"), MODEL_ERROR_ANSWER, "belong to no tool call");
	check_failure(
	    START TEXT("0", "a") START TEXT("0", "a"), MODEL_ERROR_ANSWER, "a second answer");
	/* Nothing at all, and no more than a beginning. */
	play(&run, PING STOP);
	assert_int_equal(run.state, ANSWER_NOTHING);
	finish(&run);
	play(&run, START);
	assert_int_equal(run.state, ANSWER_PART);
	finish(&run);
	play(&run, "data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\n");
	assert_int_equal(run.state, ANSWER_NOTHING);
	finish(&run);
}

static void
test_limits(void **state)
{
	struct buffer stream = BUFFER_EMPTY, piece = BUFFER_EMPTY;
	size_t i;

	(void)state;
	for (i = 0; i < 1u << 20; i++)
		buffer_append_byte(&piece, 'x');
	buffer_append_text(&stream, START CALL_BLOCK("0", "i", "n"));
	for (i = 0; i < 17; i++)
		buffer_printf(&stream,
		    "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":"
		    "\"input_json_delta\",\"partial_json\":\"%s\"}}\n\n",
		    buffer_text(&piece));
	check_failure(buffer_text(&stream), MODEL_ERROR_ANSWER, "16 MiB");
	buffer_clear(&stream);
	buffer_append_text(&stream, START THINK_BLOCK("0"));
	for (i = 0; i < 5; i++)
		buffer_printf(&stream,
		    "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":"
		    "\"signature_delta\",\"signature\":\"%s\"}}\n\n",
		    buffer_text(&piece));
	check_failure(buffer_text(&stream), MODEL_ERROR_ANSWER, "4 MiB");
	buffer_clear(&stream);
	buffer_append_text(&stream, START);
	for (i = 0; i < 5000; i++)
		buffer_append_text(&stream, TEXT_BLOCK("0"));
	check_failure(buffer_text(&stream), MODEL_ERROR_ANSWER, "content blocks");
	buffer_free(&stream);
	buffer_free(&piece);
}

static void
play_body(struct run *run, const char *body, bool json)
{
	begin(run);
	assert_int_equal(
	    anthropic_assembler_body(run->assembler, body, strlen(body)) == NULL, json);
	run->state = anthropic_assembler_end(run->assembler, &run->answer);
}

static void
test_whole_body(void **state)
{
	struct run run;

	(void)state;
	play_body(&run,
	    "{\"type\":\"message\",\"model\":\"claude-x\",\"content\":[{\"type\":\"thinking\","
	    "\"thinking\":\"t\",\"signature\":\"s\"},{\"type\":\"text\",\"text\":\"a\"},"
	    "{\"type\":\"tool_use\",\"id\":\"i\",\"name\":\"n\",\"input\":{\"x\":1}}],"
	    "\"stop_reason\":\"tool_use\",\"usage\":{\"input_tokens\":3,\"output_tokens\":4}}",
	    true);
	assert_int_equal(run.state, ANSWER_COMPLETE);
	assert_int_equal(run.answer.finish, FINISH_TOOL_CALLS);
	assert_string_equal(buffer_text(&run.text), "a");
	check_call(&run, 0, "i", "n", "{\"x\":1}");
	assert_int_equal(run.answer.usage.input_tokens, 3);
	check_details(&run, "[{\"type\":\"thinking\",\"thinking\":\"t\",\"signature\":\"s\"},"
			    "{\"type\":\"anthropic_order\",\"model\":\"claude-x\"}]");
	finish(&run);
	play_body(&run,
	    "{\"type\":\"error\",\"error\":{\"type\":\"api_error\","
	    "\"message\":\"m\"}}",
	    true);
	assert_int_equal(run.state, ANSWER_FAILED);
	finish(&run);
	play_body(&run, "{\"type\":\"message\"", false);
	assert_int_equal(run.state, ANSWER_NOTHING);
	finish(&run);
	play_body(&run, "[]", true);
	assert_int_equal(run.state, ANSWER_NOTHING);
	finish(&run);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_every_cut),
	    cmocka_unit_test(test_every_end),
	    cmocka_unit_test(test_stop_reasons),
	    cmocka_unit_test(test_interleaved),
	    cmocka_unit_test(test_lenient),
	    cmocka_unit_test(test_failures),
	    cmocka_unit_test(test_limits),
	    cmocka_unit_test(test_whole_body),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
