/*
 * What a record may show: no secret in any spelling, no header and no part of a URL that may
 * hold one, no half of a secret where a body is cut.
 */
#include <config.h>

#include "worker/providers/http_record.h"
#include "worker/providers/http_record_mask.h"
#include "common/log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define SECRET "sk-\"very\\secret/key+1"

#define STARS "**********" /* as a placeholder in a file */

static const struct {
	const char *text, *masked;
} texts[] = {
    {"", ""},
    {"nothing", "nothing"},
    {"a" STARS "*" STARS, "a" STARS "*" STARS},
    {SECRET, "*********************"},
    {"a " SECRET SECRET "b", "a ******************************************b"},
    {"{\"k\":\"sk-\\\"very\\\\secret\\/key+1\"}", NULL},
    {"{\"k\":\"sk-\\\"very\\\\secret/key+1\"}", "{\"k\":\"***********************\"}"},
    {"?k=sk-%22very%5Csecret%2Fkey%2B1&", "?k=*****************************&"},
    {"?k=sk-%22very%5csecret%2fkey%2b1&", "?k=*****************************&"},
    {"sk-\"very\\secret/key+", "sk-\"very\\secret/key+"},
};

static void
test_texts(void **state)
{
	char copy[200];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof texts / sizeof texts[0]; i++) {
		snprintf(copy, sizeof copy, "%s", texts[i].text);
		http_record_mask(copy, strlen(copy));
		if (texts[i].masked != NULL)
			assert_string_equal(copy, texts[i].masked);
		else
			assert_null(strstr(copy, "secret\\/key"));
	}
}

static const struct {
	const char *url, *masked;
} urls[] = {
    {"https://example.org/v1/models", "https://example.org/v1/models"},
    {"https://user:pass@example.org:8/v1", "https://***@example.org:8/v1"},
    {"https://example.org/v1?api-version=7&code=abc&flag",
	"https://example.org/v1?api-version=7&code=***&flag"},
    {"https://example.org/v1?key=abc#x", "https://example.org/v1?key=***"},
    {"https://example.org/a@b?x=", "https://example.org/a@b?x=***"},
    {"no url", "no url"},
    {"", ""},
};

static void
test_urls(void **state)
{
	char *masked;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof urls / sizeof urls[0]; i++) {
		masked = http_record_mask_url(urls[i].url);
		assert_string_equal(masked, urls[i].masked);
		free(masked);
	}
	masked = http_record_mask_url("https://example.org/sk-%22very%5Csecret%2Fkey%2B1/x");
	assert_null(strstr(masked, "very"));
	free(masked);
}

static const struct {
	const char *name, *value, *shown;
	bool of_request;
} headers[] = {
    {"Content-Type", "application/json", "\"application/json\"", true},
    {"Authorization", "Bearer x", "\"***\"", true},
    {"X-Anything", "x", "\"***\"", true},
    {"content-type", "text/html", "\"text/html\"", false},
    {"x-request-id", "a " SECRET, "\"a *********************\"", false},
    {"set-cookie", "a=b", "\"***\"", false},
    {"x-auth-something", "b", "\"***\"", false},
    {"x-ratelimit-remaining-tokens", "7", "\"7\"", false},
    {"anthropic-ratelimit-tokens-reset", "7", "\"7\"", false},
};

static void
test_headers(void **state)
{
	struct buffer out = BUFFER_EMPTY;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof headers / sizeof headers[0]; i++) {
		buffer_clear(&out);
		http_record_mask_header(
		    &out, headers[i].name, headers[i].value, headers[i].of_request);
		assert_string_equal(buffer_text(&out), headers[i].shown);
	}
	buffer_free(&out);
}

static char *
read_all(const char *path, size_t *length)
{
	FILE *file = fopen(path, "r");
	char *text;

	assert_non_null(file);
	assert_int_equal(fseek(file, 0, SEEK_END), 0);
	*length = (size_t)ftell(file);
	rewind(file);
	text = calloc(1, *length + 1);
	assert_int_equal(fread(text, 1, *length, file), *length);
	fclose(file);
	return text;
}

/* A secret at the limit of what is kept of a body leaves no half of it. */
static void
test_limit(void **state)
{
	char folder[] = "/tmp/test-http-record-XXXXXX", path[64];
	const size_t limit = 8u << 20, place = limit - 5;
	struct http_request request = {
	    .method = "POST", .url = "http://example.org/", .dialect = "chat_completions"};
	struct http_headers answer = {0};
	struct http_record *record;
	char *body = calloc(1, limit + 200000), *text;
	size_t length;

	(void)state;
	assert_non_null(mkdtemp(folder));
	setenv("HERMES_ACP_RECORD_PROVIDER", folder, 1);
	memset(body, 'x', limit + 200000);
	memcpy(body + place, SECRET, strlen(SECRET));
	request.body = body;
	request.body_length = limit + 200000;
	record = http_record_start(&request);
	assert_non_null(record);
	http_record_data(record, body, place + 2); /* the secret comes in two pieces */
	http_record_data(record, body + place + 2, 1000);
	http_record_data(record, body, 200000);
	http_record_finish(record, &answer, "done", "");
	snprintf(path, sizeof path, "%s/000001.jsonl", folder);
	text = read_all(path, &length);
	assert_null(strstr(text, "xs"));
	assert_non_null(strstr(text, "xx*****\""));
	assert_true(length > 2 * limit && length < 2 * limit + 2000);
	unlink(path);
	rmdir(folder);
	free(text);
	free(body);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_texts),
	    cmocka_unit_test(test_urls),
	    cmocka_unit_test(test_headers),
	    cmocka_unit_test(test_limit),
	};

	secret_register(SECRET);
	secret_register(STARS);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
