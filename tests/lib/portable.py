"""What some builds cannot pass, and why: named here, so that everything else has to pass there.

PORTABLE is a build without Linux's own means (configure --disable-linux-features); the unit tests
among these are listed in portable.h. SANITIZED is a build with sanitizers.
"""
import os

GROUP = ("the guard finds only the command's process group: what called setsid() or setpgid() outlives "
         "a stop, a time limit and the end of the agent")
LOOK = "nothing hides the descriptors of a process from others of the same user (PR_SET_DUMPABLE)"
ZOMBIE = ("the guard sees a process group live until whoever inherited its members has reaped them, which is not "
          "init here")
ORPHAN = "a worker whose loop is out of reach does not learn that its parent is gone (PR_SET_PDEATHSIG)"
LEAKS = "LeakSanitizer has to look into its own process, so others of the same user can, too"

PORTABLE = {
    "fault/test_crash.py:Supervisor.test_stuck_worker_goes": ORPHAN,
    "functional/test_idle.py:NotIdle.test_command_that_still_runs": ZOMBIE,
    "functional/test_terminal.py:Background.test_child_in_its_own_session": GROUP,
    "functional/test_terminal.py:Stop.test_cancel_of_other_sessions": GROUP,
    "functional/test_terminal.py:Stop.test_time_limit_of_other_sessions": GROUP,
    "functional/test_wire.py:Purity.test_our_descriptors_are_out_of_reach": LOOK,
}
SANITIZED = {
    "functional/test_wire.py:Purity.test_our_descriptors_are_out_of_reach": LEAKS,
}


def left_out(build):
    """The tests that the programs in `build` leave out: name -> reason."""
    try:
        with open(os.path.join(build, "config.h"), encoding="utf-8") as file:
            settings = file.read()
    except OSError:
        return {}
    return {**({} if "#define HERMES_LINUX 1" in settings else PORTABLE),
            **(SANITIZED if "#define HERMES_SANITIZED 1" in settings else {})}


def reason(build, path, name):
    """Why the test `name` of the file `path` is left out, None when it is not."""
    folder, file = os.path.split(os.path.abspath(path))
    return left_out(build).get(f"{os.path.basename(folder)}/{file}:{name}")
