/*
 * Reading error bodies. Servers agree neither on where the text stands nor on codes, so
 * several places and phrases are tried. It must never copy control bytes or half characters
 * into a message.
 */
#include <config.h>

#include "worker/providers/http_error_words.h"
#include "common/alloc.h"
#include "common/log.h"
#include "common/utf8.h"

#include <stdlib.h>
#include <string.h>

#define WORDS_MAX 500 /* code points of a provider's own text that are shown */

/* Statuses in which a phrase may mean what it says. */
enum scope {
	IN_REFUSAL = 1,	   /* 4xx but 401, 402, 403, 429, and errors without a status */
	IN_RATE_LIMIT = 2, /* 429 */
	IN_PAYMENT = 4,	   /* 402, 403 */
	IN_SERVER = 8	   /* 5xx */
};

/* The first row that fits counts. Phrases of Hermes' overflow list, lower case. */
static const struct {
	const char *phrase;
	unsigned scope;
	enum model_error kind;
} phrases[] = {
    {"insufficient_quota", IN_REFUSAL | IN_RATE_LIMIT | IN_PAYMENT, MODEL_ERROR_BILLING},
    {"exceeded your current quota", IN_REFUSAL | IN_RATE_LIMIT | IN_PAYMENT,
	MODEL_ERROR_BILLING},
    {"insufficient credit", IN_REFUSAL | IN_RATE_LIMIT | IN_PAYMENT, MODEL_ERROR_BILLING},
    {"insufficient balance", IN_REFUSAL | IN_RATE_LIMIT | IN_PAYMENT, MODEL_ERROR_BILLING},
    {"credit balance", IN_REFUSAL | IN_RATE_LIMIT | IN_PAYMENT, MODEL_ERROR_BILLING},
    {"billing_hard_limit", IN_REFUSAL | IN_RATE_LIMIT | IN_PAYMENT, MODEL_ERROR_BILLING},
    {"billing_not_active", IN_REFUSAL | IN_RATE_LIMIT | IN_PAYMENT, MODEL_ERROR_BILLING},
    {"out of credits", IN_REFUSAL | IN_RATE_LIMIT | IN_PAYMENT, MODEL_ERROR_BILLING},
    {"request too large", IN_REFUSAL | IN_RATE_LIMIT, MODEL_ERROR_TOO_LONG},
    {"context_length", IN_REFUSAL | IN_SERVER, MODEL_ERROR_TOO_LONG},
    {"context length", IN_REFUSAL | IN_SERVER, MODEL_ERROR_TOO_LONG},
    {"context size", IN_REFUSAL | IN_SERVER, MODEL_ERROR_TOO_LONG},
    {"context window", IN_REFUSAL | IN_SERVER, MODEL_ERROR_TOO_LONG},
    {"exceed context limit", IN_REFUSAL | IN_SERVER, MODEL_ERROR_TOO_LONG},
    {"maximum context", IN_REFUSAL | IN_SERVER, MODEL_ERROR_TOO_LONG},
    {"token limit", IN_REFUSAL, MODEL_ERROR_TOO_LONG},
    {"too many tokens", IN_REFUSAL, MODEL_ERROR_TOO_LONG},
    {"prompt is too long", IN_REFUSAL | IN_SERVER, MODEL_ERROR_TOO_LONG},
    {"prompt too long", IN_REFUSAL | IN_SERVER, MODEL_ERROR_TOO_LONG},
    {"prompt exceeds", IN_REFUSAL | IN_SERVER, MODEL_ERROR_TOO_LONG},
    {"max_model_len", IN_REFUSAL | IN_SERVER, MODEL_ERROR_TOO_LONG},
    {"exceeds the limit", IN_REFUSAL, MODEL_ERROR_TOO_LONG},
    {"input is too long", IN_REFUSAL | IN_SERVER, MODEL_ERROR_TOO_LONG},
    {"reduce the length", IN_REFUSAL | IN_SERVER, MODEL_ERROR_TOO_LONG},
    {"n_ctx", IN_REFUSAL | IN_SERVER, MODEL_ERROR_TOO_LONG},
    {"exceed_context_size", IN_REFUSAL | IN_SERVER, MODEL_ERROR_TOO_LONG},
    {"上下文长度", IN_REFUSAL | IN_SERVER, MODEL_ERROR_TOO_LONG},
    {"超过最大长度", IN_REFUSAL | IN_SERVER, MODEL_ERROR_TOO_LONG},
    {"encrypted_content", IN_REFUSAL, MODEL_ERROR_THINKING},
    {"without its required following item", IN_REFUSAL, MODEL_ERROR_THINKING},
    {"support image", IN_REFUSAL | IN_SERVER, MODEL_ERROR_IMAGE},
    {"image input", IN_REFUSAL | IN_SERVER, MODEL_ERROR_IMAGE},
    {"images are not", IN_REFUSAL | IN_SERVER, MODEL_ERROR_IMAGE},
    {"image_url", IN_REFUSAL | IN_SERVER, MODEL_ERROR_IMAGE},
    {"does not support vision", IN_REFUSAL | IN_SERVER, MODEL_ERROR_IMAGE},
    {"not a multimodal model", IN_REFUSAL | IN_SERVER, MODEL_ERROR_IMAGE},
    {"not support multimodal", IN_REFUSAL | IN_SERVER, MODEL_ERROR_IMAGE},
    {"could not process image", IN_REFUSAL, MODEL_ERROR_IMAGE},
    {"image exceeds", IN_REFUSAL, MODEL_ERROR_IMAGE},
    {"image dimensions exceed", IN_REFUSAL, MODEL_ERROR_IMAGE},
    {"`thinking` block", IN_REFUSAL, MODEL_ERROR_THINKING},
    {"`redacted_thinking`", IN_REFUSAL, MODEL_ERROR_THINKING},
};

