"""Files of the client: unsaved text is what the model sees, edits land in the editor, the disk is
the fallback."""
import json
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import model_server as model
import processes
from acp import RpcError, allow_once, no_answer, within
from editor import Editor, EditorTest, capabilities


def replace(path, old, new):
    return model.call("patch", path=path, old_string=old, new_string=new)


def v4a(text):
    return model.call("patch", mode="patch", patch="*** Begin Patch\n" + text + "*** End Patch\n")


def read(path, **more):
    return model.call("read_file", path=path, **more)


def write(path, content):
    return model.call("write_file", path=path, content=content)


class Unsaved(EditorTest):
    """The editor's text is what counts."""

    def test_read(self):
        """Unsaved text is read, and the model is told that it is"""
        path = self.put("a.txt", "saved\n")
        self.open()
        self.editor.buffers[path] = "unsaved\nsecond\n"
        result, = self.do(read("a.txt"))
        self.assertEqual(result["content"], "1|unsaved\n2|second")
        self.assertEqual(result["total_lines"], 2)
        self.assertIn("not saved", result["hint"])
        self.assertEqual(self.editor.reads[0],
                         {"sessionId": self.session, "path": path})

    def test_saved_text_is_the_disk(self):
        """Where both agree nothing is different from a client without files"""
        self.put("a.txt", "saved\n")
        self.open()
        result, = self.do(read("a.txt"))
        self.assertEqual(result["content"], "1|saved")
        self.assertNotIn("hint", result)

    def test_only_in_the_editor(self):
        """A text that was never saved can be read and changed"""
        self.open()
        path = self.path("new.txt")
        self.editor.buffers[path] = "draft\n"
        results = self.do(read("new.txt"), replace("new.txt", "draft", "final"))
        self.assertEqual(results[0]["content"], "1|draft")
        self.assertTrue(results[1]["success"], results)
        self.assertEqual(self.editor.buffers[path], "final\n")
        self.assertFalse(os.path.exists(path))

    def test_absent(self):
        """A file that neither has; an empty answer means the same as an error"""
        self.open()
        result, = self.do(read("none.txt"))
        self.assertIn("not found", result["error"])
        self.editor.on_read = lambda params: {"content": ""}
        result, = self.do(read("none.txt"))
        self.assertIn("not found", result["error"])

    def test_patch(self):
        """An edit lands in the buffer, with what the user typed; the disk stays as it is"""
        path = self.put("a.txt", "one\ntwo\n")
        self.open()
        self.editor.buffers[path] = "one\ntwo\ntyped\n"
        result, = self.do(replace("a.txt", "two", "2"))
        self.assertTrue(result["success"], result)
        self.assertEqual(self.editor.buffers[path], "one\n2\ntyped\n")
        self.assertEqual(self.get("a.txt"), b"one\ntwo\n")
        self.assertIn("not saved it yet", result["_editor"])
        diff = self.client.cards(self.session)[-1].diffs[0]
        self.assertEqual(diff["oldText"], "one\ntwo\ntyped\n")
        self.assertEqual(self.editor.writes[0]["sessionId"], self.session)

    def test_second_edit(self):
        """Own edits that are not saved do not count as somebody else's; neither does saving them"""
        path = self.put("a.txt", "one\n")
        self.open()
        results = self.do(read("a.txt"), write("a.txt", "two\n"), write("a.txt", "three\n"))
        self.assertTrue(results[2].get("success"), results)
        self.put("a.txt", self.editor.buffers.pop(path))
        result, = self.do(write("a.txt", "four\n"))
        self.assertTrue(result.get("success"), result)
        self.assertEqual(self.editor.buffers[path], "four\n")

    def test_typed_since_it_was_read(self):
        """B67: what was typed since the model has read the file is not overwritten"""
        path = self.put("a.txt", "one\n")
        self.open()
        self.do(read("a.txt"))
        self.editor.buffers[path] = "one and more\n"
        result, = self.do(write("a.txt", "two\n"))
        self.assertIn("changed", result["error"])
        self.assertEqual(self.editor.writes, [])
        self.assertEqual(self.editor.buffers[path], "one and more\n")

    def test_typed_while_it_was_asked(self):
        """Between the question and the write the buffer is compared again"""
        path = self.put("a.txt", "one\n")
        self.open()

        def type_first(agent, message):
            self.editor.buffers[path] = "one\ntyped\n"
            return allow_once(agent, message)
        self.client.on_permission = type_first
        result, = self.do(replace("a.txt", "one", "two"))
        self.assertIn("in the editor in the meantime", result["error"])
        self.assertEqual(self.editor.buffers[path], "one\ntyped\n")
        self.assertEqual(self.editor.writes, [])

    def test_disk_changed_while_it_was_asked(self):
        """The disk is compared as well"""
        self.put("a.txt", "one\n")
        self.open()

        def write_first(agent, message):
            self.put("a.txt", "other\n")
            return allow_once(agent, message)
        self.client.on_permission = write_first
        result, = self.do(replace("a.txt", "one", "two"))
        self.assertIn("meantime", result["error"])
        self.assertEqual(self.editor.writes, [])

    def test_editor_older_than_the_disk(self):
        """B67, the other way round: an editor that did not notice a command's change"""
        path = self.put("a.txt", "old\n")
        self.open()
        self.editor.buffers[path] = "old\n"
        self.do(read("a.txt"))
        result = self.do(model.run("printf 'new\\n' > a.txt"), read("a.txt"),
                         replace("a.txt", "new", "newer"))
        self.assertEqual(result[1]["content"], "1|new")
        self.assertIn("older text", result[1]["hint"])
        self.assertIn("older text", result[2]["_editor"])
        self.assertEqual(self.get("a.txt"), b"newer\n")
        self.assertEqual(self.editor.writes, [])

    def test_several_files(self):
        """A patch over files: changed and new ones in the editor, deleted ones on the disk"""
        for name in ("a.txt", "b.txt"):
            self.put(name, f"{name}\n")
        self.open()
        result, = self.do(v4a("*** Update File: a.txt\n@@\n-a.txt\n+A\n"
                              "*** Add File: sub/c.txt\n+C\n*** Delete File: b.txt\n"))
        self.assertTrue(result["success"], result)
        self.assertEqual(self.editor.buffers, {self.path("a.txt"): "A\n",
                                               self.path("sub/c.txt"): "C\n"})
        self.assertTrue(os.path.isdir(self.path("sub")))
        self.assertFalse(os.path.exists(self.path("b.txt")))

    def test_move(self):
        """What is moved takes along what is not saved"""
        path = self.put("a.txt", "one\n")
        self.open()
        self.editor.buffers[path] = "one\ntyped\n"
        result, = self.do(v4a("*** Move File: a.txt -> b.txt\n"))
        self.assertTrue(result.get("success"), result)
        self.assertEqual(self.get("b.txt"), b"one\ntyped\n")
        self.assertFalse(os.path.exists(path))

    def test_accept_edits(self):
        """Without a question nothing else is different"""
        path = self.put("a.txt", "one\n")
        self.open()
        self.client.call("session/set_mode",
                         {"sessionId": self.session, "modeId": "accept_edits"})
        self.editor.buffers[path] = "one\ntyped\n"
        self.do(replace("a.txt", "one", "two"), write("b.txt", "b\n"))
        self.assertEqual(self.client.permissions, [])
        self.assertEqual(self.editor.buffers, {path: "two\ntyped\n", self.path("b.txt"): "b\n"})

    def test_rejected_in_the_review(self):
        """The user takes an edit back in the editor: that is the text from there on"""
        path = self.put("a.txt", "one\n")
        self.open()
        self.do(read("a.txt"), replace("a.txt", "one", "two"))
        self.editor.buffers[path] = "one\n"
        results = self.do(write("a.txt", "three\n"), read("a.txt"), write("a.txt", "three\n"))
        self.assertIn("changed", results[0]["error"])
        self.assertEqual(results[1]["content"], "1|one")
        self.assertTrue(results[2].get("success"), results)

    def test_all_or_nothing(self):
        """The second file is refused by the editor: the first one gets its old text back"""
        for name in ("a.txt", "b.txt"):
            self.put(name, f"{name}\n")
        self.open()

        def refuse_b(params):
            if params["path"].endswith("b.txt"):
                raise RpcError(-32603, "The user rejected this edit")
            self.editor.take(params)
            return {}
        self.editor.on_write = refuse_b
        result, = self.do(v4a("*** Update File: a.txt\n@@\n-a.txt\n+A\n"
                              "*** Update File: b.txt\n@@\n-b.txt\n+B\n"))
        self.assertIn("rejected", result["error"])
        self.assertIn("as it was before", result["error"])
        self.assertEqual(self.editor.buffers[self.path("a.txt")], "a.txt\n")
        self.assertEqual([self.get("a.txt"), self.get("b.txt")], [b"a.txt\n", b"b.txt\n"])


