"""A worker dies while a question is on the user's screen: the question stays, its answer counts once."""
import os
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import model_server as model
import processes
from acp import AcpTest, no_answer

NOTICE = "Another one goes on"


class OpenQuestions(AcpTest):
    def setUp(self):
        super().setUp()
        self.stderr_is_quiet = False  # a crash is worth a line

    def sessions(self, agent):
        """Workers for sessions, the oldest first: with one session its own, then the spare."""
        rows = {pid: line.split() for pid, line in agent.workers().items() if "--session" in line}
        return sorted(rows, key=lambda pid: int(rows[pid][3]))

    def ask(self, *script):
        """A turn whose question is open."""
        server, agent, session = self.start(*script)
        agent.on_permission = no_answer
        request = agent.prompt_start(session, "go")
        agent.wait_permission()
        self.assertTrue(processes.until(lambda: len(self.sessions(agent)) == 2, 5))
        return server, agent, session, request

    def ask_for_an_edit(self):
        self.put("file", "old\n")
        return self.ask(model.call("patch", path="file", old_string="old", new_string="new"),
                        model.say("after"))

    def kill_worker(self, agent, session):
        processes.kill(self.sessions(agent)[0])
        agent.until(lambda: NOTICE in agent.thoughts(session), what="the notice")

    def withdrawn(self, agent):
        with agent.lock:
            return [event["params"]["requestId"] for event in agent.events
                    if event.get("method") == "$/cancel_request"]

    def assert_done_once(self, agent, session, request):
        self.assertEqual(agent.wait(request, 10)["result"]["stopReason"], "end_turn")
        self.assertEqual(len(agent.permissions), 1)
        self.assertEqual(self.withdrawn(agent), [])
        self.assertEqual(agent.text(session), "after")

    def test_allowed_at_once(self):
        """answered before the successor has asked, or just after: it is done once"""
        _, agent, session, request = self.ask_for_an_edit()
        self.kill_worker(agent, session)
        agent.choose(agent.permissions[0], "allow_once")
        self.assert_done_once(agent, session, request)
        self.assertEqual(self.get("file"), b"new\n")
        self.assertEqual([card.status for card in agent.cards(session)], ["completed"])

    def test_allowed_before_there_is_a_successor(self):
        """the answer waits for it"""
        _, agent, session, request = self.ask_for_an_edit()
        spare = self.sessions(agent)[1]
        processes.kill(spare, signal.SIGSTOP)
        self.kill_worker(agent, session)
        agent.choose(agent.permissions[0], "allow_once")
        agent.choose(agent.permissions[0], "reject_once")  # a second answer counts for nothing
        agent.ping()
        self.assertEqual(self.get("file"), b"old\n")
        processes.kill(spare, signal.SIGCONT)
        self.assert_done_once(agent, session, request)
        self.assertEqual(self.get("file"), b"new\n")

    def test_allowed_later(self):
        """the successor has asked long since"""
        _, agent, session, request = self.ask_for_an_edit()
        self.kill_worker(agent, session)
        time.sleep(0.5)
        self.assertEqual(self.get("file"), b"old\n")
        agent.choose(agent.permissions[0], "allow_once")
        self.assert_done_once(agent, session, request)
        self.assertEqual(self.get("file"), b"new\n")

    def test_command_runs_once(self):
        """after two deaths"""
        os.mkdir(self.path("keep"))
        _, agent, session, request = self.ask(model.run("rm -rf keep; echo x >>ran"),
                                              model.say("after"))
        self.kill_worker(agent, session)
        time.sleep(0.5)
        processes.kill(self.sessions(agent)[0])
        time.sleep(0.8)
        self.assertTrue(os.path.isdir(self.path("keep")))
        agent.choose(agent.permissions[0], "allow_once")
        self.assert_done_once(agent, session, request)
        self.assertEqual(self.get("ran"), b"x\n")
        self.assertFalse(os.path.isdir(self.path("keep")))

    def test_rejected(self):
        """no is no"""
        server, agent, session, request = self.ask_for_an_edit()
        self.kill_worker(agent, session)
        agent.choose(agent.permissions[0], "reject_once")
        self.assert_done_once(agent, session, request)
        self.assertEqual(self.get("file"), b"old\n")
        self.assertIn("refused", str(server.last.result))

    def test_allowed_just_before_the_death(self):
        """a worker that was allowed and did not start: the user is asked again"""
        _, agent, session, request = self.ask_for_an_edit()
        worker = self.sessions(agent)[0]
        processes.kill(worker, signal.SIGSTOP)
        agent.choose(agent.permissions[0], "allow_once")
        agent.ping()
        processes.kill(worker)
        again = agent.wait_permission(2)
        self.assertEqual(self.get("file"), b"old\n")
        self.assertEqual(again["params"], agent.permissions[0]["params"])
        agent.choose(again, "allow_once")
        self.assertEqual(agent.wait(request, 10)["result"]["stopReason"], "end_turn")
        self.assertEqual(self.get("file"), b"new\n")
        self.assertEqual(len(agent.permissions), 2)

    def test_another_question(self):
        """the file is another one now: what the user saw does not count for it"""
        _, agent, session, request = self.ask_for_an_edit()
        self.put("file", "old, changed\n")
        self.kill_worker(agent, session)
        again = agent.wait_permission(2)
        self.assertIn("changed", str(again["params"]))
        self.assertEqual(self.withdrawn(agent), [agent.permissions[0]["id"]])
        agent.choose(agent.permissions[0], "allow_once")
        agent.choose(again, "reject_once")
        self.assertEqual(agent.wait(request, 10)["result"]["stopReason"], "end_turn")
        self.assertEqual(self.get("file"), b"old, changed\n")

    def test_next_question(self):
        """the answer to one call says nothing about the next"""
        for name in ("one", "two"):
            self.put(name, name)
        _, agent, session, request = self.ask(
            model.calls(("a", "patch", {"path": "one", "old_string": "one", "new_string": "1"}),
                        ("b", "patch", {"path": "two", "old_string": "two", "new_string": "2"})),
            model.say("after"))
        self.kill_worker(agent, session)
        agent.choose(agent.permissions[0], "reject_once")
        agent.choose(agent.wait_permission(2), "allow_once")
        self.assertEqual(agent.wait(request, 10)["result"]["stopReason"], "end_turn")
        self.assertEqual(len(agent.permissions), 2)
        self.assertEqual((self.get("one"), self.get("two")), (b"one", b"2"))

    def test_cancelled_between_two_workers(self):
        """the card is withdrawn, the answer is cancelled, a late yes counts for nothing"""
        _, agent, session, request = self.ask_for_an_edit()
        spare = self.sessions(agent)[1]
        processes.kill(spare, signal.SIGSTOP)
        self.kill_worker(agent, session)
        agent.cancel(session)
        self.assertEqual(agent.wait(request, 5)["result"], {"stopReason": "cancelled"})
        self.assertEqual(self.withdrawn(agent), [agent.permissions[0]["id"]])
        agent.choose(agent.permissions[0], "allow_once")
        processes.kill(spare, signal.SIGCONT)
        self.assertEqual(agent.turn(session, "again"), "end_turn")
        self.assertEqual(self.get("file"), b"old\n")
        self.assertEqual(len(agent.permissions), 1)

    def test_no_successor(self):
        """three deaths: the turn is given up, the card goes"""
        _, agent, session, request = self.ask_for_an_edit()
        for _ in range(3):
            time.sleep(0.4)
            for pid in self.sessions(agent):
                processes.kill(pid)
        error = agent.wait(request, 10)["error"]
        self.assertEqual(error["code"], -32603)
        self.assertEqual(self.withdrawn(agent), [agent.permissions[0]["id"]])
        agent.choose(agent.permissions[0], "allow_once")
        agent.ping()
        self.assertEqual(self.get("file"), b"old\n")


if __name__ == "__main__":
    import unittest
    unittest.main()
