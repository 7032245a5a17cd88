/*
 * What error answers mean, how long to wait, and what is tried again; and the request.
 */
#include <config.h>

#include "worker/providers/chat_request.h"
#include "worker/providers/http_error.h"
#include "worker/providers/http_error_words.h"
#include "worker/providers/retry.h"
#include "worker/config/runtime.h"
#include "common/log.h"
#include "tests/unit/parsed_json.h"

#include <stdlib.h>

static void
answer_of(int status, const char *body, const char *retry_after, struct model_answer *answer)
{
	const char *reason;
	struct json_object *json = json_parse(body, strlen(body), &reason);
	struct http_error error = {.label = "Test",
	    .status = status,
	    .json = json,
	    .body = body,
	    .body_length = strlen(body),
	    .retry_after = retry_after};

	memset(answer, 0, sizeof *answer);
	http_error_answer(&error, answer);
	json_object_put(json);
	assert_int_equal(answer->finish, FINISH_ERROR);
	assert_int_equal(answer->status, status);
}

static const struct {
	int status;
	const char *body;
	enum model_error error;
	const char *words; /* a part of the message */
} cases[] = {
    {400, "{\"error\":{\"message\":\"bad tool\"}}", MODEL_ERROR_REQUEST, "bad tool"},
    {401, "{\"error\":\"no key\"}", MODEL_ERROR_AUTH, "no key"},
    {402, "{\"message\":\"pay\"}", MODEL_ERROR_BILLING, "pay"},
    {403, "{\"detail\":\"not you\"}", MODEL_ERROR_AUTH, "not you"},
    {403, "{\"error\":{\"message\":\"Your credit balance is too low\"}}", MODEL_ERROR_BILLING,
	"credit balance"},
    {404, "{\"detail\":[{\"msg\":\"gone\"}]}", MODEL_ERROR_REQUEST, "gone"},
    {404, "{\"error\":{\"message\":\"No endpoints found that support image input\"}}",
	MODEL_ERROR_IMAGE, "image input"},
    {408, "", MODEL_ERROR_SERVER, "408"},
    {413, "<html><title>413 Too Large</title>", MODEL_ERROR_TOO_LONG, "413 Too Large"},
    {429, "{\"error\":{\"message\":\"slow\"}}", MODEL_ERROR_RATE_LIMIT, "slow"},
    {429, "{\"error\":{\"message\":\"x\",\"code\":\"insufficient_quota\"}}",
	MODEL_ERROR_BILLING, "x"},
    /* The limit per minute is no limit of the window. */
    {429, "{\"error\":{\"message\":\"exceeds the limit of tokens per minute\"}}",
	MODEL_ERROR_RATE_LIMIT, "per minute"},
    {400, "{\"error\":{\"message\":\"This model's maximum context length is 8\"}}",
	MODEL_ERROR_TOO_LONG, "maximum context"},
    {400, "{\"error\":{\"message\":\"m\",\"code\":\"context_length_exceeded\"}}",
	MODEL_ERROR_TOO_LONG, "m"},
    {500, "{\"error\":{\"message\":\"the request exceeds the available context size\"}}",
	MODEL_ERROR_TOO_LONG, "context size"},
    {500, "oops", MODEL_ERROR_SERVER, "oops"},
    {502, "<html><head><title>502 Bad</title></head></html>", MODEL_ERROR_SERVER,
	"HTML page \"502 Bad\""},
    {503, "", MODEL_ERROR_OVERLOADED, "503"},
    {524, "", MODEL_ERROR_SERVER, "524"},
    {529, "{\"error\":{}}", MODEL_ERROR_OVERLOADED, "529"},
    {302, "", MODEL_ERROR_REQUEST, "redirect"},
    {400, "[{\"error\":{\"message\":\"in an array\"}}]", MODEL_ERROR_REQUEST, "in an array"},
    {400,
	"{\"error\":{\"message\":\"Provider returned error\",\"metadata\":"
	"{\"raw\":\"the cause\"}}}",
	MODEL_ERROR_REQUEST, "Provider returned error (the cause)"},
    {400,
	"{\"error\":{\"code\":\"invalid_encrypted_content\",\"message\":\"The encrypted "
	"content gAAA could not be verified.\"}}",
	MODEL_ERROR_THINKING, "verified"},
    {400, "line one\n\tline\x01 two", MODEL_ERROR_REQUEST, "line one line two"},
};

static void
test_kinds(void **state)
{
	struct model_answer answer;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		answer_of(cases[i].status, cases[i].body, NULL, &answer);
		assert_int_equal(answer.error, cases[i].error);
		assert_non_null(strstr(answer.message, cases[i].words));
		model_answer_clear(&answer);
	}
}

