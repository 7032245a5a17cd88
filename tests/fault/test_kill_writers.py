"""R6, R22, R26, B78: many workers that write one database and are killed while they do.

HERMES_TEST_KILLS is the number of kills per journal mode (default 60).
"""
import os
import random
import re
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import processes
from acp import SCALE, alone, within
from crash import CrashTest

KILLS = int(os.environ.get("HERMES_TEST_KILLS", "60"))
SESSIONS = 32
REPLY = "An answer to ${prompt}."


class Writers(CrashTest):
    def write_and_kill(self):
        """[(session, prompts whose turn ended)]: each session is driven by a thread of its own; a worker
        is killed for every few turns that have ended."""
        agent = self.rehearsal({"replies": [
            {"match": "continue exactly where", "rounds": [[{"text": "."}]]}],
            "default": {"rounds": [[{"text": REPLY}]]}})
        sessions = [agent.new_session(self.work) for _ in range(SESSIONS)]
        ended = {session: [] for session in sessions}
        problems, stop, one_more = [], threading.Event(), threading.Semaphore(0)

        def drive(session):
            number = 0
            while not stop.is_set():
                number += 1
                prompt = f"prompt {number} of {session}"
                mark = agent.mark()
                response = agent.prompt(session, prompt, 60)
                if response.get("result", {}).get("stopReason") == "end_turn":
                    ended[session].append((prompt, agent.text(session, mark)))
                elif not re.search("killed by signal 9|did not get ready", str(response.get("error"))):
                    problems.append(response)
                    stop.set()
                    one_more.release(10)  # nobody else may come
                one_more.release()
        threads = [threading.Thread(target=drive, args=(session,)) for session in sessions]
        for thread in threads:
            thread.start()
        chance = random.Random(4)
        for _ in range(KILLS):
            for _ in range(chance.randint(1, 6)):
                self.assertTrue(one_more.acquire(timeout=60 * SCALE))
            if stop.is_set():
                break
            victims = self.session_workers(agent)
            if victims:
                processes.kill(chance.choice(victims))
        stop.set()
        for thread in threads:
            thread.join(90 * SCALE)
        self.assertEqual(str(problems[:3]), "[]")
        self.sweep(agent, quiet=False)
        return ended

    def check(self, ended):
        database = self.database()
        self.assertEqual(database.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
        self.assertEqual(database.execute("PRAGMA foreign_key_check").fetchall(), [])
        self.assertGreater(sum(len(rows) for rows in ended.values()), KILLS)
        for session, rows in ended.items():
            stored = database.execute(
                "SELECT role, content FROM messages WHERE session_id = ? AND active = 1 ORDER BY id",
                (session,)).fetchall()
            prompts = [content for role, content in stored if role == "user"]
            for prompt, text in rows:
                self.assertEqual(prompts.count(prompt), 1)
                at = stored.index(("user", prompt)) + 1
                said = ""
                while at < len(stored) and not (stored[at][1] or "").startswith("prompt "):
                    said += stored[at][1] if stored[at][0] == "assistant" else ""
                    at += 1
                self.assertEqual(said, text)
            count = database.execute("SELECT message_count FROM sessions WHERE id = ?",
                                     (session,)).fetchone()
            self.assertEqual(count, (len(stored),))

    @alone
    @within(60 + KILLS)
    def test_rollback_journal(self):
        """nothing that was answered is lost or doubled, and the file is whole"""
        self.check(self.write_and_kill())

    @alone
    @within(60 + KILLS)
    def test_write_ahead_log(self):
        """the same with a log that is there already"""
        self.switch_to_wal()
        self.check(self.write_and_kill())
        self.assertEqual(self.database().execute("PRAGMA journal_mode").fetchone(), ("wal",))


class Supervisor(CrashTest):
    @alone
    @within(90)
    def test_killed_in_32_turns(self):
        """R22: SIGKILL of the supervisor: a load shows every byte that the client had"""
        agent = self.rehearsal({"default": {"rounds": [[
            {"repeat": {"text": "word ", "count": 100000, "slice": 1, "every_ms": 2}}]]}})
        sessions = [agent.new_session(self.work) for _ in range(SESSIONS)]
        for session in sessions:
            agent.prompt_start(session, f"tell {session}")
        for session in sessions:
            agent.wait_text(session, "word " * 20, 30)
        below = processes.descendants(agent.pid)
        agent.kill()
        self.assertTrue(processes.until(
            lambda: not processes.left_of(below, self.own_children), 10 * SCALE))
        agent.threads[0].join(10)
        again = self.rehearsal({"default": {"rounds": [[{"text": "usable"}]]}})
        for session in sessions:
            seen = agent.text(session)
            again.load(session, self.work)
            self.assertEqual(again.text(session, kind="user_message_chunk"), f"tell {session}")
            self.assertTrue(again.text(session).startswith(seen),
                            f"{len(seen)} bytes seen, {len(again.text(session))} stored")
            self.assert_usable(again, session)


if __name__ == "__main__":
    import unittest
    unittest.main()
