/*
 * The words of an error: what they are, and which kind of failure they speak of.
 */
#ifndef HERMES_WORKER_PROVIDERS_HTTP_ERROR_WORDS_H
#define HERMES_WORKER_PROVIDERS_HTTP_ERROR_WORDS_H

#include "common/json.h"
#include "worker/providers/provider.h"

/* The kind that type, code and words tell, where they tell more than `kind`, which comes
 * from the status (0 = the error has none). */
enum model_error http_error_refine(
    enum model_error kind, int status, struct json_object *json, const char *words);
/* The provider's own words in an error body, or NULL; the caller frees. */
char *http_error_words(struct json_object *json);
/* The beginning of what came, printable and on one line, at most `limit` code points. The
 * caller frees. */
char *http_error_excerpt(const char *bytes, size_t length, size_t limit);
/* The same for an error page: of HTML only the title, where it has one. */
char *http_error_page(const char *bytes, size_t length, size_t limit);

#endif
