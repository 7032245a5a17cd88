"""Field reports about the state database: locks of others, damage, newer schemas, the rules of SQLite.

B76, B78; the number of the report is in each docstring.
"""
import os
import sqlite3
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import model_server as model
import processes
from acp import AcpTest, within

# A ninth process that uses the file as other programs do, until its input ends.
NINTH = """
import os, sqlite3, sys, threading
path, done = sys.argv[1], []
threading.Thread(target=lambda: done.append(sys.stdin.read() or 1), daemon=True).start()
rounds = 0
while not done:
    open(path, "rb").close()
    connection = sqlite3.connect(path, timeout=30)
    connection.execute("select count(*) from messages").fetchone()
    copy = sqlite3.connect(path + ".copy")
    connection.backup(copy)
    copy.close()
    os.unlink(path + ".copy")
    try:
        connection.execute("VACUUM")
    except sqlite3.OperationalError:
        pass  # it was locked for too long
    connection.close()
    rounds += 1
print(rounds)
"""


class DatabaseTest(AcpTest):
    @property
    def file(self):
        return os.path.join(self.folder, "home", ".hermes", "state.db")

    def database(self):
        connection = sqlite3.connect(self.file, timeout=20, isolation_level=None,
                                     check_same_thread=False)
        self.addCleanup(connection.close)
        return connection

    def value(self, sql):
        return self.database().execute(sql).fetchone()[0]

    def hold(self):
        lock = self.database()
        lock.execute("BEGIN EXCLUSIVE")
        return lock

    def contents(self):
        return self.database().execute("SELECT role, content FROM messages ORDER BY id").fetchall()


