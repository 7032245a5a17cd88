/*
 * Table of providers. A new one is one row; no row may hold a secret.
 */
#include <config.h>

#include "worker/config/provider_table.h"

#include "worker/config/endpoint.h"

#include <string.h>
#include <strings.h>

static const struct provider_row rows[] = {
    {.id = "openrouter",
	.label = "OpenRouter",
	.base_url = "https://openrouter.ai/api/v1",
	.keys = {"OPENROUTER_API_KEY"},
	.base_variable = "OPENROUTER_BASE_URL",
	.domains = {"openrouter.ai"},
	.key_prefix = "sk-or-",
	.strict_host = true},
    {.id = "openai-api",
	.label = "OpenAI",
	.base_url = "https://api.openai.com/v1",
	.keys = {"OPENAI_API_KEY"},
	.base_variable = "OPENAI_BASE_URL",
	.aliases = {"openai"},
	.domains = {"openai.com", "openai.azure.com"}},
    {.id = "anthropic",
	.label = "Anthropic",
	.base_url = "https://api.anthropic.com",
	.keys = {"ANTHROPIC_API_KEY", "ANTHROPIC_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"},
	.base_variable = "ANTHROPIC_BASE_URL",
	.aliases = {"claude", "claude-code"},
	.domains = {"anthropic.com"},
	.api_mode = "anthropic_messages"},
    {.id = "gemini",
	.label = "Google Gemini",
	.base_url = "https://generativelanguage.googleapis.com/v1beta/openai",
	.keys = {"GOOGLE_API_KEY", "GEMINI_API_KEY"},
	.base_variable = "GEMINI_BASE_URL",
	.aliases = {"google", "google-gemini", "google-ai-studio"}},
    {.id = "zai",
	.label = "Z.AI (GLM)",
	.base_url = "https://api.z.ai/api/paas/v4",
	.keys = {"GLM_API_KEY", "ZAI_API_KEY", "Z_AI_API_KEY"},
	.base_variable = "GLM_BASE_URL",
	.aliases = {"glm", "z-ai", "z.ai", "zhipu"},
	.domains = {"z.ai"}},
    {.id = "kimi-coding",
	.label = "Kimi (Moonshot)",
	.base_url = "https://api.moonshot.ai/v1",
	.keys = {"KIMI_API_KEY", "KIMI_CODING_API_KEY"},
	.base_variable = "KIMI_BASE_URL",
	.aliases = {"kimi", "kimi-for-coding", "moonshot"},
	.domains = {"moonshot.ai", "api.kimi.com"}},
    {.id = "kimi-coding-cn",
	.label = "Kimi (Moonshot, China)",
	.base_url = "https://api.moonshot.cn/v1",
	.keys = {"KIMI_CN_API_KEY"},
	.base_variable = "KIMI_CN_BASE_URL",
	.domains = {"moonshot.cn"}},
    {.id = "stepfun",
	.label = "StepFun",
	.base_url = "https://api.stepfun.com/v1",
	.keys = {"STEPFUN_API_KEY"},
	.base_variable = "STEPFUN_BASE_URL",
	.domains = {"stepfun.com", "stepfun.ai"}},
    {.id = "arcee",
	.label = "Arcee AI",
	.base_url = "https://api.arcee.ai/api/v1",
	.keys = {"ARCEEAI_API_KEY"},
	.base_variable = "ARCEE_BASE_URL"},
    {.id = "gmi",
	.label = "GMI Cloud",
	.base_url = "https://api.gmi-serving.com/v1",
	.keys = {"GMI_API_KEY"},
	.base_variable = "GMI_BASE_URL"},
    {.id = "minimax",
	.label = "MiniMax",
	.base_url = "https://api.minimax.io/anthropic",
	.keys = {"MINIMAX_API_KEY"},
	.base_variable = "MINIMAX_BASE_URL",
	.domains = {"minimax.io"}},
    {.id = "minimax-cn",
	.label = "MiniMax (China)",
	.base_url = "https://api.minimaxi.com/anthropic",
	.keys = {"MINIMAX_CN_API_KEY"},
	.base_variable = "MINIMAX_CN_BASE_URL",
	.domains = {"minimaxi.com"}},
    {.id = "alibaba",
	.label = "Alibaba DashScope",
	.base_url = "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
	.keys = {"DASHSCOPE_API_KEY"},
	.base_variable = "DASHSCOPE_BASE_URL",
	.domains = {"dashscope.aliyuncs.com", "dashscope-us.aliyuncs.com"}},
    {.id = "alibaba-coding-plan",
	.label = "Alibaba coding plan",
	.base_url = "https://coding-intl.dashscope.aliyuncs.com/v1",
	.keys = {"ALIBABA_CODING_PLAN_API_KEY", "DASHSCOPE_API_KEY"},
	.base_variable = "ALIBABA_CODING_PLAN_BASE_URL",
	.domains = {"dashscope.aliyuncs.com"}},
    {.id = "deepseek",
	.label = "DeepSeek",
	.base_url = "https://api.deepseek.com/v1",
	.keys = {"DEEPSEEK_API_KEY"},
	.base_variable = "DEEPSEEK_BASE_URL",
	.domains = {"deepseek.com"}},
    {.id = "xai",
	.label = "xAI",
	.base_url = "https://api.x.ai/v1",
	.keys = {"XAI_API_KEY"},
	.base_variable = "XAI_BASE_URL",
	.aliases = {"x-ai", "x.ai", "grok"},
	.domains = {"x.ai"}},
    {.id = "nvidia",
	.label = "NVIDIA",
	.base_url = "https://integrate.api.nvidia.com/v1",
	.keys = {"NVIDIA_API_KEY"},
	.base_variable = "NVIDIA_BASE_URL"},
    {.id = "ai-gateway",
	.label = "Vercel AI Gateway",
	.base_url = "https://ai-gateway.vercel.sh/v1",
	.keys = {"AI_GATEWAY_API_KEY"},
	.base_variable = "AI_GATEWAY_BASE_URL",
	.aliases = {"aigateway", "vercel"}},
    {.id = "opencode-zen",
	.label = "OpenCode Zen",
	.base_url = "https://opencode.ai/zen/v1",
	.keys = {"OPENCODE_ZEN_API_KEY"},
	.base_variable = "OPENCODE_ZEN_BASE_URL",
	.aliases = {"opencode", "zen"}},
    {.id = "opencode-go",
	.label = "OpenCode Go",
	.base_url = "https://opencode.ai/zen/go/v1",
	.keys = {"OPENCODE_GO_API_KEY"},
	.base_variable = "OPENCODE_GO_BASE_URL",
	.aliases = {"go"}},
    {.id = "opencode-free",
	.label = "OpenCode Zen (free models)",
	.base_url = "https://opencode.ai/zen/v1",
	.aliases = {"free"},
	.never_chosen = true,
	.key_optional = true},
    {.id = "kilocode",
	.label = "Kilo Code",
	.base_url = "https://api.kilo.ai/api/gateway",
	.keys = {"KILOCODE_API_KEY"},
	.base_variable = "KILOCODE_BASE_URL",
	.aliases = {"kilo"}},
    {.id = "huggingface",
	.label = "Hugging Face",
	.base_url = "https://router.huggingface.co/v1",
	.keys = {"HF_TOKEN"},
	.base_variable = "HF_BASE_URL",
	.aliases = {"hf"}},
    {.id = "xiaomi",
	.label = "Xiaomi MiMo",
	.base_url = "https://api.xiaomimimo.com/v1",
	.keys = {"XIAOMI_API_KEY"},
	.base_variable = "XIAOMI_BASE_URL",
	.aliases = {"mimo"},
	.domains = {"xiaomimimo.com"}},
    {.id = "tencent-tokenhub",
	.label = "Tencent TokenHub",
	.base_url = "https://tokenhub.tencentmaas.com/v1",
	.keys = {"TOKENHUB_API_KEY"},
	.base_variable = "TOKENHUB_BASE_URL"},
    {.id = "tencent-tokenplan",
	.label = "Tencent token plan",
	.base_url = "https://api.lkeap.cloud.tencent.com/plan/anthropic",
	.keys = {"TOKENPLAN_API_KEY"},
	.base_variable = "TOKENPLAN_BASE_URL"},
    {.id = "ollama-cloud",
	.label = "Ollama Cloud",
	.base_url = "https://ollama.com/v1",
	.keys = {"OLLAMA_API_KEY"},
	.base_variable = "OLLAMA_BASE_URL",
	.domains = {"ollama.com"}},
    {.id = "azure-foundry",
	.label = "Azure AI Foundry",
	.keys = {"AZURE_FOUNDRY_API_KEY"},
	.base_variable = "AZURE_FOUNDRY_BASE_URL",
	.domains = {"openai.azure.com", "services.ai.azure.com"}},
    {.id = "actual",
	.label = "Actual",
	.keys = {"ACTUAL_API_KEY"},
	.base_variable = "ACTUAL_BASE_URL"},
    {.id = "lmstudio",
	.label = "LM Studio",
	.base_url = "http://127.0.0.1:1234/v1",
	.keys = {"LM_API_KEY"},
	.base_variable = "LM_BASE_URL",
	.aliases = {"lm-studio"},
	.never_chosen = true,
	.key_optional = true},
};

