/*
 * The table of suspicious wordings, and the small matcher for it. Its time is bounded by the
 * length of the text: gaps are limited, and nothing backtracks without a limit.
 */
#include <config.h>

#include "worker/tools/threat_scan.h"

#include "common/utf8.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define ELEMENTS_MAX 6
#define GAP_WORDS 8    /* between the words of a phrase */
#define GAP_BYTES 2048 /* between the parts of a command */
#define SECRET_LEAST 20

/* One wording: elements one after the other, white space between them. An element is one of
 *   "a|b c"  any of the alternatives; a blank in it is any white space
 *   "~"      up to GAP_WORDS words
 *   "..."    anything on the same line, also nothing
 *   "$"      a reference to a variable whose name is that of a secret
 *   "#"      a quoted value that looks like a secret */
struct wording {
	const char *name;
	const char *elements[ELEMENTS_MAX];
};

#define CHANGE "update|modify|edit|write|change|append|add to"

static const struct wording wordings[] = {
    {"prompt_injection", {"ignore", "~", "previous|all|above|prior", "~", "instructions"}},
    {"system_prompt_override", {"system prompt override"}},
    {"disregard_rules",
	{"disregard", "~", "your|all|any", "~", "instructions|rules|guidelines"}},
    {"bypass_restrictions", {"act as if|act as though", "~", "have no|don't have", "~",
				"restrictions|limits|rules"}},
    {"html_comment_injection",
	{"<!--", "...", "ignore|override|system|secret|hidden", "...", "-->"}},
    {"hidden_element", {"<div style=", "...", "display:none|display: none"}},
    {"translate_execute", {"translate", "...", "and execute|and run|and eval"}},
    {"deception", {"do not|don't|never", "~", "tell", "~", "the user"}},
    {"role_hijack", {"you are", "~", "now a|now an|now the"}},
    {"role_pretend", {"pretend", "~", "you are|to be"}},
    {"leak_system_prompt", {"output|print|reveal", "~", "system prompt|initial prompt"}},
    {"remove_filters",
	{"respond|answer|reply", "without", "~", "restrictions|limitations|filters|safety"}},
    {"fake_update", {"you have been", "~", "updated to|upgraded to|patched to"}},
    {"identity_override", {"name yourself"}},
    {"remote_control", {"register as a node|register as node|register node|heartbeat to|"
			"heartbeat with|beacon to|beacon with|c2 server|c2 channel|"
			"c2 infrastructure|c2 beacon|command and control"}},
    {"remote_tasks", {"pull", "~", "new task|new tasks|tasking"}},
    {"forced_action", {"you must", "~", "register|beacon|connect to"}},
    {"agent_environment", {"unset", "...", "claude|codex|hermes|openai|anthropic"}},
    {"exfiltration_curl", {"curl", "...", "$"}},
    {"exfiltration_wget", {"wget", "...", "$"}},
    {"read_secrets", {"cat", "...", ".env|credentials|.netrc|.pgpass|.npmrc|.pypirc"}},
    {"send_to_address", {"send|post|upload|transmit", "...",
			    "to http://|to https://|at http://|"
			    "at https://"}},
    {"exfiltration_of_context", {"include|output|print|share", "~",
				    "conversation|chat history|previous messages|full context|"
				    "entire context"}},
    {"ssh_backdoor", {"authorized_keys"}},
    {"ssh_access", {"$home/.ssh|~/.ssh"}},
    {"hermes_secrets", {"$home/.hermes/.env|~/.hermes/.env"}},
    {"agent_instructions",
	{CHANGE, "...", "agents.md|claude.md|.cursorrules|.clinerules|soul.md"}},
    {"agent_configuration", {CHANGE, "...", ".hermes/config.yaml"}},
    {"secret", {"api_key|api-key|apikey|token|secret|password", "#"}},
};

/* Characters that are not seen and those that turn the direction of writing. */
static const uint32_t invisible[] = {0x200b, 0x200c, 0x200d, 0x2060, 0x2062, 0x2063, 0x2064,
    0xfeff, 0x202a, 0x202b, 0x202c, 0x202d, 0x202e, 0x2066, 0x2067, 0x2068, 0x2069};

static void
found(struct buffer *names, const char *name)
{
	if (names->length > 0)
		buffer_append_text(names, ", ");
	buffer_append_text(names, name);
}

static bool
is_invisible(uint32_t code)
{
	size_t i;

	for (i = 0; i < sizeof invisible / sizeof invisible[0]; i++)
		if (invisible[i] == code)
			return true;
	return false;
}

/* Lower case; full-width letters as plain ones; every kind of blank as one. */
static void
fold(struct buffer *out, uint32_t code)
{
	char bytes[4];

	if (code >= 0xff01 && code <= 0xff5e)
		code -= 0xff01 - 0x21;
	else if (code == 0x3000 || code == 0xa0 || (code >= 0x2000 && code <= 0x200a))
		code = ' ';
	else if (code == 0x2018 || code == 0x2019)
		code = '\'';
	if (code >= 'A' && code <= 'Z')
		code += 'a' - 'A';
	buffer_append(out, bytes, utf8_encode(code, bytes));
}

