/*
 * What a record may show: no secret in any spelling, no header and no part of a URL that may
 * hold one.
 */
#include <config.h>

#include "worker/providers/http_record_mask.h"
#include "common/log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SECRET "sk-\"very\\secret/key+1"

static const struct {
	const char *text, *masked;
} texts[] = {
    {"", ""},
    {"nothing", "nothing"},
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_texts),
	    cmocka_unit_test(test_urls),
	    cmocka_unit_test(test_headers),
	};

	secret_register(SECRET);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
