/*
 * A shell command taken apart: which programs it runs, with which words, when all that can
 * be known without running it is known. Quotes, escapes, line continuation, here documents,
 * substitutions, wrappers (sudo, env, xargs …) and shells within (sh -c, eval) are followed.
 * It is a reader, not a sandbox: what a program does is not seen.
 */
#ifndef HERMES_WORKER_TOOLS_SHELL_WORDS_H
#define HERMES_WORKER_TOOLS_SHELL_WORDS_H

#include <stdbool.h>
#include <stddef.h>

/* Stands for the user's home folder at the beginning of a word: "~" or $HOME. */
#define SHELL_WORDS_HOME '\001'

struct shell_word {
	char *text;   /* quotes and escapes taken out; unknown expansions as written */
	bool dynamic; /* holds something that is only known when it runs */
	bool splits;  /* ... and that can become several words or options */
	bool pattern; /* holds an unquoted wildcard or brace */
	bool quoted;  /* some of it was quoted or escaped */
	size_t inner, inner_end; /* commands of the substitutions in it */
};

enum shell_redirection_kind {
	SHELL_REDIRECTION_READ,
	SHELL_REDIRECTION_WRITE, /* creates, truncates or appends */
	SHELL_REDIRECTION_COPY,	 /* >&1 and its like */
	SHELL_REDIRECTION_TEXT	 /* here document or here string; `word` is the text */
};

struct shell_redirection {
	struct shell_redirection *next;
	enum shell_redirection_kind kind;
	struct shell_word word;
};

#define SHELL_NO_COMMAND ((size_t)-1)

/* How a command came to be in the list. */
enum shell_origin {
	SHELL_ORIGIN_WRITTEN,
	SHELL_ORIGIN_WRAPPED, /* by sudo, env … */
	SHELL_ORIGIN_XARGS,   /* by xargs or parallel: more words come from its input */
	SHELL_ORIGIN_FIND,    /* by find -exec */
	SHELL_ORIGIN_STRING   /* in a string that a shell runs */
};

/* One simple command. words[0] is the program. */
struct shell_simple {
	struct shell_word *words;
	size_t count;
	struct shell_word *assignments; /* NAME=value before the program */
	size_t assignment_count;
	struct shell_redirection *redirections;
	size_t previous; /* the command whose output it reads, or SHELL_NO_COMMAND */
	bool joined;	 /* runs only when the command before it succeeded (&&) */
	enum shell_origin origin;
	unsigned level; /* how deep it stands within others */
};

struct shell_words {
	struct shell_simple *commands;
	size_t count;
	const char *problem; /* why it could not be read to the end; NULL = it was */
	bool fork_bomb;	     /* a function that does nothing but start itself twice */
	/* Private. */
	const struct shell_upward *up;
	size_t budget; /* bytes that may still be read */
	size_t room;
	void **blocks;
	size_t block_count, block_room;
};

/* Never fails; see `problem`. */
void shell_words_read(struct shell_words *words, const char *command);
void shell_words_clear(struct shell_words *words);

/* The program's name without folder, in lower case, cut to `size`; "" when it is not known. */
void shell_words_program(const struct shell_simple *command, char *name, size_t size);

#endif
