/*
 * Questions in a terminal. An answer that must not be seen is read without echo, and the
 * terminal is always put back as it was.
 */
#ifndef HERMES_WORKER_CONFIG_SETUP_PROMPT_H
#define HERMES_WORKER_CONFIG_SETUP_PROMPT_H

#include <stdbool.h>
#include <stdio.h>

#define SETUP_ANSWER_MAX 8192 /* bytes of an answer */

/* Writes the question and reads a line, blanks around it cut off; the caller frees it.
 * NULL at the end of the input, or when an answer without echo was broken off. */
char *setup_prompt_ask(FILE *in, FILE *out, const char *question, bool secret);

#endif
