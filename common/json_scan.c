/*
 * JSON as a state machine, one byte after the other. It must never allocate, recurse, or
 * look at a byte twice.
 */
#include <config.h>

#include "common/json_scan.h"

#include <string.h>

enum state {
	STATE_VALUE,	   /* a value has to come */
	STATE_FIRST_VALUE, /* after [ */
	STATE_FIRST_KEY,   /* after { */
	STATE_KEY,	   /* after , in an object */
	STATE_COLON,
	STATE_AFTER, /* after a value inside a container */
	STATE_STRING,
	STATE_ESCAPE,
	STATE_UNICODE,
	STATE_NUMBER,
	STATE_LITERAL,
	STATE_DONE,
	STATE_FAILED
};

/* Places inside a number (RFC 8259 section 6). */
enum number {
	NUMBER_MINUS,
	NUMBER_ZERO,
	NUMBER_INTEGER,
	NUMBER_POINT,
	NUMBER_FRACTION,
	NUMBER_E,
	NUMBER_SIGN,
	NUMBER_EXPONENT
};

static const char *const literals[] = {"true", "false", "null"};

void
json_scan_start(struct json_scan *scan, unsigned depth_max, bool single_line,
    struct json_watch *watches, size_t watch_count)
{
	size_t i;

	memset(scan, 0, sizeof *scan);
	scan->state = STATE_VALUE;
	scan->depth_max = depth_max < JSON_SCAN_DEPTH ? depth_max : JSON_SCAN_DEPTH;
	scan->single_line = single_line;
	scan->watches = watches;
	scan->watch_count = watch_count;
	for (i = 0; i < 3; i++)
		scan->pending[i] = -1;
	for (i = 0; i < watch_count; i++) {
		watches[i].seen = 0;
		watches[i].offset = watches[i].length = 0;
		watches[i].first = 0;
	}
}

static int
fail(struct json_scan *scan, const char *reason)
{
	if (scan->error == NULL)
		scan->error = reason;
	scan->state = STATE_FAILED;
	return -1;
}

static bool
in_object(const struct json_scan *scan)
{
	unsigned top = scan->depth - 1;

	return scan->depth > 0 && (scan->stack[top / 8] >> (top % 8) & 1);
}

static int
push(struct json_scan *scan, bool object)
{
	unsigned top = scan->depth;

	if (scan->depth >= scan->depth_max)
		return fail(scan, "nested too deeply");
	scan->depth++;
	if (object)
		scan->stack[top / 8] |= (unsigned char)(1u << top % 8);
	else
		scan->stack[top / 8] &= (unsigned char)~(1u << top % 8);
	scan->state = object ? STATE_FIRST_KEY : STATE_FIRST_VALUE;
	return 0;
}

/* A value ends before the byte at `end`. */
static void
value_ended(struct json_scan *scan, size_t end)
{
	struct json_watch *watch;

	if (scan->depth >= 1 && scan->depth <= 2 && scan->pending[scan->depth] >= 0) {
		watch = &scan->watches[scan->pending[scan->depth]];
		watch->length = end - watch->offset;
		scan->pending[scan->depth] = -1;
	}
	scan->state = scan->depth == 0 ? STATE_DONE : STATE_AFTER;
}

static int
pop(struct json_scan *scan, bool object)
{
	if (scan->depth == 0 || in_object(scan) != object)
		return fail(scan, "unbalanced bracket");
	scan->depth--;
	value_ended(scan, scan->offset + 1);
	return 0;
}

static void
value_started(struct json_scan *scan, char first)
{
	struct json_watch *watch;

	if (scan->depth >= 1 && scan->depth <= 2 && scan->pending[scan->depth] >= 0) {
		watch = &scan->watches[scan->pending[scan->depth]];
		watch->offset = scan->offset;
		watch->first = first;
		watch->seen++;
	}
}

/* A key has ended: is somebody watching for its value? */
static void
key_ended(struct json_scan *scan)
{
	size_t i;
	const struct json_watch *watch;

	scan->state = STATE_COLON;
	if (scan->depth > 2)
		return;
	scan->name[scan->name_length < JSON_SCAN_KEY ? scan->name_length : 0] = '\0';
	if (scan->depth == 1)
		memcpy(scan->parent, scan->name, sizeof scan->parent);
	scan->pending[scan->depth] = -1;
	for (i = 0; i < scan->watch_count; i++) {
		watch = &scan->watches[i];
		if (strcmp(watch->key, scan->name) != 0)
			continue;
		if (watch->parent == NULL
			? scan->depth == 1
			: scan->depth == 2 && strcmp(watch->parent, scan->parent) == 0)
			scan->pending[scan->depth] = (int)i;
	}
}

static void
name_add(struct json_scan *scan, char byte)
{
	if (scan->key && scan->depth <= 2 && scan->name_length < JSON_SCAN_KEY)
		scan->name[scan->name_length++] = byte;
}

