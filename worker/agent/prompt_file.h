/*
 * Files in a prompt: linked by URI or embedded.
 */
#ifndef HERMES_WORKER_AGENT_PROMPT_FILE_H
#define HERMES_WORKER_AGENT_PROMPT_FILE_H

#include "common/buffer.h"
#include "common/json.h"

struct prompt_file {
	struct buffer text; /* heading and body, or a line that says why there is none */
	char *image;	    /* base64 of a picture, NULL when it is none */
	char *mime;	    /* of the picture */
};

/* A resource_link. file URIs (percent-encoded or not) and paths are read, with a line range
 * in the fragment (#L10, #L10-20, #L10:20); anything else is named only. */
void prompt_file_link(const char *uri, const char *name, const char *title, const char *cwd,
    struct prompt_file *file);
/* An embedded resource: {uri, text | blob, mimeType?}. */
void prompt_file_resource(struct json_object *resource, struct prompt_file *file);
void prompt_file_clear(struct prompt_file *file);

/* NULL when the text is base64 of something, else why not. */
const char *prompt_file_base64_fault(const char *text);

#endif
