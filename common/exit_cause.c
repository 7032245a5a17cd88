/*
 * Words for the end of a process. It must never guess: what the wait status does not say
 * is not claimed.
 */
#include <config.h>

#include "common/exit_cause.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

static const char *const cause_texts[] = {
    [STOP_CLOSE] = "ended because the session was closed",
    [STOP_SHUTDOWN] = "ended because the agent shuts down",
    [STOP_IDLE] = "ended because it was idle",
    [STOP_CANCEL_IGNORED] = "ended because it did not react to a cancel",
    [STOP_SETUP_TIMEOUT] = "ended because it did not get ready in time",
    [STOP_PROTOCOL_VIOLATION] = "ended after a protocol violation",
    [STOP_VERSION] = "has another version than the supervisor; reinstall hermes-acp",
};

static const struct {
	int status;
	const char *text;
} exit_texts[] = {
    {EXIT_DONE, "ended without a word"},
    {EXIT_DATA, "could not use the session database"},
    {EXIT_UNAVAILABLE, "could not reach a service"},
    {EXIT_INTERNAL, "ended after an internal error"},
    {EXIT_MEMORY, "ran out of memory"},
    {EXIT_PROTOCOL, "did not understand the supervisor"},
    {EXIT_CONFIGURATION, "found its configuration unusable"},
    {127, "could not be started"},
};

void
exit_cause_describe(int wait_status, enum stop_cause cause, char *text, size_t size)
{
	size_t i;
	int number;

	if (cause != STOP_NONE) {
		snprintf(text, size, "%s", cause_texts[cause]);
		return;
	}
	if (WIFSIGNALED(wait_status)) {
		number = WTERMSIG(wait_status);
		snprintf(text, size, "%s by signal %d (%s)",
		    number == SIGKILL ? "was killed" : "crashed", number, strsignal(number));
		return;
	}
	number = WEXITSTATUS(wait_status);
	for (i = 0; i < sizeof exit_texts / sizeof exit_texts[0]; i++)
		if (exit_texts[i].status == number) {
			snprintf(text, size, "%s (exit status %d)", exit_texts[i].text, number);
			return;
		}
	snprintf(text, size, "ended with exit status %d", number);
}
