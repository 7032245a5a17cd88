"""Stored sessions: list, load, resume, fork, delete, and turns that outlive their process."""
import os
import sqlite3
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import model_server as model
import processes
from acp import AcpTest
from model_server import delta

UNKNOWN = "7b2a1f6e-0000-4000-8000-000000000000"


class SessionTest(AcpTest):
    def open(self, agent, method, session, **more):
        return agent.call(method, dict({"sessionId": session, "cwd": self.work,
                                        "mcpServers": []}, **more))

    def database(self):
        connection = sqlite3.connect(os.path.join(self.folder, "home", ".hermes", "state.db"))
        self.addCleanup(connection.close)
        return connection

    def told(self, *script):
        """A session with one finished turn, and a second process on the same home."""
        server, first, session = self.start(*script)
        self.assertEqual(first.turn(session, "tell me a story"), "end_turn")
        self.sweep(first)
        return server, self.agent(), session


class Open(SessionTest):
    def test_counts(self):
        """The session's input is counted without what the provider's cache held"""
        usage = {"prompt_tokens": 100, "completion_tokens": 7,
                 "prompt_tokens_details": {"cached_tokens": 60}}
        _server, _agent, session = self.told(
            [model.delta("x"), model.finish(usage=usage), model.DONE])
        row = self.database().execute(
            "select input_tokens, output_tokens, cache_read_tokens from sessions where id = ?",
            (session,)).fetchone()
        self.assertEqual(row, (40, 7, 60))

    def test_load_replays(self):
        """acp: load shows the conversation and answers after the last update"""
        server, agent, session = self.told(model.say("once upon a time"))
        mark = agent.mark()
        result = self.open(agent, "session/load", session)
        self.assertIn("configOptions", result)
        self.assertEqual(agent.text(session, mark, "user_message_chunk"), "tell me a story")
        self.assertEqual(agent.text(session, mark), "once upon a time")
        self.assertEqual(agent.turn(session, "and then"), "end_turn")
        self.assertEqual(server.last.texts(), ["tell me a story", "and then"])
        self.assertEqual(server.last.texts("assistant"), ["once upon a time"])

    def test_resume_does_not_replay(self):
        server, agent, session = self.told(model.say("once upon a time"))
        mark = agent.mark()
        self.open(agent, "session/resume", session)
        self.assertEqual(agent.text(session, mark, "user_message_chunk"), "")
        self.assertEqual(agent.text(session, mark), "")
        self.assertEqual(agent.turn(session, "and then"), "end_turn")
        self.assertEqual(server.last.texts("assistant"), ["once upon a time"])

    def test_load_shows_the_cards(self):
        self.put("note.txt", "the content of the note\n")
        server, agent, session = self.told(
            model.call("read_file", path=self.path("note.txt")), model.say("read"))
        mark = agent.mark()
        self.open(agent, "session/load", session)
        (card,) = agent.cards(session, mark)
        self.assertEqual(card.status, "completed")
        self.assertIn("note.txt", card.title)

    def test_load_twice_in_one_process(self):
        """The process that has the session loads it: nothing is lost or doubled"""
        server, agent, session = self.start(model.say("one"), model.say("two"))
        self.assertEqual(agent.turn(session, "first"), "end_turn")
        mark = agent.mark()
        self.open(agent, "session/load", session)
        self.assertEqual(agent.text(session, mark), "one")
        self.assertEqual(agent.turn(session, "second"), "end_turn")
        self.assertEqual(server.last.texts(), ["first", "second"])

    def test_unknown(self):
        """Each names the session that it does not find"""
        self.model()
        agent = self.agent()
        for method in "session/load", "session/resume", "session/fork":
            error = agent.error(method, {"sessionId": UNKNOWN, "cwd": self.work,
                                         "mcpServers": []})
            self.assert_code(error, -32002)
            self.assertIn(UNKNOWN, str(error))

    def test_close_and_load_at_once(self):
        """A client that does not wait for the answer to its close"""
        server, agent, session = self.start(model.say("one"), model.say("two"))
        self.assertEqual(agent.turn(session, "first"), "end_turn")
        closing = agent.start("session/close", {"sessionId": session})
        mark = agent.mark()
        self.open(agent, "session/load", session)
        self.assertEqual(agent.wait(closing)["result"], {})
        self.assertEqual(agent.text(session, mark), "one")
        self.assertEqual(agent.turn(session, "second"), "end_turn")

    def test_fork(self):
        """The copy knows the conversation; the two go on apart"""
        server, agent, session = self.told(model.say("once upon a time"))
        copy = self.open(agent, "session/fork", session)["sessionId"]
        self.assertNotEqual(copy, session)
        self.assertEqual(agent.turn(copy, "and then"), "end_turn")
        self.assertEqual(server.last.texts("assistant"), ["once upon a time"])
        self.open(agent, "session/resume", session)
        self.assertEqual(agent.turn(session, "something else"), "end_turn")
        self.assertEqual(server.last.texts(), ["tell me a story", "something else"])


