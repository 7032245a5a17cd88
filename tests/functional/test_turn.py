"""Turns: cancel, queue, independence of sessions, stop reasons, the history that a provider gets."""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import model_server as model
from acp import AcpTest, no_answer, reject_once, within


class Cancel(AcpTest):
    """B11: Stop works in every phase, and the next prompt runs."""

    def cancel_then_prompt(self, server, agent, session, request):
        before = agent.mark()
        started = time.monotonic()
        agent.cancel(session)
        response = agent.wait(request, 5)
        self.assertEqual(response.get("result"), {"stopReason": "cancelled"})
        self.assertLess(time.monotonic() - started, 2.0)
        for card in agent.cards(session, before):
            self.assertIn(card.status, ("failed", "completed"))
        server.script[:] = [model.say("next answer")]
        server.rules.clear()
        self.assertEqual(agent.turn(session, "again"), "end_turn")
        self.assertTrue(agent.text(session).endswith("next answer"))

    def test_before_the_first_token(self):
        """B11 a"""
        server, agent, session = self.start([model.HANG])
        request = agent.prompt_start(session, "go")
        hanging = server.wait_requests(1)
        self.cancel_then_prompt(server, agent, session, request)
        self.assertTrue(hanging.closed.wait(3), "the request to the model goes on")

    def test_before_the_headers(self):
        """B11 a: the server accepts the request and says nothing at all"""
        server, agent, session = self.start(model.Reply([model.HANG], framing="raw"))
        request = agent.prompt_start(session, "go")
        server.wait_requests(1)
        self.cancel_then_prompt(server, agent, session, request)

    def test_while_text_streams(self):
        """B11 b: the text that was shown stays in the history"""
        server, agent, session = self.start([model.delta("half a sen"), model.HANG])
        request = agent.prompt_start(session, "go")
        agent.wait_text(session, "half a sen")
        self.cancel_then_prompt(server, agent, session, request)
        self.assertIn("half a sen", "\n".join(server.last.texts("assistant")))

    def test_while_a_command_runs(self):
        """B11 c"""
        server, agent, session = self.start(model.run("sleep 51.5"))
        request = agent.prompt_start(session, "go")
        self.assert_running("sleep 51.5")
        self.cancel_then_prompt(server, agent, session, request)
        self.assert_gone("sleep 51.5")

    def test_between_two_model_calls(self):
        """B11 d"""
        server, agent, session = self.start(model.run("true"), [model.HANG])
        request = agent.prompt_start(session, "go")
        server.wait_requests(2)
        self.cancel_then_prompt(server, agent, session, request)

    def test_while_it_waits_to_try_again(self):
        """B11: the model fails, the agent waits, Stop does not wait"""
        server, agent, session = self.start(*[model.failure(500)] * 20,
                                            environment={"HERMES_ACP_RETRY_SCALE": "20"})
        request = agent.prompt_start(session, "go")
        server.wait_requests(1)
        time.sleep(0.3)
        self.cancel_then_prompt(server, agent, session, request)

    def test_at_every_moment(self):
        """B11 e: cancel at steps through a short turn; it ends as cancelled or as end_turn"""
        server, agent, session = self.start()
        for step in range(30):
            server.script[:] = [model.run("echo a"), [model.delta("text"), 0.02, model.finish(),
                                                      model.DONE]]
            request = agent.prompt_start(session, f"turn {step}")
            time.sleep(step * 0.004)
            agent.cancel(session)
            response = agent.wait(request, 5)
            self.assertIn(response.get("result", {}).get("stopReason"), ("cancelled", "end_turn"))
        server.script[:] = []
        self.assertEqual(agent.turn(session), "end_turn")

    def test_twice_idle_and_unknown(self):
        """acp 100, R7: no effect and no error"""
        server, agent, session = self.start([model.HANG])
        agent.cancel(session)
        agent.cancel("nobody")
        request = agent.prompt_start(session, "go")
        server.wait_requests(1)
        for _ in range(3):
            agent.cancel(session)
        self.assertEqual(agent.wait(request)["result"]["stopReason"], "cancelled")
        agent.cancel(session)
        self.assertEqual(agent.turn(session), "end_turn")

    def test_cancel_request_of_the_prompt(self):
        """acp 104: $/cancel_request ends a prompt with exactly one answer"""
        server, agent, session = self.start([model.HANG])
        request = agent.prompt_start(session, "go")
        server.wait_requests(1)
        agent.notify("$/cancel_request", {"requestId": request})
        response = agent.wait(request, 5)
        self.assertTrue(response.get("result") == {"stopReason": "cancelled"}
                        or response.get("error", {}).get("code") == -32800, response)
        self.assertEqual(agent.turn(session), "end_turn")

    def test_model_fails_then_works(self):
        """B11, acp 89: an error ends the turn and nothing more"""
        _server, agent, session = self.start(*[model.failure(400, "bad thing 17")] * 3)
        error = agent.prompt(session, "go")["error"]
        self.assertIn("bad thing 17", str(error))
        self.model_script_empty(session, agent)

    def model_script_empty(self, session, agent):
        self.servers[0].script[:] = []
        self.assertEqual(agent.turn(session), "end_turn")

    def test_command_that_ignores_terminate(self):
        """acp 98: the answer does not wait for a stubborn command"""
        _server, agent, session = self.start(
            model.run("trap '' TERM INT; while :; do sleep 51.25; done"))
        request = agent.prompt_start(session, "go")
        self.assert_running("sleep 51.25")
        started = time.monotonic()
        agent.cancel(session)
        agent.wait(request)
        self.assertLess(time.monotonic() - started, 1.0)
        self.assert_gone("sleep 51.25")


