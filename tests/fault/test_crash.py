"""R1-R6, R22: workers that die in every phase, a storm of kills, the death of the supervisor.

HERMES_TEST_STORM is the length of the storm in seconds (default 20).
"""
import os
import random
import signal
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import model_server as model
import processes
from acp import AcpTest, alone, no_answer, within

STORM = float(os.environ.get("HERMES_TEST_STORM", "20"))


class CrashTest(AcpTest):
    def setUp(self):
        super().setUp()
        self.stderr_is_quiet = False  # a crash is worth a line

    def session_workers(self, agent):
        return [pid for pid, line in agent.workers().items() if "--session" in line]

    def oldest_worker(self, agent):
        """With one session this is its worker; the younger one is the spare."""
        rows = {pid: line.split() for pid, line in agent.workers().items() if "--session" in line}
        return min(rows, key=lambda pid: int(rows[pid][3]))

    def kill_sessions(self, agent, number=signal.SIGKILL):
        """Ends all session workers, the spare included."""
        for pid in self.session_workers(agent):
            processes.kill(pid, number)

    def assert_honest(self, response):
        """A turn whose worker died goes on to a normal end, or fails with the cause."""
        if "result" in response:
            self.assertEqual(response["result"]["stopReason"], "end_turn", response)
            return True
        self.assert_code(response["error"], -32603)
        self.assertRegex(str(response["error"]).lower(), "signal|crash|killed|ended|exit")
        return False

    def assert_usable(self, server, agent, session):
        server.script[:] = []
        server.rules.clear()
        server.default = model.say("usable")
        time.sleep(0.3)
        self.assertEqual(agent.turn(session, "again"), "end_turn")
        self.assertTrue(agent.text(session).endswith("usable"))


