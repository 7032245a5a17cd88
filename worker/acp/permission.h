/*
 * Questions to the user that wait for their answer. Deny is the default: no answer, a late
 * one, an error or anything that is not understood means no.
 */
#ifndef HERMES_WORKER_ACP_PERMISSION_H
#define HERMES_WORKER_ACP_PERMISSION_H

#include "worker/agent/output.h"

#include <stdbool.h>
#include <stdint.h>

struct client_calls;
struct permission_list;
struct tool_run;

/* `timeout_ms` 0: waits for ever. */
struct permission_list *permission_list_new(struct client_calls *calls, int64_t timeout_ms);
void permission_list_free(struct permission_list *list);
/* Forgets every question without a word: who asked is gone. `list` may be NULL. */
void permission_list_forget(struct permission_list *list);
void permission_ask(struct permission_list *list, uint32_t turn, const struct tool_run *run,
    void (*answered)(enum user_answer answer, void *arg), void *arg);
/* The answer is not wanted any more. */
void permission_withdraw(struct permission_list *list, const struct tool_run *run);

#endif