/* Folds the text; true when it has an invisible character, which is named. */
static bool
fold_all(const char *text, size_t length, struct buffer *out, struct buffer *names)
{
	char name[32];
	uint32_t code;
	size_t at = 0, size;
	bool bad = false;

	while (at < length) {
		size = utf8_decode(text + at, length - at, &code);
		if (size == 0) {
			code = UINT32_C(0xfffd);
			size = 1;
		}
		if (is_invisible(code) && !bad) {
			(void)snprintf(
			    name, sizeof name, "invisible_character_U+%04X", (unsigned)code);
			found(names, name);
			bad = true;
		}
		fold(out, code);
		at += size;
	}
	return bad;
}

static bool
is_blank(char byte)
{
	return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r' || byte == '\v' ||
	       byte == '\f';
}

static bool
is_word(char byte)
{
	return (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9') || byte == '_' ||
	       (unsigned char)byte >= 0x80;
}

static const char *
skip_blanks(const char *at)
{
	while (is_blank(*at))
		at++;
	return at;
}

/* The end of one alternative (up to '|' or the end of `literal`) in the text, or NULL. */
static const char *
match_literal(const char *at, const char *literal)
{
	for (; *literal != '\0' && *literal != '|'; literal++) {
		if (*literal == ' ') {
			if (!is_blank(*at))
				return NULL;
			at = skip_blanks(at);
		} else if (*at++ != *literal) {
			return NULL;
		}
	}
	return at;
}

/* "$name", "${name": the name ends like that of a secret. */
static const char *
match_variable(const char *at)
{
	static const char *const tails[] = {"key", "keys", "token", "tokens", "secret",
	    "secrets", "password", "passwords", "credential", "credentials"};
	const char *name;
	size_t length, i, tail;

	if (*at++ != '$')
		return NULL;
	at += *at == '{';
	for (name = at; is_word(*at); at++)
		continue;
	length = (size_t)(at - name);
	for (i = 0; i < sizeof tails / sizeof tails[0]; i++) {
		tail = strlen(tails[i]);
		if (length >= tail && memcmp(at - tail, tails[i], tail) == 0)
			return at;
	}
	return NULL;
}

/* `= "…"` or `: '…'` with a long value of the letters that keys have. */
static const char *
match_value(const char *at)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789+/=_-";
	size_t length;

	at = skip_blanks(at);
	if (*at != '=' && *at != ':')
		return NULL;
	at = skip_blanks(at + 1);
	if (*at != '"' && *at != '\'')
		return NULL;
	length = strspn(at + 1, letters);
	return length >= SECRET_LEAST ? at + 1 + length : NULL;
}

static bool match_rest(const char *at, const char *const *elements, int count);

static bool
match_words(const char *at, const char *const *elements, int count)
{
	int words;

	for (words = 0; words <= GAP_WORDS && *at != '\0'; words++) {
		if (match_rest(at, elements, count))
			return true;
		while (*at != '\0' && !is_blank(*at))
			at++;
		at = skip_blanks(at);
	}
	return false;
}

static bool
match_line(const char *at, const char *const *elements, int count)
{
	int bytes;

	for (bytes = 0; bytes <= GAP_BYTES && *at != '\0' && *at != '\n'; bytes++, at++)
		if (match_rest(at, elements, count))
			return true;
	return false;
}

/* What stands behind an element is matched after the white space that divides them. */
static bool
match_behind(const char *at, const char *const *elements, int count)
{
	if (count == 0 || elements[0] == NULL)
		return true;
	if (strcmp(elements[0], "...") == 0)
		return match_line(at, elements + 1, count - 1);
	if (strcmp(elements[0], "#") == 0)
		return match_value(at) != NULL;
	if (!is_blank(*at))
		return false;
	at = skip_blanks(at);
	if (strcmp(elements[0], "~") == 0)
		return match_words(at, elements + 1, count - 1);
	return match_rest(at, elements, count);
}

/* `elements` begins with alternatives or "$". */
static bool
match_rest(const char *at, const char *const *elements, int count)
{
	const char *literal = elements[0], *end;

	if (strcmp(literal, "$") == 0) {
		end = match_variable(at);
		return end != NULL && match_behind(end, elements + 1, count - 1);
	}
	for (; literal != NULL; literal = strchr(literal, '|')) {
		literal += *literal == '|';
		end = match_literal(at, literal);
		if (end != NULL && match_behind(end, elements + 1, count - 1))
			return true;
	}
	return false;
}

/* A wording that begins with a letter begins a word. */
static bool
matches(const char *text, const struct wording *wording)
{
	const char *at;

	for (at = text; *at != '\0'; at++) {
		if (at > text && is_word(at[-1]) && is_word(*at))
			continue;
		if (match_rest(at, wording->elements, ELEMENTS_MAX))
			return true;
	}
	return false;
}

bool
threat_scan(const char *text, size_t length, struct buffer *names)
{
	struct buffer folded = BUFFER_EMPTY;
	bool bad = fold_all(text, length, &folded, names);
	size_t i;

	for (i = 0; i < sizeof wordings / sizeof wordings[0]; i++)
		if (matches(buffer_text(&folded), &wordings[i])) {
			found(names, wordings[i].name);
			bad = true;
		}
	buffer_free(&folded);
	return bad;
}
