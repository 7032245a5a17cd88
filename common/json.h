/*
 * json-c behind the checks that json-c lacks. Text is first scanned by json_scan.c, so
 * that nothing that RFC 8259 forbids gets through (quotes, NaN, trailing commas, raw
 * control bytes, invalid UTF-8). It never exits; every getter has a default.
 */
#ifndef HERMES_COMMON_JSON_H
#define HERMES_COMMON_JSON_H

#include "common/buffer.h"

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Nesting that is accepted from outside; more is refused, not followed. */
#define JSON_DEPTH_MAX 128

/* Parses one JSON value; the caller owns it (json_object_put). NULL with *reason set to a
 * constant text when the text is not JSON. JSON null gives NULL with *reason NULL. */
struct json_object *json_parse(const char *text, size_t length, const char **reason);

/* Members of an object; `object` may be NULL or of another type. Results are borrowed. */
struct json_object *json_member(struct json_object *object, const char *key);
struct json_object *json_member_object(struct json_object *object, const char *key);
struct json_object *json_member_array(struct json_object *object, const char *key);
/* The string, or NULL when the member is absent or not a string. A string with a NUL inside
 * counts as not a string: no name or path has one. */
const char *json_member_string(struct json_object *object, const char *key);
const char *
json_member_text(struct json_object *object, const char *key, const char *otherwise);
/* Numbers: an integer, a double without fraction, or (as models write them) a string that
 * holds one. False when there is none; *value is untouched then. */
bool json_member_integer(struct json_object *object, const char *key, int64_t *value);
bool json_member_boolean(struct json_object *object, const char *key, bool otherwise);
bool json_member_double(struct json_object *object, const char *key, double *value);
/* True when the member is there and not null. */
bool json_has(struct json_object *object, const char *key);

/* Building. All take over `value`; NULL stands for null. */
struct json_object *json_new_text(const char *text);
struct json_object *
json_new_bytes(const char *text, size_t length); /* invalid UTF-8 repaired */
void json_set(struct json_object *object, const char *key, struct json_object *value);
void json_set_text(struct json_object *object, const char *key, const char *text);
void json_set_integer(struct json_object *object, const char *key, int64_t value);
void json_set_boolean(struct json_object *object, const char *key, bool value);

/* The value as one line of JSON; borrowed, valid until the object changes or goes. */
const char *json_text(struct json_object *value, size_t *length);
/* Appends the value as one line with the keys of every object sorted, so that the same
 * value always gives the same bytes. */
int json_append_sorted(struct buffer *buffer, struct json_object *value);
/* A deep copy, owned by the caller; NULL for NULL. */
struct json_object *json_copy(struct json_object *value);

#endif
