/*
 * A stream of a Responses server put together: events go in, text, thoughts and an answer come
 * out.
 */
#ifndef HERMES_TESTS_UNIT_RESPONSES_FIXTURE_H
#define HERMES_TESTS_UNIT_RESPONSES_FIXTURE_H

#include "worker/providers/responses_assembler.h"
#include "worker/providers/sse.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct run {
	void *assembler;
	struct sse sse;
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

static inline bool
take_event(const char *name, const char *data, size_t length, void *arg)
{
	return responses_assembler_event(((struct run *)arg)->assembler, name, data, length);
}

static inline void
begin(struct run *run)
{
	struct chat_sink sink = {take_text, take_thought, run};

	memset(run, 0, sizeof *run);
	run->assembler = responses_assembler_new("Test", &sink);
	responses_assembler_issuer(run->assembler, "other:https://test/v1");
	sse_start(&run->sse, take_event, run);
}

static inline bool
event(struct run *run, const char *json)
{
	bool more = responses_assembler_event(run->assembler, "", json, strlen(json));

	responses_assembler_flush(run->assembler);
	return more;
}

static inline void
end(struct run *run)
{
	sse_end(&run->sse);
	run->state = responses_assembler_end(run->assembler, &run->answer);
	assert_int_equal(run->answer.finish == FINISH_ERROR, run->state != ANSWER_COMPLETE);
}

static inline void
finish(struct run *run)
{
	model_answer_clear(&run->answer);
	responses_assembler_free(run->assembler);
	sse_free(&run->sse);
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
