/*
 * Reads a .env file in the syntax of python-dotenv. It never changes the environment of the
 * process, and a line that makes no sense never hides the others.
 */
#ifndef HERMES_WORKER_CONFIG_DOTENV_H
#define HERMES_WORKER_CONFIG_DOTENV_H

#include "worker/config/problems.h"

#include <stdbool.h>
#include <stddef.h>

#define DOTENV_SIZE_MAX (256 * 1024) /* bytes of a file that are accepted */
#define DOTENV_VALUE_MAX (64 * 1024) /* bytes of a value after ${VAR} was filled in */
#define DOTENV_ENTRIES_MAX 4096

struct dotenv_entry {
	char *name;
	char *value;	   /* NULL when the line held only a name */
	unsigned line;	   /* from 1 */
	size_t start, end; /* bytes of the whole entry in the text, newline included */
};

struct dotenv {
	struct dotenv_entry *entries; /* in the order of the file */
	size_t count;
};

/* The text of a file as UTF-8 without byte order mark and NUL bytes: UTF-8, UTF-16 with a
 * mark, or else Latin-1. The caller frees it; NULL with a constant *reason. */
char *dotenv_decode(const char *bytes, size_t length, const char **reason);
/* Parses decoded text. `file` names it in problems. Values are final: escapes and ${VAR}
 * filled in (earlier entries first, then the environment). Cleared by dotenv_clear(). */
void dotenv_parse(
    struct dotenv *dotenv, const char *text, const char *file, struct problems *problems);
/* The last entry of that name, NULL when there is none; borrowed. */
const struct dotenv_entry *dotenv_find(const struct dotenv *dotenv, const char *name);
/* True for names whose values are secrets by their ending (_API_KEY, _TOKEN …). */
bool dotenv_name_is_secret(const char *name);
void dotenv_clear(struct dotenv *dotenv);

#endif
