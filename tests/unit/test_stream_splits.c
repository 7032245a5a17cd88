/*
 * One answer in each dialect, written in all the ways that the event-stream grammar allows, and
 * cut at every byte: the same text, thoughts, calls and counts each time.
 */
#include <config.h>

#include "worker/providers/anthropic_messages.h"
#include "worker/providers/chat_completions.h"
#include "worker/providers/responses.h"
#include "worker/providers/sse.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define THOUGHT "Über \xf0\x9f\x8c\x8d"
#define TEXT "\xe4\xbd\xa0\xe5\xa5\xbd \xf0\x9f\x8c\x8d \xc3\xa9"
#define ARGUMENTS "{\"path\":\"na\xc3\xafve\"}"
#define ESCAPED_1 "{\\\"path\\\":"
#define ESCAPED_2 "\\\"na\xc3\xafve\\\"}"

struct line {
	const char *name; /* of the event, or NULL */
	const char *data;
};

#define CHAT(delta)                                                                            \
	{                                                                                      \
		NULL, "{\"id\":\"x\",\"choices\":[{\"index\":0,\"delta\":" delta "}]}"         \
	}

static const struct line chat[] = {
    CHAT("{\"role\":\"assistant\",\"content\":null}"),
    CHAT("{\"reasoning_content\":\"Über \"}"),
    CHAT("{\"reasoning_content\":\"\\ud83c\\udf0d\"}"),
    CHAT("{\"content\":\"\xe4\xbd\xa0\xe5\xa5\xbd \"}"),
    CHAT("{\"content\":\"\xf0\x9f\x8c\x8d \xc3\xa9\"}"),
    CHAT("{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"type\":\"function\",\"function\":"
	 "{\"name\":\"read_file\",\"arguments\":\"\"}}]}"),
    CHAT("{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"" ESCAPED_1 "\"}}]}"),
    CHAT("{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"" ESCAPED_2 "\"}}]}"),
    CHAT("{\"tool_calls\":[{\"index\":1,\"id\":\"b\",\"type\":\"function\",\"function\":"
	 "{\"name\":\"todo\",\"arguments\":\"{}\"}}]}"),
    {NULL, "{\"id\":\"x\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":"
	   "\"tool_calls\"}]}"},
    {NULL, "{\"id\":\"x\",\"choices\":[],\"usage\":{\"prompt_tokens\":9,"
	   "\"completion_tokens\":2}}"},
    {NULL, "[DONE]"},
};

#define BLOCK(index, block)                                                                    \
	{                                                                                      \
		"content_block_start", "{\"type\":\"content_block_start\",\"index\":" index    \
				       ",\"content_block\":" block "}"                         \
	}
#define PIECE(index, delta)                                                                    \
	{                                                                                      \
		"content_block_delta", "{\"type\":\"content_block_delta\",\"index\":" index    \
				       ",\"delta\":" delta "}"                                 \
	}
#define STOP(index)                                                                            \
	{                                                                                      \
		"content_block_stop", "{\"type\":\"content_block_stop\",\"index\":" index "}"  \
	}

static const struct line anthropic[] = {
    {"message_start", "{\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"type\":"
		      "\"message\",\"role\":\"assistant\",\"model\":\"claude\",\"content\":[],"
		      "\"usage\":{\"input_tokens\":9,\"output_tokens\":1}}}"},
    BLOCK("0", "{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"\"}"),
    PIECE("0", "{\"type\":\"thinking_delta\",\"thinking\":\"Über \"}"),
    PIECE("0", "{\"type\":\"thinking_delta\",\"thinking\":\"\\ud83c\\udf0d\"}"),
    PIECE("0", "{\"type\":\"signature_delta\",\"signature\":\"c2ln\"}"),
    STOP("0"),
    {"ping", "{\"type\":\"ping\"}"},
    BLOCK("1", "{\"type\":\"text\",\"text\":\"\"}"),
    PIECE("1", "{\"type\":\"text_delta\",\"text\":\"\xe4\xbd\xa0\xe5\xa5\xbd \"}"),
    PIECE("1", "{\"type\":\"text_delta\",\"text\":\"\xf0\x9f\x8c\x8d \xc3\xa9\"}"),
    STOP("1"),
    BLOCK("2", "{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"read_file\",\"input\":{}}"),
    PIECE("2", "{\"type\":\"input_json_delta\",\"partial_json\":\"\"}"),
    PIECE("2", "{\"type\":\"input_json_delta\",\"partial_json\":\"" ESCAPED_1 "\"}"),
    PIECE("2", "{\"type\":\"input_json_delta\",\"partial_json\":\"" ESCAPED_2 "\"}"),
    STOP("2"),
    BLOCK("3", "{\"type\":\"tool_use\",\"id\":\"b\",\"name\":\"todo\",\"input\":{}}"),
    STOP("3"),
    {"message_delta", "{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"},"
		      "\"usage\":{\"output_tokens\":2}}"},
    {"message_stop", "{\"type\":\"message_stop\"}"},
};

