/*
 * The words that stand for something in a rehearsal script.
 */
#ifndef HERMES_WORKER_PROVIDERS_REHEARSAL_WORDS_H
#define HERMES_WORKER_PROVIDERS_REHEARSAL_WORDS_H

#include "worker/providers/provider.h"

#include <stdbool.h>

/* False for an unknown word. */
bool rehearsal_words_parse_finish(const char *word, enum finish_reason *finish);
bool rehearsal_words_parse_error(const char *word, enum model_error *error);

/* NULL when the word is known, else a list of the known ones for a message. */
const char *rehearsal_words_finish(const char *word);
const char *rehearsal_words_error(const char *word);
const char *rehearsal_words_signal(const char *word);
const char *rehearsal_words_point(const char *word);

#endif
