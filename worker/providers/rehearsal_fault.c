/*
 * Faults on demand. Nothing here may run unless the program was told to allow faults; the
 * caller sees to that. A fault never touches another process.
 */
#include <config.h>

#include "worker/providers/rehearsal_fault.h"

#include "common/monotonic.h"

#include <event2/event.h>

#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

static const struct {
	const char *name;
	int number;
} signals[] = {
    {"ABRT", SIGABRT},
    {"BUS", SIGBUS},
    {"FPE", SIGFPE},
    {"HUP", SIGHUP},
    {"ILL", SIGILL},
    {"INT", SIGINT},
    {"KILL", SIGKILL},
    {"PIPE", SIGPIPE},
    {"SEGV", SIGSEGV},
    {"STOP", SIGSTOP},
    {"TERM", SIGTERM},
    {"USR1", SIGUSR1},
};

static const struct {
	const char *word;
	enum rehearsal_fault_point point;
} points[] = {
    {"now", FAULT_NOW},
    {"finish", FAULT_FINISH},
    {"after_finish", FAULT_AFTER_FINISH},
};

int
rehearsal_fault_signal(const char *name)
{
	size_t i;

	if (strncmp(name, "SIG", 3) == 0)
		name += 3;
	for (i = 0; i < sizeof signals / sizeof signals[0]; i++)
		if (strcmp(signals[i].name, name) == 0)
			return signals[i].number;
	return 0;
}

bool
rehearsal_fault_point_parse(const char *word, enum rehearsal_fault_point *point)
{
	size_t i;

	for (i = 0; i < sizeof points / sizeof points[0]; i++) {
		if (strcmp(points[i].word, word) == 0) {
			*point = points[i].point;
			return true;
		}
	}
	return false;
}

/* True when the fault may happen: it did not yet, or it may happen every time. */
static bool
claim(const char *marker)
{
	int fd;

	if (marker == NULL)
		return true;
	fd = open(marker, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd == -1)
		return false;
	close(fd);
	return true;
}

void
rehearsal_fault_read(struct json_object *object, struct rehearsal_fault *fault)
{
	const char *name = json_member_string(object, "signal");
	int64_t status = 0;

	memset(fault, 0, sizeof *fault);
	if (name != NULL) {
		fault->kind = FAULT_SIGNAL;
		fault->number = rehearsal_fault_signal(name);
	} else if (json_member_integer(object, "exit", &status)) {
		fault->kind = FAULT_EXIT;
		fault->number = (int)status;
	} else if (json_member_boolean(object, "stop", false)) {
		fault->kind = FAULT_SIGNAL;
		fault->number = SIGSTOP;
	} else {
		fault->kind = FAULT_LOOP;
	}
	rehearsal_fault_point_parse(json_member_text(object, "at", "now"), &fault->point);
	json_member_integer(object, "after_ms", &fault->after_ms);
	if (!claim(json_member_string(object, "once")))
		fault->kind = FAULT_NONE;
}

static void
raise_signal(int number)
{
	sigset_t set;

	/* A handler of a sanitizer or of the program must not soften it. */
	signal(number, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, number);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	kill(getpid(), number);
}

static void
act(enum rehearsal_fault_kind kind, int number)
{
	volatile bool forever = true;

	switch (kind) {
	case FAULT_SIGNAL:
		raise_signal(number);
		break;
	case FAULT_EXIT:
		_exit(number);
	case FAULT_LOOP:
		while (forever)
			continue;
		break;
	case FAULT_NONE:
		break;
	}
}

static void
on_time(evutil_socket_t fd, short what, void *arg)
{
	uintptr_t packed = (uintptr_t)arg;

	(void)fd;
	(void)what;
	act((enum rehearsal_fault_kind)(packed >> 8), (int)(packed & 0xff));
}

void
rehearsal_fault_play(struct event_base *base, const struct rehearsal_fault *fault)
{
	struct timeval interval = monotonic_interval(fault->after_ms);
	/* Kind and number travel in the pointer: the wait may outlive everything else. */
	uintptr_t packed = (uintptr_t)fault->kind << 8 | (uintptr_t)(fault->number & 0xff);

	if (fault->kind == FAULT_NONE)
		return;
	if (fault->after_ms > 0)
		event_base_once(base, -1, EV_TIMEOUT, on_time, (void *)packed, &interval);
	else
		act(fault->kind, fault->number);
}
