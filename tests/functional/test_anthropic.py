"""Turns with a server that speaks Anthropic's Messages API."""
import json
import os
import sqlite3
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import anthropic_server as model
from acp import BUILD, AcpTest, within
from anthropic_server import AnthropicServer, answer, redacted, run, say, text, thinking
from model_server import CUT, HANG, RESET, Reply, dump

PIXEL = ("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5E"
         "rkJggg==")


class AnthropicTest(AcpTest):
    def begin(self, *script, effort="", **options):
        """(server, agent, session) with the provider "anthropic"."""
        server = AnthropicServer(*script)
        self.servers.append(server)
        self.configure(model={"provider": "anthropic", "default": "claude-opus-4-6",
                              "base_url": server.base_url, "api_key": "sk-ant-api03-secret"},
                       agent={"reasoning_effort": effort})
        agent = self.agent(**options)
        return server, agent, agent.new_session(self.work)

    def last_content(self, server, place=-1):
        return server.last.messages[place]["content"]


class Turns(AnthropicTest):
    def test_whole_turn(self):
        """Thought, text, two calls at once, their results, a thought again, the answer"""
        first = answer(thinking("Two ", "commands é🌍"), redacted(), text("I ", "look."),
                       run("echo one"), run("echo two"))
        second = answer(thinking("Now I know."), text("Done ", "🌍"))
        server, agent, session = self.begin(first, second, effort="high")
        self.assertEqual(agent.turn(session), "end_turn")
        self.assertEqual(agent.text(session), "I look.Done 🌍")
        self.assertEqual(agent.thoughts(session), "Two commands é🌍Now I know.")
        self.assertEqual([card.status for card in agent.cards(session)], ["completed"] * 2)
        request = server.requests[0]
        self.assertEqual(request.headers["x-api-key"], "sk-ant-api03-secret")
        self.assertEqual(request.json["thinking"]["type"], "adaptive")
        self.assertEqual(request.json["output_config"], {"effort": "high"})
        self.assertEqual(request.json["max_tokens"], 128000)
        results = self.last_content(server)
        self.assertEqual([block["type"] for block in results], ["tool_result"] * 2)
        self.assertIn("one", results[0]["content"][0]["text"])
        self.assertIn("two", results[1]["content"][0]["text"])
        blocks = self.last_content(server, -2)
        self.assertEqual([block["type"] for block in blocks],
                         ["thinking", "redacted_thinking", "text", "tool_use", "tool_use"])
        agent.until(lambda: agent.updates(session, "usage_update"), 3, "usage_update")
        self.assertEqual(agent.updates(session, "usage_update")[-1]["used"], 282)
        self.sweep(agent)

    def test_load_and_next_turn(self):
        """Thinking survives the store; each request begins like the one before"""
        server, agent, session = self.begin(
            answer(thinking("a"), text("One."), thinking("b"), text("Two."), run("echo x")),
            answer(thinking("c"), text("Three.")), say("four"), say("five"), effort="high")
        self.assertEqual(agent.turn(session), "end_turn")
        self.assertEqual(agent.text(session), "One.\n\nTwo.Three.")
        again = self.reload(agent, session)
        self.assertEqual(again.text(session), "One.\n\nTwo.Three.")
        self.assertEqual(again.turn(session, "more"), "end_turn")
        self.assertEqual(again.turn(session, "and more"), "end_turn")
        self.assertEqual([block["type"] for block in server.last.messages[1]["content"]],
                         ["thinking", "text", "thinking", "text", "tool_use"])

        def bare(value):
            if isinstance(value, dict):
                return {key: bare(one) for key, one in value.items() if key != "cache_control"}
            return list(map(bare, value)) if isinstance(value, list) else value
        for before, after in zip(server.requests, server.requests[1:]):
            self.assertEqual(bare(after.messages)[:len(before.messages)], bare(before.messages))
            self.assertEqual(after.json["tools"], before.json["tools"])
            self.assertEqual(after.json["system"], before.json["system"])
            # What was marked last is marked again: the cache is found there.
            self.assertIn("cache_control", after.messages[len(before.messages) - 1]["content"][-1])
        self.sweep(again)

    def test_counts(self):
        """Input without what the cache held, which is counted apart"""
        _server, agent, session = self.begin(say("x"))
        self.assertEqual(agent.turn(session), "end_turn")
        self.sweep(agent)
        with sqlite3.connect(os.path.join(self.folder, "home", ".hermes", "state.db")) as database:
            row = database.execute("select input_tokens, output_tokens, cache_read_tokens, "
                                   "cache_write_tokens from sessions where id = ?",
                                   (session,)).fetchone()
        self.assertEqual(row, (10, 42, 200, 30))

    def test_image(self):
        server, agent, session = self.begin(say("a dot"))
        response = agent.request("session/prompt", {"sessionId": session, "prompt": [
            {"type": "text", "text": "look"},
            {"type": "image", "mimeType": "image/png", "data": PIXEL}]})
        self.assertEqual(response["result"]["stopReason"], "end_turn")
        image = [block for block in self.last_content(server) if block["type"] == "image"][0]
        self.assertEqual(image["source"], {"type": "base64", "media_type": "image/png",
                                           "data": PIXEL})

    def test_one_byte_at_a_time(self):
        body = b"".join(answer(thinking("é"), text("🌍 x"), run("echo naïve 🌍 >f")))
        _server, agent, session = self.begin([bytes([byte]) for byte in body], say("ok"))
        self.assertEqual(agent.turn(session), "end_turn")
        self.assertEqual(agent.text(session), "🌍 xok")
        self.assertEqual(self.get("f"), "naïve 🌍\n".encode())

    def test_custom_by_address(self):
        """A server whose address ends in /anthropic, with another model's thinking behind it"""
        server, agent, session = self.begin(answer(thinking("a"), text("x")), say("y"))
        self.assertEqual(agent.turn(session), "end_turn")
        self.configure(model={"provider": "custom", "default": "other", "api_key": "k-1234",
                              "base_url": server.base_url})
        again = self.reload(agent, session)
        self.assertEqual(again.turn(session, "more"), "end_turn")
        self.assertEqual([block["type"] for block in server.last.messages[1]["content"]], ["text"])

    def test_not_a_stream(self):
        body = dump({"type": "message", "model": "claude-fake", "role": "assistant", "content": [
            {"type": "text", "text": "whole"}], "stop_reason": "end_turn", "usage": model.USAGE})
        _server, agent, session = self.begin(Reply([body], framing="length",
                                                   content_type="application/json"))
        self.assertEqual(agent.turn(session), "end_turn")
        self.assertEqual(agent.text(session), "whole")


