/*
 * When a failed request is tried again, and how long to wait before.
 */
#ifndef HERMES_WORKER_PROVIDERS_RETRY_H
#define HERMES_WORKER_PROVIDERS_RETRY_H

#include "worker/providers/provider.h"

#define RETRY_ATTEMPTS 3	 /* tries in all (as in Hermes: agent.api_max_retries) */
#define RETRY_TOLD_MAX_MS 600000 /* most that a server's wish is waited for */
#define RETRY_NOTICE_MS 2000	 /* longer waits are announced */

/* How often a request to the runtime is made at most. */
unsigned retry_tries(const struct runtime *runtime);
/* True when waiting may help, fewer than `most` tries were made and nothing was shown that a
 * second answer would repeat. */
bool
retry_wanted(const struct model_answer *answer, unsigned attempts, unsigned most, bool shown);
/* Milliseconds before the next try. `attempts` were made; `random` is any number; `scale`
 * stretches the result. At least what the server asked for, unless scaled. */
int64_t retry_delay_ms(
    const struct model_answer *answer, unsigned attempts, uint32_t random, double scale);
/* $HERMES_ACP_RETRY_SCALE: a factor from 0 to 100 on all waits, 1 when unset or no number. */
double retry_scale(void);
/* "Rate limited by OpenRouter, next try in 4 s (2 of 3)". The caller frees. */
char *retry_notice(const struct model_answer *answer, const char *label, int64_t delay_ms,
    unsigned attempts, unsigned most);

#endif
