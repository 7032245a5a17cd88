"""What a build without Linux's own means (configure --disable-linux-features) cannot pass, and why.

Everything else has to pass there. The unit tests among them are listed in portable.h.
"""
import os

GROUP = ("the guard finds only the command's process group: what called setsid() or setpgid() outlives "
         "a stop, a time limit and the end of the agent")
LOOK = "nothing hides the descriptors of a process from others of the same user (PR_SET_DUMPABLE)"

LEFT_OUT = {
    "functional/test_terminal.py:Background.test_child_in_its_own_session": GROUP,
    "functional/test_terminal.py:Stop.test_cancel_of_other_sessions": GROUP,
    "functional/test_terminal.py:Stop.test_time_limit_of_other_sessions": GROUP,
    "functional/test_wire.py:Purity.test_our_descriptors_are_out_of_reach": LOOK,
}


def is_portable(build):
    """True when the programs in `build` were configured that way."""
    try:
        with open(os.path.join(build, "config.h"), encoding="utf-8") as file:
            return "#define HERMES_LINUX 1" not in file.read()
    except OSError:
        return False


def reason(build, path, name):
    """Why the test `name` of the file `path` is left out, None when it is not."""
    folder, file = os.path.split(os.path.abspath(path))
    shown = f"{os.path.basename(folder)}/{file}:{name}"
    return LEFT_OUT.get(shown) if is_portable(build) else None
