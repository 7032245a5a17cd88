"""Paths that try to leave the session's folder, to hang or to confuse, times the tools that take paths: nothing is
changed or shown that the user has not allowed, and every call is answered."""
import os
import socket
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import model_server as model
from acp import SCALE, AcpTest, reject_once, within

SECRET = "SECRET-7f3a"
ORIGINAL = f"{SECRET}\nold\n"

# {out} is a folder beside the session's, {work} the session's, {pid} the worker's own /proc entry.
VECTORS = [
    "../out/secret", "./../out/secret", "sub/../../out/secret", "sub/../sub/../../out/secret",
    "../../../../../../../../..{out}/secret", "{out}/secret", "/{out}/secret", "//{out}//secret",
    "{work}/../out/secret", "{work}/sub/../../out/secret", "..//out/./secret", ".././out/secret",
    "absent/../../out/secret", "f/../../out/secret", "../out/../out/secret",
    "link_out/secret", "./link_out/secret", "link_out/../out/secret", "link_file", "link_link",
    "link_relative/secret", "sub/link_up/out/secret", "sub/link_up/../out/secret",
    "link_loop", "link_loop/secret", "link_dangling", "link_to_new", "link_proc_root{out}/secret",
    "link_dev", "link_ssh", "link_self/link_out/secret",
    "/proc/self/root{out}/secret", "/proc/self/cwd/../out/secret", "/proc/thread-self/root{out}/secret",
    "/proc/1/root{out}/secret", "/proc/self/environ", "/proc/self/mem", "/proc/self/fd/3",
    "/proc/self/fd/0", "/proc/kmsg", "/proc/self/../../..{out}/secret",
    "/dev/zero", "/dev/random", "/dev/tty", "/dev/stdin", "/dev/fd/3", "/dev/null", "/dev/full",
    "/dev/ptmx", "/dev/stdout", "pipe", "socket", "link_pipe", "sub", ".", "..", "/",
    "~/.ssh/id_rsa", "~/.hermes/.env", "~/../out/secret", "~root/secret", "$HOME/.ssh/id_rsa",
    "..%2fout%2fsecret", "%2e%2e/out/secret", "..\\out\\secret", "\uff0e\uff0e/out/secret",
    "..\u2215out\u2215secret", "..\u200b/out/secret", "LINK_OUT/secret", ".GIT/config", ".git/config",
    ".git/../.git/config", "file://{out}/secret", "\\\\?\\{out}\\secret", " ../out/secret",
    "../out/secret ", "../out/secret/", "../out/secret/.", "secret\n/../../out/secret",
]
PATCH = "*** Begin Patch\n*** Update File: {path}\n@@\n-old\n+EVIL\n*** End Patch\n"
ADD = "*** Begin Patch\n*** Add File: {path}\n+EVIL\n*** End Patch\n"
MOVE = "*** Begin Patch\n*** Move File: f -> {path}\n*** End Patch\n"


