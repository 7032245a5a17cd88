"""R1-R3, R26: a worker dies before each step of a turn that anybody outside can notice, one run a step.

The steps are found by the program itself (tests/lib/kill_at.c): everything that it writes to the
supervisor, each sync and each commit of the database, each program that it starts, each file that it
puts in place. Of every run the same is asked: one answer, a normal end; the client saw what the model
said, once; the stored session shows the same; no tool had its effect twice; every request to the model
had user and assistant by turns and one result for each call; the next prompt works.
"""
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import model_server as model
import processes
from acp import within
from crash import CrashTest, Plan

MOST = 400


def append(word):
    return ("terminal", {"command": f"echo {word} >>ran"})


class KillPoints(CrashTest):
    def each_step(self, rounds, check, number=signal.SIGKILL):
        """Runs the plan once for each step; the last run dies nowhere. `rounds` makes a plan's rounds
        from the number of the step."""
        self.server = self.planned_model()
        agent = self.preloaded()
        dead = True
        for step in range(1, MOST):
            name = f"step{step}"
            plan = Plan(*rounds(step))
            self.plans = {name: plan}
            prompt = f"go {name} kill-at:{step}:{int(number)}:{name};"
            session = agent.new_session(self.work)
            with self.subTest(step=step):
                self.ended(agent, agent.prompt_start(session, prompt))
                dead = self.died(name)
                shown = [(card.title, card.status) for card in agent.cards(session)]
                cards = self.assert_durable(agent, session, prompt, plan.text)
                self.assertEqual([(card.title, card.status) for card in cards], shown)
                check(step)
            agent.call("session/close", {"sessionId": session})
            if not dead:
                self.assertGreater(step, 10)
                return
        self.fail("no end of steps")

    def assert_once(self, *words):
        for word in words:
            self.assertIn(self.lines("ran").count(word), (0, 1))

    @within(120)
    def test_one_command(self):
        """text, a command, text"""
        self.each_step(lambda step: [("I look at it. ", [append(f"a{step}")]),
                                     ("That is all there is.", [])],
                       lambda step: self.assert_once(f"a{step}"))

    @within(120)
    def test_three_commands(self):
        """three calls in one answer"""
        self.each_step(lambda step: [("Three. ", [append(f"{word}{step}") for word in "abc"]),
                                     ("Done.", [])],
                       lambda step: self.assert_once(f"a{step}", f"b{step}", f"c{step}"))

    @within(120)
    def test_reads_and_an_edit(self):
        """three reads beside each other, then an edit that asks"""
        self.put("note", "the note\n")
        reads = [("read_file", {"path": self.path("note"), "offset": 1, "limit": n}) for n in (1, 2, 3)]

        def check(step):
            self.assertIn(self.lines(f"new{step}"), ([], ["x"]))
        self.each_step(lambda step: [
            ("I read. ", reads),
            ("I write. ", [("write_file", {"path": self.path(f"new{step}"), "content": "x\n"})]),
            ("Done.", [])], check)

    @within(120)
    def test_exit_with_a_log(self):
        """by exit(3), the database having a write-ahead log"""
        self.switch_to_wal()
        self.each_step(lambda step: [("I look. ", [append(f"e{step}")]), ("Done.", [])],
                       lambda step: self.assert_once(f"e{step}"), number=0)


class Failing(CrashTest):
    @within(120)
    def test_each_step_of_a_failing_turn(self):
        """the answer breaks off, each time: whoever goes on, the turn fails and never just ends"""
        server = self.model()
        server.respond = lambda request: model.say("usable") if "again" in request.texts()[-1] \
            else model.Reply([model.delta("half of it"), model.CUT])
        agent = self.preloaded()
        for step in range(1, MOST):
            name = f"fail{step}"
            session = agent.new_session(self.work)
            with self.subTest(step=step):
                response = agent.prompt(session, f"go kill-at:{step}:9:{name};")
                self.assertIn("error", response)
                dead = self.died(name)
                self.assert_usable(agent, session)
                shown = agent.text(session)
                self.assertEqual(self.stored_text(agent, session)[1], shown)
            agent.call("session/close", {"sessionId": session})
            if not dead:
                self.assertGreater(step, 5)
                return
        self.fail("no end of steps")


class Successor(CrashTest):
    @within(120)
    def test_each_step_of_a_successor(self):
        """killed in the middle of a text, and its successor before each of its steps"""
        self.planned_model()
        agent = self.preloaded()
        dead = True
        for step in range(1, MOST):
            name = f"next{step}"
            # The successor reads the order in the text that it is handed.
            first = f"kill-at:{step}:9:{name}; was shown, which takes a little time, "
            plan = Plan((first + "this was not. ", [append(name)]), ("Done.", []), pieces=2)
            killed = []

            def gate(number, piece, session=None):
                # Runs in the server's thread: nothing more of the answer comes until it is dead.
                if (number, piece) == (0, 1) and not killed:
                    agent.wait_text(None, f":{name};")
                    killed.append(True)
                    processes.kill(self.oldest_worker(agent))
            plan.gate = gate
            self.plans = {name: plan}
            session = agent.new_session(self.work)
            with self.subTest(step=step):
                self.ended(agent, agent.prompt_start(session, f"go {name}"))
                dead = self.died(name)
                self.assert_durable(agent, session, f"go {name}", plan.text)
                self.assertIn(self.lines("ran").count(name), (0, 1))
            agent.call("session/close", {"sessionId": session})
            if not dead:
                self.assertGreater(step, 10)
                return
        self.fail("no end of steps")


if __name__ == "__main__":
    import unittest
    unittest.main()
