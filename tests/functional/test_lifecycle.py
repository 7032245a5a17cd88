"""The life of the processes: end of input, signals, crashes, descriptors, sessions coming and going."""
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import model_server as model
import processes
from acp import AcpTest, BUILD, no_answer, within


class Ends(AcpTest):
    """B08: an agent that outlives its editor."""

    def busy(self, marker):
        """Two sessions, one with a running command that `marker` names."""
        server = self.model(model.run(f"sleep {marker}"))
        agent = self.agent()
        session = agent.new_session(self.work)
        agent.new_session(self.work)
        agent.prompt_start(session, "work")
        self.assert_running(f"sleep {marker}")
        return server, agent, session

    def test_end_of_input(self):
        """B08 a, acp 137: exit 0 within a second, everything gone"""
        _server, agent, _session = self.busy("8123.1")
        started = time.monotonic()
        agent.close_input()
        self.assertEqual(agent.wait_exit(5), 0)
        self.assertLess(time.monotonic() - started, 2.0)
        self.assert_gone("sleep 8123.1", 1)

    def test_hangup(self):
        """B08 b: SIGHUP is a request to read the settings again; the agent goes on"""
        _server, agent, session = self.busy("8123.2")
        os.kill(agent.pid, signal.SIGHUP)
        time.sleep(0.3)
        agent.ping()
        agent.cancel(session)
        self.assert_gone("sleep 8123.2")

    def test_terminate(self):
        """B08 c, acp 138: SIGTERM is like the end of input"""
        _server, agent, _session = self.busy("8123.3")
        os.kill(agent.pid, signal.SIGTERM)
        self.assertIn(agent.wait_exit(5), (0, 128 + signal.SIGTERM))
        self.assert_gone("sleep 8123.3", 1)
        agent.exited_by_test = True

    def test_supervisor_killed(self):
        """B08 d, R22: SIGKILL of the supervisor takes workers and commands along within 2 s"""
        _server, agent, _session = self.busy("8123.4")
        below = processes.descendants(agent.pid)
        agent.kill()
        self.assertTrue(processes.until(
            lambda: not processes.left_of(below, self.own_children), 2))
        self.assert_gone("sleep 8123.4", 1)

    def test_output_closed(self):
        """B08 e, R21: a closed stdout does not skip saving"""
        parts = [model.delta("kept ")]
        for number in range(60):
            parts += [0.1, model.delta(f"later {number} ")]
        _server, agent, session = self.start([*parts, model.finish(), model.DONE])
        agent.prompt_start(session, "talk")
        agent.wait_text(session, "kept")
        agent.pause()
        null = os.open("/dev/null", os.O_RDONLY)
        os.dup2(null, agent.process.stdout.fileno())  # closes the only reading end
        os.close(null)
        self.assertIsNotNone(agent.wait_exit(5))
        agent.exited_by_test = True
        again = self.reload(agent, session)
        if again:
            self.assertIn("kept", again.text(session))

    @within(120)
    def test_many_sessions_leave_nothing(self):
        """B08, acp 143: 100 sessions made, used and closed; no zombie, no descriptor is lost"""
        self.model()
        agent = self.agent()

        def cycle():
            session = agent.new_session(self.work)
            self.assertEqual(agent.turn(session), "end_turn")
            agent.call("session/close", {"sessionId": session})
        for _ in range(3):
            cycle()
        time.sleep(0.5)
        before = agent.files()
        for _ in range(100):
            cycle()
        zombies = processes.until(
            lambda: not [pid for pid, row in processes.descendants(agent.pid).items()
                         if row[0] == "Z"], 2)
        self.assertTrue(zombies, "zombies are left")
        if before is not None:
            self.assertTrue(processes.until(lambda: agent.files() <= before, 3),
                            f"{before} descriptors before, {agent.files()} after")
        self.assertLessEqual(len(agent.workers()), 4)

    def test_end_of_input_before_anything(self):
        """acp 137: also before initialize"""
        agent = self.agent(initialize=False)
        agent.close_input()
        self.assertEqual(agent.wait_exit(3), 0)

    def test_end_with_many_running_turns(self):
        """R20: end of input with 12 running turns"""
        self.model(default=[model.delta("x"), model.HANG])
        agent = self.agent()
        sessions = [agent.new_session(self.work) for _ in range(12)]
        for session in sessions:
            agent.prompt_start(session, "hang")
        for session in sessions:
            agent.wait_text(session, "x")
        agent.close_input()
        self.assertEqual(agent.wait_exit(5), 0)


