/*
 * Copies of what the store is told.
 */
#include <config.h>

#include "worker/store/store_session.h"
#include "common/alloc.h"

#include <stdlib.h>
#include <string.h>

static char *
copy_text(const char *text)
{
	return text != NULL ? xstrdup(text) : NULL;
}

static void
free_text(const char *text)
{
	free((void *)(uintptr_t)text);
}

void
store_session_copy(struct store_session_info *copy, const struct store_session_info *info)
{
	copy->session_id = copy_text(info->session_id);
	copy->cwd = copy_text(info->cwd);
	copy->model = copy_text(info->model);
	copy->provider = copy_text(info->provider);
	copy->base_url = copy_text(info->base_url);
	copy->api_mode = copy_text(info->api_mode);
	copy->config = json_copy(info->config);
	copy->system_prompt = copy_text(info->system_prompt);
}

void
store_session_clear(struct store_session_info *info)
{
	free_text(info->session_id);
	free_text(info->cwd);
	free_text(info->model);
	free_text(info->provider);
	free_text(info->base_url);
	free_text(info->api_mode);
	json_object_put(info->config);
	free_text(info->system_prompt);
	memset(info, 0, sizeof *info);
}

void
store_session_set_id(struct store_session_info *copy, const char *id)
{
	free_text(copy->session_id);
	copy->session_id = copy_text(id);
}

void
store_usage_copy(struct store_usage *copy, const struct store_usage *usage)
{
	*copy = *usage;
	copy->model = copy_text(usage->model);
	copy->provider = copy_text(usage->provider);
	copy->base_url = copy_text(usage->base_url);
	copy->mode = copy_text(usage->mode);
	copy->task = copy_text(usage->task);
	copy->cost_status = copy_text(usage->cost_status);
	copy->cost_source = copy_text(usage->cost_source);
}

void
store_usage_clear(struct store_usage *usage)
{
	free_text(usage->model);
	free_text(usage->provider);
	free_text(usage->base_url);
	free_text(usage->mode);
	free_text(usage->task);
	free_text(usage->cost_status);
	free_text(usage->cost_source);
	memset(usage, 0, sizeof *usage);
}