/* Types and codes of errors that stand within an answer of status 200. */
static const struct {
	const char *part;
	enum model_error kind;
} types[] = {
    {"overloaded", MODEL_ERROR_OVERLOADED},
    {"unavailable", MODEL_ERROR_OVERLOADED},
    {"slow_down", MODEL_ERROR_OVERLOADED},
    {"rate_limit", MODEL_ERROR_RATE_LIMIT},
    {"too_many_requests", MODEL_ERROR_RATE_LIMIT},
    {"resource_exhausted", MODEL_ERROR_RATE_LIMIT},
    {"authentication", MODEL_ERROR_AUTH},
    {"invalid_api_key", MODEL_ERROR_AUTH},
    {"permission", MODEL_ERROR_AUTH},
    {"billing", MODEL_ERROR_BILLING},
    {"invalid_", MODEL_ERROR_REQUEST},
    {"not_found", MODEL_ERROR_REQUEST},
    {"bad_request", MODEL_ERROR_REQUEST},
};

static unsigned
scope_of(int status)
{
	if (status == 429)
		return IN_RATE_LIMIT;
	if (status == 402 || status == 403)
		return IN_PAYMENT;
	if (status >= 500)
		return IN_SERVER;
	return status == 401 ? 0 : IN_REFUSAL;
}

enum model_error
http_error_refine(
    enum model_error kind, int status, struct json_object *json, const char *words)
{
	struct json_object *error = json_member_object(json, "error");
	struct buffer text = BUFFER_EMPTY;
	unsigned scope = scope_of(status);
	size_t i;

	if (error == NULL)
		error = json;
	buffer_printf(&text, "%s %s ", json_member_text(error, "type", ""),
	    json_member_text(error, "code", ""));
	for (i = 0; status == 0 && i < sizeof types / sizeof types[0]; i++) {
		if (strcasestr(buffer_text(&text), types[i].part) != NULL) {
			kind = types[i].kind;
			break;
		}
	}
	if (status == 0 && kind == MODEL_ERROR_RATE_LIMIT)
		scope = IN_RATE_LIMIT;
	buffer_append_text(&text, words);
	for (i = 0; i < sizeof phrases / sizeof phrases[0]; i++) {
		if ((phrases[i].scope & scope) != 0 &&
		    strcasestr(buffer_text(&text), phrases[i].phrase) != NULL) {
			kind = phrases[i].kind;
			break;
		}
	}
	buffer_free(&text);
	return kind;
}