class Queue(AcpTest):
    """B13: a second prompt while one runs."""

    def test_second_prompt_waits(self):
        """B13: never two requests at once, history in order"""
        server, agent, session = self.start([model.delta("first"), 0.7, model.finish(), model.DONE],
                                            model.say("second"))
        one = agent.prompt_start(session, "one")
        agent.wait_text(session, "first")
        two = agent.prompt_start(session, "two")
        self.assertEqual(agent.wait(one)["result"]["stopReason"], "end_turn")
        self.assertEqual(agent.wait(two)["result"]["stopReason"], "end_turn")
        self.assertLess(agent.response_time(one), agent.response_time(two))
        self.assertEqual(server.most_active, 1)
        self.assertEqual([message["role"] for message in server.last.messages
                          if message["role"] != "system"], ["user", "assistant", "user"])
        self.assertIn("two", server.last.last_user)
        self.assertEqual(agent.text(session), "firstsecond")

    def test_cancel_stops_the_queue_too(self):
        """B13: cancel answers running and waiting prompts with cancelled"""
        server, agent, session = self.start([model.delta("x"), model.HANG])
        requests = [agent.prompt_start(session, "one")]
        agent.wait_text(session, "x")
        requests += [agent.prompt_start(session, f"more {number}") for number in range(5)]
        time.sleep(0.2)
        agent.cancel(session)
        for request in requests:
            self.assertEqual(agent.wait(request, 5)["result"]["stopReason"], "cancelled")
        time.sleep(0.3)
        self.assertEqual(len(server.requests), 1)

    def test_queue_after_a_failed_turn(self):
        """B13: after a failure the queue goes on"""
        server, agent, session = self.start()
        server.when("two", model.say("second"))  # first: this prompt may stand behind the other
        server.when("one", *[model.Reply([0.4, b'{"error":{"message":"no"}}'], 400)] * 5)
        one = agent.prompt_start(session, "one")
        two = agent.prompt_start(session, "two")
        self.assertIn("error", agent.wait(one))
        self.assertEqual(agent.wait(two)["result"]["stopReason"], "end_turn")

    def test_full_queue(self):
        """B13: at most 16 wait; the next one is refused with an error"""
        server, agent, session = self.start([model.HANG])
        first = agent.prompt_start(session, "one")
        server.wait_requests(1)
        waiting = [agent.prompt_start(session, f"more {number}") for number in range(16)]
        refused = agent.prompt(session, "too many", 5)
        self.assertIn("error", refused)
        agent.cancel(session)
        for request in [first, *waiting]:
            self.assertEqual(agent.wait(request, 5)["result"]["stopReason"], "cancelled")

    def test_load_during_a_turn(self):
        """B13: load during a turn is refused or waits; the turn is not disturbed"""
        _server, agent, session = self.start([model.delta("a"), 0.7, model.delta("b"),
                                              model.finish(), model.DONE])
        if not agent.can_load:
            self.skipTest("the agent does not advertise loadSession")
        request = agent.prompt_start(session, "go")
        agent.wait_text(session, "a")
        load = agent.start("session/load", {"sessionId": session, "cwd": self.work,
                                            "mcpServers": []})
        self.assertEqual(agent.wait(request)["result"]["stopReason"], "end_turn")
        agent.wait(load, 5)
        self.assertEqual(agent.turn(session), "end_turn")


