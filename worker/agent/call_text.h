/*
 * What a model wrote about a call, read and made fit to be sent back: arguments and names.
 */
#ifndef HERMES_WORKER_AGENT_CALL_TEXT_H
#define HERMES_WORKER_AGENT_CALL_TEXT_H

#include "common/json.h"

#include <stddef.h>

/* The arguments as an object that the caller owns. Blank and null count as {}, and a string
 * that holds an object is decoded once (providers do both). NULL with a text for the model in
 * `error`. */
struct json_object *call_text_arguments(const char *text, char *error, size_t size);
/* Arguments as they are stored: the text of an object, which strict providers insist on. What
 * the model wrote is kept where it is one. The caller frees it. */
char *call_text_storable(const char *text);
/* The result of a call that has started and whose outcome nobody knows; the caller owns it. */
struct json_object *call_text_unknown_result(const char *call_id, const char *name);
/* What its card says. */
extern const char call_text_unknown[];
/* A name as it is stored: letters, digits, '_' and '-', at most 64 (what the strict
 * providers take). The caller frees it. */
char *call_text_name(const char *name);

#endif
