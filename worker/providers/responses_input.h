/*
 * A conversation in the form of OpenAI's Responses: instructions, and a list of items in
 * which calls and their outputs stand by themselves.
 */
#ifndef HERMES_WORKER_PROVIDERS_RESPONSES_INPUT_H
#define HERMES_WORKER_PROVIDERS_RESPONSES_INPUT_H

#include "common/buffer.h"
#include "common/json.h"

#include <stdbool.h>

/* How earlier answers are sent back. */
struct responses_echo {
	const char *issuer; /* thoughts that another server sealed are left out */
	bool phase;	    /* the server knows the phase of a message */
};

/* The items for `messages` (the Chat Completions form); the caller owns the array. The system
 * prompt is appended to `instructions` instead. Every call is answered by one output. */
struct json_object *responses_input(struct json_object *messages,
    const struct responses_echo *echo, struct buffer *instructions);
/* Who seals the thoughts of a server, in the words of Hermes; the caller frees it. */
char *responses_issuer(const char *base_url);

#endif
