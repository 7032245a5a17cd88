/*
 * What an entry of a credential pool says about its own use: whether its key is cooling down,
 * and until when. The members and times are those of Hermes. Arithmetic only: no file, no
 * clock.
 */
#ifndef HERMES_WORKER_CONFIG_CREDENTIAL_STATE_H
#define HERMES_WORKER_CONFIG_CREDENTIAL_STATE_H

#include "common/json.h"

#include <stdbool.h>

/* Why a server did not take a key. */
struct credential_failure {
	int status;	    /* of HTTP; 0 when there was none */
	bool billing;	    /* the account has nothing left, whatever the status */
	double reset_after; /* seconds that the server named, -1 when it named none */
	const char *reason; /* a token: "rate_limit" */
	const char *message;
};

/* Seconds since the epoch until which the key rests; 0 when it may be used. `sole`: there is no
 * other one to use instead, which makes the rest shorter. A key that is dead rests for ever. */
double credential_state_until(struct json_object *entry, bool sole);
/* Enters a failure that happened at `now`. */
void credential_state_fail(
    struct json_object *entry, const struct credential_failure *failure, double now);

#endif
