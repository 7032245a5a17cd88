/*
 * `hermes-acp sessions`: what its operator does with stored sessions.
 */
#ifndef HERMES_WORKER_SESSIONS_SESSIONS_COMMAND_H
#define HERMES_WORKER_SESSIONS_SESSIONS_COMMAND_H

/* argv[0] is the command (list, show …), behind it stand its options. Gives the exit status. */
int sessions_command(int argc, char **argv);

#endif
