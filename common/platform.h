/*
 * What differs between systems. One variant per family of systems is compiled; nothing else
 * in the program asks which system it runs on.
 */
#ifndef HERMES_COMMON_PLATFORM_H
#define HERMES_COMMON_PLATFORM_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Keeps other processes of the same user from reading this one through /proc or a debugger,
 * and forbids core dumps. Child-safe. */
void platform_harden(void);
/* This process gets `signal_number` when its parent `parent` ends; false when the parent is
 * gone already. Where the system cannot do it: true, and the pipe's end must do. */
bool platform_die_with_parent(pid_t parent, int signal_number);
/* Closes every descriptor from `least` up. Async-signal-safe. */
void platform_close_from(int least);
/* Prefers (positive) or spares (negative) this process when memory is out; -1000 to 1000. */
void platform_oom_score(int score);
/* Path of the running executable; 0, or -1 when the system does not tell. */
int platform_executable(char *path, size_t size);
/* Process `pid` runs. One that has ended and that its parent has not asked about counts as
 * ended where the system tells; false only when that is certain. */
bool platform_process_lives(pid_t pid);
/* Gives memory that was freed back to the system, where the allocator keeps it. */
void platform_trim_memory(void);
/* Fills with random bytes from the system; 0 or -1. */
int platform_random(void *bytes, size_t length);

#endif
