"""What happens when a model does not answer, or not to the end: other models, going on."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import anthropic_server
import model_server as model
import processes
from acp import AcpTest
from model_server import ModelServer, failure, say


def bearers(server):
    return [request.headers.get("authorization", "").removeprefix("Bearer ")
            for request in server.requests]


class FallbackTest(AcpTest):
    def server(self, *script):
        server = ModelServer(*script)
        self.servers.append(server)
        return server

    def session(self):
        agent = self.agent()
        return agent, agent.new_session(self.work)


class Fallback(FallbackTest):
    def chain(self, *servers, first=None, **sections):
        """The session's model at `first`, the others in order; each has a key of its own."""
        self.configure(
            model={"provider": "custom", "base_url": first.base_url, "default": "first",
                   "api_key": "key-first"},
            fallback_providers=[{"provider": "custom", "base_url": server.base_url,
                                 "model": f"other-{place}", "api_key": f"key-{place}"}
                                for place, server in enumerate(servers)], **sections)

    def test_kinds(self):
        """auth, billing, rate limit, overload, server: the next model; the next turn begins anew"""
        for status in (401, 402, 429, 503, 500):
            with self.subTest(status=status):
                first, second = self.server(*[failure(status, "down")] * 3), self.server()
                self.chain(second, first=first)
                second.script[:] = [model.run("true"), say("served"), say("unused")]
                agent, session = self.session()
                self.assertEqual(agent.turn(session), "end_turn")
                self.assertEqual(agent.text(session), "served")
                self.assertEqual([request.json["model"] for request in second.requests],
                                 ["other-0", "other-0"])
                self.assertEqual(set(bearers(first)), {"key-first"})
                self.assertEqual(set(bearers(second)), {"key-0"})
                self.assertRegex(agent.thoughts(session), "first.*other-0")
                first.script[:] = []
                asked = len(first.requests)
                self.assertEqual(agent.turn(session, "again"), "end_turn")
                self.assertEqual((len(first.requests), len(second.requests)), (asked + 1, 2))
                self.assertIn("served", first.last.texts("assistant"))
                self.sweep(agent)

    def test_same_model_with_another_key(self):
        """A fallback that differs in its key only is one"""
        first = self.server()
        first.respond = lambda request: failure(402, "no credits") \
            if request.headers["authorization"] == "Bearer key-first" else say("served")
        self.configure(
            model={"provider": "custom", "base_url": first.base_url, "default": "first",
                   "api_key": "key-first"},
            fallback_providers=[{"provider": "custom", "base_url": first.base_url,
                                 "model": "first", "api_key": "key-second"}])
        agent, session = self.session()
        self.assertEqual(agent.turn(session), "end_turn")
        self.assertEqual((agent.text(session), bearers(first)[-1]), ("served", "key-second"))

    def test_level_of_thinking_meanwhile(self):
        """A level that the user chooses in the turn leaves the model that stands in in its place"""
        first, second = self.server(*[failure(402, "no credits")] * 2), self.server()
        self.configure(
            model={"provider": "openrouter", "base_url": first.base_url, "default": "openai/gpt-5.5",
                   "api_key": "key-first"},
            fallback_providers=[{"provider": "custom", "base_url": second.base_url,
                                 "model": "other", "api_key": "key-other"}])
        agent, session = self.session()
        second.script[:] = [model.run("true"), say("served")]

        def respond(_request):
            agent.call("session/set_config_option", {
                "sessionId": session, "configId": "thought_level", "value": "high"})
            second.respond = None
            return model.run("true")
        second.respond = respond
        second.script[:] = [say("served")]
        self.assertEqual(agent.turn(session), "end_turn")
        self.assertEqual((agent.text(session), len(first.requests), len(second.requests)),
                         ("served", 1, 2))

    def test_unreachable(self):
        """a server that is not there"""
        first, second = self.server(), self.server(say("served"))
        self.chain(second, first=first)
        first.close()
        agent, session = self.session()
        self.assertEqual(agent.turn(session), "end_turn")
        self.assertEqual(agent.text(session), "served")

    def test_not_for_the_request(self):
        """400 and a conversation that is too long stay with the model"""
        for status, message in ((400, "bad field"), (413, "too large"),
                                (400, "maximum context length exceeded")):
            first, second = self.server(failure(status, message)), self.server()
            self.chain(second, first=first)
            agent, session = self.session()
            self.assertIn("error", agent.prompt(session, "go"))
            self.assertEqual(second.requests, [])
            self.sweep(agent)

    def test_not_after_text(self):
        """what was read is not said again by another model"""
        first = self.server([model.delta("half an answer"), model.RESET])
        second = self.server(say("other"))
        self.chain(second, first=first)
        agent, session = self.session()
        self.assertIn("error", agent.prompt(session, "go"))
        self.assertEqual(agent.text(session), "half an answer")
        self.assertEqual(second.requests, [])

    def test_all_fail(self):
        """the error names each, in order; one that cannot be used is named, too"""
        first = self.server(*[failure(500, "down one")] * 3)
        second = self.server(failure(404, "no such model"))
        third = self.server(failure(401, "go away"))
        self.chain(second, third, first=first)
        self.configuration["fallback_providers"].insert(
            1, {"provider": "deepseek", "model": "keyless"})
        self.configure()
        agent, session = self.session()
        details = agent.prompt(session, "go")["error"]["data"]["details"]
        places = [details.index(word) for word in ("down one", "no such model", "keyless",
                                                   "DEEPSEEK_API_KEY", "go away")]
        self.assertEqual(places, sorted(places))

    def test_each_once(self):
        """a model that stands in the list twice, or is the session's, is asked once"""
        first, second = self.server(failure(402, "one")), self.server(failure(402, "two"))
        self.chain(second, second, first=first)
        listed = self.configuration["fallback_providers"]
        listed[1] = dict(listed[0])
        listed.append({"provider": "custom", "base_url": first.base_url, "model": "first"})
        self.configure()
        agent, session = self.session()
        self.assertIn("one", str(agent.prompt(session, "go")["error"]))
        self.assertEqual((len(first.requests), len(second.requests)), (1, 1))

    def test_other_dialect(self):
        """the history goes over in the words of the other dialect"""
        first = self.server(model.run("echo made-by-first"), *[failure(402, "paid out")] * 2)
        second = anthropic_server.AnthropicServer(anthropic_server.say("served"))
        self.servers.append(second)
        self.chain(first=first)
        self.configure(fallback_providers=[{
            "provider": "custom", "base_url": second.base_url, "model": "claude-x",
            "api_key": "key-second", "api_mode": "anthropic_messages"}])
        agent, session = self.session()
        self.assertEqual(agent.turn(session), "end_turn")
        self.assertEqual(agent.text(session), "served")
        self.assertIn("made-by-first", json.dumps(second.requests[0].json["messages"]))

    def test_single_one(self):
        """fallback_model, the older form"""
        first, second = self.server(failure(402, "paid out")), self.server(say("served"))
        self.chain(first=first, fallback_model={"provider": "custom", "model": "other",
                                                "base_url": second.base_url})
        agent, session = self.session()
        self.assertEqual(agent.turn(session), "end_turn")
        self.assertEqual(bearers(second), [""])

    def test_after_a_crash(self):
        """a process that dies in a fallback: its successor begins with the session's model"""
        first = self.server(failure(402, "paid out"), say("by the first"))
        second = self.server([model.delta("by the second"), model.HANG])
        self.chain(second, first=first)
        agent, session = self.session()
        request = agent.prompt_start(session, "go")
        agent.wait_text(session, "by the second")
        for pid, line in agent.workers().items():
            if "--session" in line:
                processes.kill(pid)
        self.assertEqual(agent.wait(request)["result"]["stopReason"], "end_turn")
        self.assertEqual(agent.text(session), "by the secondby the first")
        self.assertEqual(first.last.texts("assistant"), ["by the second"])


