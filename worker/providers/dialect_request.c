/*
 * What the requests of all dialects have in common. The key goes into one header and nowhere
 * else.
 */
#include <config.h>

#include "worker/providers/dialect_request.h"
#include "worker/config/runtime.h"
#include "common/alloc.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The host within a URL: after "//" and a possible "user@", before port and path. */
static const char *
url_host(const char *url, size_t *length)
{
	const char *start = strstr(url, "://"), *at;
	size_t authority;

	start = start != NULL ? start + 3 : url;
	authority = strcspn(start, "/?#");
	at = memchr(start, '@', authority);
	if (at != NULL) {
		authority -= (size_t)(at + 1 - start);
		start = at + 1;
	}
	*length = *start == '[' ? strcspn(start, "]") + 1 : strcspn(start, ":/?#");
	if (*length > authority)
		*length = authority;
	return start;
}

bool
dialect_request_host_is(const char *base_url, const char *domain)
{
	size_t length, domain_length = strlen(domain);
	const char *host = url_host(base_url, &length);

	if (length < domain_length ||
	    strncasecmp(host + length - domain_length, domain, domain_length) != 0)
		return false;
	return length == domain_length || host[length - domain_length - 1] == '.';
}

/* The endpoint below the base URL, before a query ("?api-version=…") if there is one. */
char *
dialect_request_url(const char *base_url, const char *path)
{
	size_t length = strcspn(base_url, "?#");
	const char *rest = base_url + length;
	size_t path_length = strlen(path);

	while (length > 0 && base_url[length - 1] == '/')
		length--;
	if (length >= path_length &&
	    strncmp(base_url + length - path_length, path, path_length) == 0)
		return xasprintf("%.*s%s", (int)length, base_url, rest);
	return xasprintf("%.*s%s%s", (int)length, base_url, path, rest);
}

void
dialect_request_header(struct dialect_request *built, const char *name, const char *value)
{
	size_t count = 0;

	while (built->headers != NULL && built->headers[count] != NULL)
		count++;
	built->headers = xreallocarray(built->headers, count + 2, sizeof *built->headers);
	built->headers[count] = xasprintf("%s: %s", name, value);
	built->headers[count + 1] = NULL;
}

bool
dialect_request_has(struct json_object *headers, const char *name)
{
	if (!json_object_is_type(headers, json_type_object))
		return false;
	json_object_object_foreach(headers, key, value)
	{
		(void)value;
		if (strcasecmp(key, name) == 0)
			return true;
	}
	return false;
}

int
dialect_request_own_headers(
    struct dialect_request *built, struct json_object *headers, struct buffer *error)
{
	const char *text;

	if (!json_object_is_type(headers, json_type_object))
		return 0;
	json_object_object_foreach(headers, key, value)
	{
		text = value != NULL ? json_object_get_string(value) : NULL;
		if (text == NULL)
			continue;
		if (key[0] == '\0' || strpbrk(key, ": \t\r\n") != NULL ||
		    strpbrk(text, "\r\n") != NULL) {
			buffer_printf(error,
			    "the configured header \"%.40s\" is not a valid header", key);
			return -1;
		}
		dialect_request_header(built, key, text);
	}
	return 0;
}

int
dialect_request_key(struct dialect_request *built, const char *name, const char *prefix,
    const struct runtime *runtime, struct buffer *error)
{
	const char *key = runtime->api_key;
	char *value;

	if (key == NULL || key[0] == '\0' || dialect_request_has(runtime->headers, name))
		return 0;
	if (strpbrk(key, "\r\n") != NULL) {
		buffer_printf(error, "the key for %s holds a line break", runtime->provider);
		return -1;
	}
	value = xasprintf("%s%s", prefix, key);
	dialect_request_header(built, name, value);
	explicit_bzero(value, strlen(value));
	free(value);
	return 0;
}

int
dialect_request_check(const struct runtime *runtime, struct buffer *error)
{
	const char *provider = runtime->provider != NULL ? runtime->provider : "(none)";

	if (runtime->base_url == NULL || runtime->base_url[0] == '\0') {
		buffer_printf(error, "no base URL is known for the provider %s", provider);
		return -1;
	}
	if (runtime->model == NULL || runtime->model[0] == '\0') {
		buffer_printf(error, "no model is chosen for the provider %s", provider);
		return -1;
	}
	return 0;
}

/* The user's own members win; null takes one out. */
static void
merge_extra(struct json_object *body, struct json_object *extra)
{
	if (!json_object_is_type(extra, json_type_object))
		return;
	json_object_object_foreach(extra, key, value)
	{
		if (value == NULL)
			json_object_object_del(body, key);
		else
			json_set(body, key, json_object_get(value));
	}
}

int
dialect_request_body(struct dialect_request *built, struct json_object *body,
    struct json_object *extra, struct buffer *error)
{
	struct buffer text = BUFFER_EMPTY;

	merge_extra(body, extra);
	json_append_sorted(&text, body);
	json_object_put(body);
	built->body_length = text.length;
	built->body = buffer_take(&text);
	if (built->body == NULL) {
		buffer_append_text(error, "no memory for a request of this size");
		return -1;
	}
	return 0;
}

void
dialect_request_clear(struct dialect_request *built)
{
	size_t i;

	for (i = 0; built->headers != NULL && built->headers[i] != NULL; i++) {
		explicit_bzero(built->headers[i], strlen(built->headers[i]));
		free(built->headers[i]);
	}
	free(built->headers);
	free(built->url);
	free(built->body);
	memset(built, 0, sizeof *built);
}
