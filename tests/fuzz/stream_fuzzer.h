/*
 * Any bytes as a model's event stream, cut anywhere, and as an answer that is no stream: no
 * crash, the same text and the same calls as in one piece, and valid UTF-8 in all that comes
 * out. The includer says in which dialect.
 */
#ifndef HERMES_TESTS_FUZZ_STREAM_FUZZER_H
#define HERMES_TESTS_FUZZ_STREAM_FUZZER_H

#include "worker/providers/dialect.h"
#include "worker/providers/sse.h"
#include "common/json.h"
#include "common/utf8.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct run {
	const struct dialect *dialect;
	void *assembler;
	struct buffer text, thought;
	struct model_answer answer;
	enum answer_state state;
	bool parse_all;
};

static inline void
must(bool condition)
{
	if (!condition)
		abort();
}

static inline void
take_text(const char *bytes, size_t length, void *arg)
{
	must(length > 0 && utf8_valid(bytes, length));
	buffer_append(&((struct run *)arg)->text, bytes, length);
}

static inline void
take_thought(const char *bytes, size_t length, void *arg)
{
	must(length > 0 && utf8_valid(bytes, length));
	buffer_append(&((struct run *)arg)->thought, bytes, length);
}

static inline bool
take_event(const char *name, const char *data, size_t length, void *arg)
{
	struct run *run = arg;

	/* An empty object means nothing, but takes the short cut for like events away: the
	 * run in pieces parses all of them. */
	if (run->parse_all)
		run->dialect->event(run->assembler, "", "{}", 2);
	return run->dialect->event(run->assembler, name, data, length);
}

/* Pieces of 1 to 32 bytes, chosen by `seed`; 0 = all at once. Each is memory of its own. */
static inline void
play(const struct dialect *dialect, struct run *run, const uint8_t *data, size_t size,
    uint32_t seed, bool parse_all)
{
	struct chat_sink sink = {take_text, take_thought, run};
	size_t at = 0, piece;
	struct sse sse;
	char *copy;

	memset(run, 0, sizeof *run);
	run->dialect = dialect;
	run->parse_all = parse_all;
	run->assembler = dialect->assembler_new("fuzz", &sink);
	sse_start(&sse, take_event, run);
	while (at < size) {
		piece = seed == 0 ? size : 1 + (seed >> 16) % 32;
		seed = seed == 0 ? 0 : seed * 1103515245u + 12345u;
		if (piece > size - at)
			piece = size - at;
		copy = malloc(piece);
		must(copy != NULL);
		memcpy(copy, data + at, piece);
		sse_feed(&sse, copy, piece);
		dialect->flush(run->assembler);
		free(copy);
		at += piece;
	}
	sse_end(&sse);
	run->state = dialect->end(run->assembler, &run->answer);
	sse_free(&sse);
}

static inline void
play_body(const struct dialect *dialect, struct run *run, const uint8_t *data, size_t size)
{
	struct chat_sink sink = {take_text, take_thought, run};

	memset(run, 0, sizeof *run);
	run->dialect = dialect;
	run->assembler = dialect->assembler_new("fuzz", &sink);
	dialect->body(run->assembler, (const char *)data, size);
	run->state = dialect->end(run->assembler, &run->answer);
}

static inline void
finish(struct run *run)
{
	model_answer_clear(&run->answer);
	run->dialect->assembler_free(run->assembler);
	buffer_free(&run->text);
	buffer_free(&run->thought);
}

static inline bool
same_buffer(const struct buffer *a, const struct buffer *b)
{
	return a->length == b->length && memcmp(buffer_text(a), buffer_text(b), a->length) == 0;
}

static inline void
compare(const struct run *whole, const struct run *pieces)
{
	const struct model_answer *a = &whole->answer, *b = &pieces->answer;
	size_t i;

	must(whole->state == pieces->state && a->finish == b->finish && a->error == b->error);
	must(same_buffer(&whole->text, &pieces->text));
	must(same_buffer(&whole->thought, &pieces->thought));
	must(a->call_count == b->call_count);
	for (i = 0; i < a->call_count; i++) {
		must(strcmp(a->calls[i].id, b->calls[i].id) == 0);
		must(strcmp(a->calls[i].name, b->calls[i].name) == 0);
		must(strcmp(a->calls[i].arguments, b->calls[i].arguments) == 0);
		must(utf8_valid(a->calls[i].arguments, strlen(a->calls[i].arguments)));
	}
	must(a->extra == NULL ? b->extra == NULL : json_object_equal(a->extra, b->extra));
	must(a->message == NULL || utf8_valid(a->message, strlen(a->message)));
}

/* `short_cuts`: the dialect takes like events without parsing them, and an event that is no
 * more than an object means nothing to it. */
static inline int
stream_fuzzer(const struct dialect *dialect, bool short_cuts, const uint8_t *data, size_t size)
{
	struct run whole, pieces;
	uint32_t seed = 1;

	if (size >= 2) {
		seed = (uint32_t)(data[0] << 8 | data[1]) + 1;
		data += 2;
		size -= 2;
	}
	play(dialect, &whole, data, size, 0, false);
	play(dialect, &pieces, data, size, seed * 2654435761u | 1, short_cuts);
	compare(&whole, &pieces);
	finish(&whole);
	finish(&pieces);
	play_body(dialect, &whole, data, size);
	finish(&whole);
	return 0;
}

#endif
