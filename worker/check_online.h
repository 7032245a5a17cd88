/*
 * `hermes-acp --check=online`: asks the configured model's server whether it is there, takes
 * the key and has the model.
 */
#ifndef HERMES_WORKER_CHECK_ONLINE_H
#define HERMES_WORKER_CHECK_ONLINE_H

#include <stdio.h>

/* Writes lines as check_run() does. 0 when there was no problem, else 1. */
int check_online(FILE *out);

#endif
