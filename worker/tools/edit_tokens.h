/*
 * Text as tokens: words, runs of blanks (with the line end behind them), single characters.
 */
#ifndef HERMES_WORKER_TOOLS_EDIT_TOKENS_H
#define HERMES_WORKER_TOOLS_EDIT_TOKENS_H

#include "worker/tools/edit_merge.h"
#include "worker/tools/sequence_diff.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct edit_token {
	struct edit_text raw;  /* as the model wrote it */
	struct edit_text file; /* what stands for it in the file; filled by edit_merge.c */
	uint32_t number;       /* equal raw text, equal number */
	bool ends_line;
};

struct edit_tokens {
	struct edit_token *items; /* the caller frees it */
	size_t count;
};

/* Cuts `text`, which stays borrowed. */
void edit_tokens_cut(
    struct edit_tokens *tokens, const struct edit_text *text, struct sequence_names *names);
/* Length of the word (letters, digits, "_", in any form) at `text`; 0 when there is none. */
size_t edit_tokens_word(const char *text, size_t length);

#endif
