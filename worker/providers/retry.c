/*
 * The rules of trying again: only what heals by itself, a bounded number of times, never at
 * once. All of it is arithmetic; the timer is model_call.c's.
 */
#include <config.h>

#include "worker/providers/retry.h"
#include "worker/config/runtime.h"
#include "common/alloc.h"

#include <stdlib.h>

static const struct {
	enum model_error kind;
	bool overload;		    /* the server has too much to do: no short first wait */
	const char *before, *after; /* what is said, around the provider's label */
} rules[] = {
    {MODEL_ERROR_CONNECT, false, "No connection to ", ""},
    {MODEL_ERROR_INTERRUPTED, false, "The answer of ", " was cut off"},
    {MODEL_ERROR_SILENT, false, "Nothing came from ", ""},
    {MODEL_ERROR_RATE_LIMIT, true, "Rate limited by ", ""},
    {MODEL_ERROR_OVERLOADED, true, "", " is overloaded"},
    {MODEL_ERROR_SERVER, false, "", " had an error"},
};

#define RULE_COUNT (sizeof rules / sizeof rules[0])

static size_t
rule_of(enum model_error kind)
{
	size_t i = 0;

	while (i < RULE_COUNT && rules[i].kind != kind)
		i++;
	return i;
}

unsigned
retry_tries(const struct runtime *runtime)
{
	return runtime->tries > 0 ? (unsigned)runtime->tries : RETRY_ATTEMPTS;
}

bool
retry_wanted(const struct model_answer *answer, unsigned attempts, unsigned most, bool shown)
{
	return answer->finish == FINISH_ERROR && !shown && attempts < most &&
	       rule_of(answer->error) < RULE_COUNT;
}

int64_t
retry_delay_ms(
    const struct model_answer *answer, unsigned attempts, uint32_t random, double scale)
{
	size_t rule = rule_of(answer->error);
	bool overload = rule < RULE_COUNT && rules[rule].overload;
	int64_t base = 2000, told = answer->retry_after_ms, delay;
	unsigned i;

	/* Most breaks are over at once; a server with too much to do needs its time. */
	if (attempts <= 1 && !overload)
		base = 500;
	for (i = overload ? 1 : 2; i < attempts && base < 30000; i++)
		base *= 2;
	/* Up to three times the base, at most 60 s: many clients must not come together. */
	delay = base + (int64_t)(random % (uint32_t)(base * 2 + 1));
	if (delay > 60000)
		delay = 60000 - (int64_t)(random % 5000);
	if (told >= 0) {
		if (told > RETRY_TOLD_MAX_MS)
			told = RETRY_TOLD_MAX_MS;
		/* Never sooner than told; a told 0 is no invitation to hammer. */
		delay = told > 0 ? told + (int64_t)(random % 250) : base;
	}
	return (int64_t)((double)delay * scale);
}

double
retry_scale(void)
{
	const char *text = getenv("HERMES_ACP_RETRY_SCALE");
	double scale;
	char *end;

	if (text == NULL || text[0] == '\0')
		return 1;
	scale = strtod(text, &end);
	if (*end != '\0' || !(scale >= 0 && scale <= 100))
		return 1;
	return scale;
}

char *
retry_notice(const struct model_answer *answer, const char *label, int64_t delay_ms,
    unsigned attempts, unsigned most)
{
	size_t rule = rule_of(answer->error);
	const char *before = rule < RULE_COUNT ? rules[rule].before : "";
	const char *after = rule < RULE_COUNT ? rules[rule].after : " failed";

	return xasprintf("%s%s%s, next try in %lld s (%u of %u)", before, label, after,
	    (long long)((delay_ms + 999) / 1000), attempts + 1, most);
}
