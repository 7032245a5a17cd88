/*
 * What a model is asked for a title of a conversation, and what is made of its answer. Pure
 * functions of text.
 */
#ifndef HERMES_WORKER_AGENT_TITLE_TEXT_H
#define HERMES_WORKER_AGENT_TITLE_TEXT_H

#include "common/json.h"

#include <stddef.h>

/* The messages of the request, owned by the caller. `prompt` is the conversation's first one,
 * of which the first 1000 characters count (as in Hermes); `language` and `instructions` are
 * the user's wishes, "" for none. */
struct json_object *
title_text_messages(const char *prompt, const char *language, const char *instructions);
/* The title in an answer: its first line or the member "title" of a JSON object, without
 * quotes, marks and a full stop, at most 80 characters (as in Hermes). NULL for what is no
 * title: nothing, or more than twelve words. The caller frees it. */
char *title_text_clean(const char *answer, size_t length);

#endif
