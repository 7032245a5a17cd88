/*
 * The table of dialects: a new one is a file and a row here.
 */
#include <config.h>

#include "worker/providers/provider.h"
#include "worker/providers/anthropic_messages.h"
#include "worker/providers/chat_completions.h"
#include "worker/providers/replay.h"
#include "worker/providers/responses.h"

#include <string.h>

extern const struct api_mode api_mode_rehearsal;

static const struct api_mode *const api_modes[] = {
    &api_mode_chat_completions,
    &api_mode_anthropic_messages,
    &api_mode_codex_responses,
    &api_mode_rehearsal,
    &api_mode_replay,
};

const struct api_mode *
api_mode_find(const char *name)
{
	size_t i;

	for (i = 0; name != NULL && i < sizeof api_modes / sizeof api_modes[0]; i++)
		if (strcmp(api_modes[i]->name, name) == 0)
			return api_modes[i];
	return NULL;
}
