/*
 * A stream of chat completions put together: events go in, text, thoughts and an answer come
 * out.
 */
#ifndef HERMES_TESTS_UNIT_CHAT_FIXTURE_H
#define HERMES_TESTS_UNIT_CHAT_FIXTURE_H

#include "worker/providers/chat_assembler.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct run {
	void *assembler;
	struct buffer text, thought;
	struct model_answer answer;
	enum answer_state state;
};

static inline void
take_text(const char *bytes, size_t length, void *arg)
{
	assert_true(length > 0);
	buffer_append(&((struct run *)arg)->text, bytes, length);
}

static inline void
take_thought(const char *bytes, size_t length, void *arg)
{
	assert_true(length > 0);
	buffer_append(&((struct run *)arg)->thought, bytes, length);
}

static inline void
begin(struct run *run)
{
	struct chat_sink sink = {take_text, take_thought, run};

	memset(run, 0, sizeof *run);
	run->assembler = chat_assembler_new("Test", &sink);
}

static inline bool
event(struct run *run, const char *json)
{
	bool more = chat_assembler_event(run->assembler, "", json, strlen(json));

	chat_assembler_flush(run->assembler);
	return more;
}

/* One event with this delta. */
static inline void
delta(struct run *run, const char *json)
{
	struct buffer text = BUFFER_EMPTY;

	buffer_printf(&text,
	    "{\"id\":\"x\",\"choices\":[{\"index\":0,\"delta\":%s,"
	    "\"finish_reason\":null}]}",
	    json);
	event(run, buffer_text(&text));
	buffer_free(&text);
}

static inline void
end(struct run *run, const char *finish)
{
	struct buffer text = BUFFER_EMPTY;

	if (finish != NULL) {
		buffer_printf(
		    &text, "{\"choices\":[{\"delta\":{},\"finish_reason\":\"%s\"}]}", finish);
		event(run, buffer_text(&text));
		event(run, "[DONE]");
	}
	buffer_free(&text);
	run->state = chat_assembler_end(run->assembler, &run->answer);
	assert_int_equal(run->answer.finish == FINISH_ERROR, run->state != ANSWER_COMPLETE);
}

static inline void
finish(struct run *run)
{
	model_answer_clear(&run->answer);
	chat_assembler_free(run->assembler);
	buffer_free(&run->text);
	buffer_free(&run->thought);
}

static inline void
check_call(
    const struct run *run, size_t at, const char *id, const char *name, const char *arguments)
{
	assert_true(at < run->answer.call_count);
	assert_string_equal(run->answer.calls[at].id, id);
	assert_string_equal(run->answer.calls[at].name, name);
	assert_string_equal(run->answer.calls[at].arguments, arguments);
}

#endif