class PathVectors(AcpTest):
    def setUp(self):
        super().setUp()
        self.out = os.path.join(self.folder, "out")
        self.home = os.path.join(self.folder, "home")
        self.guarded = [os.path.join(self.out, "secret"), os.path.join(self.home, ".ssh", "id_rsa"),
                        os.path.join(self.home, ".hermes", ".env"), self.path(".git/config")]
        for path in self.guarded:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w") as file:
                file.write(ORIGINAL)
        self.put("f", "plain\nold\n")
        os.mkdir(self.path("sub"))
        for target, name in ((self.out, "link_out"), (self.guarded[0], "link_file"),
                             ("link_file", "link_link"), ("../out", "link_relative"),
                             ("../..", "sub/link_up"), ("link_loop", "link_loop"),
                             (os.path.join(self.out, "absent/deep"), "link_dangling"),
                             (os.path.join(self.out, "new"), "link_to_new"),
                             ("/proc/self/root", "link_proc_root"), ("/dev/zero", "link_dev"),
                             (self.guarded[1], "link_ssh"), (".", "link_self"),
                             ("pipe", "link_pipe")):
            os.symlink(target, self.path(name))
        os.mkfifo(self.path("pipe"))
        self.socket = socket.socket(socket.AF_UNIX)
        here = os.getcwd()
        os.chdir(self.work)
        self.socket.bind("socket")
        os.chdir(here)
        self.addCleanup(self.socket.close)

    def outside(self):
        """Everything beside the session's folder that an edit could reach, and .git."""
        found = {}
        for top in (self.out, os.path.join(self.home, ".ssh"), self.path(".git")):
            for folder, _folders, files in os.walk(top):
                for name in files:
                    path = os.path.join(folder, name)
                    with open(path, "rb") as file:
                        found[path] = file.read()
        with open(self.guarded[2], "rb") as file:
            found[self.guarded[2]] = file.read()
        return found

    def try_all(self, make):
        """Runs make(path) for each vector; the user says no to all. [(vector, result, questions, seconds)]"""
        server, agent, session = self.start()
        agent.on_permission = reject_once
        agent.call("session/set_mode", {"sessionId": session, "modeId": "accept_edits"})
        rows = []
        for vector in VECTORS:
            path = vector.replace("{out}", self.out).replace("{work}", self.work)
            server.script[:] = [make(path), model.say("ok")]
            before, started = len(agent.permissions), time.monotonic()
            self.assertEqual(agent.turn(session), "end_turn", vector)
            rows.append((vector, server.last.result, len(agent.permissions) - before,
                         time.monotonic() - started))
        return rows

    def check_edits(self, make):
        before = self.outside()
        rows = self.try_all(make)
        self.assertEqual(self.outside(), before)
        self.assertEqual([row[0] for row in rows if row[3] > 5 * SCALE], [])

    def test_enough(self):
        """the table is what it says"""
        self.assertGreaterEqual(len(set(VECTORS)), 60)

    @within(120)
    def test_write(self):
        """write_file changes nothing outside"""
        self.check_edits(lambda path: model.call("write_file", path=path, content="EVIL\n"))

    @within(120)
    def test_replace(self):
        """patch, replace mode"""
        self.check_edits(lambda path: model.call("patch", path=path, old_string="old",
                                                 new_string="EVIL"))

    @within(240)
    def test_patch(self):
        """patch, patch mode: update, add, move"""
        for text in (PATCH, ADD, MOVE):
            self.put("f", "plain\nold\n")
            self.check_edits(lambda path, text=text: model.call(
                "patch", mode="patch", patch=text.replace("{path}", path)))

    def check_looks(self, make):
        """What is to be kept secret always is; the rest outside may be read, as commands may."""
        rows = self.try_all(make)
        self.assertEqual([row[0] for row in rows if row[3] > 5 * SCALE], [])
        self.assertEqual([row[0] for row in rows if len(row[1]) > 200000], [])
        shown = [row[0] for row in rows if SECRET in row[1]
                 and any(word in row[0] for word in (".ssh", "id_rsa", ".env", "link_ssh"))]
        self.assertEqual(shown, [])
        for vector in ("/dev/zero", "pipe", "socket", "link_pipe", "link_dev", "/proc/self/mem",
                       "/proc/self/environ", "link_loop", "/dev/stdin"):
            result = next(row[1] for row in rows if row[0] == vector)
            self.assertIn("error", result, vector)

    @within(120)
    def test_read(self):
        """read_file: no secret, no device, no hang"""
        self.check_looks(lambda path: model.call("read_file", path=path))

    @within(180)
    def test_search(self):
        """search_files below or in each"""
        rows = self.try_all(lambda path: model.call("search_files", pattern=SECRET, path=path)
                            if path not in ("/",) else model.call("todo"))
        self.assertEqual([row[0] for row in rows if row[3] > 70 * SCALE], [])
        shown = [row[0] for row in rows if f"{SECRET}\n" in row[1] or "id_rsa:" in row[1]]
        self.assertEqual(shown, [])

    @within(120)
    def test_links_that_change_under_way(self):
        """a folder becomes a link and a folder again while edits run: none of them lands outside"""
        server, agent, session = self.start()
        agent.call("session/set_mode", {"sessionId": session, "modeId": "accept_edits"})
        os.mkdir(self.path("swap_real"))
        os.symlink(self.out, self.path("swap_link"))
        os.rename(self.path("swap_real"), self.path("swap"))
        agent.on_permission = reject_once
        stop = threading.Event()

        def swap():
            while not stop.is_set():
                for source, target in (("swap", "aside"), ("swap_link", "swap"),
                                       ("swap", "swap_link"), ("aside", "swap")):
                    os.rename(self.path(source), self.path(target))
        thread = threading.Thread(target=swap)
        thread.start()
        try:
            for number in range(60):
                server.script[:] = [model.call("write_file", path=f"swap/new{number}",
                                               content="EVIL\n"),
                                    model.say("ok")]
                self.assertEqual(agent.turn(session), "end_turn")
        finally:
            stop.set()
            thread.join()
        self.assertEqual(os.listdir(self.out), ["secret"])


if __name__ == "__main__":
    import unittest
    unittest.main()