class Catalogue(SessionTest):
    def listed(self, agent, **params):
        return agent.call("session/list", params)["sessions"]

    def test_list(self):
        """id, folder, time, and the title that the client was told"""
        server, agent, session = self.start(model.say("hello"))
        self.assertEqual(agent.turn(session, "a title for the list\nand more"), "end_turn")
        self.assertEqual([row["title"] for row in
                          agent.updates(session, "session_info_update") if "title" in row],
                         ["a title for the list"])
        (row,) = self.listed(agent)
        self.assertEqual((row["sessionId"], row["cwd"], row["title"]),
                         (session, self.work, "a title for the list"))
        self.assertRegex(row["updatedAt"], r"^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d")

    def test_list_of_a_folder(self):
        server, agent, session = self.start(model.say("hello"))
        self.assertEqual(agent.turn(session), "end_turn")
        self.assertEqual(len(self.listed(agent, cwd=self.work)), 1)
        self.assertEqual(self.listed(agent, cwd=self.folder), [])

    def test_bad_cursor(self):
        self.model()
        error = self.agent().error("session/list", {"cursor": "nonsense"})
        self.assert_code(error, -32602)
        self.assertIn("cursor", str(error))

    def test_delete(self):
        """It is gone for every process, also while it is open"""
        server, agent, session = self.start(model.say("hello"))
        self.assertEqual(agent.turn(session), "end_turn")
        agent.call("session/delete", {"sessionId": session})
        self.assertEqual(self.listed(agent), [])
        error = agent.error("session/load", {"sessionId": session, "cwd": self.work,
                                             "mcpServers": []})
        self.assert_code(error, -32002)
        rows = self.database().execute("SELECT count(*) FROM messages").fetchone()
        self.assertEqual(rows, (0,))