static void
string_starts(struct json_scan *scan, bool key)
{
	scan->key = key;
	scan->name_length = 0;
	scan->utf8_left = 0;
	scan->state = STATE_STRING;
}

static int
begin_value(struct json_scan *scan, char byte)
{
	size_t i;

	value_started(scan, byte);
	switch (byte) {
	case '{':
		return push(scan, true);
	case '[':
		return push(scan, false);
	case '"':
		string_starts(scan, false);
		return 0;
	case '-':
		scan->number = NUMBER_MINUS;
		scan->state = STATE_NUMBER;
		return 0;
	default:
		break;
	}
	if (byte >= '0' && byte <= '9') {
		scan->number = byte == '0' ? NUMBER_ZERO : NUMBER_INTEGER;
		scan->state = STATE_NUMBER;
		return 0;
	}
	for (i = 0; i < 3; i++)
		if (byte == literals[i][0]) {
			scan->literal = (unsigned char)i;
			scan->literal_at = 1;
			scan->state = STATE_LITERAL;
			return 0;
		}
	return fail(scan, "unexpected character");
}

/* Second byte ranges as in RFC 3629 section 4. */
static int
utf8_lead(struct json_scan *scan, unsigned char byte)
{
	scan->utf8_low = 0x80;
	scan->utf8_high = 0xbf;
	if (byte >= 0xc2 && byte <= 0xdf)
		scan->utf8_left = 1;
	else if (byte >= 0xe0 && byte <= 0xef)
		scan->utf8_left = 2;
	else if (byte >= 0xf0 && byte <= 0xf4)
		scan->utf8_left = 3;
	else
		return fail(scan, "invalid UTF-8");
	if (byte == 0xe0)
		scan->utf8_low = 0xa0;
	else if (byte == 0xed)
		scan->utf8_high = 0x9f;
	else if (byte == 0xf0)
		scan->utf8_low = 0x90;
	else if (byte == 0xf4)
		scan->utf8_high = 0x8f;
	name_add(scan, (char)byte);
	return 0;
}

static int
in_string(struct json_scan *scan, unsigned char byte)
{
	if (scan->utf8_left > 0) {
		if (byte < scan->utf8_low || byte > scan->utf8_high)
			return fail(scan, "invalid UTF-8");
		scan->utf8_left--;
		scan->utf8_low = 0x80;
		scan->utf8_high = 0xbf;
		name_add(scan, (char)byte);
		return 0;
	}
	if (byte == '"') {
		if (scan->key)
			key_ended(scan);
		else
			value_ended(scan, scan->offset + 1);
		return 0;
	}
	if (byte == '\\') {
		scan->state = STATE_ESCAPE;
		return 0;
	}
	if (byte < 0x20)
		return fail(scan, "control character in a string");
	if (byte >= 0x80)
		return utf8_lead(scan, byte);
	name_add(scan, (char)byte);
	return 0;
}

static int
in_escape(struct json_scan *scan, char byte)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *place;

	if (byte == 'u') {
		scan->unicode = 0;
		scan->code = 0;
		scan->state = STATE_UNICODE;
		return 0;
	}
	place = byte == '\0' ? NULL : strchr(from, byte);
	if (place == NULL)
		return fail(scan, "invalid escape");
	name_add(scan, to[place - from]);
	scan->state = STATE_STRING;
	return 0;
}

static int
in_unicode(struct json_scan *scan, char byte)
{
	int digit;

	if (byte >= '0' && byte <= '9')
		digit = byte - '0';
	else if (byte >= 'a' && byte <= 'f')
		digit = byte - 'a' + 10;
	else if (byte >= 'A' && byte <= 'F')
		digit = byte - 'A' + 10;
	else
		return fail(scan, "invalid \\u escape");
	scan->code = scan->code << 4 | (unsigned)digit;
	if (++scan->unicode == 4) {
		/* A watched key is ASCII; anything else only has to differ from it. */
		name_add(scan, scan->code > 0 && scan->code < 0x80 ? (char)scan->code : '\x01');
		scan->state = STATE_STRING;
	}
	return 0;
}

static bool
number_complete(unsigned char place)
{
	return place == NUMBER_ZERO || place == NUMBER_INTEGER || place == NUMBER_FRACTION ||
	       place == NUMBER_EXPONENT;
}

