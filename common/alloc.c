/*
 * The allocating functions that do not fail. They must only be used where ending the
 * process is the right answer to memory being out.
 */
#include <config.h>

#include "common/alloc.h"
#include "common/exit_cause.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void
out_of_memory(void)
{
	static const char text[] = "hermes-acp: out of memory\n";
	ssize_t ignored = write(STDERR_FILENO, text, sizeof text - 1);

	(void)ignored;
	_exit(EXIT_MEMORY);
}

void
xrequire(bool have)
{
	if (!have)
		out_of_memory();
}

void *
xcalloc(size_t count, size_t size)
{
	void *memory = calloc(count ? count : 1, size ? size : 1);

	if (memory == NULL)
		out_of_memory();
	return memory;
}

void *
xreallocarray(void *memory, size_t count, size_t size)
{
	if (size != 0 && count > SIZE_MAX / size)
		out_of_memory();
	memory = realloc(memory, count * size > 0 ? count * size : 1);
	if (memory == NULL)
		out_of_memory();
	return memory;
}

char *
xstrdup(const char *text)
{
	return xstrndup(text, strlen(text));
}

char *
xstrndup(const char *text, size_t length)
{
	char *copy = strndup(text, length);

	if (copy == NULL)
		out_of_memory();
	return copy;
}

char *
xasprintf(const char *format, ...)
{
	va_list arguments;
	char *text = NULL;
	int length;

	va_start(arguments, format);
	length = vasprintf(&text, format, arguments);
	va_end(arguments);
	if (length < 0)
		out_of_memory();
	return text;
}
