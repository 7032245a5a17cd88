/*
 * List prices by the host that is asked and the model. They count at the vendor's own address
 * only: what a proxy or a reseller takes is its own matter. A row must never match another
 * model whose name merely begins like its own, and no row may be made from memory of a price
 * that is not published.
 */
#include <config.h>

#include "worker/providers/prices.h"
#include "worker/config/endpoint.h"
#include "worker/config/runtime.h"
#include "worker/providers/provider.h"

#include <math.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#define NONE (-1.0) /* no such price */
#define COST_MAX 1e6

struct price {
	const char *domain, *model;
	double input, output, cache_read, cache_write; /* dollars per million tokens */
	int64_t input_max; /* the price is another one above it; 0 = the same for all */
};

/* As published by the vendors in November 2025: standard tier, text, caches of five minutes. */
static const struct price prices[] = {
    {"api.anthropic.com", "claude-opus-4-5", 5, 25, 0.5, 6.25, 0},
    {"api.anthropic.com", "claude-opus-4-1", 15, 75, 1.5, 18.75, 0},
    {"api.anthropic.com", "claude-opus-4", 15, 75, 1.5, 18.75, 0},
    {"api.anthropic.com", "claude-sonnet-4-5", 3, 15, 0.3, 3.75, 200000},
    {"api.anthropic.com", "claude-sonnet-4", 3, 15, 0.3, 3.75, 200000},
    {"api.anthropic.com", "claude-3-7-sonnet", 3, 15, 0.3, 3.75, 0},
    {"api.anthropic.com", "claude-haiku-4-5", 1, 5, 0.1, 1.25, 0},
    {"api.anthropic.com", "claude-3-5-haiku", 0.8, 4, 0.08, 1, 0},
    {"api.anthropic.com", "claude-3-haiku", 0.25, 1.25, 0.03, 0.3, 0},
    {"api.openai.com", "gpt-5.1", 1.25, 10, 0.125, NONE, 0},
    {"api.openai.com", "gpt-5", 1.25, 10, 0.125, NONE, 0},
    {"api.openai.com", "gpt-5-mini", 0.25, 2, 0.025, NONE, 0},
    {"api.openai.com", "gpt-5-nano", 0.05, 0.4, 0.005, NONE, 0},
    {"api.openai.com", "gpt-4.1", 2, 8, 0.5, NONE, 0},
    {"api.openai.com", "gpt-4.1-mini", 0.4, 1.6, 0.1, NONE, 0},
    {"api.openai.com", "gpt-4.1-nano", 0.1, 0.4, 0.025, NONE, 0},
    {"api.openai.com", "gpt-4o-mini", 0.15, 0.6, 0.075, NONE, 0},
    {"api.openai.com", "o3", 2, 8, 0.5, NONE, 0},
    {"api.openai.com", "o4-mini", 1.1, 4.4, 0.275, NONE, 0},
    {"api.deepseek.com", "deepseek-chat", 0.28, 0.42, 0.028, NONE, 0},
    {"api.deepseek.com", "deepseek-reasoner", 0.28, 0.42, 0.028, NONE, 0},
    {"generativelanguage.googleapis.com", "gemini-2.5-pro", 1.25, 10, 0.125, NONE, 200000},
    {"generativelanguage.googleapis.com", "gemini-2.5-flash", 0.3, 2.5, 0.03, NONE, 0},
    {"generativelanguage.googleapis.com", "gemini-2.5-flash-lite", 0.1, 0.4, 0.01, NONE, 0},
};

/* "-20250929", "-2025-08-07", "-latest": the same model under its full name. */
static bool
is_version(const char *rest)
{
	size_t digits = 0;

	if (*rest == '\0' || strcmp(rest, "-latest") == 0)
		return true;
	if (*rest != '-')
		return false;
	for (rest++; *rest != '\0'; rest++) {
		if (*rest >= '0' && *rest <= '9')
			digits++;
		else if (*rest != '-' || digits < 4)
			return false;
	}
	return digits == 8;
}

static const struct price *
find(const struct runtime *runtime)
{
	char host[ENDPOINT_HOST_SIZE];
	size_t i, length;

	if (runtime->base_url == NULL || runtime->model == NULL)
		return NULL;
	endpoint_host(runtime->base_url, host);
	for (i = 0; i < sizeof prices / sizeof prices[0]; i++) {
		length = strlen(prices[i].model);
		if (strcmp(host, prices[i].domain) == 0 &&
		    strncasecmp(runtime->model, prices[i].model, length) == 0 &&
		    is_version(runtime->model + length))
			return &prices[i];
	}
	return NULL;
}

/* What has no price of its own costs as input. */
static bool
add(double *dollars, int64_t tokens, double price, double otherwise)
{
	if (tokens <= 0)
		return true;
	if (price < 0)
		price = otherwise;
	if (price < 0)
		return false;
	*dollars += (double)tokens * price / 1e6;
	return true;
}

static bool
estimate(const struct price *price, const struct model_usage *usage, double *dollars)
{
	*dollars = 0;
	if (usage->input_tokens < 0 || usage->output_tokens < 0 ||
	    (price->input_max > 0 && usage->input_tokens > price->input_max))
		return false;
	return add(dollars, model_usage_plain_input(usage), price->input, NONE) &&
	       add(dollars, usage->output_tokens, price->output, NONE) &&
	       add(dollars, usage->cache_read_tokens, price->cache_read, NONE) &&
	       add(dollars, usage->cache_write_tokens, price->cache_write, price->input);
}

/* OpenRouter names the price of each answer in dollars; what others mean is not known. */
static bool
tells_dollars(const struct runtime *runtime, const struct model_usage *usage)
{
	char host[ENDPOINT_HOST_SIZE];

	if (!usage->cost_told || runtime->base_url == NULL)
		return false;
	endpoint_host(runtime->base_url, host);
	return endpoint_host_within(host, "openrouter.ai") && isfinite(usage->cost) &&
	       usage->cost >= 0 && usage->cost < COST_MAX;
}

void
prices_cost(
    const struct runtime *runtime, const struct model_usage *usage, struct model_cost *cost)
{
	const struct price *price;

	*cost = (struct model_cost){.status = "unknown"};
	if (tells_dollars(runtime, usage)) {
		*cost = (struct model_cost){true, usage->cost, "actual", "provider_cost_api"};
		return;
	}
	price = find(runtime);
	if (price == NULL || !estimate(price, usage, &cost->dollars)) {
		cost->dollars = 0;
		return;
	}
	cost->known = true;
	cost->status = "estimated";
	cost->source = "official_docs_snapshot";
}