class Crashes(AcpTest):
    """B10: the death of a worker. The turn goes on in a successor, or fails with the cause."""

    def setUp(self):
        super().setUp()
        self.stderr_is_quiet = False  # a crash is worth a line

    def assert_honest(self, response):
        """True when the turn went on."""
        if "result" in response:
            self.assertEqual(response["result"]["stopReason"], "end_turn", response)
            return True
        self.assert_code(response["error"], -32603)
        self.assertRegex(str(response["error"]).lower(), "signal|crash|killed")
        return False

    def test_killed_while_a_command_runs(self):
        """B10 a: the command is gone, its card failed, it is never run again, the turn goes on"""
        server, agent, session = self.start(
            model.run("echo run >>ran; sleep 50.5"), model.say("after the crash"))
        request = agent.prompt_start(session, "work")
        self.assert_running("sleep 50.5")
        self.assertTrue(processes.until(
            lambda: os.path.exists(self.path("ran")) and self.get("ran") == b"run\n", 5))
        worker = agent.worker_of(session, "sleep 50.5")
        self.assertIsNotNone(worker, agent.workers())
        processes.kill(worker)
        response = agent.wait(request, 10)
        self.assert_gone("sleep 50.5")
        self.assertEqual(self.get("ran"), b"run\n")
        self.assertEqual([card.status for card in agent.cards(session)], ["failed"])
        if self.assert_honest(response):
            self.assertIn("unknown", server.last.result.lower())
            self.assertIn("after the crash", agent.text(session))

    def test_killed_while_idle(self):
        """B10 b: the next prompt is served from what was saved"""
        server, agent, session = self.start(
            model.run("sleep 0.3"), model.say("one"), model.say("two"))
        request = agent.prompt_start(session, "first question")
        self.assert_running("sleep 0.3")
        worker = agent.worker_of(session, "sleep 0.3")
        agent.wait(request)
        processes.kill(worker)
        time.sleep(0.3)
        self.assertEqual(agent.turn(session, "second question"), "end_turn")
        self.assertEqual(agent.text(session), "onetwo")
        if agent.can_load:
            self.assertIn("first question", "\n".join(server.last.texts()))

    @within(120)
    def test_killed_between_prompts_in_a_loop(self):
        """B10 c: kill and prompt in a tight loop; each prompt is answered once"""
        server = self.model()
        server.respond = lambda request: model.run("sleep 50.75") if request.tools else None
        agent = self.agent()
        session = agent.new_session(self.work)
        for turn in range(12):
            request = agent.prompt_start(session, f"turn {turn}")
            self.assert_running("sleep 50.75", 10)
            worker = agent.worker_of(session, "sleep 50.75")
            if turn % 2:
                agent.cancel(session)
                if worker:
                    processes.kill(worker)
                self.assertEqual(agent.wait(request, 15).get("result"),
                                 {"stopReason": "cancelled"})
                continue
            if worker:
                processes.kill(worker)
            agent.cancel(session)
            response = agent.wait(request, 15)
            if "error" in response:  # the death was noticed before the cancel was read
                self.assert_honest(response)
            else:
                self.assertEqual(response["result"], {"stopReason": "cancelled"})

    def test_killed_while_a_question_is_open(self):
        """B10 d: an allow that was given to the dead worker runs nothing unasked"""
        server = self.model(model.run("echo marker-77 >/dev/null; rm -rf gone"),
                            model.say("done"))
        os.mkdir(self.path("gone"))
        agent = self.agent()
        agent.on_permission = no_answer
        session = agent.new_session(self.work)
        request = agent.prompt_start(session, "delete")
        question = agent.wait_permission()
        for pid in [pid for pid, line in agent.workers().items() if "catalogue" not in line]:
            processes.kill(pid)
        time.sleep(0.3)
        agent.choose(question, "reject_once")
        agent.until(lambda: agent.answered(request) or len(agent.permissions) > 1, 10,
                    "an end or a second question")
        if not agent.answered(request):
            agent.choose(agent.permissions[1], "reject_once")
        self.assert_honest(agent.wait(request))
        self.assertTrue(os.path.isdir(self.path("gone")))
        self.assertTrue(server.requests)

    def test_others_do_not_notice(self):
        """B10 e: SIGSEGV in one session, two others stream"""
        slow = [part for number in range(60)
                for part in (model.delta(f"{number} "), 0.03)] + [model.finish(), model.DONE]
        server = self.model()
        server.when("stream", list(slow), list(slow))
        server.when("victim", model.run("sleep 50.25"), model.say("went on"))
        # A sanitizer would report the signal as a fault of the worker's own.
        agent = self.agent(environment={"ASAN_OPTIONS": "handle_segv=0"})
        streaming = [agent.new_session(self.work) for _ in range(2)]
        victim = agent.new_session(self.work)
        requests = [agent.prompt_start(session, "stream") for session in streaming]
        crash = agent.prompt_start(victim, "victim")
        self.assert_running("sleep 50.25")
        worker = agent.worker_of(victim, "sleep 50.25")
        self.assertIsNotNone(worker)
        processes.kill(worker, signal.SIGSEGV)
        self.assert_honest(agent.wait(crash, 15))
        for session, request in zip(streaming, requests):
            self.assertEqual(agent.wait(request)["result"]["stopReason"], "end_turn")
            self.assertEqual(agent.text(session), "".join(f"{number} " for number in range(60)))


