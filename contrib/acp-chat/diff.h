/*
 * Shows what an edit changes, line by line.
 */
#ifndef HERMES_CONTRIB_ACP_CHAT_DIFF_H
#define HERMES_CONTRIB_ACP_CHAT_DIFF_H

#include "contrib/acp-chat/render.h"

/* `old_text` NULL = the file is new. */
void
diff_show(struct render *render, const char *path, const char *old_text, const char *new_text);

#endif