class Style(EditorTest):
    """Line ends, byte order mark, last line end."""

    def check(self, disk, buffer, edited, saved, **options):
        """What the buffer has after an edit of "two", and the disk when the editor saves raw."""
        path = self.put("a.txt", disk)
        self.open(plain=True, **options)
        if buffer is not None:
            self.editor.buffers[path] = buffer
        result, = self.do(replace("a.txt", "two", "2"))
        self.assertTrue(result.get("success"), result)
        if not self.editor.saves:
            self.assertEqual(self.editor.buffers[path], edited)
        self.assertEqual(self.get("a.txt"), saved)

    def test_crlf(self):
        """The editor gets the line ends that it has given"""
        self.check(b"one\r\ntwo\r\n", None, "one\n2\n", b"one\r\ntwo\r\n")

    def test_crlf_unsaved(self):
        self.check(b"one\r\ntwo\r\n", "one\ntwo\nx\n", "one\n2\nx\n", b"one\r\ntwo\r\n")

    def test_crlf_saved(self):
        """An editor that saves what it got: the file keeps its line ends"""
        self.check(b"one\r\ntwo\r\n", None, None, b"one\r\n2\r\n", saves=True)

    def test_crlf_given_back(self):
        """Of two files the second is refused: the first is to the byte what it was"""
        for content in b"one\r\ntwo\r\n", b"\xef\xbb\xbfone\ntwo\n":
            first, second = self.put("a.txt", content), self.put("b.txt", "one\ntwo\n")
            self.open(plain=True, saves=True)

            def refuse(params, allowed=first):
                if params["path"] != allowed:
                    raise RpcError(-32000, "Edit rejected by the user")
                self.editor.take(params)
                return {}
            self.editor.on_write = refuse
            result, = self.do(v4a("".join(f"*** Update File: {name}\n@@\n-two\n+2\n"
                                          for name in ("a.txt", "b.txt"))))
            self.assertIn("Every file is as it was", result["error"])
            self.assertEqual((self.get("a.txt"), self.get("b.txt")), (content, b"one\ntwo\n"))
            self.sweep(self.client)

    def test_mark_saved(self):
        self.check(b"\xef\xbb\xbfone\ntwo\n", None, None, b"\xef\xbb\xbfone\n2\n", saves=True)

    def test_no_last_line_end(self):
        self.check(b"one\ntwo", None, "one\n2", b"one\ntwo")

    def test_read_only_crlf_unsaved(self):
        """Written to the disk in the file's own style"""
        self.check(b"\xef\xbb\xbfone\r\ntwo\r\n", "one\ntwo\nx\n", "one\ntwo\nx\n",
                   b"\xef\xbb\xbfone\r\n2\r\nx\r\n", can_write=False)

    def test_lines_joined(self):
        """An editor that leaves out the last line end (CodeCompanion) has no unsaved changes"""
        path = self.put("a.txt", "one\ntwo\n")
        self.open()
        self.editor.buffers[path] = "one\ntwo"
        results = self.do(read("a.txt"), replace("a.txt", "two", "2"))
        self.assertNotIn("hint", results[0])
        self.assertEqual(self.editor.buffers[path], "one\n2\n")