#define OUT(kind, index, more)                                                                 \
	{                                                                                      \
		"response." kind,                                                              \
		    "{\"type\":\"response." kind "\",\"output_index\":" index "," more "}"     \
	}
#define CALL_A(arguments)                                                                      \
	"\"item\":{\"id\":\"f1\",\"type\":\"function_call\",\"call_id\":\"a\",\"name\":"       \
	"\"read_file\",\"arguments\":\"" arguments "\"}"
#define CALL_B(arguments)                                                                      \
	"\"item\":{\"id\":\"f2\",\"type\":\"function_call\",\"call_id\":\"b\",\"name\":"       \
	"\"todo\",\"arguments\":\"" arguments "\"}"
#define PART_OF(item) "\"item_id\":\"" item "\",\"content_index\":0,"

static const struct line responses[] = {
    {"response.created", "{\"type\":\"response.created\",\"response\":{\"id\":\"r\"}}"},
    OUT("output_item.added", "0",
	"\"item\":{\"id\":\"rs\",\"type\":\"reasoning\","
	"\"summary\":[]}"),
    OUT("reasoning_summary_text.delta", "0",
	"\"item_id\":\"rs\",\"summary_index\":0,\"delta\":\"Über \""),
    OUT("reasoning_summary_text.delta", "0",
	"\"item_id\":\"rs\",\"summary_index\":0,\"delta\":\"\\ud83c\\udf0d\""),
    OUT("output_item.done", "0",
	"\"item\":{\"id\":\"rs\",\"type\":\"reasoning\",\"summary\":"
	"[{\"type\":\"summary_text\",\"text\":\"" THOUGHT "\"}]}"),
    OUT("output_item.added", "1",
	"\"item\":{\"id\":\"m\",\"type\":\"message\",\"role\":"
	"\"assistant\",\"content\":[]}"),
    OUT("output_text.delta", "1", PART_OF("m") "\"delta\":\"\xe4\xbd\xa0\xe5\xa5\xbd \""),
    OUT("output_text.delta", "1", PART_OF("m") "\"delta\":\"\xf0\x9f\x8c\x8d \xc3\xa9\""),
    OUT("output_text.done", "1", PART_OF("m") "\"text\":\"" TEXT "\""),
    OUT("output_item.done", "1",
	"\"item\":{\"id\":\"m\",\"type\":\"message\",\"role\":"
	"\"assistant\",\"content\":[{\"type\":\"output_text\","
	"\"text\":\"" TEXT "\"}]}"),
    OUT("output_item.added", "2", CALL_A("")),
    OUT("function_call_arguments.delta", "2", "\"item_id\":\"f1\",\"delta\":\"" ESCAPED_1 "\""),
    OUT("function_call_arguments.delta", "2", "\"item_id\":\"f1\",\"delta\":\"" ESCAPED_2 "\""),
    OUT("output_item.done", "2", CALL_A(ESCAPED_1 ESCAPED_2)),
    OUT("output_item.added", "3", CALL_B("")),
    OUT("output_item.done", "3", CALL_B("{}")),
    {"response.completed", "{\"type\":\"response.completed\",\"response\":{\"id\":\"r\","
			   "\"status\":\"completed\",\"usage\":{\"input_tokens\":9,"
			   "\"output_tokens\":2}}}"},
};

static const struct {
	const struct dialect *dialect;
	const struct line *lines;
	size_t count;
	const char *nothing; /* the arguments of a call that has none */
} modes[] = {
    {&dialect_chat_completions, chat, sizeof chat / sizeof chat[0], "{}"},
    {&dialect_anthropic_messages, anthropic, sizeof anthropic / sizeof anthropic[0], ""},
    {&dialect_codex_responses, responses, sizeof responses / sizeof responses[0], "{}"},
};

/* The ways to write a stream. */
static const struct grammar {
	const char *first;   /* before everything */
	const char *colon;   /* between field and value */
	const char *end;     /* of a line */
	const char *between; /* before each event */
	bool broken;	     /* the data of an event on several lines */
	bool unfinished;     /* the last event has no blank line */
} grammars[] = {
    {"", ": ", "\n", "", false, false},
    {"\xef\xbb\xbf", ": ", "\n", "", false, false},
    {"", ": ", "\r\n", "", false, false},
    {"", ": ", "\r", "", false, false},
    {"", ":", "\n", "", false, false},
    {":\n\n", ": ", "\n", ": ping\n\nid: 7\nretry: 5\n\n", false, false},
    {"\xef\xbb\xbf: PROCESSING\r\n\r\n", ":", "\r\n", ":\r\nid\r\n", true, false},
    {"", ": ", "\n", "", true, false},
    {"", ": ", "\n", "", false, true},
};

