/*
 * JSON in a test's text. It is for text that must be JSON; what is to be refused goes to
 * json_parse() itself.
 */
#ifndef HERMES_TESTS_UNIT_PARSED_JSON_H
#define HERMES_TESTS_UNIT_PARSED_JSON_H

#include "common/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* The value, owned by the caller; the test fails when the text is no JSON. */
static inline struct json_object *
parsed_json(const char *text)
{
	const char *reason;
	struct json_object *value = json_parse(text, strlen(text), &reason);

	if (value == NULL)
		fail_msg("%s: %s", text, reason);
	return value;
}

#endif