class Continuation(FallbackTest):
    PARTS = ("One sen", "tence in ", "\n\nthree", " parts.")

    def parts(self, *reasons):
        return [say(text, reason=reason) for text, reason in zip(self.PARTS, reasons)]

    def test_joined(self):
        """one text for the user, each part once in every request, and so in the store"""
        server = self.model(*self.parts("length", "length", "length", "stop"))
        agent, session = self.session()
        self.assertEqual(agent.turn(session), "end_turn")
        whole = "".join(self.PARTS)
        self.assertEqual(agent.text(session), whole)
        chunks = agent.updates(session, "agent_message_chunk")
        self.assertEqual(len({chunk["messageId"] for chunk in chunks}), 1)
        for number, request in enumerate(server.requests):
            self.assertEqual(request.texts("assistant"), [
                text for text in self.PARTS[:number]])
            self.assertEqual(request.messages[-1]["role"], "user")
        self.assertEqual(agent.turn(session, "next"), "end_turn")
        self.assertEqual(server.last.texts("assistant"), list(self.PARTS))
        again = self.reload(agent, session)
        self.assertEqual(again.text(session), whole + "ok")
        self.assertNotIn("cut off", str(again.updates(session, "user_message_chunk")))

    def test_no_further(self):
        """after three times it stays cut"""
        server = self.model(*self.parts("length", "length", "length", "length"))
        agent, session = self.session()
        self.assertEqual(agent.turn(session), "max_tokens")
        self.assertEqual(agent.text(session), "".join(self.PARTS))
        self.assertEqual(len(server.requests), 4)

    def test_full_window(self):
        """the rest does not fit any more: what there is stays, and the turn ends as cut"""
        server = self.model(say("One sen", reason="length"),
                            failure(400, "maximum context length exceeded"))
        agent, session = self.session()
        self.assertEqual(agent.turn(session), "max_tokens")
        self.assertEqual(agent.text(session), "One sen")
        self.assertEqual(len(server.requests), 2)

    def test_crash_in_the_rest(self):
        """a process that dies in the rest of an answer: no piece is lost or said twice"""
        server = self.model(say("One sen", reason="length"),
                            [model.delta("tence in "), model.HANG], say("three parts."))
        agent, session = self.session()
        request = agent.prompt_start(session, "go")
        agent.wait_text(session, "tence in ")
        for pid, line in agent.workers().items():
            if "--session" in line:
                processes.kill(pid)
        self.assertEqual(agent.wait(request)["result"]["stopReason"], "end_turn")
        self.assertEqual(agent.text(session), "One sentence in three parts.")
        self.assertEqual(server.last.texts("assistant"), ["One sen", "tence in "])
        again = self.reload(agent, session)
        self.assertEqual(again.text(session), "One sentence in three parts.")

    def test_cut_within_calls(self):
        """a call that is half there does not run, and is not asked for again"""
        server = self.model([model.delta("I write."),
                             model.call_delta(0, "c1", "terminal", '{"command": "touch x'),
                             model.finish("length"), model.DONE])
        agent, session = self.session()
        self.assertEqual(agent.turn(session), "max_tokens")
        self.assertFalse(os.path.exists(self.path("x")))
        self.assertEqual(len(server.requests), 1)

    def test_thoughts_only(self):
        """the output limit went into thoughts: said so, not asked again"""
        server = self.model([model.chunk({"reasoning_content": "hm"}), model.finish("length"),
                             model.DONE])
        agent, session = self.session()
        self.assertEqual(agent.turn(session), "max_tokens")
        self.assertIn("max_tokens", agent.text(session))
        self.assertEqual(len(server.requests), 1)

    def test_calls_after_it(self):
        """the rest may hold calls; a new answer may be cut three times again"""
        server = self.model(say("I ", reason="length"), model.run("echo did-run", text="look."),
                            *self.parts("length", "length", "length", "stop"))
        agent, session = self.session()
        self.assertEqual(agent.turn(session), "end_turn")
        self.assertEqual(agent.text(session), "I look." + "".join(self.PARTS))
        self.assertIn("did-run", server.requests[2].result)


if __name__ == "__main__":
    import unittest
    unittest.main()
