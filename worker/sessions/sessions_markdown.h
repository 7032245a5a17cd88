/*
 * A whole conversation as Markdown.
 */
#ifndef HERMES_WORKER_SESSIONS_SESSIONS_MARKDOWN_H
#define HERMES_WORKER_SESSIONS_SESSIONS_MARKDOWN_H

#include "worker/sessions/sessions_conversation.h"
#include "worker/sessions/sessions_output.h"

/* Thoughts are quoted, calls with their arguments and whole results stand in code blocks. */
void sessions_markdown_write(
    struct sessions_output *output, const struct sessions_conversation *conversation);

#endif