class Foreign(SessionTest):
    """Sessions of other programs on the same database: listed on request, and gone on with in a copy."""

    FOREIGN = "20260102_030405_abcdef"

    def add_foreign(self):
        """A session that Hermes' command line has written."""
        connection, now = self.database(), time.time()
        with connection:
            connection.execute("INSERT INTO sessions(id, source, started_at, last_activity_at, title)"
                               " VALUES (?, 'cli', ?, ?, 'elsewhere')", (self.FOREIGN, now, now))
            connection.executemany(
                "INSERT INTO messages(session_id, role, content, timestamp) VALUES (?, ?, ?, ?)",
                [(self.FOREIGN, "user", "question-of-cli", now),
                 (self.FOREIGN, "assistant", "answer-to-cli", now + 1)])

    def rows(self, session):
        return self.database().execute(
            "SELECT role, content FROM messages WHERE session_id = ? AND active = 1 ORDER BY id",
            (session,)).fetchall()

    def foreign_state(self):
        return (self.rows(self.FOREIGN), self.database().execute(
            "SELECT * FROM sessions WHERE id = ?", (self.FOREIGN,)).fetchall())

    def listed(self, agent, **params):
        return {row["sessionId"]: row for row in agent.call("session/list", params)["sessions"]}

    def test_listed_on_request(self):
        _server, agent, session = self.told()
        self.add_foreign()
        self.assertEqual(list(self.listed(agent)), [session])
        rows = self.listed(agent, _meta={"hermesAcp": {"allSources": True}})
        self.assertEqual(set(rows), {session, self.FOREIGN})
        self.assertEqual(rows[self.FOREIGN]["_meta"], {"hermesAcp": {"source": "cli"}})
        self.assertNotIn("_meta", rows[session])

    def test_goes_on_in_a_copy(self):
        """load shows it, prompts go into the copy, also after a restart and with a killed worker; the
        original is not touched"""
        self.stderr_is_quiet = False
        server, agent, _session = self.told()
        self.add_foreign()
        before = self.foreign_state()
        for number, method in enumerate(("session/load", "session/resume", "session/load")):
            mark = agent.mark()
            self.open(agent, method, self.FOREIGN)
            if method == "session/load":
                text = agent.text(self.FOREIGN, mark)
                self.assertTrue(text.startswith("answer-to-cli"), text)
                self.assertEqual(text.count("fine"), number)
            server.script[:] = [model.say("fine")]
            self.assertEqual(agent.turn(self.FOREIGN, f"next-{number}"), "end_turn")
            self.assertIn("question-of-cli", server.last.texts()[0])
            self.assertEqual(len(self.rows(self.FOREIGN + ".acp")), 4 + 2 * number)
            self.assertEqual(self.foreign_state(), before)
            self.sweep(agent)
            agent = self.agent()
        self.open(agent, "session/load", self.FOREIGN)
        server.script[:] = [[model.delta("begun "), model.HANG], model.say("ended")]
        request = agent.prompt_start(self.FOREIGN, "last")
        agent.wait_text(self.FOREIGN, "begun")
        for pid in list(agent.workers()):
            if "--session" in agent.workers().get(pid, ""):
                processes.kill(pid)
        self.assertEqual(agent.wait(request)["result"]["stopReason"], "end_turn")
        server.script[:] = [model.call("write_file", path=self.path("new"), content="x"), model.say("ok")]
        self.assertEqual(agent.turn(self.FOREIGN, "write"), "end_turn")
        checkpoints = os.path.join(agent.hermes_home, "checkpoints", "acp", "sessions")
        self.assertEqual(os.listdir(checkpoints), [self.FOREIGN + ".acp"])
        self.assertEqual("".join(text for role, text in self.rows(self.FOREIGN + ".acp")[-7:-4]
                                 if role == "assistant"), "begun ended")
        self.assertEqual(self.foreign_state(), before)

    def test_fork(self):
        server, agent, _session = self.told()
        self.add_foreign()
        before = self.foreign_state()
        copy = self.open(agent, "session/fork", self.FOREIGN)["sessionId"]
        server.script[:] = [model.say("fine")]
        self.assertEqual(agent.turn(copy), "end_turn")
        self.assertIn(copy, self.listed(agent))
        self.assertEqual(self.foreign_state(), before)