/* JSON may be broken where a member ends; a text never is. */
static void
put_data(struct buffer *stream, const struct grammar *grammar, const char *data)
{
	const char *comma = grammar->broken ? strstr(data, ",\"") : NULL;

	buffer_printf(stream, "data%s", grammar->colon);
	if (comma != NULL) {
		buffer_append(stream, data, (size_t)(comma + 1 - data));
		buffer_printf(stream, "%sdata%s", grammar->end, grammar->colon);
		data = comma + 1;
	}
	buffer_printf(stream, "%s%s", data, grammar->end);
}

static void
write_stream(struct buffer *stream, const struct grammar *grammar, const struct line *lines,
    size_t count)
{
	size_t i;

	buffer_append_text(stream, grammar->first);
	for (i = 0; i < count; i++) {
		buffer_append_text(stream, grammar->between);
		if (lines[i].name != NULL)
			buffer_printf(
			    stream, "event%s%s%s", grammar->colon, lines[i].name, grammar->end);
		put_data(stream, grammar, lines[i].data);
		if (i + 1 < count || !grammar->unfinished)
			buffer_append_text(stream, grammar->end);
	}
}

struct run {
	const struct dialect *dialect;
	void *assembler;
	struct buffer text, thought;
};

static void
take_text(const char *bytes, size_t length, void *arg)
{
	buffer_append(&((struct run *)arg)->text, bytes, length);
}

static void
take_thought(const char *bytes, size_t length, void *arg)
{
	buffer_append(&((struct run *)arg)->thought, bytes, length);
}

static bool
take_event(const char *name, const char *data, size_t length, void *arg)
{
	struct run *run = arg;

	return run->dialect->event(run->assembler, name, data, length);
}

/* From memory of its own, so that a sanitizer finds who looks beyond. */
static void
feed(struct run *run, struct sse *sse, const char *bytes, size_t length)
{
	char *copy = malloc(length > 0 ? length : 1);

	assert_non_null(copy);
	memcpy(copy, bytes, length);
	sse_feed(sse, copy, length);
	run->dialect->flush(run->assembler);
	free(copy);
}

static void
check_answer(const struct run *run, const struct model_answer *answer, const char *nothing)
{
	assert_string_equal(buffer_text(&run->thought), THOUGHT);
	assert_string_equal(buffer_text(&run->text), TEXT);
	assert_int_equal(answer->finish, FINISH_TOOL_CALLS);
	assert_int_equal(answer->call_count, 2);
	assert_string_equal(answer->calls[0].id, "a");
	assert_string_equal(answer->calls[0].name, "read_file");
	assert_string_equal(answer->calls[0].arguments, ARGUMENTS);
	assert_string_equal(answer->calls[1].id, "b");
	assert_string_equal(answer->calls[1].name, "todo");
	assert_string_equal(answer->calls[1].arguments, nothing);
	assert_int_equal(answer->usage.input_tokens, 9);
	assert_int_equal(answer->usage.output_tokens, 2);
}

/* In two pieces, the first of `cut` bytes; 0 = every byte alone. */
static void
play(size_t mode, const struct buffer *stream, size_t cut)
{
	const struct dialect *dialect = modes[mode].dialect;
	struct run run = {.dialect = dialect};
	struct chat_sink sink = {take_text, take_thought, &run};
	struct model_answer answer;
	size_t at = 0, piece;
	struct sse sse;

	run.assembler = dialect->assembler_new("Test", &sink);
	sse_start(&sse, take_event, &run);
	while (at < stream->length) {
		piece = cut == 0 ? 1 : at == 0 ? cut : stream->length - at;
		feed(&run, &sse, stream->data + at, piece);
		at += piece;
	}
	sse_end(&sse);
	assert_int_equal(dialect->end(run.assembler, &answer), ANSWER_COMPLETE);
	check_answer(&run, &answer, modes[mode].nothing);
	model_answer_clear(&answer);
	dialect->assembler_free(run.assembler);
	sse_free(&sse);
	buffer_free(&run.text);
	buffer_free(&run.thought);
}

static void
play_mode(size_t mode)
{
	struct buffer stream = BUFFER_EMPTY;
	size_t way, cut;

	for (way = 0; way < sizeof grammars / sizeof grammars[0]; way++) {
		write_stream(&stream, &grammars[way], modes[mode].lines, modes[mode].count);
		for (cut = 0; cut <= stream.length; cut++)
			play(mode, &stream, cut);
		buffer_clear(&stream);
	}
	buffer_free(&stream);
}

static void
test_chat_completions(void **state)
{
	(void)state;
	play_mode(0);
}

static void
test_anthropic_messages(void **state)
{
	(void)state;
	play_mode(1);
}

static void
test_responses(void **state)
{
	(void)state;
	play_mode(2);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_chat_completions),
	    cmocka_unit_test(test_anthropic_messages),
	    cmocka_unit_test(test_responses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