static const struct {
	const char *name, *reason;
} unsupported[] = {
    {"nous", "it needs a sign-in with a browser"},
    {"openai-codex", "it needs a sign-in with a browser"},
    {"minimax-oauth", "it needs a sign-in with a browser"},
    {"xai-oauth", "it needs a sign-in with a browser"},
    {"qwen-oauth", "it needs a sign-in with a browser"},
    {"copilot", "its keys must be exchanged for short-lived ones"},
    {"github", "its keys must be exchanged for short-lived ones"},
    {"github-copilot", "its keys must be exchanged for short-lived ones"},
    {"github-models", "its keys must be exchanged for short-lived ones"},
    {"copilot-acp", "it is another program"},
    {"bedrock", "it needs AWS credentials"},
    {"aws", "it needs AWS credentials"},
    {"amazon", "it needs AWS credentials"},
    {"vertex", "it needs Google Cloud credentials"},
    {"moa", "it is a mixture of several models"},
};

#define COUNT(table) (sizeof(table) / sizeof *(table))

const struct provider_row *
provider_table(size_t *count)
{
	*count = COUNT(rows);
	return rows;
}

static bool
row_has_name(const struct provider_row *row, const char *name)
{
	size_t i;

	if (strcasecmp(row->id, name) == 0)
		return true;
	for (i = 0; i < PROVIDER_ALIASES_MAX && row->aliases[i] != NULL; i++)
		if (strcasecmp(row->aliases[i], name) == 0)
			return true;
	return false;
}