class Recovery(SessionTest):
    def setUp(self):
        super().setUp()
        self.stderr_is_quiet = False  # a crash is worth a line

    def test_turn_outlives_its_worker(self):
        """Killed while it streams, the same prompt ends well, and what was shown stays"""
        server, agent, session = self.start(
            [model.delta("the first half, "), 30], model.say("the second half"))
        request = agent.prompt_start(session, "write")
        agent.wait_text(session, "the first half, ")
        for pid, line in agent.workers().items():
            if "--session" in line:
                processes.kill(pid, signal.SIGKILL)
        self.assertEqual(agent.wait(request)["result"]["stopReason"], "end_turn")
        self.assertEqual(agent.text(session), "the first half, the second half")
        self.assertIn("goes on", agent.thoughts(session))
        self.assertIn("the first half, ", server.last.body.decode())
        mark = agent.mark()
        self.open(agent, "session/load", session)
        self.assertEqual(agent.text(session, mark), "the first half, the second half")

    def test_killed_before_the_first_token(self):
        """The successor asks again; the prompt is in the conversation once"""
        server, agent, session = self.start([model.HANG], model.say("after"))
        request = agent.prompt_start(session, "go")
        server.wait_requests(1)
        for pid, line in agent.workers().items():
            if "--session" in line:
                processes.kill(pid, signal.SIGKILL)
        self.assertEqual(agent.wait(request)["result"]["stopReason"], "end_turn")
        self.assertEqual(server.last.texts(), ["go"])
        self.assertEqual(agent.text(session), "after")

    def test_a_command_is_not_run_twice(self):
        """The worker dies while its command runs: the model is told that it was broken off"""
        command = "echo ran >> %s; sleep 30" % self.path("ran")
        server, agent, session = self.start(
            model.run(command), model.say("seen"))
        request = agent.prompt_start(session, "run it")
        deadline = time.monotonic() + 10
        while not os.path.exists(self.path("ran")) and time.monotonic() < deadline:
            time.sleep(0.05)
        for pid, line in agent.workers().items():
            if "--session" in line:
                processes.kill(pid, signal.SIGKILL)
        self.assertEqual(agent.wait(request)["result"]["stopReason"], "end_turn")
        self.assertEqual(self.get("ran"), b"ran\n")
        self.assertIn("nknown", server.last.body.decode())

    def test_everything_killed(self):
        """The supervisor and all of its workers die in a turn: what was shown is there"""
        server, agent, session = self.start(model.say("kept"), [model.delta("half"), 30])
        self.assertEqual(agent.turn(session, "one"), "end_turn")
        agent.prompt_start(session, "two")
        agent.wait_text(session, "half")
        agent.kill(signal.SIGKILL)
        time.sleep(0.5)
        server.script[:] = [model.say("going on")]
        second = self.agent()
        mark = second.mark()
        self.open(second, "session/load", session)
        self.assertIn("kept", second.text(session, mark))
        self.assertEqual(second.turn(session, "three"), "end_turn")
        self.assertEqual(server.last.texts()[:2], ["one", "two"])


class Unwritable(SessionTest):
    def test_newer_layout(self):
        """B76: a database that can only be read: turns are answered, the user is told once"""
        server, first, session = self.start(model.say("one"), model.run("echo done >file"),
                                            model.say("two"), model.say("three"))
        self.assertEqual(first.turn(session, "first"), "end_turn")
        self.sweep(first)
        connection = self.database()
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("UPDATE sqlite_master SET sql = rtrim(rtrim(sql), ')') || ', later TEXT NOT NULL)' "
                           "WHERE name = 'messages'")
        connection.commit()
        before = connection.execute("SELECT count(*), total(id) FROM messages").fetchall()
        agent = self.agent()
        self.stderr_is_quiet = False
        session = agent.new_session(self.work)
        self.assertEqual(agent.turn(session, "second"), "end_turn")
        self.assertEqual(self.get("file"), b"done\n")
        self.assertIn("cannot be saved", agent.text(session))
        self.assertTrue(agent.text(session).endswith("two"))
        self.assertEqual(agent.turn(session, "third"), "end_turn")
        self.assertEqual(agent.text(session).count("cannot be saved"), 1)
        self.assertEqual(server.last.texts(), ["second", "third"])
        self.assertEqual(connection.execute("SELECT count(*), total(id) FROM messages").fetchall(), before)