class Capabilities(EditorTest):
    def test_read_only(self):
        path = self.put("a.txt", "one\n")
        self.open(can_write=False)
        self.editor.buffers[path] = "one\ntyped\n"
        results = self.do(read("a.txt"), replace("a.txt", "one", "two"))
        self.assertIn("typed", results[0]["content"])
        self.assertEqual(self.get("a.txt"), b"two\ntyped\n")
        self.assertIn("not saved in the editor", results[1]["_editor"])
        self.assertEqual(self.editor.writes, [])

    def test_write_only(self):
        path = self.put("a.txt", "one\n")
        self.open(can_read=False)
        results = self.do(read("a.txt"), replace("a.txt", "one", "two"))
        self.assertEqual(results[0]["content"], "1|one")
        self.assertTrue(results[1]["success"])
        self.assertEqual(self.editor.buffers, {path: "two\n"})
        self.assertEqual(self.get("a.txt"), b"one\n")
        self.assertEqual(self.editor.reads, [])

    def test_none(self):
        self.put("a.txt", "one\n")
        self.open(can_read=False, can_write=False)
        self.do(read("a.txt"), replace("a.txt", "one", "two"))
        self.assertEqual(self.get("a.txt"), b"two\n")
        self.assertEqual(self.editor.reads + self.editor.writes, [])

    def test_off(self):
        """acp.client_fs: off"""
        path = self.put("a.txt", "one\n")
        self.configure(acp={"client_fs": "off"})
        self.open()
        self.editor.buffers[path] = "typed\n"
        self.do(read("a.txt"), replace("a.txt", "one", "two"))
        self.assertEqual(self.get("a.txt"), b"two\n")
        self.assertEqual(self.editor.reads + self.editor.writes, [])

    def test_plan_mode(self):
        """Nothing is changed, nor asked for"""
        self.put("a.txt", "one\n")
        self.open()
        self.client.call("session/set_mode", {"sessionId": self.session, "modeId": "plan"})
        result, = self.do(replace("a.txt", "one", "two"))
        self.assertIn("plan mode", result["error"])
        self.assertEqual(self.editor.reads + self.editor.writes, [])