const struct provider_row *
provider_table_find(const char *name)
{
	size_t i;

	for (i = 0; i < COUNT(rows); i++)
		if (row_has_name(&rows[i], name))
			return &rows[i];
	return NULL;
}

bool
provider_table_owns_host(const struct provider_row *row, const char *host)
{
	char own[ENDPOINT_HOST_SIZE];
	size_t i;

	if (*host == '\0')
		return false;
	if (row->base_url != NULL) {
		endpoint_host(row->base_url, own);
		if (strcmp(own, host) == 0)
			return true;
	}
	for (i = 0; i < PROVIDER_DOMAINS_MAX && row->domains[i] != NULL; i++)
		if (endpoint_host_within(host, row->domains[i]))
			return true;
	return false;
}

const struct provider_row *
provider_table_by_key(const char *variable)
{
	size_t i, k;

	for (i = 0; i < COUNT(rows); i++)
		for (k = 0; k < PROVIDER_KEYS_MAX && rows[i].keys[k] != NULL; k++)
			if (strcmp(rows[i].keys[k], variable) == 0)
				return &rows[i];
	return NULL;
}

bool
provider_table_unsupported(const char *name, const char **reason)
{
	size_t i;

	for (i = 0; i < COUNT(unsupported); i++)
		if (strcasecmp(unsupported[i].name, name) == 0) {
			*reason = unsupported[i].reason;
			return true;
		}
	return false;
}

static bool
ends_with(const char *text, const char *ending)
{
	size_t length = strlen(text), tail = strlen(ending);

	return length >= tail && strcmp(text + length - tail, ending) == 0;
}

const char *
provider_table_mode_by_url(const char *url)
{
	char host[ENDPOINT_HOST_SIZE];
	const char *path = endpoint_path(url);

	endpoint_host(url, host);
	if (ends_with(path, "/anthropic") || ends_with(path, "/anthropic/v1") ||
	    endpoint_host_within(host, "api.anthropic.com"))
		return "anthropic_messages";
	if (strcmp(host, "api.kimi.com") == 0 && strncmp(path, "/coding", 7) == 0)
		return "anthropic_messages";
	if (endpoint_host_within(host, "api.openai.com") ||
	    endpoint_host_within(host, "api.x.ai"))
		return "codex_responses";
	return "chat_completions";
}

bool
provider_table_mode_supported(const char *api_mode)
{
	static const char *const modes[] = {
	    "chat_completions", "anthropic_messages", "codex_responses", "rehearsal"};
	size_t i;

	for (i = 0; i < COUNT(modes); i++)
		if (strcmp(modes[i], api_mode) == 0)
			return true;
	return false;
}

bool
provider_table_row_supported(const struct provider_row *row)
{
	const char *mode = row->api_mode;

	if (mode == NULL && row->base_url != NULL)
		mode = provider_table_mode_by_url(row->base_url);
	return mode == NULL || provider_table_mode_supported(mode);
}
