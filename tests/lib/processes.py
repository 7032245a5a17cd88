"""What runs on the machine, read from /proc: descendants, orphans, zombies, open files.

The test process makes itself the subreaper of everything below it, so that whatever outlives the
agent becomes its child and is found. Nothing here ever signals a process that a test did not start.
"""
import ctypes
import os
import signal
import time

PR_SET_CHILD_SUBREAPER = 36


def become_subreaper():
    try:
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    except (OSError, AttributeError):
        pass


def read(path):
    """The bytes of a file in /proc, empty when the process is gone or not ours to look at."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def stat(pid):
    """(state, parent, start time, utime + stime in ticks) or None."""
    text = read(f"/proc/{pid}/stat")
    if not text:
        return None
    rest = text[text.rindex(b")") + 2:].split()
    return rest[0].decode(), int(rest[1]), int(rest[19]), int(rest[11]) + int(rest[12])


def everything():
    """pid -> stat of every process."""
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            row = stat(name)
            if row:
                found[int(name)] = row
    return found


def descendants(root, table=None):
    """pid -> stat of everything below `root`, without `root` itself."""
    table = everything() if table is None else table
    below, grew = {}, True
    while grew:
        grew = False
        for pid, row in table.items():
            if pid not in below and (row[1] == root or row[1] in below):
                below[pid] = row
                grew = True
    return below


def command_line(pid):
    text = read(f"/proc/{pid}/cmdline").replace(b"\0", b" ").strip()
    return text.decode("utf-8", "replace") or read(f"/proc/{pid}/comm").decode().strip()


def with_marker(marker):
    """Processes below this one whose command line holds `marker`; zombies have none."""
    return [pid for pid in descendants(os.getpid())
            if marker.encode() in read(f"/proc/{pid}/cmdline")]


def with_environment(text):
    return [pid for pid in everything()
            if pid != os.getpid() and text.encode() in read(f"/proc/{pid}/environ").split(b"\0")]


def same(pid, row):
    """True while the process that `row` describes lives (a zombie does not)."""
    now = stat(pid)
    return now is not None and now[2] == row[2] and now[0] not in "ZX"


def reap_adopted(own):
    """Collects what the subreaper inherited; `own` are children that others wait for."""
    for pid, row in everything().items():
        if row[1] == os.getpid() and row[0] == "Z" and pid not in own:
            try:
                os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                pass


def left_of(table, own):
    """Which of the processes in `table` live; what was adopted is reaped as process 1 would."""
    reap_adopted(own)
    return [pid for pid, row in table.items() if same(pid, row)]


def open_files(pid):
    """Number of open descriptors, None where the kernel does not tell."""
    try:
        return len(os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return None


def kill(pid, number=signal.SIGKILL):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def until(condition, seconds, pause=0.02):
    """Polls until `condition()` is true; returns its last value."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value or time.monotonic() > end:
            return value
        time.sleep(pause)
