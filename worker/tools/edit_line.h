/*
 * Lines of a text that is edited.
 */
#ifndef HERMES_WORKER_TOOLS_EDIT_LINE_H
#define HERMES_WORKER_TOOLS_EDIT_LINE_H

#include <stddef.h>

/* "\r\n" when most lines of the text end so, else "\n". */
const char *edit_line_end(const char *text, size_t length);
/* The number (from 1) of the line that `offset` is in. */
size_t edit_line_number(const char *text, size_t offset);

#endif
