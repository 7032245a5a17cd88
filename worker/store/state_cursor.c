/*
 * Places in the list of sessions: "1.", the bits of the time as 16 hexadecimal digits, ".", id.
 */
#include <config.h>

#include "worker/store/state_cursor.h"
#include "common/utf8.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX "1."
#define PREFIX_LENGTH 2
#define DIGITS 16
#define ID_MAX 512

void
state_cursor_append(struct buffer *text, double active, const char *id)
{
	uint64_t bits;

	memcpy(&bits, &active, sizeof bits);
	buffer_printf(text, PREFIX "%016" PRIx64 ".%s", bits, id);
}

int
state_cursor_read(const char *text, double *active, const char **id)
{
	const char *digits = text + PREFIX_LENGTH, *rest;
	char number[DIGITS + 1];
	uint64_t bits;
	double value;

	if (strncmp(text, PREFIX, PREFIX_LENGTH) != 0 ||
	    strspn(digits, "0123456789abcdef") != DIGITS || digits[DIGITS] != '.')
		return -1;
	rest = digits + DIGITS + 1;
	if (rest[0] == '\0' || strlen(rest) > ID_MAX || !utf8_valid(rest, strlen(rest)))
		return -1;
	memcpy(number, digits, DIGITS);
	number[DIGITS] = '\0';
	bits = strtoull(number, NULL, 16);
	memcpy(&value, &bits, sizeof value);
	if (!isfinite(value))
		return -1;
	*active = value;
	*id = rest;
	return 0;
}
