/*
 * Allocation that ends the process when memory is out. For worker/ and for start-up only:
 * the supervisor must survive, so nothing there that input can size may use it.
 */
#ifndef HERMES_COMMON_ALLOC_H
#define HERMES_COMMON_ALLOC_H

#include <stdbool.h>
#include <stddef.h>

/* For what returns an error instead: ends the process unless it has what it wanted. */
void xrequire(bool have);
void *xcalloc(size_t count, size_t size);
void *xreallocarray(void *memory, size_t count, size_t size);
char *xstrdup(const char *text);
char *xstrndup(const char *text, size_t length);
char *xasprintf(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