class Phases(CrashTest):
    """R1, R2: SIGKILL in each phase, and other ends."""

    def test_before_the_first_token(self):
        """R2"""
        server, agent, session = self.start([model.HANG], model.say("after"))
        request = agent.prompt_start(session, "go")
        server.wait_requests(1)
        self.kill_sessions(agent)
        self.assert_honest(agent.wait(request, 5))
        self.assert_usable(server, agent, session)

    def test_while_text_streams(self):
        """R1, R3: what was shown is kept and not shown twice"""
        server, agent, session = self.start([model.delta("shown part "), model.HANG],
                                            model.say("the rest"))
        request = agent.prompt_start(session, "go")
        agent.wait_text(session, "shown part ")
        self.kill_sessions(agent)
        self.assert_honest(agent.wait(request, 5))
        self.assertEqual(agent.text(session).count("shown part "), 1)
        self.assert_usable(server, agent, session)
        again = self.reload(agent, session, quiet=False)
        if again:
            self.assertEqual(again.text(session).count("shown part "), 1)
            self.assertIn("usable", again.text(session))

    def test_while_a_command_runs(self):
        """R3: it is gone and never run again"""
        server, agent, session = self.start(model.run("echo x >>ran; sleep 53.5"),
                                            model.say("after"))
        request = agent.prompt_start(session, "go")
        self.assert_running("sleep 53.5")
        # Its name is in the guard's arguments before the command has begun.
        self.assertTrue(processes.until(
            lambda: os.path.exists(self.path("ran")) and self.get("ran"), 5))
        processes.kill(agent.worker_of(session, "sleep 53.5"))
        self.assert_honest(agent.wait(request, 10))
        self.assert_gone("sleep 53.5")
        self.assertEqual([card.status for card in agent.cards(session)], ["failed"])
        self.assert_usable(server, agent, session)
        self.assertEqual(self.get("ran"), b"x\n")

    def test_while_a_question_is_open(self):
        """R29: nothing runs without an explicit allow"""
        os.mkdir(self.path("keep"))
        server, agent, session = self.start(model.run("rm -rf keep"), model.say("after"))
        agent.on_permission = no_answer
        request = agent.prompt_start(session, "go")
        agent.wait_permission()
        self.kill_sessions(agent)
        time.sleep(0.5)
        agent.cancel(session)
        agent.wait(request, 5)
        agent.choose(agent.permissions[0], "allow_once")
        time.sleep(0.3)
        self.assertTrue(os.path.isdir(self.path("keep")))
        self.assert_usable(server, agent, session)

    def test_while_cancelling(self):
        """in CANCELLING every end means cancelled"""
        server, agent, session = self.start([model.delta("x"), model.HANG])
        request = agent.prompt_start(session, "go")
        agent.wait_text(session, "x")
        processes.kill(self.oldest_worker(agent), signal.SIGSTOP)
        agent.cancel(session)
        self.kill_sessions(agent)
        self.assertEqual(agent.wait(request, 5).get("result"), {"stopReason": "cancelled"})
        self.assert_usable(server, agent, session)

    def test_while_it_waits_to_try_again(self):
        """R2"""
        server, agent, session = self.start(*[model.failure(500)] * 3, model.say("after"),
                                            environment={"HERMES_ACP_RETRY_SCALE": "1"})
        request = agent.prompt_start(session, "go")
        server.wait_requests(1)
        time.sleep(0.2)
        self.kill_sessions(agent)
        self.assert_honest(agent.wait(request, 20))
        self.assert_usable(server, agent, session)

    def test_while_idle(self):
        """R2: the conversation goes on in a new process"""
        server, agent, session = self.start(model.say("one"))
        agent.turn(session, "remember 4711")
        self.kill_sessions(agent)
        self.assert_usable(server, agent, session)
        if agent.can_load:
            self.assertIn("remember 4711", "\n".join(server.last.texts()))

    def test_during_session_new(self):
        """R2: one answer"""
        self.model()
        agent = self.agent()
        for _ in range(10):
            request = agent.start("session/new", {"cwd": self.work, "mcpServers": []})
            self.kill_sessions(agent)
            agent.wait(request, 10)
        time.sleep(0.5)
        self.assertEqual(agent.turn(agent.new_session(self.work)), "end_turn")

    def stopped_spare(self, agent, workers):
        """The spare, which takes what it is given and does not act; `workers` there are with it."""
        agent.until(lambda: len(self.session_workers(agent)) == workers)
        spare = max(self.session_workers(agent), key=lambda pid: processes.stat(pid)[2])
        os.kill(spare, signal.SIGSTOP)
        return spare

    def test_in_the_set_up_of_a_new_session(self):
        """the next one is set up; nobody notices"""
        server = self.model()
        agent = self.agent()
        spare = self.stopped_spare(agent, 1)
        request = agent.start("session/new", {"cwd": self.work, "mcpServers": []})
        agent.ping()
        processes.kill(spare)
        session = agent.wait(request)["result"]["sessionId"]
        self.assert_usable(server, agent, session)
        self.assertEqual(len(agent.updates(session, "available_commands_update")), 1)

    def test_in_the_set_up_of_a_successor(self):
        """the prompt that waits for it runs on the next but one"""
        server, agent, session = self.start()
        self.assertEqual(agent.turn(session), "end_turn")
        for deaths in 1, 2:
            with self.subTest(deaths=deaths):
                agent.until(lambda: len(self.session_workers(agent)) == 2)
                worker = self.oldest_worker(agent)
                spare = self.stopped_spare(agent, 2)
                processes.kill(worker)
                agent.until(lambda gone=worker: processes.stat(gone) is None)
                request = agent.prompt_start(session, "go")
                agent.ping()
                if deaths == 2:
                    second = [self.stopped_spare(agent, 2)]
                processes.kill(spare)
                if deaths == 2:
                    agent.ping()
                    processes.kill(second[0])
                self.assertEqual(agent.wait(request)["result"]["stopReason"], "end_turn")
        self.assert_usable(server, agent, session)

    def test_catalogue_worker(self):
        """it is replaced"""
        self.model()
        agent = self.agent()
        for pid, line in agent.workers().items():
            if "--catalogue" in line:
                processes.kill(pid)
        self.assertTrue(processes.until(
            lambda: [pid for pid, line in agent.workers().items() if "--catalogue" in line], 5))
        agent.new_session(self.work)

    def test_other_ends(self):
        """R2: SEGV, ABRT, BUS, FPE, SYS, TERM in a turn: one answer each, usable again"""
        for number in (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGSYS,
                       signal.SIGTERM):
            with self.subTest(number.name):
                server, agent, session = self.start([model.delta("x"), model.HANG],
                                                    model.say("after"))
                request = agent.prompt_start(session, "go")
                agent.wait_text(session, "x")
                self.kill_sessions(agent, number)
                self.assert_honest(agent.wait(request, 10))
                self.assert_usable(server, agent, session)
                agent.sweep(quiet=False)  # sanitizers report these signals as crashes

    def test_stopped_worker(self):
        """R8: a wedged worker (SIGSTOP): cancel is answered, the session lives on"""
        server, agent, session = self.start([model.delta("x"), model.HANG])
        request = agent.prompt_start(session, "go")
        agent.wait_text(session, "x")
        processes.kill(self.oldest_worker(agent), signal.SIGSTOP)
        started = time.monotonic()
        agent.cancel(session)
        self.assertEqual(agent.wait(request, 5)["result"], {"stopReason": "cancelled"})
        self.assertLess(time.monotonic() - started, 1.0)
        time.sleep(3.5)
        self.assert_usable(server, agent, session)

    def test_endless_loop_in_a_worker(self):
        """R8: a worker that spins is ended by the ladder"""
        script = {"replies": [{"match": "again", "rounds": [[{"text": "usable"}]]}],
                  "default": {"rounds": [[{"text": "x"}, {"delay_ms": 200},
                                          {"fault": {"loop": True}}]]}}
        agent = self.rehearsal(script, "--allow-faults")
        session = agent.new_session(self.work)
        request = agent.prompt_start(session, "go")
        agent.wait_text(session, "x")
        started = time.monotonic()
        agent.cancel(session)
        self.assertEqual(agent.wait(request, 5)["result"], {"stopReason": "cancelled"})
        self.assertLess(time.monotonic() - started, 1.0)
        self.assertEqual(agent.turn(session, "again", seconds=15), "end_turn")


