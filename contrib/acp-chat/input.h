/*
 * Lines from standard input.
 */
#ifndef HERMES_CONTRIB_ACP_CHAT_INPUT_H
#define HERMES_CONTRIB_ACP_CHAT_INPUT_H

#include <stdbool.h>

struct event_base;
struct input;

/* A line without its newline; NULL = there will be no more. */
typedef void (*input_line)(const char *line, void *arg);

/* Reads nothing before input_read(true). */
struct input *input_new(struct event_base *base, input_line on_line, void *arg);
void input_free(struct input *input);
void input_read(struct input *input, bool on);

#endif