static void
test_secrets_and_length(void **state)
{
	struct model_answer answer;
	struct buffer body = BUFFER_EMPTY;
	size_t i;

	(void)state;
	secret_register("sk-very-secret-key");
	answer_of(
	    401, "{\"error\":{\"message\":\"bad key sk-very-secret-key!\"}}", NULL, &answer);
	assert_null(strstr(answer.message, "secret"));
	assert_non_null(strstr(answer.message, "bad key ***!"));
	model_answer_clear(&answer);
	/* The cut at the end must not leave half a key. */
	for (i = 0; i < 490; i++)
		buffer_append_text(&body, "x");
	buffer_append_text(&body, "sk-very-secret-key");
	for (i = 0; i < 10000; i++)
		buffer_append_text(&body, "é");
	answer_of(500, buffer_text(&body), NULL, &answer);
	assert_null(strstr(answer.message, "sk-"));
	assert_true(strlen(answer.message) < 2200);
	model_answer_clear(&answer);
	buffer_free(&body);
}

static void
test_retry_after(void **state)
{
	static const struct {
		const char *value;
		int64_t wait;
	} values[] = {
	    {"3", 3000},
	    {" 3.5", 3500},
	    {"0", 0},
	    {"12s", 12000},
	    {"abc", -1},
	    {"-1", -1},
	    {"", -1},
	    {"3 apples", -1},
	    {"nan", -1},
	    {"999999", 999999000},
	    {"1e99", 31536000000},
	    {"Sun, 06 Nov 1994 08:49:41 GMT", 4000},
	    {"Sun, 06 Nov 1994 08:49:30 GMT", 0},
	    {"Sun, 06 Foo 1994 08:49:30 GMT", -1},
	};
	time_t now = 784111777; /* Sun, 06 Nov 1994 08:49:37 GMT */
	struct model_answer answer;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof values / sizeof values[0]; i++)
		assert_int_equal(http_error_retry_after(values[i].value, now), values[i].wait);
	assert_int_equal(http_error_retry_after(NULL, now), -1);

	answer_of(503, "{}", "7", &answer);
	assert_int_equal(answer.retry_after_ms, 7000);
	model_answer_clear(&answer);
	answer_of(429, "{\"error\":{\"retry_after\":3}}", NULL, &answer);
	assert_int_equal(answer.retry_after_ms, 3000);
	model_answer_clear(&answer);
	answer_of(429, "{\"error\":{\"retry_after\":3}}", "abc", &answer);
	assert_int_equal(answer.retry_after_ms, 3000);
	model_answer_clear(&answer);
	answer_of(429, "{\"retry_after_ms\":250}", NULL, &answer);
	assert_int_equal(answer.retry_after_ms, 250);
	model_answer_clear(&answer);
	answer_of(429, "{\"error\":{\"details\":[{\"retryDelay\":\"9s\"}]}}", NULL, &answer);
	assert_int_equal(answer.retry_after_ms, 9000);
	model_answer_clear(&answer);
	answer_of(500, "", NULL, &answer);
	assert_int_equal(answer.retry_after_ms, -1);
	model_answer_clear(&answer);
}

static void
test_retry_rules(void **state)
{
	static const enum model_error healing[] = {MODEL_ERROR_CONNECT, MODEL_ERROR_INTERRUPTED,
	    MODEL_ERROR_SILENT, MODEL_ERROR_RATE_LIMIT, MODEL_ERROR_OVERLOADED,
	    MODEL_ERROR_SERVER};
	static const enum model_error lasting[] = {MODEL_ERROR_AUTH, MODEL_ERROR_BILLING,
	    MODEL_ERROR_REQUEST, MODEL_ERROR_TOO_LONG, MODEL_ERROR_IMAGE, MODEL_ERROR_ANSWER,
	    MODEL_ERROR_NONE};
	struct model_answer answer = {.finish = FINISH_ERROR, .retry_after_ms = -1};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof healing / sizeof healing[0]; i++) {
		answer.error = healing[i];
		assert_true(retry_wanted(&answer, 1, RETRY_ATTEMPTS, false));
		assert_true(retry_wanted(&answer, 2, RETRY_ATTEMPTS, false));
		assert_false(retry_wanted(&answer, 3, RETRY_ATTEMPTS, false));
		assert_false(retry_wanted(&answer, 1, RETRY_ATTEMPTS, true));
	}
	for (i = 0; i < sizeof lasting / sizeof lasting[0]; i++) {
		answer.error = lasting[i];
		assert_false(retry_wanted(&answer, 1, RETRY_ATTEMPTS, false));
	}
	answer.finish = FINISH_STOP;
	answer.error = MODEL_ERROR_SERVER;
	assert_false(retry_wanted(&answer, 1, RETRY_ATTEMPTS, false));
}

