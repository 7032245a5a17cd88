"""/undo: files get back what they held before the last turns that edited them, after a question."""
import json
import os
import resource
import signal
import stat
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import model_server as model
import processes
from acp import BUILD, AcpTest, no_answer, reject_once


def write(name, content):
    return model.call("write_file", path=name, content=content)


def patch(text):
    return model.call("patch", mode="patch", patch="*** Begin Patch\n" + text + "*** End Patch\n")


class UndoTest(AcpTest):
    def setUp(self):
        super().setUp()
        self.store = os.path.join(self.folder, "home", ".hermes", "checkpoints", "acp")

    def begin(self, **sections):
        if sections:
            self.configure(**sections)
        self.server, self.client, self.session = self.start()

    def edit(self, *replies, session=None):
        """One turn; the last result as the model reads it."""
        self.server.script[:] = [*replies, model.say("ok")]
        self.assertEqual(self.client.turn(session or self.session), "end_turn")
        return self.server.last.result

    def change(self, name, content, session=None):
        return self.edit(model.call("read_file", path=name), write(name, content),
                         session=session)

    def undo(self, text="/undo", session=None):
        """What is said, and how many questions there were."""
        mark, asked = self.client.mark(), len(self.client.permissions)
        self.assertEqual(self.client.turn(session or self.session, text), "end_turn")
        return (self.client.text(session or self.session, mark),
                len(self.client.permissions) - asked)

    def sessions(self):
        return [pid for pid, line in self.client.workers().items() if "--session" in line]

    def kill_workers(self):
        for pid in self.sessions():
            processes.kill(pid, signal.SIGKILL)

    def limit(self, size):
        """Of files that the workers write."""
        for pid in self.sessions():
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

    def question(self):
        return self.client.permissions[-1]["params"]["toolCall"]

    def exists(self, name):
        return os.path.lexists(self.path(name))

    def lists(self):
        found = []
        for folder, _folders, files in os.walk(os.path.join(self.store, "sessions")):
            found += [os.path.join(folder, name) for name in files]
        return sorted(found)

    def objects(self):
        folder = os.path.join(self.store, "objects")
        return sorted(os.listdir(folder)) if os.path.isdir(folder) else []


