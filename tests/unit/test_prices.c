/*
 * Usage and prices: counts that make no sense are left out, a price counts only for the model
 * and the host that it was published for, and a sum with an unknown part is unknown.
 */
#include <config.h>

#include "worker/providers/prices.h"
#include "worker/agent/usage_total.h"
#include "worker/config/runtime.h"
#include "worker/providers/chat_usage.h"
#include "common/json.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct model_usage
usage_of(const char *text)
{
	const char *reason;
	struct json_object *object = json_parse(text, strlen(text), &reason);
	struct model_usage usage;

	assert_non_null(object);
	chat_usage_clear(&usage);
	chat_usage_take(&usage, object);
	json_object_put(object);
	return usage;
}

static struct model_cost
cost_of(const char *url, const char *model, const char *text)
{
	char base_url[200], name[100];
	struct runtime runtime = {.base_url = base_url, .model = name};
	struct model_usage usage = usage_of(text);
	struct model_cost cost;

	snprintf(base_url, sizeof base_url, "%s", url);
	snprintf(name, sizeof name, "%s", model);
	prices_cost(&runtime, &usage, &cost);
	return cost;
}

#define ANTHROPIC "https://api.anthropic.com"
#define OPENROUTER "https://openrouter.ai/api/v1"
#define MILLION "{\"input_tokens\":1000000,\"output_tokens\":1000000}"

static const struct {
	const char *url, *model, *usage;
	double dollars; /* below 0: unknown */
} costs[] = {
    {ANTHROPIC, "claude-opus-4-5", MILLION, 30},
    {ANTHROPIC, "claude-opus-4-5-20251101", MILLION, 30},
    {ANTHROPIC "/v1", "claude-3-5-haiku-latest", MILLION, 4.8},
    {ANTHROPIC, "claude-opus-4-20250514", MILLION, 90},
    /* Names that only begin so. */
    {ANTHROPIC, "claude-opus-4-9", MILLION, -1},
    {ANTHROPIC, "claude-opus-4-5-fast", MILLION, -1},
    {ANTHROPIC, "claude-opus-4-5-2025110", MILLION, -1},
    /* Other places. */
    {"https://api.anthropic.com.example.org", "claude-opus-4-5", MILLION, -1},
    {"https://proxy.example.org", "claude-opus-4-5", MILLION, -1},
    {"not a url", "claude-opus-4-5", MILLION, -1},
    /* A price for long requests that is another one. */
    {ANTHROPIC, "claude-sonnet-4-5", MILLION, -1},
    {ANTHROPIC, "claude-sonnet-4-5", "{\"input_tokens\":100000,\"output_tokens\":0}", 0.3},
    {"https://api.openai.com/v1", "gpt-5-2025-08-07", MILLION, 11.25},
    {"https://api.openai.com/v1", "gpt-5",
	"{\"input_tokens\":1000000,\"output_tokens\":0,"
	"\"input_tokens_details\":{\"cached_tokens\":400000}}",
	0.8},
    /* What a cache took in costs as input where it has no price of its own. */
    {"https://api.deepseek.com", "deepseek-chat",
	"{\"prompt_tokens\":1000000,\"completion_tokens\":0,"
	"\"cache_creation_input_tokens\":500000}",
	0.28},
    /* Told by the server. */
    {OPENROUTER, "anything", "{\"prompt_tokens\":1,\"cost\":0.125}", 0.125},
    {OPENROUTER, "free", "{\"prompt_tokens\":1,\"cost\":0}", 0},
    {OPENROUTER, "anything", "{\"prompt_tokens\":1,\"cost\":\"much\"}", -1},
    {OPENROUTER, "anything", "{\"prompt_tokens\":1,\"cost\":-1}", -1},
    {OPENROUTER, "anything", "{\"prompt_tokens\":1,\"cost\":1e300}", -1},
    {OPENROUTER, "anything", "{\"prompt_tokens\":1,\"cost\":null}", -1},
    {"https://proxy.example.org", "anything", "{\"prompt_tokens\":1,\"cost\":0.125}", -1},
    /* Nothing told. */
    {ANTHROPIC, "claude-opus-4-5", "{}", -1},
    {ANTHROPIC, "claude-opus-4-5", "{\"output_tokens\":5}", -1},
};