class Locked(DatabaseTest):
    def made(self, *script):
        """An agent with a database that is there, and the server."""
        server, agent, session = self.start(model.say("one"), *script)
        self.assertEqual(agent.turn(session, "first"), "end_turn")
        return server, agent, session

    def test_session_new(self):
        """B76: session/new does not wait for the lock, and the first turn is saved whole"""
        server, agent, _session = self.made(model.say("two"))
        lock = self.hold()
        session = agent.new_session(self.work)
        request = agent.prompt_start(session, "second")
        self.assertFalse(processes.until(lambda: agent.answered(request), 1))
        lock.execute("ROLLBACK")
        self.assertEqual(agent.wait(request)["result"]["stopReason"], "end_turn")
        self.assertEqual(self.contents()[2:], [("user", "second"), ("assistant", "two")])
        self.assertEqual(self.value("SELECT count(*) FROM sessions"), 2)

    def test_in_a_turn(self):
        """B76: locked from the first word of an answer on: the text is shown, then saved, once"""
        gate = threading.Event()
        server, agent, session = self.made([model.delta("two "), gate.wait, *model.say("three")])
        request = agent.prompt_start(session, "second")
        agent.wait_text(session, "two ")
        lock = self.hold()
        gate.set()
        agent.wait_text(session, "two three")
        self.assertFalse(agent.answered(request))
        lock.execute("ROLLBACK")
        self.assertEqual(agent.wait(request)["result"]["stopReason"], "end_turn")
        self.assertEqual(self.contents()[2:], [("user", "second"), ("assistant", "two three")])

    def test_list(self):
        """B76: the list comes when the lock is gone, and is complete"""
        _server, agent, session = self.made()
        lock = self.hold()
        request = agent.start("session/list", {})
        self.assertFalse(processes.until(lambda: agent.answered(request), 1))
        lock.execute("ROLLBACK")
        rows = agent.wait(request)["result"]["sessions"]
        self.assertEqual([row["sessionId"] for row in rows], [session])

    @within(90)
    def test_load(self):
        """B76: a load under a lock of seconds is answered, and with what is true"""
        _server, agent, session = self.made()
        agent.call("session/close", {"sessionId": session})
        lock = self.hold()
        request = agent.start("session/load", {"sessionId": session, "cwd": self.work,
                                               "mcpServers": []})
        self.assertFalse(processes.until(lambda: agent.answered(request), 3))
        lock.execute("ROLLBACK")
        self.assertIn("result", agent.wait(request))
        self.assertEqual(agent.text(session, kind="user_message_chunk"), "first")

    @within(120)
    def test_for_ever(self):
        """B76: a list says what is the matter when nobody lets go"""
        _server, agent, _session = self.made()
        lock = self.hold()
        error = agent.error("session/list", {}, 40)
        self.assertIn("lock", str(error))
        lock.execute("ROLLBACK")
        self.assertEqual(len(agent.call("session/list", {})["sessions"]), 1)

    @within(120)
    def test_two_agents(self):
        """B76: two agents on one home, eight sessions each, all write at once"""
        script = {"default": {"rounds": [[{"text": "answer to ${prompt}"}]]}}
        agents = [self.rehearsal(script) for _ in range(2)]
        problems = []

        def drive(agent, session):
            for number in range(6):
                try:
                    if agent.turn(session, f"{session} {number}", 60) != "end_turn":
                        problems.append(session)
                except AssertionError as error:
                    problems.append(str(error)[:300])
        threads = [threading.Thread(target=drive, args=(agent, agent.new_session(self.work)))
                   for agent in agents for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(90)
        self.assertEqual(problems[:3], [])
        self.assertEqual(self.value("SELECT count(*) FROM messages"), 2 * 6 * 16)
        self.assertEqual(self.value("SELECT min(message_count) FROM sessions"), 12)
        self.assertEqual(self.value("PRAGMA integrity_check"), "ok")


class Files(DatabaseTest):
    def test_damaged(self):
        """B76: the first page is zeros: moved aside, said so, begun anew, nothing deleted"""
        server, agent, session = self.start(model.say("one"), model.say("two"))
        agent.turn(session, "first")
        self.sweep(agent)
        with open(self.file, "r+b") as file:
            file.write(b"\0" * 4096)
        with open(self.file, "rb") as file:
            damaged = file.read()
        self.stderr_is_quiet = False
        again = self.agent()
        new = again.new_session(self.work)
        self.assertEqual(again.turn(new, "second"), "end_turn")
        kept = [name for name in os.listdir(os.path.dirname(self.file)) if "damaged" in name]
        self.assertEqual(len(kept), 1)
        with open(os.path.join(os.path.dirname(self.file), kept[0]), "rb") as file:
            self.assertEqual(file.read(), damaged)
        self.assertEqual([text for _role, text in self.contents()], ["second", "two"])
        again.turn(new, "third")
        self.assertIn("damaged", again.text(new) + again.stderr.decode() + self.log())

    def log(self):
        path = os.path.join(os.path.dirname(self.file), "logs", "hermes-acp.log")
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def test_newer_schema(self):
        """B76: a newer version is used as it is and not lowered; unknown columns keep their values"""
        server, agent, session = self.start(model.say("one"), model.say("two"))
        agent.turn(session, "first")
        self.sweep(agent)
        self.database().executescript(
            "UPDATE schema_version SET version = 99;"
            "ALTER TABLE messages ADD COLUMN from_the_future TEXT DEFAULT 'f';")
        again = self.agent()
        again.load(session, self.work)
        self.assertEqual(again.text(session), "one")
        self.assertEqual(again.turn(session, "second"), "end_turn")
        self.assertEqual(self.value("SELECT version FROM schema_version"), 99)
        self.assertEqual(self.value(
            "SELECT count(*) FROM messages WHERE from_the_future = 'f'"), 4)

    def test_read_only(self):
        """B76: a newer schema that wants what we do not know is read only; turns go on and say so"""
        server, agent, session = self.start(model.say("one"), model.say("two"))
        agent.turn(session, "first")
        self.sweep(agent)
        self.database().executescript(
            "UPDATE schema_version SET version = 99;"
            "ALTER TABLE messages ADD COLUMN must TEXT NOT NULL DEFAULT '';"
            "PRAGMA writable_schema = 1;"  # as a newer program makes it: without the default
            "UPDATE sqlite_master SET sql = replace(sql, 'must TEXT NOT NULL DEFAULT ''''', "
            "'must TEXT NOT NULL') WHERE name = 'messages'")
        self.stderr_is_quiet = False
        again = self.agent()
        self.assertEqual(len(again.call("session/list", {})["sessions"]), 1)
        again.load(session, self.work)
        self.assertEqual(again.text(session), "one")
        mark = again.mark()
        self.assertEqual(again.turn(session, "second"), "end_turn")
        self.assertRegex(again.text(session, mark), "cannot be saved.*newer.*must.*\\n\\ntwo$")
        self.assertEqual(self.contents(), [("user", "first"), ("assistant", "one")])

    def test_journal_by_the_library(self):
        """B78: a library that can lose a log does not get one"""
        server, agent, session = self.start(model.say("one"))
        agent.turn(session, "first")
        version = tuple(int(part) for part in sqlite3.sqlite_version.split("."))
        defect = (3, 7, 0) <= version < (3, 51, 3) and version not in ((3, 44, 6), (3, 50, 7))
        self.assertEqual(self.value("PRAGMA journal_mode"), "delete" if defect else "wal")


class Rules(DatabaseTest):
    def opened(self, pid):
        folder, found = f"/proc/{pid}/fd", []
        for name in os.listdir(folder):
            try:
                found.append(os.readlink(os.path.join(folder, name)))
            except OSError:
                pass
        return [path for path in found if "state.db" in path]

    def test_each_worker_has_its_own(self):
        """B78: the supervisor and commands never have the file open; a worker opens it once"""
        server, agent, session = self.start(
            model.run("ls -l /proc/self/fd /proc/$PPID/fd"), model.say("done"))
        agent.turn(session, "first")
        self.assertEqual(self.opened(agent.pid), [])
        for pid in agent.workers():
            self.assertLessEqual(self.opened(pid).count(self.file), 1)
        self.assertNotIn("state.db", server.last.result)

    @within(120)
    def test_a_ninth_process(self):
        """B78: eight workers write while another program reads, copies and vacuums the file; kills"""
        script = {"replies": [{"match": "continue exactly", "rounds": [[{"text": "."}]]}],
                  "default": {"rounds": [[{"text": "answer to ${prompt}"}]]}}
        self.stderr_is_quiet = False
        agent = self.rehearsal(script)
        sessions = [agent.new_session(self.work) for _ in range(8)]
        for session in sessions:
            agent.turn(session, f"{session} begins")
        ninth = subprocess.Popen([sys.executable, "-c", NINTH, self.file], stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.own_children.add(ninth.pid)
        acknowledged = []

        def drive(session):
            for number in range(12):
                prompt = f"{session} {number};"
                if "result" in agent.prompt(session, prompt, 60):
                    acknowledged.append(prompt)
        threads = [threading.Thread(target=drive, args=(session,)) for session in sessions]
        for thread in threads:
            thread.start()
        for number in range(8):
            agent.until(lambda: len(acknowledged) > number * 8, 60)
            victims = [pid for pid, line in agent.workers().items() if "--session" in line]
            processes.kill(victims[number % len(victims)])
        for thread in threads:
            thread.join(90)
        out, errors = ninth.communicate(timeout=60)
        self.assertEqual((ninth.returncode, errors), (0, b""))
        self.assertGreater(int(out), 0)
        prompts = [text for role, text in self.contents() if role == "user"]
        self.assertEqual([one for one in acknowledged if prompts.count(one) != 1], [])
        self.assertEqual(self.value("PRAGMA integrity_check"), "ok")


if __name__ == "__main__":
    import unittest
    unittest.main()