class Independence(AcpTest):
    """B14: one waiting session holds up no other."""

    @within(90)
    def test_sixteen_waiting_sessions(self):
        """B14: permission, stream and command in 16 sessions; everything else within a second"""
        server = self.model()
        server.when("ask", *[model.run("rm -rf keep") for _ in range(16)])
        server.when("stream", *[[part for number in range(100)
                                 for part in (model.delta("x"), 0.1)] for _ in range(16)])
        server.when("sleep", *[model.run("sleep 20.125") for _ in range(16)])
        agent = self.agent()
        agent.on_permission = no_answer
        sessions = [agent.new_session(self.work) for _ in range(16)]
        for number, session in enumerate(sessions):
            agent.prompt_start(session, ("ask", "stream", "sleep")[number % 3])
        agent.wait_permission(6)
        self.assert_running("sleep 20.125")
        started = time.monotonic()
        fresh = agent.new_session(self.work)
        agent.ping()
        self.assertEqual(agent.turn(fresh, "hello"), "end_turn")
        if agent.can_load:
            agent.load(fresh, self.work)
        self.assertLess(time.monotonic() - started, 3.0)

    def test_no_cross_talk(self):
        """acp 58: two sessions at once, each gets its own text"""
        server = self.model()
        server.when("alpha", [part for _ in range(30)
                              for part in (model.delta("A"), 0.01)] + [model.finish(), model.DONE])
        server.when("beta", [part for _ in range(30)
                             for part in (model.delta("B"), 0.01)] + [model.finish(), model.DONE])
        agent = self.agent()
        one, two = agent.new_session(self.work), agent.new_session(self.work)
        first, second = agent.prompt_start(one, "alpha"), agent.prompt_start(two, "beta")
        agent.wait(first)
        agent.wait(second)
        self.assertEqual((agent.text(one), agent.text(two)), ("A" * 30, "B" * 30))


class StopReasons(AcpTest):
    """B15: the result that the client sees."""

    def test_length(self):
        """B15 a"""
        _server, agent, session = self.start(*[model.say("cut", reason="length")] * 8)
        self.assertEqual(agent.turn(session), "max_tokens")
        self.assertIn("cut", agent.text(session))

    def test_iteration_cap(self):
        """B15 b"""
        self.configure(agent={"max_turns": 5})
        server = self.model(default=None)
        server.respond = lambda request: model.run("true") if request.tools else None
        agent = self.agent()
        session = agent.new_session(self.work)
        self.assertEqual(agent.turn(session), "max_turn_requests")
        self.assertTrue(agent.text(session).strip())
        self.assertLessEqual(len(server.requests), 7)

    def test_content_filter(self):
        """B15 c"""
        _server, agent, session = self.start(*[model.say("so far", reason="content_filter")] * 3)
        self.assertEqual(agent.turn(session), "refusal")

    def test_refusal_field(self):
        """B15 e: the text of a refusal is shown"""
        _server, agent, session = self.start(
            *[[model.chunk({"refusal": "I will not"}), model.finish(), model.DONE]] * 3)
        self.assertEqual(agent.turn(session), "refusal")
        self.assertIn("I will not", agent.text(session))

    def test_unauthorized(self):
        """B15 d, R32: an error with the provider's text and without the key"""
        key = "sk-canary-0123456789abcdef0123456789"
        server = self.model(*[model.failure(401, f"Incorrect API key provided: {key}")] * 4)
        self.configure(model={**self.configuration["model"], "api_key": key})
        agent = self.agent()
        session = agent.new_session(self.work)
        error = agent.prompt(session, "go")["error"]
        self.assertIn("Incorrect API key", str(error))
        self.assertIn(error["code"], (-32000, -32603))
        self.assertEqual(server.last.headers.get("authorization"), f"Bearer {key}")
        self.assertNotIn(key, str(agent.events))
        log = os.path.join(agent.hermes_home, "logs", "hermes-acp.log")
        if os.path.exists(log):
            with open(log, errors="replace") as file:
                self.assertNotIn(key, file.read())


