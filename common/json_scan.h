/*
 * A validating JSON scan that allocates nothing and can be fed in pieces. It accepts
 * exactly RFC 8259 in UTF-8 and can note where chosen members of the outermost object
 * (or of one of its members) stand in the text. It never builds values.
 */
#ifndef HERMES_COMMON_JSON_SCAN_H
#define HERMES_COMMON_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JSON_SCAN_DEPTH 256 /* most that `depth_max` may ask for */
#define JSON_SCAN_KEY 40    /* longest key that can be watched */

/* A member to look out for. `parent` NULL: of the outermost object; else of the object that
 * is the value of that key of the outermost object. */
struct json_watch {
	const char *parent;
	const char *key;
	unsigned seen; /* how often it stood there; 0 = absent */
	size_t offset; /* of the last one's value in the text fed so far */
	size_t length;
	char first; /* first byte of the value: '"', '{', '[', 't', 'f', 'n', '-' or a digit */
};

struct json_scan {
	/* Read only for the caller. */
	const char *error; /* constant text, NULL while the text is fine */
	size_t offset;	   /* bytes consumed */
	/* Private. */
	unsigned char state, literal, number, unicode, utf8_left, utf8_low, utf8_high;
	bool key, single_line;
	unsigned depth, depth_max;
	unsigned literal_at;
	uint32_t code;
	unsigned char stack[JSON_SCAN_DEPTH / 8];
	char name[JSON_SCAN_KEY], parent[JSON_SCAN_KEY];
	size_t name_length;
	struct json_watch *watches;
	size_t watch_count;
	int pending[3];
};

/* Starts a scan. `watches` (may be NULL) must outlive it. With `single_line` a raw newline
 * or carriage return between tokens is an error too. */
void json_scan_start(struct json_scan *scan, unsigned depth_max, bool single_line,
    struct json_watch *watches, size_t watch_count);
/* Consumes bytes; -1 once the text cannot be JSON any more (scan->error says why). */
int json_scan_feed(struct json_scan *scan, const char *bytes, size_t length);
/* Ends the text; -1 when no complete value stood there. */
int json_scan_end(struct json_scan *scan);
/* Checks one whole text: NULL, or why it is not JSON. */
const char *json_scan_check(const char *text, size_t length, unsigned depth_max);

#endif