MORE = "[and so on]"  # what a successor adds in the storm


class Storm(CrashTest):
    """R6: a worker in a turn dies every 100 ms, 32 sessions."""

    WORDS = 40

    def script(self):
        steps = []
        for number in range(self.WORDS):
            steps += [{"text": f"{number} "}, {"delay_ms": 25}]
        return {"replies": [{"match": "quiet", "rounds": [steps]},
                            {"match": "continue exactly where", "rounds": [[{"text": MORE}]]}],
                "default": {"rounds": [steps]}}

    @alone
    @within(120 + STORM * 3)
    def test_storm(self):
        """R6: every prompt is answered exactly once, the others' texts are byte-exact"""
        agent = self.rehearsal(self.script())
        sessions = [agent.new_session(self.work) for _ in range(32)]
        time.sleep(1)
        before = agent.files()
        ends, failed = [], []
        stop = threading.Event()
        whole = "".join(f"{number} " for number in range(self.WORDS))

        def drive(session):
            while not stop.is_set():
                mark = agent.mark()
                try:
                    response = agent.wait(agent.prompt_start(session, "go"), 30)
                except AssertionError as error:
                    failed.append(str(error)[:500])
                    return
                text = agent.text(session, mark)
                if "error" in response:
                    ends.append("error")
                    if not whole.startswith(text.replace(MORE, "")):
                        failed.append(f"not a beginning: {text!r}")
                    time.sleep(0.1)
                else:
                    ends.append(response["result"]["stopReason"])
                    # What a dead worker had said, then what its successors went on with.
                    said = text.replace(MORE, "")
                    if text != whole and (MORE not in text or not whole.startswith(said)
                                          or not text.startswith(said)):
                        failed.append(f"neither whole nor continued: {text!r}")
        threads = [threading.Thread(target=drive, args=(session,)) for session in sessions]
        for thread in threads:
            thread.start()
        chance = random.Random(1)
        end, kills = time.monotonic() + STORM, 0
        while time.monotonic() < end:
            time.sleep(0.1)
            victims = self.session_workers(agent)
            if victims:
                processes.kill(chance.choice(victims))
                kills += 1
        stop.set()
        for thread in threads:
            thread.join(40)
        self.assertEqual(failed[:5], [])
        self.assertGreater(ends.count("end_turn"), 0)
        self.assertGreater(kills, STORM * 3)
        for session in sessions:
            agent.call("session/close", {"sessionId": session})
        if before is not None:
            limit = before - 2 * 32 + 8
            self.assertTrue(processes.until(lambda: agent.files() <= max(limit, 24), 5),
                            f"{before} descriptors with 32 sessions, {agent.files()} with none")

    @alone
    @within(90)
    def test_one_of_32(self):
        """R1: one worker dies; the other 31 turns are complete and undisturbed"""
        agent = self.rehearsal(self.script())
        sessions = [agent.new_session(self.work) for _ in range(32)]
        requests = [agent.prompt_start(session, "go") for session in sessions]
        for session in sessions:
            agent.wait_text(session, "1 ")
        processes.kill(self.session_workers(agent)[0])
        whole = "".join(f"{number} " for number in range(self.WORDS))
        responses = [agent.wait(request, 30) for request in requests]
        good = [session for session, response in zip(sessions, responses)
                if response.get("result") and agent.text(session) == whole]
        self.assertEqual(sum(1 for session in sessions
                             if agent.text(session).endswith(MORE)), 1)
        self.assertGreaterEqual(len(good), 31)
        for response in responses:
            self.assert_honest(response)


