/*
 * The inside of shell_words: text, position, and what is shared by the files that read it.
 */
#ifndef HERMES_WORKER_TOOLS_SHELL_READER_H
#define HERMES_WORKER_TOOLS_SHELL_READER_H

#include "common/buffer.h"
#include "worker/tools/shell_words.h"

#define SHELL_DEPTH_MAX 40	 /* substitutions and strings within one another */
#define SHELL_COMMANDS_MAX 20000 /* simple commands that are looked at */
/* Bytes that may be read again because they are strings for a shell: so many times the
 * command's length, and some more. */
#define SHELL_AGAIN_TIMES 3
#define SHELL_AGAIN_MORE 65536
/* Stands in a word for the output of a substitution, whose commands are in the list. */
#define SHELL_UNKNOWN_TEXT "$(:)"

/* A here document whose text has not been reached. */
struct shell_pending {
	struct shell_redirection *redirection;
	char *end; /* its last line */
	bool strip_tabs, literal;
};

struct shell_reader {
	const char *text;
	size_t length, at;
	unsigned depth;
	struct shell_words *out;
	struct shell_pending pending[16];
	size_t pending_count;
};

/* A word holds substitutions, and these hold lists of commands: the calls upward from
 * shell_word.c, registered by shell_words.c. */
struct shell_upward {
	void (*read_list)(struct shell_reader *reader, char stop);
	void (*read_text)(
	    struct shell_words *words, const char *text, size_t length, unsigned depth);
};

/* shell_reader.c: memory that lives as long as the words. */
void *shell_words_allocate(struct shell_words *words, size_t size);
char *shell_words_copy(struct shell_words *words, const char *text, size_t length);
/* Adds an empty command to the list; returns its index. */
size_t shell_words_add(struct shell_words *words);

/* The byte `ahead` of the position; NUL past the end. */
char shell_reader_peek(const struct shell_reader *reader, size_t ahead);
/* Goes over blanks and continued lines. */
void shell_reader_skip_blanks(struct shell_reader *reader);
/* shell_redirection.c: reads a redirection at "<" or ">", or "&" before one; NULL when no word
 * follows. */
struct shell_redirection *shell_redirection_read(struct shell_reader *reader);
/* Reads the text of one here document, from the beginning of a line. */
void
shell_redirection_document(struct shell_reader *reader, const struct shell_pending *pending);

/* shell_list.c: reads commands until `stop` (a closing parenthesis) or the end. */
void shell_list_read(struct shell_reader *reader, char stop);
/* Reads `length` bytes as commands of their own. */
void shell_list_read_text(
    struct shell_words *words, const char *text, size_t length, unsigned depth);

/* shell_word.c: reads one word at the position. False when none begins there. */
bool shell_word_read(struct shell_reader *reader, struct shell_word *word);
/* Follows the substitutions in text that is otherwise data. */
void shell_word_scan(struct shell_words *words, const char *text, size_t length, unsigned depth,
    struct shell_word *word);
/* The length of "((…))" at `text`, or 0 when that is not arithmetic. */
size_t shell_word_arithmetic(struct shell_words *words, const char *text, size_t length);

/* shell_unwrap.c: adds what the commands run in turn, at the end of the list. */
void shell_unwrap(struct shell_words *words);

#endif
