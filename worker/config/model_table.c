/*
 * Table of well-known models. It is a help for choosing and never the last word: other models
 * work as well, and what the configuration says of one beats its row.
 */
#include <config.h>

#include "worker/config/model_table.h"

#include <string.h>

#define CLAUDE "none low medium high xhigh"
#define CLAUDE_BUDGET "none low medium high"
#define GPT "none low medium high xhigh"
#define GPT_EARLY "minimal low medium high"
#define GEMINI "none low medium high"

static const struct model_row rows[] = {
    {"openrouter", "anthropic/claude-opus-4.8", "Claude Opus 4.8", 1000000, CLAUDE, true},
    {"openrouter", "anthropic/claude-sonnet-4.6", "Claude Sonnet 4.6", 1000000, CLAUDE, true},
    {"openrouter", "openai/gpt-5.5", "GPT-5.5", 1050000, GPT, true},
    {"openrouter", "google/gemini-2.5-pro", "Gemini 2.5 Pro", 1048576, GEMINI, true},
    {"openrouter", "moonshotai/kimi-k2-thinking", "Kimi K2 Thinking", 262144, "", false},
    {"openrouter", "qwen/qwen3-coder", "Qwen3 Coder", 262144, "", false},
    {"openai-api", "gpt-5.5", "GPT-5.5", 1050000, GPT, true},
    {"openai-api", "gpt-5.4", "GPT-5.4", 1050000, GPT, true},
    {"openai-api", "gpt-5", "GPT-5", 400000, GPT_EARLY, true},
    {"openai-api", "gpt-4.1", "GPT-4.1", 1047576, "", true},
    {"anthropic", "claude-opus-4-8", "Claude Opus 4.8", 1000000, CLAUDE, true},
    {"anthropic", "claude-opus-4-7", "Claude Opus 4.7", 1000000, CLAUDE, true},
    {"anthropic", "claude-opus-4-6", "Claude Opus 4.6", 1000000, CLAUDE, true},
    {"anthropic", "claude-sonnet-4-6", "Claude Sonnet 4.6", 1000000, CLAUDE, true},
    {"anthropic", "claude-haiku-4-5", "Claude Haiku 4.5", 200000, CLAUDE_BUDGET, true},
    {"gemini", "gemini-2.5-pro", "Gemini 2.5 Pro", 1048576, GEMINI, true},
    {"gemini", "gemini-2.5-flash", "Gemini 2.5 Flash", 1048576, GEMINI, true},
    {"zai", "glm-4.6", "GLM 4.6", 202752, "", false},
    {"kimi-coding", "kimi-k2-thinking", "Kimi K2 Thinking", 262144, "", false},
    {"minimax", "MiniMax-M2", "MiniMax M2", 204800, "", false},
    {"deepseek", "deepseek-chat", "DeepSeek Chat", 128000, "", false},
    {"deepseek", "deepseek-reasoner", "DeepSeek Reasoner", 128000, "", false},
    {"xai", "grok-4", "Grok 4", 256000, "", true},
};

const struct model_row *
model_table(size_t *count)
{
	*count = sizeof rows / sizeof rows[0];
	return rows;
}

const struct model_row *
model_table_find(const char *provider, const char *model)
{
	size_t i;

	for (i = 0; i < sizeof rows / sizeof rows[0]; i++)
		if (strcmp(rows[i].provider, provider) == 0 &&
		    strcmp(rows[i].model, model) == 0)
			return &rows[i];
	return NULL;
}
