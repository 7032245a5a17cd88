/*
 * Any bytes as JSON: what the scan accepts json-c accepts too, in its strict mode; its own
 * output is accepted again; and the pieces in which a text comes change nothing.
 */
#include <config.h>

#include "common/json.h"
#include "common/json_scan.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define WATCHES 3

struct outcome {
	const char *error;
	size_t offset;
	struct json_watch watches[WATCHES];
};

static void
must(bool condition)
{
	if (!condition)
		abort();
}

/* Pieces of 1 to 16 bytes, chosen by `seed`; 0 = all at once. */
static void
scan(const char *text, size_t length, bool single_line, uint32_t seed, struct outcome *outcome)
{
	static const struct json_watch fresh[WATCHES] = {
	    {.key = "id"}, {.key = "params"}, {.parent = "params", .key = "sessionId"}};
	struct json_scan state;
	size_t at, piece;
	char *copy;

	memcpy(outcome->watches, fresh, sizeof fresh);
	json_scan_start(&state, JSON_DEPTH_MAX, single_line, outcome->watches, WATCHES);
	for (at = 0; at < length; at += piece) {
		piece = length - at;
		if (seed != 0) {
			seed = seed * 1664525u + 1013904223u;
			if (piece > (seed >> 28) + 1)
				piece = (seed >> 28) + 1;
		}
		copy = malloc(piece); /* reading past its end is noticed */
		must(copy != NULL);
		memcpy(copy, text + at, piece);
		json_scan_feed(&state, copy, piece);
		free(copy);
	}
	json_scan_end(&state);
	outcome->error = state.error;
	outcome->offset = state.offset;
}

static void
must_agree(const struct outcome *a, const struct outcome *b)
{
	size_t i;

	must(a->error == b->error && a->offset == b->offset);
	for (i = 0; i < WATCHES; i++) {
		must(a->watches[i].seen == b->watches[i].seen);
		must(a->watches[i].offset == b->watches[i].offset);
		must(a->watches[i].length == b->watches[i].length);
		must(a->watches[i].first == b->watches[i].first);
	}
}

/* What was watched for is where the scan says it is, and is a value. */
static void
check_watches(const char *text, size_t length, const struct outcome *outcome)
{
	const struct json_watch *watch;
	size_t i;

	for (i = 0; i < WATCHES; i++) {
		watch = &outcome->watches[i];
		if (watch->seen == 0)
			continue;
		must(watch->length > 0 && watch->offset + watch->length <= length);
		must(text[watch->offset] == watch->first);
		must(json_scan_check(text + watch->offset, watch->length, JSON_DEPTH_MAX) ==
		     NULL);
	}
}

static void
must_parse_strictly(const char *text, size_t length)
{
	struct json_tokener *tokener = json_tokener_new_ex(JSON_DEPTH_MAX + 2);
	struct json_object *value;

	must(tokener != NULL);
	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	value = json_tokener_parse_ex(tokener, text, (int)length);
	if (json_tokener_get_error(tokener) == json_tokener_continue)
		value = json_tokener_parse_ex(tokener, "", 1);
	must(json_tokener_get_error(tokener) == json_tokener_success);
	json_object_put(value);
	json_tokener_free(tokener);
}

static void
check_parser(const char *text, size_t length, const char *error)
{
	struct json_object *value, *copy;
	struct buffer sorted = BUFFER_EMPTY;
	const char *reason, *output;
	size_t output_length;

	value = json_parse(text, length, &reason);
	must(reason == error);
	if (error == NULL) {
		must_parse_strictly(text, length);
		output = json_text(value, &output_length);
		must(json_scan_check(output, output_length, JSON_DEPTH_MAX) == NULL);
		must(memchr(output, '\n', output_length) == NULL);
		must(json_append_sorted(&sorted, value) == 0);
		must(json_scan_check(sorted.data, sorted.length, JSON_DEPTH_MAX) == NULL);
		copy = json_copy(value);
		must(strcmp(json_text(copy, NULL), json_text(value, NULL)) == 0);
		json_object_put(copy);
	}
	buffer_free(&sorted);
	json_object_put(value);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct outcome whole, pieces, line;
	const char *text = (const char *)data;
	uint32_t seed;

	if (size < 1)
		return 0;
	seed = data[0] * 2654435761u | 1u;
	text++;
	size--;
	scan(text, size, false, 0, &whole);
	scan(text, size, false, seed, &pieces);
	must_agree(&whole, &pieces);
	scan(text, size, true, seed, &line);
	if (line.error == NULL)
		must(whole.error == NULL && memchr(text, '\n', size) == NULL);
	if (whole.error == NULL)
		check_watches(text, size, &whole);
	must(json_scan_check(text, size, JSON_DEPTH_MAX) == whole.error);
	check_parser(text, size, whole.error);
	return 0;
}
