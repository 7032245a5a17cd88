"""Titles of sessions: what the client is told is what is stored."""
import os
import sqlite3
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import model_server as model
import processes
from acp import SCALE, AcpTest


class TitleTest(AcpTest):
    def rows(self, query):
        path = os.path.join(self.folder, "home", ".hermes", "state.db")
        connection = sqlite3.connect(path)
        try:
            return connection.execute(query).fetchall()
        finally:
            connection.close()

    def told(self, agent, session):
        return [update["title"] for update in agent.updates(session, "session_info_update")
                if "title" in update]

    def listed(self, agent):
        return {row["sessionId"]: row["title"]
                for row in agent.call("session/list", {})["sessions"]}


class Told(TitleTest):
    def test_a_title_that_another_session_has(self):
        """The number that makes it unique is told, as the list tells it"""
        server, agent, first = self.start()
        self.assertEqual(agent.turn(first, "fix the bug"), "end_turn")
        second = agent.new_session(self.work)
        self.assertEqual(agent.turn(second, "fix the bug"), "end_turn")
        self.assertEqual(self.told(agent, first), ["fix the bug"])
        self.assertEqual(self.told(agent, second), ["fix the bug #2"])
        self.assertEqual(self.listed(agent), {first: "fix the bug", second: "fix the bug #2"})

    def test_once(self):
        """Neither a second prompt nor a load makes another one"""
        server, agent, session = self.start()
        self.assertEqual(agent.turn(session, "one"), "end_turn")
        self.assertEqual(agent.turn(session, "two"), "end_turn")
        self.assertEqual(self.told(agent, session), ["one"])
        again = self.reload(agent, session)
        self.assertEqual(again.turn(session, "three"), "end_turn")
        self.assertEqual(self.told(again, session), [])

    def test_after_a_death(self):
        """A successor tells nothing that was told"""
        self.stderr_is_quiet = False
        server, agent, session = self.start([model.HANG], model.say("after"))
        request = agent.prompt_start(session, "go on")
        server.wait_requests(1)
        self.assertTrue(processes.until(lambda: self.told(agent, session), 5 * SCALE))
        for pid, line in agent.workers().items():
            if "--session" in line:
                processes.kill(pid, signal.SIGKILL)
        self.assertEqual(agent.wait(request)["result"]["stopReason"], "end_turn")
        self.assertEqual(self.told(agent, session), ["go on"])


if __name__ == "__main__":
    import unittest
    unittest.main()