class Guards(EditorTest):
    """What the disk would not be asked for."""

    def test_not_text(self):
        os.mkfifo(self.path("fifo"))
        self.put("image.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
        self.put("latin", b"caf\xe9\n")
        self.put("wide", "text\n".encode("utf-16"))
        os.mkdir(self.path("folder"))
        self.open()
        results = self.do(*[read(name) for name in ("fifo", "image.png", "folder")],
                          read("latin"), read("wide"))
        self.assertTrue(all("error" in result for result in results[:3]), results)
        self.assertEqual(results[4]["content"], "1|text")
        self.do(write("image.png", "x\n"), replace("latin", "caf", "x"))
        self.assertEqual(self.editor.reads, [])

    def test_outside_of_the_folders(self):
        path = os.path.join(self.folder, "outside.txt")
        with open(path, "w") as file:
            file.write("one\n")
        os.symlink(path, self.path("link.txt"))
        self.open()
        results = self.do(read(path), read("link.txt"), replace(path, "one", "two"))
        self.assertEqual([result["content"] for result in results[:2]], ["1|one", "1|one"])
        with open(path) as file:
            self.assertEqual(file.read(), "two\n")
        self.assertEqual(self.editor.reads + self.editor.writes, [])

    def test_secret(self):
        """A file of keys: the user is asked first, and the editor only after a yes"""
        path = self.put("server.key", "KEY=1\n")
        self.open()
        asked = []

        def note(agent, message):
            asked.append(len(self.editor.reads))
            return allow_once(agent, message)
        self.client.on_permission = note
        result, = self.do(replace("server.key", "KEY", "NAME"))
        self.assertIn("secrets", result["error"])
        self.assertEqual(self.editor.reads, [])
        self.editor.buffers[path] = "KEY=2\n"
        results = self.do(read("server.key"), replace("server.key", "KEY", "NAME"))
        self.assertEqual((asked[0], results[0]["content"]), (0, "1|KEY=2"))
        self.assertEqual(self.editor.buffers[path], "NAME=2\n")

    def test_never_readable(self):
        self.put(".env", "KEY=1\n")
        self.open()
        results = self.do(read(".env"), replace(".env", "KEY", "NAME"), write(".env", "X=1\n"))
        self.assertTrue(all("error" in result for result in results), results)
        self.assertEqual(self.editor.reads + self.editor.writes, [])
        self.assertEqual(self.get(".env"), b"KEY=1\n")

    def test_spelling_of_the_folder(self):
        """The session's folder is a link: the client gets paths as it wrote them"""
        self.put("a.txt", "one\n")
        link = os.path.join(self.folder, "link")
        os.symlink(self.work, link)
        self.open()
        self.session = self.client.new_session(link)
        self.editor.buffers[link + "/a.txt"] = "typed\n"
        result, = self.do(read("a.txt"))
        self.assertEqual(result["content"], "1|typed")

    def test_loaded_session(self):
        """A session that is opened again, by another process, asks the editor as well"""
        path = self.put("a.txt", "one\n")
        self.open()
        self.do(read("a.txt"))
        session = self.session
        self.sweep(self.client)
        self.client = self.agent(capabilities=capabilities())
        self.editor = Editor(self.client)
        self.client.load(session, self.work)
        self.editor.buffers[path] = "typed\n"
        result, = self.do(read("a.txt"))
        self.assertEqual(result["content"], "1|typed")

    def test_additional_folder(self):
        other = os.path.join(self.folder, "other")
        os.mkdir(other)
        self.open()
        self.session = self.client.new_session(self.work, additionalDirectories=[other])
        self.editor.buffers[other + "/a.txt"] = "typed\n"
        result, = self.do(read(other + "/a.txt"))
        self.assertEqual(result["content"], "1|typed")


class Faults(EditorTest):
    """Answers that are none."""

    def test_read_error(self):
        """An error: the disk, with a note"""
        self.put("a.txt", "one\n")
        self.open()

        def fail(_params):
            raise RpcError(-32603, "no such\nbuffer")
        self.editor.on_read = fail
        results = self.do(read("a.txt"), replace("a.txt", "one", "two"))
        self.assertEqual(results[0]["content"], "1|one")
        self.assertIn("no such buffer", results[0]["hint"])
        self.assertIn("no such buffer", results[1]["_editor"])
        self.assertEqual(self.editor.buffers[self.path("a.txt")], "two\n")

    def test_wrong_answers(self):
        """Answers of another type, and one without an end"""
        self.put("a.txt", "one\n")
        self.open()
        for answer in ({}, {"content": None}, {"content": 5}, {"content": ["x"]}, [], "text", 7,
                       {"content": "a\0b"}, {"content": "x" * (9 << 20)},
                       {"content": "x" * (30 << 20)}):
            with self.subTest(str(answer)[:40]):
                self.editor.on_read = lambda params, answer=answer: answer
                result, = self.do(read("a.txt"))
                self.assertEqual(result["content"], "1|one")
                self.assertIn("could not be asked", result["hint"])
        self.editor.on_read = lambda params: {"content": "fine\n", "more": {"x": 1}}
        result, = self.do(read("a.txt"))
        self.assertEqual(result["content"], "1|fine")

    def test_write_error(self):
        """The disk, with a note"""
        self.put("a.txt", "one\n")
        self.open()

        def fail(_params):
            raise RpcError(-32601, "Method not found")
        self.editor.on_write = fail
        result, = self.do(replace("a.txt", "one", "two"))
        self.assertIn("Method not found", result["_editor"])
        self.assertEqual(self.get("a.txt"), b"two\n")
        result, = self.do(write("new/b.txt", "b\n"))
        self.assertTrue(result["success"] and result["dirs_created"], result)
        self.assertEqual(self.get("new/b.txt"), b"b\n")

    def test_write_error_after_the_write(self):
        """It was written all the same"""
        self.put("a.txt", "one\n")
        self.open(saves=True)

        def fail(params):
            self.editor.take(params)
            raise RpcError(-32603, "formatter failed")
        self.editor.on_write = fail
        result, = self.do(replace("a.txt", "one", "two"))
        self.assertIn("did not confirm", result["_editor"])
        self.assertEqual(self.get("a.txt"), b"two\n")

    def test_write_error_and_another_text(self):
        """The editor fails and has written something else: that is not overwritten"""
        self.put("a.txt", "one\n")
        self.open()

        def fail(_params):
            self.put("a.txt", "half\n")
            raise RpcError(-32603, "disk full")
        self.editor.on_write = fail
        result, = self.do(replace("a.txt", "one", "two"))
        self.assertIn("changed", result["error"])
        self.assertEqual(self.get("a.txt"), b"half\n")

    def test_refusals(self):
        """A no of the client is not got around"""
        self.put("a.txt", "one\n")
        self.open()

        def refuse(_params):
            raise RpcError(-32603, "Permission denied for fs/write_text_file")
        self.editor.on_write = refuse
        result, = self.do(replace("a.txt", "one", "two"))
        self.assertIn("refused", result["error"])
        self.assertEqual(self.get("a.txt"), b"one\n")
        result, = self.do(write("new/b.txt", "b\n"))
        self.assertIn("refused", result["error"])
        self.assertFalse(os.path.exists(self.path("new")))
        self.editor.on_read = refuse
        results = self.do(read("a.txt"), replace("a.txt", "one", "two"))
        self.assertTrue(all("refused to show" in result["error"] for result in results), results)
        self.assertEqual(self.get("a.txt"), b"one\n")

    @within(90)
    def test_silence_of_a_read(self):
        """No answer within 10 s: the disk, and no further wait; the late answer has no effect"""
        self.put("a.txt", "one\n")
        self.open()
        self.editor.hold.add("fs/read_text_file")
        started = time.monotonic()
        results = self.do(read("a.txt"), read("a.txt"), replace("a.txt", "one", "two"), seconds=30)
        self.assertLess(time.monotonic() - started, 18)
        self.assertIn("no answer within 10 s", results[0]["hint"])
        self.assertIn("was not asked again", results[1]["hint"])
        self.assertIn("was not asked again", results[2]["_editor"])
        self.assertEqual(self.get("a.txt"), b"two\n")
        self.assertEqual(len(self.editor.held), 1)
        withdrawn = [event["params"]["requestId"] for event in self.client.events
                     if event.get("method") == "$/cancel_request"]
        self.assertEqual(withdrawn, [self.editor.held[0]["id"]])
        self.client.answer(self.editor.held[0], {"content": "late\n"})
        result, = self.do(read("a.txt"))
        self.assertEqual(result["content"], "1|two")

    @within(90)
    def test_silence_of_a_write(self):
        """Whether it was written is not known: nothing is written over it, and that is said"""
        self.put("a.txt", "one\n")
        self.open()
        self.editor.hold.add("fs/write_text_file")
        result, = self.do(replace("a.txt", "one", "two"), seconds=30)
        self.assertIn("not known", result["error"])
        self.assertIn("is as it was", result["error"])
        self.assertEqual(self.get("a.txt"), b"one\n")
        self.client.answer(self.editor.held[0], {})
        result, = self.do(read("a.txt"))
        self.assertEqual(result["content"], "1|one")

    @within(90)
    def test_silence_after_the_write(self):
        """The disk has the new text: that is enough"""
        self.put("a.txt", "one\n")
        self.open(saves=True)

        def hold(params):
            self.editor.take(params)
        self.editor.on_write = hold
        result, = self.do(replace("a.txt", "one", "two"), seconds=30)
        self.assertTrue(result.get("success"), result)
        self.assertIn("did not confirm", result["_editor"])


class Size(EditorTest):
    LINES = 100000

    def test_page_of_a_big_file(self):
        """Of a big file a page is asked for"""
        path = self.put("big.txt", "".join(f"line {number:020}\n" for number in range(self.LINES)))
        self.open()
        self.editor.buffers[path] = self.editor.disk(path).replace("00500\n", "00500 typed\n")
        results = self.do(read("big.txt", offset=501, limit=2), read("big.txt", offset=99999))
        self.assertEqual(self.editor.reads[0], {"sessionId": self.session, "path": path,
                                                "line": 501, "limit": 3})
        self.assertEqual(results[0]["content"], f"501|line {500:020} typed\n502|line {501:020}")
        self.assertTrue(results[0]["truncated"])
        self.assertEqual(results[1]["total_lines"], self.LINES)
        self.assertFalse(results[1]["truncated"])

    def test_client_without_pages(self):
        """A client that sends the whole file whatever was asked"""
        path = self.put("big.txt", "".join(f"line {number:020}\n" for number in range(self.LINES)))
        self.open()
        self.editor.on_read = lambda params: {"content": self.editor.disk(path)}
        result, = self.do(read("big.txt", offset=501, limit=2))
        self.assertEqual(result["content"], f"501|line {500:020}\n502|line {501:020}")

    def test_behind_the_end(self):
        """Zed answers an error; the disk says how many lines there are"""
        self.put("big.txt", "".join(f"line {number:020}\n" for number in range(self.LINES)))
        self.open()

        def fail(_params):
            raise RpcError(-32602, "line is beyond the end")
        self.editor.on_read = fail
        result, = self.do(read("big.txt", offset=200000))
        self.assertIn(f"the file has {self.LINES} lines", result["hint"])

    def test_too_big_for_the_editor(self):
        """An edit of a huge file goes to the disk"""
        self.put("huge.txt", "one\n" + "x" * 99 + "\n" + ("y" * 99 + "\n") * 70000)
        self.open()
        result, = self.do(replace("huge.txt", "one", "two"))
        self.assertTrue(result["success"], result)
        self.assertEqual(self.get("huge.txt")[:4], b"two\n")
        self.assertEqual(self.editor.reads + self.editor.writes, [])


class Ends(EditorTest):
    """Cancel, death, several at a time."""

    def test_cancel_of_a_read(self):
        self.put("a.txt", "one\n")
        self.open()
        self.editor.hold.add("fs/read_text_file")
        for reply in (read("a.txt"), replace("a.txt", "one", "two")):
            request = self.begin(reply)
            count = len(self.editor.held) + 1
            self.wait_held(count)
            started = time.monotonic()
            self.client.cancel(self.session)
            self.assertEqual(self.client.wait(request)["result"]["stopReason"], "cancelled")
            self.assertLess(time.monotonic() - started, 1.0)
            self.client.answer(self.editor.held[-1], {"content": "late\n"})
        withdrawn = [event["params"]["requestId"] for event in self.client.events
                     if event.get("method") == "$/cancel_request"]
        self.assertEqual(withdrawn, [message["id"] for message in self.editor.held])
        self.editor.hold.clear()
        result, = self.do(read("a.txt"))
        self.assertEqual(result["content"], "1|one")

    def test_cancel_of_a_write(self):
        """The model is told with the next prompt that the outcome is not known"""
        self.put("a.txt", "one\n")
        self.open()
        self.editor.hold.add("fs/write_text_file")
        request = self.begin(replace("a.txt", "one", "two"))
        self.wait_held()
        self.client.cancel(self.session)
        self.assertEqual(self.client.wait(request)["result"]["stopReason"], "cancelled")
        self.client.answer(self.editor.held[0], {})
        self.assertEqual(self.get("a.txt"), b"one\n")
        self.do(read("a.txt"))
        self.assertIn("not known", str(self.server.last.messages))

    def kill_while(self, method, *replies):
        self.stderr_is_quiet = False
        self.put("a.txt", "one\n")
        self.open()
        self.editor.hold.add(method)
        request = self.begin(*replies)
        self.wait_held()
        self.editor.hold.clear()
        for pid in self.wait_workers():
            processes.kill(pid)
        answer = self.client.wait(request)
        self.client.answer(self.editor.held[0], {"content": "late\n"})
        self.assertEqual(answer["result"]["stopReason"], "end_turn")

    def test_worker_dies_in_a_write(self):
        """Outcome unknown, said so, and the edit is not made twice"""
        self.kill_while("fs/write_text_file", replace("a.txt", "one", "two"))
        self.assertEqual(len(self.editor.writes), 1)
        self.assertIn("unknown", self.server.last.result.lower())
        self.assertEqual(self.get("a.txt"), b"one\n")
        result, = self.do(read("a.txt"))
        self.assertEqual(result["content"], "1|one")

    def test_worker_dies_before_the_question(self):
        """While the editor is asked for its text nothing has begun: the call is made"""
        self.kill_while("fs/read_text_file", replace("a.txt", "one", "two"))
        self.assertEqual(len(self.editor.writes), 1)
        self.assertEqual(self.editor.buffers[self.path("a.txt")], "two\n")

    def test_question_survives_a_death(self):
        """The successor reads the buffer again and joins the question that is on the screen"""
        self.stderr_is_quiet = False
        path = self.put("a.txt", "one\n")
        self.open()
        self.client.on_permission = no_answer
        request = self.begin(replace("a.txt", "one", "two"))
        question = self.client.wait_permission()
        before = len(self.editor.reads)
        for pid in self.wait_workers():
            processes.kill(pid)
        self.client.until(lambda: len(self.editor.reads) > before, 10, "the text read again")
        time.sleep(0.3)
        self.client.choose(question, "allow_once")
        self.assertEqual(self.client.wait(request)["result"]["stopReason"], "end_turn")
        self.assertEqual(len(self.client.permissions), 1)
        self.assertEqual(self.editor.buffers[path], "two\n")

    def test_client_goes(self):
        self.put("a.txt", "one\n")
        self.open()
        self.editor.hold.update(("fs/read_text_file", "fs/write_text_file"))
        self.begin(read("a.txt"))
        self.wait_held()
        self.client.close_input()
        self.assertEqual(self.client.wait_exit(5), 0)

    def test_parallel_reads(self):
        """Several reads of one answer, answered in another order"""
        names = [f"{number}.txt" for number in range(6)]
        for name in names:
            self.put(name, "disk\n")
        self.open()
        self.editor.hold.add("fs/read_text_file")
        request = self.begin(model.calls(*[(f"id{name}", "read_file", {"path": name})
                                           for name in names]))
        self.wait_held(len(names))
        self.assertEqual(len({message["id"] for message in self.editor.held}), len(names))
        for message in reversed(self.editor.held):
            self.client.answer(message, {"content": message["params"]["path"][-5:] + "\n"})
        self.client.wait(request)
        results = [json.loads(result["content"])["content"]
                   for result in self.server.last.results]
        self.assertEqual(results, [f"1|{name}" for name in names])

    def test_sessions_beside_each_other(self):
        """Each session gets its own answers"""
        self.put("a.txt", "disk\n")
        self.open()
        self.server.default = model.say("ok")
        sessions = [self.session, *[self.client.new_session(self.work) for _ in range(3)]]
        self.editor.hold.add("fs/read_text_file")
        for session in sessions:
            self.server.when(f"read for {session}", read("a.txt"), model.say("ok"))
        requests = [self.client.prompt_start(session, f"read for {session}")
                    for session in sessions]
        self.wait_held(len(sessions))
        ids = {message["id"] for message in self.editor.held}
        self.assertEqual(len(ids), len(sessions))
        self.assertEqual({message["params"]["sessionId"] for message in self.editor.held},
                         set(sessions))
        for message in reversed(self.editor.held):
            self.client.answer(message, {"content": message["params"]["sessionId"] + "\n"})
        for session, request in zip(sessions, requests):
            self.client.wait(request)
            self.assertIn(f"{session}\n", self.client.cards(session)[0].text)


if __name__ == "__main__":
    import unittest
    unittest.main()
