/*
 * Unit tests that do not run everywhere, and why. A build without what only Linux has
 * (configure --disable-linux-features) leaves out, by LEAVE_OUT_IF_PORTABLE(), for reasons
 * that portable.py gives too:
 *   test_subprocess: test_stop_finds_everything, test_guard_is_killed
 *   test_terminal: test_timeout, test_cancel, test_leftovers
 * cmocka's skip() is not used: in TAP the version of Debian 12 calls it "not ok".
 */
#ifndef HERMES_TESTS_PORTABLE_H
#define HERMES_TESTS_PORTABLE_H

#define LEAVE_OUT(reason)                                                                      \
	do {                                                                                   \
		print_message("# left out: %s\n", (reason));                                   \
		return;                                                                        \
	} while (0)

#ifdef HERMES_LINUX
#define LEAVE_OUT_IF_PORTABLE() (void)0
#else
#define LEAVE_OUT_IF_PORTABLE() LEAVE_OUT("the guard knows only the process group")
#endif

#endif
