/*
 * `hermes-acp --setup`: asks for provider, key and model in the terminal and stores them.
 */
#ifndef HERMES_WORKER_CONFIG_SETUP_H
#define HERMES_WORKER_CONFIG_SETUP_H

#include <stdio.h>

/* Asks on `out`, reads one answer per line from `in` (a terminal or a pipe). 0 when
 * everything was stored; 1 when it was given up (end of input, an empty answer where one is
 * needed), and then nothing was written, or when storing failed. */
int setup_run(FILE *in, FILE *out);

#endif
