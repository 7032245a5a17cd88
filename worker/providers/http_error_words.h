/*
 * The words of an error: which kind of failure they speak of. Private to http_error.c.
 */
#ifndef HERMES_WORKER_PROVIDERS_HTTP_ERROR_WORDS_H
#define HERMES_WORKER_PROVIDERS_HTTP_ERROR_WORDS_H

#include "common/json.h"
#include "worker/providers/provider.h"

/* The kind that type, code and words tell, where they tell more than `kind`, which comes
 * from the status (0 = the error has none). */
enum model_error http_error_refine(enum model_error kind, int status, struct json_object *json,
    const char *words);

#endif
