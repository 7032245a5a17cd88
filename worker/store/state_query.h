/*
 * What somebody searches for, taken apart: words, quoted phrases, AND, OR, NOT, and a star at
 * the end of a word. Whatever the text is, what comes out is a valid expression: every word
 * is quoted, and an operator stands only between two of them.
 */
#ifndef HERMES_WORKER_STORE_STATE_QUERY_H
#define HERMES_WORKER_STORE_STATE_QUERY_H

#include "common/buffer.h"

#include <stdbool.h>
#include <stddef.h>

/* What is beyond is left out. */
#define STATE_QUERY_CHARACTERS 2048 /* (as in Hermes) */
#define STATE_QUERY_TERMS 64

enum state_query_operator { STATE_QUERY_AND, STATE_QUERY_OR, STATE_QUERY_NOT };

struct state_query_term {
	char *text;
	bool prefix;			    /* a star stands behind it */
	enum state_query_operator operator; /* between it and the one before */
};

struct state_query {
	struct state_query_term *terms;
	size_t count; /* 0: there is nothing to search for */
	bool cjk;     /* has a letter of a script that is written without spaces */
};

void state_query_parse(struct state_query *query, const char *text, size_t length);
void state_query_clear(struct state_query *query);
/* True when each term has the three characters that the trigram index needs. */
bool state_query_fits_trigrams(const struct state_query *query);
/* Appends the expression for MATCH. */
void state_query_match(const struct state_query *query, struct buffer *expression);
/* Appends a condition with one parameter for each term, from ?`first` on, that compares
 * `column`. */
void state_query_condition(
    const struct state_query *query, const char *column, int first, struct buffer *sql);
/* Appends the pattern of term `index` for that condition. */
void state_query_pattern(const struct state_query *query, size_t index, struct buffer *pattern);
/* The part of `text` around the first term in it, at most `characters` of it on one line, with
 * the term between >>> and <<<; the caller frees it. */
char *state_query_snippet(
    const struct state_query *query, const char *text, size_t length, size_t characters);

#endif