class Restoring(UndoTest):
    def test_changed_file_to_the_byte(self):
        """Binary content, CR LF, no newline, mode; the card has the diff"""
        self.begin()
        for number, content in enumerate((b"a\r\nb\nend", b"", b"\xef\xbb\xbfx\n",
                                          b"caf\xe9 \xff\x00 binary\n")):
            name = f"f{number}"
            self.put(name, b"seen\n", 0o754)
            self.edit(model.call("read_file", path=name))
            stamp = os.stat(self.path(name))
            self.put(name, content)
            os.utime(self.path(name), ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
            self.edit(model.call("read_file", path=name), write(name, "new\n"))
            if self.get(name) == content:
                continue  # the tool does not overwrite such a file
            text, asked = self.undo()
            self.assertEqual((self.get(name), asked), (content, 1), text)
            self.assertEqual(stat.S_IMODE(os.stat(self.path(name)).st_mode), 0o754)
            self.assertIn(name, text)

    def test_the_question(self):
        """Title, diff and list; allow and reject once, nothing for ever"""
        self.begin()
        self.put("a", "old\n")
        self.change("a", "new\n")
        self.undo()
        card = self.question()
        self.assertIn("Undo", card["title"])
        diffs = [item for item in card["content"] if item["type"] == "diff"]
        self.assertEqual([(item["path"], item["oldText"], item["newText"]) for item in diffs],
                         [(self.path("a"), "new\n", "old\n")])
        self.assertEqual([option["kind"] for option in
                          self.client.permissions[-1]["params"]["options"]],
                         ["allow_once", "reject_once"])

    def test_made_file_goes(self):
        """With the folders that were made for it, but for those that hold something else"""
        self.begin()
        self.edit(write("deep/er/f", "x\n"))
        self.undo()
        self.assertFalse(self.exists("deep"))
        self.edit(write("deep/er/f", "x\n"))
        self.put("deep/mine", "y\n")
        self.undo()
        self.assertEqual(os.listdir(self.path("deep")), ["mine"])

    def test_deleted_and_moved_files(self):
        self.begin()
        self.put("gone", "g\n", 0o640)
        self.put("from", "m\n", 0o751)
        self.edit(patch("*** Delete File: gone\n*** Move File: from -> sub/to\n"))
        self.assertFalse(self.exists("gone") or self.exists("from"))
        text, _asked = self.undo()
        self.assertEqual((self.get("gone"), self.get("from")), (b"g\n", b"m\n"), text)
        self.assertFalse(self.exists("sub"))
        self.assertEqual([stat.S_IMODE(os.stat(self.path(name)).st_mode)
                          for name in ("gone", "from")], [0o640, 0o751])

    def test_move_of_what_is_not_kept(self):
        """The moved file is all that is left of it: it stays"""
        self.begin(checkpoints={"max_file_size_mb": 1})
        self.put("big", "line\n" * 300000)
        self.edit(patch("*** Move File: big -> moved\n"))
        self.assertFalse(self.exists("big"))
        text, asked = self.undo()
        self.assertEqual(asked, 0)
        self.assertIn("all that is left", text)
        self.assertEqual(self.get("moved"), b"line\n" * 300000)

    def test_several_edits_in_a_turn_are_one(self):
        self.begin()
        self.put("a", "0\n")
        self.edit(model.call("read_file", path="a"), write("a", "1\n"), write("a", "2\n"))
        self.undo()
        self.assertEqual(self.get("a"), b"0\n")

    def test_two_turns(self):
        """One at a time would undo the undo; a number takes both"""
        self.begin()
        self.put("a", "0\n")
        self.change("a", "1\n")
        self.edit()
        self.edit(write("a", "2\n"), write("b", "b\n"))
        text, asked = self.undo("/undo 2")
        self.assertEqual((self.get("a"), asked), (b"0\n", 1), text)
        self.assertFalse(self.exists("b"))

    def test_undo_of_undo(self):
        self.begin()
        self.put("a", "0\n")
        self.edit(model.call("read_file", path="a"), write("a", "1\n"), write("b", "b\n"))
        for _ in range(2):
            self.undo()
            self.assertEqual((self.get("a"), self.exists("b")), (b"0\n", False))
            self.undo()
            self.assertEqual((self.get("a"), self.exists("b")), (b"1\n", True))

    def test_links(self):
        """A hard link stays one; what was edited through a link is given back where it is"""
        self.begin()
        self.put("a", "0\n")
        os.link(self.path("a"), self.path("hard"))
        os.symlink("a", self.path("soft"))
        self.change("soft", "1\n")
        self.undo()
        self.assertEqual((self.get("a"), self.get("hard")), (b"0\n", b"0\n"))
        self.assertTrue(os.path.samefile(self.path("a"), self.path("hard")))
        self.assertTrue(os.path.islink(self.path("soft")))

    def test_the_model_is_told(self):
        self.begin()
        self.put("a", "0\n")
        self.change("a", "1\n")
        self.undo()
        self.edit(write("a", "2\n"))
        told = json.dumps(self.server.requests[-2].messages)
        self.assertIn("The user ran /undo", told)
        self.assertIn("`a` gets its old content back", told)
        self.assertEqual(self.get("a"), b"0\n")  # it has to read it again first


class Refusing(UndoTest):
    def test_no_checkpoints(self):
        self.begin()
        self.put("a", "0\n")
        self.edit(model.run("echo 1 >a"))
        text, asked = self.undo()
        self.assertIn("nothing to undo", text)
        self.assertEqual((asked, self.get("a")), (0, b"1\n"))

    def test_not_a_number(self):
        self.begin()
        self.put("a", "0\n")
        self.change("a", "1\n")
        for argument in "0", "-1", "x", "1 2", "99999999999999999999":
            text, asked = self.undo("/undo " + argument)
            self.assertIn("How many turns", text)
            self.assertEqual((asked, self.get("a")), (0, b"1\n"))

    def test_not_without_a_yes(self):
        self.begin(approvals={"timeout": 1})
        self.put("a", "0\n")
        self.change("a", "1\n")
        for policy in reject_once, no_answer:
            self.client.on_permission = policy
            text, asked = self.undo()
            self.assertIn("Nothing was changed", text)
            self.assertEqual((asked, self.get("a")), (1, b"1\n"))
            self.assertEqual(self.client.cards(self.session)[-1].status, "failed")

    def test_cancel(self):
        self.begin()
        self.put("a", "0\n")
        self.change("a", "1\n")
        self.client.on_permission = no_answer
        request = self.client.prompt_start(self.session, "/undo")
        question = self.client.wait_permission(2)
        self.client.cancel(self.session)
        self.assertEqual(self.client.wait(request)["result"]["stopReason"], "cancelled")
        self.client.choose(question, "allow_once")
        self.edit()
        self.assertEqual(self.get("a"), b"1\n")

    def test_plan_mode(self):
        self.begin()
        self.put("a", "0\n")
        self.change("a", "1\n")
        self.client.call("session/set_mode", {"sessionId": self.session, "modeId": "plan"})
        text, asked = self.undo()
        self.assertIn("plan mode", text)
        self.assertEqual((asked, self.get("a")), (0, b"1\n"))

    def test_changed_since(self):
        """Named and left alone; the others are given back"""
        self.begin()
        for name in "ab":
            self.put(name, "0\n")
            self.change(name, "1\n")
        self.put("b", "mine\n")
        text, asked = self.undo("/undo 2")
        self.assertEqual((asked, self.get("a"), self.get("b")), (1, b"0\n", b"mine\n"))
        self.assertIn("`b` is left as it is: something else has changed it since", text)

    def test_changed_between(self):
        """What somebody wrote between two turns is not lost either"""
        self.begin()
        self.put("a", "0\n")
        self.change("a", "1\n")
        self.put("a", "mine\n")
        self.change("a", "2\n")
        text, asked = self.undo("/undo 2")
        self.assertEqual((asked, self.get("a")), (0, b"2\n"), text)
        self.undo()
        self.assertEqual(self.get("a"), b"mine\n")

    def test_changed_while_asking(self):
        self.begin()
        self.put("a", "0\n")
        self.change("a", "1\n")

        def interfere(agent, message):
            self.put("a", "mine\n")
            return {"outcome": "selected", "optionId": "allow_once"}
        self.client.on_permission = interfere
        text, _asked = self.undo()
        self.assertEqual(self.get("a"), b"mine\n", text)
        self.assertIn("in the meantime", text)

    def test_two_sessions_on_one_file(self):
        """The other session's edit is a change by somebody else"""
        self.begin()
        self.put("a", "0\n")
        self.change("a", "1\n")
        other = self.client.new_session(self.work)
        self.change("a", "2\n", session=other)
        text, _asked = self.undo()
        self.assertEqual(self.get("a"), b"2\n", text)
        self.undo(session=other)
        self.assertEqual(self.get("a"), b"1\n")
        self.undo()
        self.assertEqual(self.get("a"), b"0\n")

    def test_turned_off(self):
        self.begin(acp={"checkpoints": False})
        self.put("a", "0\n")
        self.change("a", "1\n")
        text, asked = self.undo()
        self.assertIn("acp.checkpoints", text)
        self.assertEqual((asked, self.objects()), (0, []))


class Lasting(UndoTest):
    def test_restart_of_everything(self):
        """session/load; the undo is shown again with the session"""
        self.begin()
        self.put("a", "0\n")
        self.change("a", "1\n")
        self.client = self.reload(self.client, self.session)
        self.undo()
        self.assertEqual(self.get("a"), b"0\n")
        mark = 0
        self.client = self.reload(self.client, self.session)
        self.assertIn("Undone", self.client.text(self.session, mark))
        self.assertIn("/undo", self.client.text(self.session, mark, "user_message_chunk"))
        self.assertNotIn("The user ran", self.client.text(self.session, mark,
                                                          "user_message_chunk"))
        self.undo()
        self.assertEqual(self.get("a"), b"1\n")

    def test_worker_dies_between_turns(self):
        self.begin()
        self.put("a", "0\n")
        self.change("a", "1\n")
        self.kill_workers()
        self.undo()
        self.assertEqual(self.get("a"), b"0\n")

    def test_worker_dies_in_a_turn(self):
        """What both processes edited is one turn"""
        self.begin()
        self.put("a", "0\n")
        server = self.server
        server.script[:] = [model.call("read_file", path="a"), write("a", "1\n"),
                            model.run("sleep 30"), write("b", "b\n"), model.say("ok")]
        request = self.client.prompt_start(self.session, "go")
        self.client.until(lambda: any("sleep" in card.title and card.status == "in_progress"
                                      for card in self.client.cards(self.session)))
        self.kill_workers()
        self.assertEqual(self.client.wait(request)["result"]["stopReason"], "end_turn")
        self.assertTrue(self.exists("b"))
        self.undo()
        self.assertEqual((self.get("a"), self.exists("b")), (b"0\n", False))

    def test_worker_dies_while_asking(self):
        """Nothing was changed, and the session goes on"""
        self.begin()
        self.put("a", "0\n")
        self.change("a", "1\n")
        self.client.on_permission = no_answer
        request = self.client.prompt_start(self.session, "/undo")
        self.client.wait_permission(2)
        self.kill_workers()
        self.assertEqual(self.client.wait(request)["result"]["stopReason"], "end_turn")
        self.assertEqual(self.get("a"), b"1\n")
        self.assertEqual(self.client.cards(self.session)[-1].status, "failed")
        self.client.on_permission = lambda agent, message: {"outcome": "selected",
                                                            "optionId": "allow_once"}
        self.undo()
        self.assertEqual(self.get("a"), b"0\n")

    def test_queued_behind_a_turn(self):
        """It does not act in the midst of a turn"""
        self.begin()
        self.put("a", "0\n")
        self.server.script[:] = [model.call("read_file", path="a"), model.run("sleep 1"),
                                 write("a", "1\n"), model.say("ok")]
        first = self.client.prompt_start(self.session, "go")
        second = self.client.prompt_start(self.session, "/undo")
        self.client.wait(first)
        self.client.wait(second)
        self.assertEqual(self.get("a"), b"0\n")

    def test_cut_line(self):
        """The last line of a list was not written to its end"""
        self.begin()
        self.put("a", "0\n")
        self.change("a", "1\n")
        with open(self.lists()[0], "ab") as file:
            file.write(b'{"path":"' + self.path("a").encode() + b'","aft')
        self.undo()
        self.assertEqual(self.get("a"), b"0\n")


class Store(UndoTest):
    def test_modes(self):
        self.begin()
        self.put("a", "0\n", 0o666)
        self.change("a", "1\n")
        self.undo()
        count = 0
        for folder, _folders, files in os.walk(self.store):
            self.assertEqual(stat.S_IMODE(os.stat(folder).st_mode), 0o700, folder)
            for name in files:
                count += 1
                path = os.path.join(folder, name)
                self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600, path)
        self.assertGreater(count, 3)

    def test_not_kept(self):
        """Too big, secret: with the reason; no copy of them anywhere"""
        self.begin(checkpoints={"max_file_size_mb": 1})
        self.put("big", "x" * (1 << 20) + "\n")
        self.put("id_rsa", "TOKEN=hunter2\n")
        self.change("big", "1\n")
        text, asked = self.undo()
        self.assertIn("too big", text)
        self.edit(model.call("read_file", path="id_rsa"), write("id_rsa", "TOKEN=x\n"))
        self.assertEqual(self.get("id_rsa"), b"TOKEN=x\n")
        text, more = self.undo("/undo 2")
        self.assertIn("it may hold secrets", text)
        self.assertEqual((asked, more, self.objects()), (0, 0, []))
        for path in self.lists():
            with open(path, encoding="utf-8") as file:
                self.assertNotIn("hunter2", file.read())

    def test_cap(self):
        """The oldest go first; the newest is there"""
        self.begin(checkpoints={"max_total_size_mb": 1})
        for number in range(4):
            name = f"f{number}"
            self.put(name, str(number) * 400000 + "\n")
            self.change(name, "small\n")
        total = sum(os.path.getsize(os.path.join(self.store, "objects", name))
                    for name in self.objects())
        self.assertLessEqual(total, 1 << 20)
        self.assertEqual(len(self.objects()), 2)
        self.undo()
        self.assertEqual(self.get("f3"), b"3" * 400000 + b"\n")

    def test_age(self):
        """Older than the days that are configured; looked at once an hour"""
        self.begin(checkpoints={"retention_days": 1})
        self.put("a", "old\n")
        self.change("a", "1\n")
        for path in self.lists():
            os.utime(path, (1, 1))
        os.utime(os.path.join(self.store, "lock"), (1, 1))
        other = self.client.new_session(self.work)
        self.put("b", "other\n")
        self.change("b", "1\n", session=other)
        self.assertEqual((len(self.lists()), len(self.objects())), (1, 1))
        text, _asked = self.undo()
        self.assertIn("nothing to undo", text)

    def test_deleted_session(self):
        """Its lists go, and contents that no other session needs"""
        self.begin()
        self.put("a", "0\n")
        self.change("a", "1\n")
        other = self.client.new_session(self.work)
        self.put("a", "0\n")
        self.put("b", "b\n")
        self.change("a", "1\n", session=other)
        self.change("b", "1\n", session=other)
        self.assertEqual(len(self.objects()), 2)
        self.client.call("session/delete", {"sessionId": other})
        self.assertEqual((len(self.lists()), len(self.objects())), (1, 1))
        self.sweep(self.client)
        command = subprocess.run([os.path.join(BUILD, "hermes-acp"), "sessions", "delete", "--yes",
                                  self.session], env=self.client.environment, timeout=30,
                                 stdin=subprocess.DEVNULL, capture_output=True, check=False)
        self.assertEqual(command.returncode, 0, command.stderr)
        self.assertEqual((self.lists(), self.objects()), ([], []))

    def test_no_folder(self):
        """The edit is made and the model is told that it cannot be undone"""
        self.begin()
        with open(os.path.join(self.folder, "home", ".hermes", "checkpoints"), "w",
                  encoding="utf-8"):
            pass
        self.put("a", "0\n")
        result = self.change("a", "1\n")
        self.assertEqual(self.get("a"), b"1\n")
        self.assertIn("No checkpoint of a could be kept", result)
        text, asked = self.undo()
        self.assertEqual(asked, 0, text)

    def test_full_disk(self):
        """A content that cannot be written: no piece of it stays, and the list says why"""
        self.begin()
        self.put("a", "0" * 4000000)
        self.edit(model.call("read_file", path="a", limit=1))
        self.limit(2000000)
        result = self.edit(write("a", "1\n"))
        self.limit(resource.RLIM_INFINITY)
        self.assertEqual((self.get("a"), self.objects()), (b"1\n", []), result)
        self.assertIn("No checkpoint of a could be kept", result)
        text, asked = self.undo()
        self.assertEqual(asked, 0)
        self.assertIn("no checkpoint was kept (File too large)", text)


del UndoTest