/* Appends text made printable: one line, blanks collapsed, at most `limit` code points. */
static void
append_printable(struct buffer *out, const char *text, size_t length, size_t limit)
{
	size_t at = 0, size, shown = 0;
	bool blank = true;

	while (at < length && shown < limit) {
		size = utf8_sequence(text + at, length - at);
		if (size == 1 && ((unsigned char)text[at] <= ' ' || text[at] == 0x7f)) {
			if (!blank)
				buffer_append_byte(out, ' ');
			shown += !blank;
			blank = true;
			at++;
			continue;
		}
		if (size == 0) {
			buffer_append_text(out, UTF8_REPLACEMENT);
			size = utf8_invalid_length(text + at, length - at);
		} else {
			buffer_append(out, text + at, size);
		}
		blank = false;
		shown++;
		at += size;
	}
	if (blank && out->length > 0 && out->data[out->length - 1] == ' ')
		out->data[--out->length] = '\0';
	if (at < length)
		buffer_append_text(out, "…");
}

/* What stands between <title> and </title>. */
static const char *
html_title(const char *page, size_t *length)
{
	const char *start = strcasestr(page, "<title"), *end;

	if (start == NULL || (start = strchr(start, '>')) == NULL)
		return NULL;
	start++;
	end = strcasestr(start, "</title");
	if (end == NULL)
		return NULL;
	*length = (size_t)(end - start);
	return start;
}

/* A clean copy without secrets; masked before any cut, which could leave half a key. */
static char *
clean_copy(const char *bytes, size_t length)
{
	char *text = utf8_clean(bytes != NULL ? bytes : "", bytes != NULL ? length : 0, NULL);

	if (text == NULL)
		return xstrdup("");
	secret_mask(text);
	return text;
}

static char *
take_text(struct buffer *out)
{
	char *text = buffer_take(out);

	return text != NULL ? text : xstrdup("");
}

char *
http_error_excerpt(const char *bytes, size_t length, size_t limit)
{
	char *text = clean_copy(bytes, length);
	struct buffer out = BUFFER_EMPTY;

	append_printable(&out, text, strlen(text), limit);
	free(text);
	return take_text(&out);
}

char *
http_error_page(const char *bytes, size_t length, size_t limit)
{
	char *text = clean_copy(bytes, length);
	struct buffer out = BUFFER_EMPTY;
	const char *title = NULL;
	size_t title_length;

	if (text[strspn(text, " \t\r\n")] == '<')
		title = html_title(text, &title_length);
	if (title != NULL) {
		buffer_append_text(&out, "HTML page \"");
		append_printable(&out, title, title_length, limit);
		buffer_append_byte(&out, '"');
	} else {
		append_printable(&out, text, strlen(text), limit);
	}
	free(text);
	return take_text(&out);
}

static const char *
member_or_null(struct json_object *object, const char *key)
{
	const char *text = json_member_string(object, key);

	return text != NULL && text[0] != '\0' ? text : NULL;
}

static struct json_object *
first_of(struct json_object *array)
{
	return array != NULL ? json_object_array_get_idx(array, 0) : NULL;
}

/* The text in one of the usual places. */
static const char *
find_words(struct json_object *json)
{
	static const char *const keys[] = {
	    "message", "detail", "error_description", "msg", "error_message", "reason"};
	struct json_object *error = json_member(json, "error");
	struct json_object *places[] = {
	    json_object_is_type(error, json_type_object) ? error : NULL, json,
	    first_of(json_member_array(json, "errors")),
	    first_of(json_member_array(json, "detail")), json_member_object(json, "detail")};
	const char *text = member_or_null(json, "error");
	size_t i, k;

	for (i = 0; text == NULL && i < sizeof places / sizeof places[0]; i++)
		for (k = 0; text == NULL && k < sizeof keys / sizeof keys[0]; k++)
			text = member_or_null(places[i], keys[k]);
	if (text == NULL)
		text = member_or_null(error, "type");
	return text != NULL ? text : member_or_null(error, "code");
}

char *
http_error_words(struct json_object *json)
{
	struct json_object *metadata =
	    json_member_object(json_member_object(json, "error"), "metadata");
	const char *text = find_words(json), *raw = member_or_null(metadata, "raw");
	struct buffer out = BUFFER_EMPTY;
	char *words;

	if (text == NULL && raw == NULL)
		return NULL;
	buffer_append_text(&out, text != NULL ? text : raw);
	/* A router's "Provider returned error" says nothing without what the provider said. */
	if (text != NULL && raw != NULL && strcmp(text, raw) != 0)
		buffer_printf(&out, " (%s)", raw);
	words = http_error_excerpt(buffer_text(&out), out.length, WORDS_MAX);
	buffer_free(&out);
	return words;
}