class Supervisor(CrashTest):
    """R22: SIGKILL of the supervisor."""

    def test_everything_goes(self):
        """R22: workers, commands and MCP servers are gone within 2 s; the text is kept"""
        server_script = self.put("server.py", "import sys, time\nfor line in sys.stdin: pass\n"
                                 "time.sleep(100)  # marker-mcp-54\n")
        server = self.model()
        server.when("sleep", model.run("trap '' TERM; sleep 54.5; sleep 54.5"))
        server.when("stream", [model.delta("kept text"), model.HANG])
        agent = self.agent()
        one = agent.new_session(self.work, mcpServers=[
            {"name": "s", "command": sys.executable, "args": [server_script], "env": []}])
        two = agent.new_session(self.work)
        agent.prompt_start(one, "sleep")
        agent.prompt_start(two, "stream")
        self.assert_running("sleep 54.5")
        agent.wait_text(two, "kept text")
        below = processes.descendants(agent.pid)
        agent.kill()
        self.assertTrue(processes.until(
            lambda: not processes.left_of(below, self.own_children), 2.0),
            [processes.command_line(pid) for pid in processes.left_of(below, self.own_children)])
        again = self.reload(agent, two, quiet=False)
        if again:
            self.assertIn("kept text", again.text(two))

    def test_stuck_worker_goes(self):
        """a worker that is stuck in the middle of something, its loop out of reach, goes too"""
        script = {"default": {"rounds": [[{"text": "stuck"}, {"delay_ms": 200}, {"fault": {"loop": True}}]]}}
        agent = self.rehearsal(script, "--allow-faults")
        session = agent.new_session(self.work)
        agent.prompt_start(session, "go")
        agent.wait_text(session, "stuck")
        time.sleep(0.6)
        below = processes.descendants(agent.pid)
        agent.kill()
        self.assertTrue(processes.until(
            lambda: not processes.left_of(below, self.own_children), 8),
            [processes.command_line(pid) for pid in processes.left_of(below, self.own_children)])

    def test_database_survives(self):
        """R22, R26: killed ten times in turns: the database is whole, acknowledged text is there"""
        server = self.model(default=model.run("echo some output"))
        session, acknowledged = None, 0
        for round_ in range(10):
            server.script[:] = [model.say(f"answer {round_}")]
            agent = self.agent()
            if not agent.can_load:
                self.skipTest("the agent does not advertise loadSession")
            if session is None:
                session = agent.new_session(self.work)
            else:
                agent.load(session, self.work)
                for number in range(acknowledged):
                    self.assertIn(f"answer {number}", agent.text(session))
            if agent.turn(session, f"question {round_}") == "end_turn":
                acknowledged = round_ + 1
            agent.prompt_start(session, "loop")
            time.sleep(0.05 * round_)
            agent.kill()
            self.sweep(agent, quiet=False)
        import sqlite3
        path = os.path.join(self.folder, "home", ".hermes", "state.db")
        with sqlite3.connect(path) as database:
            self.assertEqual(database.execute("pragma integrity_check").fetchone()[0], "ok")