static void
test_costs(void **state)
{
	struct model_cost cost;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof costs / sizeof costs[0]; i++) {
		cost = cost_of(costs[i].url, costs[i].model, costs[i].usage);
		if (cost.known != (costs[i].dollars >= 0) ||
		    fabs(cost.dollars - (cost.known ? costs[i].dollars : 0)) > 1e-9)
			fail_msg(
			    "row %zu: %s: %d %g", i, costs[i].model, cost.known, cost.dollars);
		assert_string_equal(cost.status, !cost.known ? "unknown"
						 : strcmp(costs[i].url, OPENROUTER) == 0
						     ? "actual"
						     : "estimated");
		assert_true((cost.source != NULL) == cost.known);
	}
}

static const char *const nonsense[] = {
    "{}",
    "{\"input_tokens\":null,\"output_tokens\":null}",
    "{\"input_tokens\":-5,\"output_tokens\":\"many\"}",
    "{\"input_tokens\":1e300,\"output_tokens\":9223372036854775807}",
    "{\"input_tokens\":[1],\"output_tokens\":{\"a\":1}}",
    "{\"input_tokens\":1.5,\"output_tokens\":true}",
    "{\"input_tokens\":99999999999999999999,\"output_tokens\":\"-3\"}",
};

static void
test_nonsense(void **state)
{
	struct model_usage usage;
	struct usage_total total = {0};
	struct model_cost unknown = {.status = "unknown"};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof nonsense / sizeof nonsense[0]; i++) {
		usage = usage_of(nonsense[i]);
		if (model_usage_told(&usage))
			fail_msg("row %zu: %lld %lld", i, (long long)usage.input_tokens,
			    (long long)usage.output_tokens);
		usage_total_add(&total, &usage, &unknown);
	}
	assert_int_equal(usage_total_tokens(&total), 0);
	usage = usage_of("{\"input_tokens\":\"12\",\"output_tokens\":3.0,"
			 "\"output_tokens_details\":7,\"input_tokens_details\":null}");
	assert_int_equal(usage.input_tokens, 12);
	assert_int_equal(usage.output_tokens, 3);
	assert_int_equal(usage.reasoning_tokens, -1);
	usage =
	    usage_of("{\"prompt_tokens\":5,\"prompt_tokens_details\":{\"cached_tokens\":9}}");
	assert_int_equal(model_usage_plain_input(&usage), 0);
}

static void
test_sums(void **state)
{
	struct model_usage usage = usage_of("{\"prompt_tokens\":10,\"completion_tokens\":5,"
					    "\"prompt_tokens_details\":{\"cached_tokens\":4,"
					    "\"cache_write_tokens\":1},"
					    "\"completion_tokens_details\":{"
					    "\"reasoning_tokens\":2}}");
	struct model_cost known = {true, 0.5, "estimated", "x"},
			  unknown = {.status = "unknown"};
	struct usage_total total = {0};

	(void)state;
	assert_false(usage_total_cost_known(&total));
	usage_total_add(&total, &usage, &known);
	usage_total_add(&total, &usage, &known);
	assert_true(usage_total_cost_known(&total));
	assert_int_equal(total.input, 10);
	assert_int_equal(total.output, 10);
	assert_int_equal(total.cache_read, 8);
	assert_int_equal(total.cache_write, 2);
	assert_int_equal(total.reasoning, 4);
	assert_int_equal(usage_total_tokens(&total), 30);
	assert_true(total.dollars == 1.0);
	usage_total_add(&total, &usage, &unknown);
	assert_false(usage_total_cost_known(&total));
	total.input = INT64_MAX / 8 + 1;
	usage_total_add(&total, &usage, &known);
	assert_int_equal(total.input, INT64_MAX / 8 + 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_costs),
	    cmocka_unit_test(test_nonsense),
	    cmocka_unit_test(test_sums),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
