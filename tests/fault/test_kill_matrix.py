"""R1-R3, R26: each way to die at each point of a turn, and SIGKILL from outside.

Always: one answer for the request; the client saw what the model said, each byte once; the stored
session shows the same; no tool had its effect twice; the next prompt works.
"""
import json
import os
import resource
import sqlite3
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import model_server as model
import processes
from acp import allow_once
from crash import CrashTest, Plan, alternation_problem, model_text, sanitized

FAULTS = {"SIGKILL": {"signal": "KILL"}, "SIGSEGV": {"signal": "SEGV"},
          "SIGABRT": {"signal": "ABRT"}, "exit 3": {"exit": 3}}
BEFORE, AFTER = "Before it. ", "After it."


class Rehearsal(CrashTest):
    """Faults of the rehearsal provider, once each."""

    def setUp(self):
        super().setUp()
        os.mkdir(self.path("keep"))

    def tool(self, command):
        return {"tool": {"name": "terminal", "arguments": {"command": command}}}

    def play(self, rounds, rest, agent, point):
        """The same turn with each fault. `rounds` makes the rounds from a fault step, `rest` is what an
        answer that was cut off goes on with; the turn's tool appends to "ran"."""
        for name, fault in FAULTS.items():
            mark = os.path.join(self.folder, f"{point} {name}")
            step = {"fault": {**fault, "once": mark}}
            with open(os.path.join(self.folder, "script-0.json"), "w") as file:
                json.dump({"replies": [
                    {"match": "again", "rounds": [[{"text": "usable"}]]},
                    {"match": "continue exactly where", "rounds": rest},
                ], "default": {"rounds": rounds(step)}}, file)
            with self.subTest(point=point, end=name):
                session = agent.new_session(self.work)
                before = len(self.lines("ran"))
                # This session's and the spare; the one before may still be ending.
                agent.until(lambda: len(self.session_workers(agent)) == 2)
                first = self.oldest_worker(agent)
                self.ended(agent, agent.prompt_start(session, "go"))
                self.assertTrue(os.path.exists(mark))
                agent.until(lambda: processes.stat(first) is None, what="the end of the first worker")
                self.assert_durable(agent, session, "go", BEFORE + AFTER)
                self.assertIn(len(self.lines("ran")) - before, (0, 1))
                agent.call("session/close", {"sessionId": session})

    def test_each_end_at_each_point(self):
        """before the first token, in text, before the call, at its record, after its result, at the end"""
        agent = self.rehearsal({"default": {"rounds": [[]]}}, "--allow-faults")
        run = self.tool("echo x >>ran")
        last = [{"text": AFTER}]
        late = {"delay_ms": 20}  # what was said before has gone out
        points = {
            "first token": (lambda fault: [[fault, {"text": BEFORE}, run], last], [[run], last]),
            "first text": (lambda fault: [[{"text": BEFORE}, fault, run], last], [[run], last]),
            "text": (lambda fault: [[{"text": BEFORE[:4]}, late, fault, {"text": BEFORE[4:]}, run],
                                    last], [[{"text": BEFORE[4:]}, run], last]),
            "before the call": (lambda fault: [[{"text": BEFORE}, late, fault, run], last],
                                [[run], last]),
            "the call is known": (lambda fault: [
                [{"text": BEFORE}, late, run, {"fault": {**fault["fault"], "at": "finish"}}], last],
                [[run], last]),
            "before the record": (lambda fault: [
                [{"text": BEFORE}, run, {"fault": {**fault["fault"], "at": "after_finish"}}], last],
                [[run], last]),
            "after the result": (lambda fault: [[{"text": BEFORE}, run], [fault, *last]], [last]),
            "the end": (lambda fault: [
                [{"text": BEFORE}, run],
                [{"text": AFTER[:-1]}, late, {"text": AFTER[-1:]},
                 {"fault": {**fault["fault"], "at": "after_finish"}}]], [last]),
        }
        for point, (rounds, rest) in points.items():
            self.play(rounds, rest, agent, point)

    def test_each_end_while_it_asks(self):
        """the question is asked again, or the answer still counts; the command runs once"""
        def late_yes(agent, message):
            """The first question is answered when the process that asked is gone."""
            session = message["params"]["sessionId"]
            if agent.thoughts(session):
                return allow_once(agent, message)
            threading.Thread(target=lambda: (
                agent.until(lambda: agent.thoughts(session)),
                agent.choose(message, "allow_once")), daemon=True).start()
            return None
        agent = self.rehearsal({"default": {"rounds": [[]]}}, "--allow-faults")
        agent.on_permission = late_yes
        run = self.tool("rm -rf keep; echo x >>ran")
        self.play(lambda fault: [
            [{"text": BEFORE}, run,
             {"fault": {**fault["fault"], "at": "after_finish", "after_ms": 100}}],
            [{"text": AFTER}]], [[run], [{"text": AFTER}]], agent, "asking")
        self.assertEqual(len(self.lines("ran")), len(FAULTS))

    def test_each_end_after_the_effect(self):
        """the command that has had its effect is gone, and never run again"""
        agent = self.rehearsal({"default": {"rounds": [[]]}}, "--allow-faults")
        self.play(lambda fault: [
            [{"text": BEFORE}, self.tool("echo x >>ran; sleep 55.5"),
             {"fault": {**fault["fault"], "at": "after_finish", "after_ms": 400}}],
            [{"text": AFTER}]], [[{"text": AFTER}]], agent, "after the effect")
        self.assert_gone("sleep 55.5")