/* The next place inside a number, or -1 when `byte` does not belong to it. */
static int
number_next(unsigned char place, char byte)
{
	bool digit = byte >= '0' && byte <= '9', e = byte == 'e' || byte == 'E';

	switch ((enum number)place) {
	case NUMBER_MINUS:
		return digit ? (byte == '0' ? NUMBER_ZERO : NUMBER_INTEGER) : -1;
	case NUMBER_ZERO:
		return byte == '.' ? NUMBER_POINT : e ? NUMBER_E : -1;
	case NUMBER_INTEGER:
		return digit ? NUMBER_INTEGER : byte == '.' ? NUMBER_POINT : e ? NUMBER_E : -1;
	case NUMBER_POINT:
		return digit ? NUMBER_FRACTION : -1;
	case NUMBER_FRACTION:
		return digit ? NUMBER_FRACTION : e ? NUMBER_E : -1;
	case NUMBER_E:
		return digit			      ? NUMBER_EXPONENT
		       : (byte == '+' || byte == '-') ? NUMBER_SIGN
						      : -1;
	case NUMBER_SIGN:
	case NUMBER_EXPONENT:
		return digit ? NUMBER_EXPONENT : -1;
	}
	return -1;
}

static bool
is_blank(const struct json_scan *scan, char byte)
{
	if (byte == ' ' || byte == '\t')
		return true;
	return !scan->single_line && (byte == '\n' || byte == '\r');
}

/* Everything between tokens. */
static int
between(struct json_scan *scan, char byte)
{
	if (is_blank(scan, byte))
		return 0;
	switch ((enum state)scan->state) {
	case STATE_FIRST_VALUE:
		if (byte == ']')
			return pop(scan, false);
		return begin_value(scan, byte);
	case STATE_VALUE:
		return begin_value(scan, byte);
	case STATE_FIRST_KEY:
		if (byte == '}')
			return pop(scan, true);
		__attribute__((fallthrough));
	case STATE_KEY:
		if (byte != '"')
			return fail(scan, "a key in double quotes was expected");
		string_starts(scan, true);
		return 0;
	case STATE_COLON:
		if (byte != ':')
			return fail(scan, "':' was expected");
		scan->state = STATE_VALUE;
		return 0;
	case STATE_AFTER:
		if (byte == ',') {
			scan->state = in_object(scan) ? STATE_KEY : STATE_VALUE;
			return 0;
		}
		if (byte == '}' || byte == ']')
			return pop(scan, byte == '}');
		return fail(scan, "',' or a closing bracket was expected");
	default:
		return fail(scan, "text after the value");
	}
}

static int
in_literal(struct json_scan *scan, char byte)
{
	if (byte != literals[scan->literal][scan->literal_at])
		return fail(scan, "unknown literal");
	if (literals[scan->literal][++scan->literal_at] == '\0')
		value_ended(scan, scan->offset + 1);
	return 0;
}

static int
scan_byte(struct json_scan *scan, char byte)
{
	int next;

	switch ((enum state)scan->state) {
	case STATE_STRING:
		return in_string(scan, (unsigned char)byte);
	case STATE_ESCAPE:
		return in_escape(scan, byte);
	case STATE_UNICODE:
		return in_unicode(scan, byte);
	case STATE_LITERAL:
		return in_literal(scan, byte);
	case STATE_NUMBER:
		next = number_next(scan->number, byte);
		if (next >= 0) {
			scan->number = (unsigned char)next;
			return 0;
		}
		if (!number_complete(scan->number))
			return fail(scan, "incomplete number");
		value_ended(scan, scan->offset);
		return between(scan, byte);
	case STATE_FAILED:
		return -1;
	default:
		return between(scan, byte);
	}
}

/* How many bytes of a string's inside need no look at the state: plain ASCII. */
static size_t
plain_run(const char *bytes, size_t length)
{
	size_t n = 0;
	unsigned char byte;

	while (n < length) {
		byte = (unsigned char)bytes[n];
		if (byte < 0x20 || byte >= 0x80 || byte == '"' || byte == '\\')
			break;
		n++;
	}
	return n;
}

int
json_scan_feed(struct json_scan *scan, const char *bytes, size_t length)
{
	size_t at = 0, run;

	while (at < length) {
		if (scan->state == STATE_STRING && !scan->key && scan->utf8_left == 0) {
			run = plain_run(bytes + at, length - at);
			at += run;
			scan->offset += run;
			if (at == length)
				break;
		}
		if (scan_byte(scan, bytes[at]) == -1)
			return -1;
		at++;
		scan->offset++;
	}
	return 0;
}

int
json_scan_end(struct json_scan *scan)
{
	if (scan->state == STATE_NUMBER && number_complete(scan->number))
		value_ended(scan, scan->offset);
	if (scan->state == STATE_FAILED)
		return -1;
	if (scan->state != STATE_DONE)
		return fail(scan, scan->offset == 0 ? "empty text" : "the text ends too early");
	return 0;
}

const char *
json_scan_check(const char *text, size_t length, unsigned depth_max)
{
	struct json_scan scan;

	json_scan_start(&scan, depth_max, false, NULL, 0);
	if (json_scan_feed(&scan, text, length) == 0)
		json_scan_end(&scan);
	return scan.error;
}
