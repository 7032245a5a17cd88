/*
 * Masking for records. What is not known to be harmless counts as a secret where secrets are
 * sent: in the headers of a request and in the query of a URL.
 */
#include <config.h>

#include "worker/providers/http_record_mask.h"
#include "common/alloc.h"
#include "common/log.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Headers of a request that hold nothing private. */
static const char *const harmless[] = {"accept", "anthropic-beta", "anthropic-version",
    "content-type", "expect", "http-referer", "openai-beta", "originator", "user-agent",
    "x-title"};
/* Parts of names behind which secrets stand in an answer. */
static const char *const suspicious[] = {"auth", "cookie", "key", "secret", "token"};
/* Members of a query that every reader of a record wants to see. */
static const char *const plain_queries[] = {"api-version", "beta", "alt"};

static bool
is_one_of(const char *name, size_t length, const char *const *names, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (strlen(names[i]) == length && strncasecmp(name, names[i], length) == 0)
			return true;
	return false;
}

#define IS_ONE_OF(name, length, names)                                                         \
	is_one_of(name, length, names, sizeof(names) / sizeof(names)[0])

static bool
is_private(const char *name, bool of_request)
{
	size_t i;

	if (of_request)
		return !IS_ONE_OF(name, strlen(name), harmless);
	if (strncasecmp(name, "x-ratelimit", 11) == 0 ||
	    strncasecmp(name, "anthropic-ratelimit", 19) == 0)
		return false; /* numbers of tokens */
	for (i = 0; i < sizeof suspicious / sizeof suspicious[0]; i++)
		if (strcasestr(name, suspicious[i]) != NULL)
			return true;
	return false;
}

/* The secret as a JSON text or a URL writes it; the caller frees it. Some servers escape the
 * slash as well. */
static char *
as_json(const char *secret, bool slashes)
{
	struct buffer text = BUFFER_EMPTY;
	char *copy;

	for (; *secret != '\0'; secret++) {
		if (*secret == '"' || *secret == '\\' || (*secret == '/' && slashes))
			buffer_append_byte(&text, '\\');
		buffer_append_byte(&text, *secret);
	}
	copy = buffer_take(&text);
	return copy != NULL ? copy : xstrdup("");
}

static char *
as_query(const char *secret, const char *digits)
{
	struct buffer text = BUFFER_EMPTY;
	unsigned char byte;
	char *copy;

	for (; *secret != '\0'; secret++) {
		byte = (unsigned char)*secret;
		if ((byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') ||
		    (byte >= 'a' && byte <= 'z') || strchr("-._~", byte) != NULL)
			buffer_append_byte(&text, (char)byte);
		else
			buffer_printf(&text, "%%%c%c", digits[byte >> 4], digits[byte & 15]);
	}
	copy = buffer_take(&text);
	return copy != NULL ? copy : xstrdup("");
}

static void
blot(char *bytes, size_t length, const char *secret)
{
	size_t size = strlen(secret);
	char *at = bytes, *end = bytes + length;

	while (size > 0 && (at = memmem(at, (size_t)(end - at), secret, size)) != NULL) {
		memset(at, '*', size);
		at += size;
	}
}

static void
blot_and_free(char *bytes, size_t length, char *secret)
{
	blot(bytes, length, secret);
	explicit_bzero(secret, strlen(secret));
	free(secret);
}

void
http_record_mask(char *bytes, size_t length)
{
	const char *secret;
	size_t i;

	for (i = 0; (secret = secret_at(i)) != NULL; i++) {
		blot(bytes, length, secret);
		blot_and_free(bytes, length, as_json(secret, false));
		blot_and_free(bytes, length, as_json(secret, true));
		blot_and_free(bytes, length, as_query(secret, "0123456789ABCDEF"));
		blot_and_free(bytes, length, as_query(secret, "0123456789abcdef"));
	}
}

static void
append_query(struct buffer *out, const char *query)
{
	size_t length, name;

	for (; *query != '\0'; query += length) {
		length = strcspn(query, "&");
		name = strcspn(query, "=&");
		if (name < length && !IS_ONE_OF(query, name, plain_queries)) {
			buffer_append(out, query, name);
			buffer_append_text(out, "=***");
		} else {
			buffer_append(out, query, length);
		}
		if (query[length] == '&') {
			buffer_append_byte(out, '&');
			length++;
		}
	}
}

char *
http_record_mask_url(const char *url)
{
	struct buffer out = BUFFER_EMPTY;
	const char *host = strstr(url, "://"), *at, *end;
	char *copy;

	host = host != NULL ? host + 3 : url;
	end = host + strcspn(host, "/?#");
	buffer_append(&out, url, (size_t)(host - url));
	at = memrchr(host, '@', (size_t)(end - host));
	if (at != NULL) {
		buffer_append_text(&out, "***");
		host = at;
	}
	end = host + strcspn(host, "?#");
	buffer_append(&out, host, (size_t)(end - host));
	if (*end != '\0') {
		buffer_append_byte(&out, *end);
		append_query(&out, end + 1);
	}
	copy = buffer_take(&out);
	if (copy == NULL)
		return xstrdup("");
	http_record_mask(copy, strlen(copy));
	return copy;
}

void
http_record_mask_header(
    struct buffer *out, const char *name, const char *value, bool of_request)
{
	char *copy;

	if (is_private(name, of_request)) {
		buffer_append_text(out, "\"***\"");
		return;
	}
	copy = xstrdup(value);
	http_record_mask(copy, strlen(copy));
	buffer_append_json_text(out, copy);
	free(copy);
}