class Locked(SessionTest):
    """Another program holds the database: what was shown is saved when it lets go, once and in order."""

    def hold(self):
        connection = self.database()
        connection.isolation_level = None
        connection.execute("BEGIN IMMEDIATE")
        return connection

    def cancelled_while_locked(self, *script):
        server, agent, session = self.start(model.say("one"), [delta("half a "), model.HANG], *script)
        self.stderr_is_quiet = False  # the worker that cannot save is ended
        self.assertEqual(agent.turn(session, "first"), "end_turn")
        request = agent.prompt_start(session, "second")
        agent.wait_text(session, "half a ")
        return server, agent, session, request, self.hold()

    def assert_kept(self, agent, session):
        mark = agent.mark()
        self.open(agent, "session/load", session)
        self.assertEqual(agent.text(session, mark, "user_message_chunk"), "firstsecondthird")
        self.assertEqual(agent.text(session, mark), "onehalf a three")

    def test_prompt_after_a_cancel(self):
        """its answer comes at once; the next prompt waits until the text of this one is saved"""
        server, agent, session, request, lock = self.cancelled_while_locked(model.say("three"))
        agent.cancel(session)
        self.assertEqual(agent.wait(request, 5)["result"]["stopReason"], "cancelled")
        request = agent.prompt_start(session, "third")
        time.sleep(4.5)
        lock.execute("ROLLBACK")
        response = agent.wait(request, 20)
        self.assertEqual(response.get("result", {}).get("stopReason"), "end_turn", response)
        self.assertEqual(server.last.texts("assistant"), ["one", "half a "])
        self.assert_kept(agent, session)

    def test_death_of_who_saves_it(self):
        """the catalogue worker is killed with the text of a cancelled answer: the next one saves it"""
        _server, agent, session, request, lock = self.cancelled_while_locked(model.say("three"))
        agent.cancel(session)
        agent.wait(request, 5)
        time.sleep(2.5)  # the worker is gone, its text is with the catalogue worker
        for pid, line in agent.workers().items():
            if "--catalogue" in line:
                processes.kill(pid)
        request = agent.prompt_start(session, "third")
        lock.execute("ROLLBACK")
        self.assertEqual(agent.wait(request, 20)["result"]["stopReason"], "end_turn")
        self.assert_kept(agent, session)

    def test_end_of_input(self):
        """what is with the catalogue worker is saved before everything ends"""
        _server, agent, session, request, lock = self.cancelled_while_locked(model.say("three"))
        agent.cancel(session)
        agent.wait(request, 5)
        time.sleep(2.5)
        lock.execute("ROLLBACK")
        self.sweep(agent)
        again = self.agent()
        self.assertEqual(again.load(session, self.work) and again.turn(session, "third"), "end_turn")
        self.assert_kept(again, session)

    def test_load_after_a_close(self):
        _server, agent, session, _request, lock = self.cancelled_while_locked(model.say("three"))
        close = agent.start("session/close", {"sessionId": session})
        self.assertIn("result", agent.wait(close, 10))
        load = agent.start("session/load", {"sessionId": session, "cwd": self.work, "mcpServers": []})
        time.sleep(2)
        lock.execute("ROLLBACK")
        self.assertIn("result", agent.wait(load, 20))
        self.assertEqual(agent.turn(session, "third"), "end_turn")
        self.assert_kept(agent, session)

    def test_cancel_of_a_prompt_that_waits_for_it(self):
        _server, agent, session, request, lock = self.cancelled_while_locked(model.say("three"))
        agent.cancel(session)
        agent.wait(request, 5)
        time.sleep(2.5)
        request = agent.prompt_start(session, "given up")
        time.sleep(0.5)
        agent.cancel(session)
        self.assertEqual(agent.wait(request, 5)["result"]["stopReason"], "cancelled")
        lock.execute("ROLLBACK")
        self.assertEqual(agent.turn(session, "third", 20), "end_turn")
        self.assert_kept(agent, session)


if __name__ == "__main__":
    import unittest
    unittest.main()