class Ends(AnthropicTest):
    def test_length(self):
        """gone on with three times; no request ends with an answer of the model's"""
        server, agent, session = self.begin(*[say("cut", stop="max_tokens")] * 4, say("more"))
        self.assertEqual(agent.turn(session), "max_tokens")
        self.assertEqual(agent.text(session), "cut" * 4)
        self.assertEqual(agent.turn(session, "go on"), "end_turn")
        self.assertEqual([len(request.messages) for request in server.requests], [1, 3, 5, 7, 9])
        self.assertEqual({request.messages[-1]["role"] for request in server.requests}, {"user"})

    def test_no_call_of_a_cut_answer(self):
        server, agent, session = self.begin(answer(text("x"), run("touch ran"), stop="max_tokens"))
        self.assertEqual(agent.turn(session), "max_tokens")
        self.assertFalse(os.path.exists(self.path("ran")))
        self.assertEqual(agent.turn(session, "go on"), "end_turn")
        self.assertEqual(server.errors, [])

    def test_window(self):
        _server, agent, session = self.begin(say("x", stop="model_context_window_exceeded"))
        self.assertEqual(agent.turn(session), "max_tokens")
        self.assertIn("context window", agent.text(session))

    def test_refusal(self):
        _server, agent, session = self.begin(say("No.", stop="refusal"))
        self.assertEqual(agent.turn(session), "refusal")

    def test_no_message_stop(self):
        _server, agent, session = self.begin(say("fine")[:-1])
        self.assertEqual(agent.turn(session), "end_turn")
        self.assertEqual(agent.text(session), "fine")

    @within(10)
    def test_cancel(self):
        """In the middle of thinking, of text, of arguments; the history stays valid"""
        parts = answer(thinking("hmm"), text("I ", "write"), run("touch ran"))
        script = [[*parts[:count], HANG] for count in (4, 10, 14)]
        server, agent, session = self.begin(*script)
        for number, _reply in enumerate(script):
            prompt = agent.prompt_start(session, "go")
            server.wait_requests(number + 1)
            agent.until(lambda: agent.thoughts(session).count("hmm") == number + 1, 5, "a thought")
            agent.cancel(session)
            self.assertEqual(agent.wait(prompt)["result"]["stopReason"], "cancelled")
        self.assertEqual(agent.turn(session, "again"), "end_turn")
        self.assertFalse(os.path.exists(self.path("ran")))
        self.assertEqual(server.errors, [])
        self.sweep(agent)

    def test_cancel_in_a_call(self):
        server, agent, session = self.begin(answer(thinking("t"), run("sleep 30"),
                                                   run("sleep 31")))
        prompt = agent.prompt_start(session, "go")
        agent.wait_card(session, status="in_progress")
        agent.cancel(session)
        self.assertEqual(agent.wait(prompt)["result"]["stopReason"], "cancelled")
        self.assertEqual(agent.turn(session, "again"), "end_turn")
        self.assertEqual([block["type"] for block in self.last_content(server)],
                         ["tool_result", "tool_result", "text"])
        self.sweep(agent)


