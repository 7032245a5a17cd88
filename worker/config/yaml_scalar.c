/*
 * Plain scalars of YAML 1.1. It must agree with PyYAML, because both read the same file, and
 * must never give a value that JSON cannot hold (infinity stays text).
 */
#include <config.h>

#include "worker/config/yaml_scalar.h"

#include "common/json.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Longer than any number that means something. */
#define NUMBER_MAX 64

static const char *const true_words[] = {
    "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON", NULL};
static const char *const false_words[] = {
    "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF", NULL};
static const char *const null_words[] = {"", "~", "null", "Null", "NULL", NULL};

static bool
is_word(const char *const *words, const char *text)
{
	for (; *words != NULL; words++)
		if (strcmp(*words, text) == 0)
			return true;
	return false;
}

/* True when `text` is not empty and consists of `allowed` only. */
static bool
consists_of(const char *text, const char *allowed)
{
	const char *at = text;

	while (*at != '\0' && strchr(allowed, *at) != NULL)
		at++;
	return at > text && *at == '\0';
}

static void
drop_underscores(char *out, const char *text)
{
	for (; *text != '\0'; text++)
		if (*text != '_')
			*out++ = *text;
	*out = '\0';
}

static int
integer_base(const char *digits)
{
	if (strncmp(digits, "0b", 2) == 0 && consists_of(digits + 2, "01_"))
		return 2;
	if (strncmp(digits, "0x", 2) == 0 && consists_of(digits + 2, "0123456789abcdefABCDEF_"))
		return 16;
	if (digits[0] == '0' && digits[1] != '\0')
		return consists_of(digits + 1, "01234567_") ? 8 : 0;
	if (digits[0] >= '0' && digits[0] <= '9' && consists_of(digits, "0123456789_"))
		return 10;
	return 0;
}

/* An integer in base 2, 8, 10 or 16; beyond 64 bits it becomes a double. */
static bool
resolve_integer(const char *text, struct json_object **value)
{
	bool negative = *text == '-';
	const char *digits = text + (*text == '-' || *text == '+');
	int base = integer_base(digits);
	char plain[NUMBER_MAX + 2], *end;
	long long number;

	if (base == 0)
		return false;
	plain[0] = negative ? '-' : '+';
	drop_underscores(plain + 1, digits + (base == 2 || base == 16 ? 2 : 0));
	if (plain[1] == '\0')
		return false;
	errno = 0;
	number = strtoll(plain, &end, base);
	if (errno == ERANGE)
		*value =
		    json_object_new_double(base == 10 ? strtod(plain, NULL) : (double)number);
	else
		*value = json_object_new_int64(number);
	return true;
}

/* The part of a float before an exponent: digits with one point. */
static bool
is_float(const char *text)
{
	const char *at = text + (*text == '-' || *text == '+');
	size_t whole = strspn(at, "0123456789_"), fraction;

	if (whole > 0 && *at == '_')
		return false;
	if (whole == 0 && at != text)
		return false; /* ".5" may have no sign */
	at += whole;
	if (*at++ != '.')
		return false;
	fraction = strspn(at, "0123456789_");
	if (whole == 0 && (fraction == 0 || *at == '_'))
		return false;
	at += fraction;
	if (*at == '\0')
		return true;
	if ((*at != 'e' && *at != 'E') || (at[1] != '+' && at[1] != '-'))
		return false;
	return consists_of(at + 2, "0123456789");
}

static bool
resolve_float(const char *text, struct json_object **value)
{
	char plain[NUMBER_MAX + 1];
	double number;

	if (!is_float(text))
		return false;
	drop_underscores(plain, text);
	number = strtod(plain, NULL);
	*value = isfinite(number) ? json_object_new_double(number) : json_new_text(text);
	return true;
}

/* Base 60 ("1:30" is 90), with an optional fraction at the end. */
static bool
resolve_sexagesimal(const char *text, struct json_object **value)
{
	const char *at = text + (*text == '-' || *text == '+');
	char plain[NUMBER_MAX + 1], *part;
	size_t length = strspn(at, "0123456789_");
	double number;

	if (length == 0 || *at == '_' || at[length] != ':' || at[length + 1] == '\0')
		return false;
	drop_underscores(plain, at);
	number = strtod(plain, NULL);
	if (strchr(plain, '.') == NULL && *at == '0')
		return false;
	for (part = strchr(plain, ':'); part != NULL; part = strchr(part + 1, ':')) {
		length = strspn(part + 1, "0123456789");
		if (length == 0 || length > 2 || (length == 2 && part[1] > '5'))
			return false;
		if (part[1 + length] != ':' && part[1 + length] != '\0' &&
		    (part[1 + length] != '.' ||
			part[2 + length + strspn(part + 2 + length, "0123456789")] != '\0'))
			return false;
		number = number * 60 + strtod(part + 1, NULL);
	}
	if (*text == '-')
		number = -number;
	if (strchr(plain, '.') == NULL && fabs(number) < 9e15)
		*value = json_object_new_int64((int64_t)number);
	else
		*value = json_object_new_double(number);
	return true;
}

struct json_object *
yaml_scalar_resolve(const char *text, size_t length)
{
	struct json_object *value = NULL;

	if (length > NUMBER_MAX || strlen(text) != length)
		return json_new_bytes(text, length);
	if (is_word(null_words, text))
		return NULL;
	if (is_word(true_words, text) || is_word(false_words, text))
		return json_object_new_boolean(is_word(true_words, text));
	if (resolve_integer(text, &value) || resolve_float(text, &value) ||
	    resolve_sexagesimal(text, &value))
		return value;
	return json_new_bytes(text, length);
}

bool
yaml_scalar_resolve_tag(
    const char *tag, const char *text, size_t length, struct json_object **value)
{
	static const struct {
		const char *name;
		json_type type;
	} types[] = {{"str", json_type_string}, {"bool", json_type_boolean},
	    {"int", json_type_int}, {"float", json_type_double}, {"null", json_type_null}};
	static const char prefix[] = "tag:yaml.org,2002:";
	const char *name =
	    strncmp(tag, prefix, sizeof prefix - 1) == 0 ? tag + sizeof prefix - 1 : "";
	json_type found;
	size_t i;

	for (i = 0; i < sizeof types / sizeof *types; i++)
		if (strcmp(types[i].name, name) == 0)
			break;
	if (i == sizeof types / sizeof *types)
		return false;
	if (types[i].type == json_type_string) {
		*value = json_new_bytes(text, length);
		return true;
	}
	*value = yaml_scalar_resolve(text, length);
	found = json_object_get_type(*value);
	if (found == types[i].type ||
	    (found == json_type_int && types[i].type == json_type_double))
		return true;
	json_object_put(*value);
	*value = NULL;
	return false;
}