class CommandLine(AcpTest):
    """acp 45: options that never start the server."""

    def run_agent(self, *arguments):
        home = os.path.join(self.folder, "home")
        os.makedirs(home, exist_ok=True)
        environment = {"PATH": os.environ["PATH"], "HOME": home, "TERM": "dumb"}
        return subprocess.run([os.path.join(BUILD, "hermes-acp"), *arguments], env=environment,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=20, text=True)

    def test_version(self):
        """acp 45"""
        done = self.run_agent("--version")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"\d+\.\d+\.\d+\n")

    def test_help(self):
        """acp 45"""
        done = self.run_agent("--help")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for option in ("--rehearsal", "--check", "--setup", "--version"):
            self.assertIn(option, done.stdout)

    def test_check(self):
        """acp 45: without a provider it says so and fails, with one it succeeds"""
        done = self.run_agent("--check")
        self.assertNotEqual(done.returncode, 0)
        self.assertTrue(done.stdout + done.stderr)
        self.model()
        done = self.run_agent("--check")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.configure(model={"provider": "openai-api", "default": "gpt-5.2",
                              "api_mode": "responses", "api_key": "sk-test-1234"})
        done = self.run_agent("--check")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("openai-api", done.stdout + done.stderr)

    def test_unknown_option(self):
        """acp 45: a usage error that names the option"""
        done = self.run_agent("--nonsense")
        self.assertEqual((done.returncode, done.stdout), (64, ""))
        self.assertIn("nonsense", done.stderr)

    def test_setup_without_a_terminal(self):
        """acp 44: no JSON-RPC, and a failure when nobody can answer"""
        done = self.run_agent("--setup")
        self.assertNotEqual(done.returncode, 0)
        self.assertNotIn("jsonrpc", done.stdout)


class Capabilities(AcpTest):
    """acp 29-32, 37-43."""

    def test_markers_are_objects(self):
        """acp 31"""
        agent = self.agent(initialize=False)
        result = agent.initialize()
        capabilities = result["agentCapabilities"]
        self.assertIsInstance(capabilities["loadSession"], bool)
        for name, value in capabilities.get("sessionCapabilities", {}).items():
            self.assertIsInstance(value, dict, name)
        for name in ("image", "audio", "embeddedContext"):
            self.assertIsInstance(capabilities["promptCapabilities"].get(name, False), bool)
        self.assertIs(capabilities["promptCapabilities"]["embeddedContext"], True)
        self.assertEqual(set(result["agentInfo"]) - {"name", "title", "version"}, set())

    def test_authentication_methods(self):
        """acp 37-41"""
        self.model()
        agent = self.agent(initialize=False)
        methods = agent.initialize()["authMethods"]
        self.assertTrue([one for one in methods if one.get("type", "agent") == "agent"])
        self.assertFalse([one for one in methods if one.get("type") in ("terminal", "env_var")])
        for identity in [one["id"] for one in methods] * 2:
            self.assertIsInstance(agent.call("authenticate", {"methodId": identity}), dict)
        self.assert_code(agent.error("authenticate", {"methodId": "nobody"}), -32602)

    def test_terminal_method_only_for_clients_with_it(self):
        """acp 38"""
        agent = self.agent(initialize=False, capabilities={"auth": {"terminal": True}})
        types = [one.get("type", "agent") for one in agent.initialize()["authMethods"]]
        self.assertIn("terminal", types)

    def test_null_capabilities(self):
        """acp 30"""
        agent = self.agent(initialize=False)
        for value in (None, {}):
            self.assertEqual(agent.call("initialize", {"protocolVersion": 1,
                                                       "clientCapabilities": value})
                             ["protocolVersion"], 1)
