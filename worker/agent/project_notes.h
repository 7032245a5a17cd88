/*
 * Notes for agents that a project keeps in its folder (AGENTS.md and its kin).
 */
#ifndef HERMES_WORKER_AGENT_PROJECT_NOTES_H
#define HERMES_WORKER_AGENT_PROJECT_NOTES_H

#include "common/buffer.h"

/* A notes file without front matter, shortened where it is long; NULL when there is none
 * that can be read. The caller frees it. */
char *project_notes_read(const char *path);
/* Appends the first notes file that is found for a folder, with its name; nothing when there
 * is none. Names in order: .hermes.md, HERMES.md, AGENTS.md, CLAUDE.md, .cursorrules; folders
 * from `cwd` up to the root of its git repository (as in Hermes). */
void project_notes_append(const char *cwd, struct buffer *prompt);

#endif