static void
test_retry_delays(void **state)
{
	struct model_answer answer = {.finish = FINISH_ERROR, .retry_after_ms = -1};
	uint32_t random;
	unsigned attempts;
	int64_t delay;
	char *notice;

	(void)state;
	for (random = 0; random < 2000000000u; random += 99999989u) {
		answer.retry_after_ms = -1;
		answer.error = MODEL_ERROR_SERVER;
		delay = retry_delay_ms(&answer, 1, random, 1);
		assert_in_range(delay, 500, 2000);
		answer.error = MODEL_ERROR_RATE_LIMIT;
		for (attempts = 1; attempts < 40; attempts++) {
			delay = retry_delay_ms(&answer, attempts, random, 1);
			assert_in_range(delay, 2000, 60000);
		}
		answer.retry_after_ms = 5000;
		assert_in_range(retry_delay_ms(&answer, 1, random, 1), 5000, 5250);
		assert_in_range(retry_delay_ms(&answer, 1, random, 0.5), 2500, 2625);
		assert_int_equal(retry_delay_ms(&answer, 1, random, 0), 0);
		answer.retry_after_ms = 999999000;
		assert_in_range(retry_delay_ms(&answer, 1, random, 1), 600000, 600250);
		answer.retry_after_ms = 0;
		assert_in_range(retry_delay_ms(&answer, 1, random, 1), 500, 6000);
	}
	setenv("HERMES_ACP_RETRY_SCALE", "0.25", 1);
	assert_true(retry_scale() == 0.25);
	setenv("HERMES_ACP_RETRY_SCALE", "-1", 1);
	assert_true(retry_scale() == 1);
	setenv("HERMES_ACP_RETRY_SCALE", "fast", 1);
	assert_true(retry_scale() == 1);
	unsetenv("HERMES_ACP_RETRY_SCALE");
	assert_true(retry_scale() == 1);
	answer.error = MODEL_ERROR_RATE_LIMIT;
	notice = retry_notice(&answer, "OpenRouter", 3500, 1, RETRY_ATTEMPTS);
	assert_string_equal(notice, "Rate limited by OpenRouter, next try in 4 s (2 of 3)");
	free(notice);
}

static const char *
find_header(const struct dialect_request *built, const char *name)
{
	size_t i;

	for (i = 0; built->headers[i] != NULL; i++)
		if (strncmp(built->headers[i], name, strlen(name)) == 0 &&
		    built->headers[i][strlen(name)] == ':')
			return built->headers[i] + strlen(name) + 2;
	return NULL;
}

static void
test_request(void **state)
{
	static char provider[] = "openrouter", base[] = "https://openrouter.ai/api/v1",
		    openai[] = "https://api.openai.com/v1",
		    query[] = "https://x.example/v1?api-version=2", key[] = "sk-123",
		    model[] = "some/model", effort[] = "high", broken[] = "sk\n123",
		    evil[] = "https://openrouter.ai.evil.example/";
	struct runtime runtime = {.provider = provider,
	    .base_url = base,
	    .api_key = key,
	    .model = model,
	    .max_tokens = 100,
	    .reasoning_effort = effort};
	struct model_request request = {.runtime = &runtime};
	struct buffer error = BUFFER_EMPTY;
	struct dialect_request built;

	(void)state;
	request.messages = parsed_json("[{\"role\":\"user\",\"content\":\"é\"}]");
	runtime.extra_body = parsed_json("{\"temperature\":0.2}");
	assert_int_equal(chat_request_build(&request, &built, &error), 0);
	assert_string_equal(built.url, "https://openrouter.ai/api/v1/chat/completions");
	assert_string_equal(built.body,
	    "{\"max_tokens\":100,\"messages\":[{\"content\":\"é\",\"role\":\"user\"}],"
	    "\"model\":\"some/model\",\"reasoning\":{\"effort\":\"high\",\"enabled\":true},"
	    "\"stream\":true,\"stream_options\":{\"include_usage\":true},"
	    "\"temperature\":0.2}");
	assert_string_equal(find_header(&built, "Authorization"), "Bearer sk-123");
	assert_non_null(find_header(&built, "HTTP-Referer"));
	assert_non_null(find_header(&built, "X-Title"));
	dialect_request_clear(&built);

	runtime.base_url = openai;
	assert_int_equal(chat_request_build(&request, &built, &error), 0);
	assert_non_null(strstr(built.body, "\"max_completion_tokens\":100"));
	assert_null(strstr(built.body, "reasoning"));
	assert_null(find_header(&built, "X-Title"));
	dialect_request_clear(&built);

	runtime.base_url = query;
	runtime.api_key = NULL;
	assert_int_equal(chat_request_build(&request, &built, &error), 0);
	assert_string_equal(built.url, "https://x.example/v1/chat/completions?api-version=2");
	assert_null(find_header(&built, "Authorization"));
	dialect_request_clear(&built);

	assert_false(dialect_request_host_is(evil, "openrouter.ai"));
	assert_false(dialect_request_host_is("https://notopenrouter.ai", "openrouter.ai"));
	assert_true(dialect_request_host_is("https://EU.OpenRouter.ai:443/x", "openrouter.ai"));
	assert_false(
	    dialect_request_host_is("https://openrouter.ai@evil.example", "openrouter.ai"));

	runtime.api_key = broken;
	assert_int_equal(chat_request_build(&request, &built, &error), -1);
	assert_non_null(strstr(buffer_text(&error), "line break"));
	assert_null(strstr(buffer_text(&error), "123"));
	dialect_request_clear(&built);
	json_object_put(request.messages);
	json_object_put(runtime.extra_body);
	buffer_free(&error);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_kinds),
	    cmocka_unit_test(test_secrets_and_length),
	    cmocka_unit_test(test_retry_after),
	    cmocka_unit_test(test_retry_rules),
	    cmocka_unit_test(test_retry_delays),
	    cmocka_unit_test(test_request),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