class Outside(CrashTest):
    """SIGKILL from outside, the model being a server."""

    def start_plan(self, *rounds, **options):
        self.planned_model()
        self.agent_ = agent = self.agent()
        self.plan = self.plans["go"] = Plan(*rounds, **options)
        session = agent.new_session(self.work)
        return agent, session

    def kill_at(self, number, piece, condition=None):
        """Kills the session's worker before this piece of this round comes, once."""
        killed = []

        def gate(at_round, at_piece):
            if (at_round, at_piece) == (number, piece) and not killed:
                killed.append(True)
                if condition:
                    self.agent_.until(condition)
                processes.kill(self.oldest_worker(self.agent_))
        self.plan.gate = gate

    def check(self, agent, session, request):
        self.ended(agent, request)
        self.assert_durable(agent, session, "go", self.plan.text)
        self.assertIn(len(self.lines("ran")), (0, 1))

    def test_in_the_answers(self):
        """before the first token, in the text, after the result of a tool"""
        run = ("terminal", {"command": "echo x >>ran"})
        for number, piece in (0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2):
            with self.subTest(round=number, piece=piece):
                agent, session = self.start_plan((BEFORE, [run]), (AFTER, []))
                seen = (BEFORE if number else "") + (BEFORE, AFTER)[number][:piece * 4 - piece]
                self.kill_at(number, piece, lambda: seen in agent.text(session))
                self.check(agent, session, agent.prompt_start(session, "go"))
                os.unlink(self.path("ran"))

    def test_between_save_and_record(self):
        """another program holds the database: killed while the answer with the call is to be saved"""
        agent, session = self.start_plan(
            (BEFORE, [("terminal", {"command": "echo x >>ran"})]), (AFTER, []))
        self.kill_held(agent, session, BEFORE)

    def test_while_the_end_is_saved(self):
        agent, session = self.start_plan((BEFORE + AFTER, []))
        self.kill_held(agent, session, BEFORE + AFTER)

    def kill_held(self, agent, session, text):
        """The database is locked before the last piece of the first answer, and the worker killed when
        the whole answer is with it."""
        held = []

        def gate(number, piece):
            if (number, piece) != (0, 2) or held:
                return
            database = sqlite3.connect(os.path.join(agent.hermes_home, "state.db"),
                                       isolation_level=None, check_same_thread=False)
            held.append(database)
            database.execute("BEGIN IMMEDIATE")
        self.plan.gate = gate
        request = agent.prompt_start(session, "go")
        agent.wait_text(session, text)
        self.assertTrue(processes.until(lambda: self.servers[-1].active == 0, 5))
        processes.kill(self.oldest_worker(agent))
        agent.until(lambda: agent.thoughts(session))
        held[0].execute("ROLLBACK")
        held[0].close()
        self.check(agent, session, request)

    def test_while_it_asks(self):
        """killed with the question open, which the user answers afterwards"""
        os.mkdir(self.path("keep"))
        agent, session = self.start_plan(
            (BEFORE, [("terminal", {"command": "rm -rf keep; echo x >>ran"})]), (AFTER, []))
        asked = []

        def policy(agent, message):
            asked.append(message)
            if len(asked) > 1:
                return allow_once(agent, message)
            processes.kill(self.oldest_worker(agent))
            threading.Thread(target=lambda: (
                agent.until(lambda: agent.thoughts(session)),
                agent.choose(message, "allow_once")), daemon=True).start()
            return None
        agent.on_permission = policy
        self.check(agent, session, agent.prompt_start(session, "go"))
        self.assertEqual(len(self.lines("ran")), 1)

    def test_after_the_effect(self):
        """killed by the command itself, when it has had its effect"""
        command = ("echo x >>ran; guard=$PPID; read -r _ _ _ worker _ </proc/$guard/stat; "
                   "kill -9 $worker; sleep 56.5")
        agent, session = self.start_plan(
            (BEFORE, [("terminal", {"command": command})]), (AFTER, []))
        self.check(agent, session, agent.prompt_start(session, "go"))
        self.assert_gone("sleep 56.5")
        self.assertEqual(len(self.lines("ran")), 1)
        self.assertIn("unknown", self.servers[-1].requests[1].result)

    def test_memory_limit(self):
        """no memory any more in the middle of a text: the successor has no limit"""
        if sanitized():
            self.skipTest("sanitizers cannot live with a limit of the address space")
        text = "x" * 6000000
        agent, session = self.start_plan((BEFORE, []), (AFTER, []))
        self.plan = self.plans["go"] = Plan((BEFORE + text[:3500000] + AFTER, []), pieces=3000)
        limited = []

        def gate(number, piece):
            if piece != 1 or limited:
                return
            worker = self.oldest_worker(agent)
            limited.append(worker)
            agent.until(lambda: agent.text(session))
            pages = int(processes.read(f"/proc/{worker}/statm").split()[0])
            size = (pages + 256) * os.sysconf("SC_PAGE_SIZE")
            resource.prlimit(worker, resource.RLIMIT_AS, (size, size))
        self.plan.gate = gate
        self.check(agent, session, agent.prompt_start(session, "go"))
        self.assertIn("goes on", agent.thoughts(session))

    def test_a_model_that_says_it_otherwise(self):
        """the second request holds what was seen once; the text is that and what came then"""
        server = self.model()
        requests = []

        def respond(request):
            problem = alternation_problem(request.messages)
            if problem:
                server.errors.append(problem)
                return model.failure(400, problem, type="invalid_request_error")
            requests.append(request)
            if len(requests) == 1:
                return [model.delta("The first "), model.delta("half, "), model.HANG]
            return model.say("quite another end.") if len(requests) == 2 else model.say("usable")
        server.respond = respond
        agent = self.agent()
        session = agent.new_session(self.work)
        request = agent.prompt_start(session, "go")
        agent.wait_text(session, "The first half, ")
        processes.kill(self.oldest_worker(agent))
        self.ended(agent, request)
        second = [model_text(message) for message in requests[1].messages]
        self.assertEqual(sum(text.count("The first half, ") for text in second), 1)
        self.assertEqual(requests[1].texts("assistant"), ["The first half, "])
        self.assert_durable(agent, session, "go", "The first half, quite another end.")
        self.assertEqual(requests[-1].texts("assistant")[:2],
                         ["The first half, ", "quite another end."])


if __name__ == "__main__":
    import unittest
    unittest.main()
