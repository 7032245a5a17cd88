/*
 * A short cut for long streams. Most events of a stream differ from the one before only in
 * the inside of one string; such an event means "the same, with this text" and needs no
 * parser. Anything else is left to the parser.
 */
#ifndef HERMES_WORKER_PROVIDERS_DELTA_PATTERN_H
#define HERMES_WORKER_PROVIDERS_DELTA_PATTERN_H

#include "common/buffer.h"

#include <stdbool.h>
#include <stddef.h>

struct delta_pattern {
	bool known;
	struct buffer before, after; /* what stands around the string's inside */
	struct buffer text;
};

/* Learns from an event that was parsed: its one effect was the string member `key`, whose
 * value is `text`. */
void delta_pattern_learn(struct delta_pattern *pattern, const char *event, size_t length,
    const char *key, const char *text, size_t text_length);
/* True when the event differs in that string only; its value is then in pattern->text. */
bool delta_pattern_match(struct delta_pattern *pattern, const char *event, size_t length);
void delta_pattern_forget(struct delta_pattern *pattern);
void delta_pattern_free(struct delta_pattern *pattern);

#endif
