/*
 * `hermes-acp --check`: looks at everything a session needs and says what is missing, in
 * lines for people. It changes nothing and talks to nobody.
 */
#ifndef HERMES_WORKER_CONFIG_CHECK_H
#define HERMES_WORKER_CONFIG_CHECK_H

#include <stdio.h>

struct check_options {
	const char *worker;    /* path of hermes-acp-worker; NULL: not looked at */
	const char *guard;     /* path of hermes-acp-guard; NULL: not looked at */
	const char *rehearsal; /* script of the rehearsal; NULL when none is wanted */
};

/* Writes one line per item, beginning with "ok", "note" or "problem". 0 when there was no
 * problem, else 1. */
int check_run(FILE *out, const struct check_options *options);

#endif