class History(AcpTest):
    """B51, B53: a history that the provider accepts."""

    def test_cancel_in_the_first_of_two_calls(self):
        """B51: every call has one result, in order, also after load"""
        server, agent, session = self.start(model.calls(
            ("a1", "terminal", {"command": "sleep 52.5"}),
            ("a2", "terminal", {"command": "echo two"}), text="before"))
        request = agent.prompt_start(session, "go")
        self.assert_running("sleep 52.5")
        agent.cancel(session)
        agent.wait(request)
        server.script[:] = [model.say("ok")]
        self.assertEqual(agent.turn(session, "next"), "end_turn")
        self.assertIn("before", "\n".join(server.last.texts("assistant")), server.last.messages)
        again = self.reload(agent, session)
        if again:
            self.assertEqual(again.turn(session, "third"), "end_turn")

    def test_denied_then_cancelled(self):
        """B51: a denied permission and a cancel"""
        server, agent, session = self.start(
            model.calls(("d1", "terminal", {"command": "rm -rf x"}),
                        ("d2", "terminal", {"command": "rm -rf y"})))
        agent.on_permission = lambda one, message: \
            reject_once(one, message) if len(one.permissions) == 1 else None
        request = agent.prompt_start(session, "go")
        agent.wait_permission(1)
        time.sleep(0.3)
        agent.cancel(session)
        self.assertIn("result", agent.wait(request, 5))
        server.script[:] = []
        self.assertEqual(agent.turn(session, "next"), "end_turn")

    def test_model_error_after_tool_calls(self):
        """B51: the model fails right after the results"""
        server, agent, session = self.start(model.run("echo hi"), *[model.failure(400, "no")] * 3)
        self.assertIn("error", agent.prompt(session, "go"))
        server.script[:] = []
        self.assertEqual(agent.turn(session, "next"), "end_turn")

    def test_reasoning_is_thought_and_goes_back(self):
        """B53: reasoning_content is shown as a thought, stored, and sent back with the call"""
        server, agent, session = self.start(
            [model.chunk({"reasoning_content": "think "}), model.chunk({"reasoning_content": "hard"}),
             *model.run("echo hi")], model.say("done"))
        self.assertEqual(agent.turn(session), "end_turn")
        self.assertEqual(agent.thoughts(session), "think hard")
        self.assertEqual(agent.text(session), "done")
        ids = {update["messageId"] for update in agent.updates(session, "agent_thought_chunk")}
        texts = {update["messageId"] for update in agent.updates(session, "agent_message_chunk")}
        self.assertFalse(ids & texts)
        self.assertNotIn("think hard", "\n".join(server.last.texts("assistant")))

    def test_reasoning_details_in_pieces(self):
        """B53: reasoning_details come back as they were"""
        detail = {"type": "reasoning.text", "text": "t", "signature": "s", "index": 0}
        server, agent, session = self.start(
            [model.chunk({"reasoning": "t", "reasoning_details": [detail]}),
             *model.run("echo hi")], model.say("done"))
        self.assertEqual(agent.turn(session), "end_turn")
        self.assertEqual(agent.thoughts(session), "t")
        self.assertIn("terminal", server.last.body.decode())

    def test_think_tags(self):
        """B53: <think> split over chunks is a thought, not text"""
        _server, agent, session = self.start(
            model.say("<thi", "nk>inner", " voice</th", "ink>\n\nanswer"))
        self.assertEqual(agent.turn(session), "end_turn")
        self.assertEqual(agent.text(session).strip(), "answer")
        self.assertIn("inner voice", agent.thoughts(session))

    def test_reasoning_only(self):
        """B53: an answer of reasoning only is not an empty end_turn"""
        only = [model.chunk({"reasoning_content": "hm"}), model.finish(), model.DONE]
        _server, agent, session = self.start(*[only] * 8)
        response = agent.prompt(session, "go")
        self.assertTrue("error" in response or agent.text(session).strip(), response)