class Failures(AnthropicTest):
    """Every reply is repeated as often as it is tried; after that the session goes on."""

    def assert_error(self, reply, words, requests, code=None):
        server, agent, session = self.begin(*[reply] * requests)
        response = agent.prompt(session, "go", 30)
        self.assertIn("error", response)
        self.assertIn(words, str(response["error"]))
        self.assertNotIn("sk-ant-api03-secret", str(response["error"]))
        if code is not None:
            self.assert_code(response["error"], code)
        self.assertEqual(len(server.requests), requests)
        self.assertEqual(agent.turn(session, "again"), "end_turn")
        self.sweep(agent)

    def test_statuses(self):
        for status, kind, words, requests, code in (
                (400, "invalid_request_error", "max_tokens: too large", 1, None),
                (401, "authentication_error", "invalid x-api-key", 1, -32000),
                (403, "permission_error", "no access", 1, -32000),
                (404, "not_found_error", "model: claude-x", 1, None),
                (413, "request_too_large", "exceeds the maximum size", 1, None),
                (429, "rate_limit_error", "your rate limit", 3, None),
                (500, "api_error", "Internal server error", 3, None),
                (529, "overloaded_error", "Overloaded", 3, None)):
            with self.subTest(status):
                self.assert_error(model.failure(status, kind, words), words, requests, code)

    def test_retry_after(self):
        server, agent, session = self.begin(
            model.failure(429, "rate_limit_error", "slow", {"retry-after": "1"}), say("fine"))
        self.assertEqual(agent.turn(session), "end_turn")
        self.assertEqual(agent.text(session), "fine")
        self.assertEqual(len(server.requests), 2)

    def test_error_event(self):
        broken = [model.begin(), model.event("error", error={
            "type": "overloaded_error", "message": "Overloaded"})]
        server, agent, session = self.begin(broken, say("fine"))
        self.assertEqual(agent.turn(session), "end_turn")
        self.assertEqual(agent.text(session), "fine")
        self.assertEqual(len(server.requests), 2)

    def test_error_after_text_and_call(self):
        """Nothing of it runs, and the text that was shown is kept"""
        parts = answer(text("Par"), run("touch ran"))[:-2]
        server, agent, session = self.begin([*parts, model.event("error", error={
            "type": "api_error", "message": "broke off"})])
        response = agent.prompt(session, "go")
        self.assertIn("broke off", str(response["error"]))
        self.assertFalse(os.path.exists(self.path("ran")))
        self.assertEqual(agent.turn(session, "again"), "end_turn")
        self.assertEqual(self.last_content(server, 1)[0]["text"], "Par")

    def test_cut(self):
        """Before any text: tried again; in a call: not run"""
        parts = answer(run("touch ran"))
        for tail in (CUT, RESET):
            for count in (1, 4, 6):
                with self.subTest(tail=tail, count=count):
                    server, agent, session = self.begin([*parts[:count], tail], say("fine"))
                    self.assertEqual(agent.turn(session), "end_turn")
                    self.assertEqual(len(server.requests), 2)
                    self.assertFalse(os.path.exists(self.path("ran")))
                    self.sweep(agent)

    def test_ended_without_reason(self):
        """The connection ends as it should, but the answer does not"""
        _server, agent, session = self.begin(answer(text("Par"))[:-2])
        response = agent.prompt(session, "go")
        self.assertIn("without a stop reason", str(response["error"]))

    def test_changed_thinking(self):
        """Thinking that is refused is left out once and for all; the session goes on"""
        server, agent, session = self.begin(answer(thinking("a"), text("x"), run("echo 1")),
                                            say("y"), effort="high")
        server.allow_errors = True
        model.issued.clear()
        self.assertEqual(agent.turn(session), "end_turn")
        self.assertEqual(agent.text(session), "xy")
        self.assertEqual(len(server.others), 1)
        self.assertEqual([block["type"] for block in server.last.messages[1]["content"]],
                         ["text", "tool_use"])
        self.assertEqual(agent.turn(session, "more"), "end_turn")
        self.assertEqual(len(server.others), 1)

    def test_other_dialect(self):
        """A server that answers in the form of Chat Completions"""
        body = b'data: {"choices":[{"index":0,"delta":{"content":"x"}}]}\n\ndata: [DONE]\n\n'
        self.assert_error([body], "no answer that makes sense", 1)


class Terminal(AnthropicTest):
    def test_check(self):
        """--check knows the provider"""
        _server, agent, _session = self.begin()
        self.sweep(agent)
        environment = {"PATH": os.environ["PATH"], "HOME": os.path.join(self.folder, "home")}
        done = subprocess.run([os.path.join(BUILD, "hermes-acp"), "--check"], env=environment,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=20, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("anthropic (model claude-opus-4-6", done.stdout)
        self.assertNotIn("sk-ant-api03-secret", done.stdout + done.stderr)

    def test_auth_methods(self):
        """The sign-in that is offered names the provider"""
        self.begin()
        methods = self.agent(initialize=False).initialize()["authMethods"]
        self.assertIn("anthropic", json.dumps(methods).lower())
