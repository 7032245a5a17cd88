"""A model that is talked to in the dialect of OpenAI's Responses (api_mode codex_responses)."""
import base64
import json
import os
import sqlite3
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import responses_server as responses
from acp import AcpTest, within
from model_server import CUT, DONE, HANG, RESET, Reply, failure
from responses_server import Answer

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"\0" * 40).decode()


class ResponsesTest(AcpTest):
    def model(self, *script, model="gpt-5.2", **options):
        server = responses.ResponsesServer(*script)
        self.servers.append(server)
        self.configure(model={"provider": "custom", "base_url": server.base_url,
                              "default": model, "api_mode": "responses", **options},
                       terminal={"env_passthrough": ["ACP_TEST_TAG"]})
        return server

    def message_rows(self):
        path = os.path.join(self.folder, "home", ".hermes", "state.db")
        with sqlite3.connect(path) as database:
            database.row_factory = sqlite3.Row
            return database.execute("SELECT * FROM messages ORDER BY id").fetchall()


class Turns(ResponsesTest):
    def test_whole_turn(self):
        """thoughts, text, two calls at once, their outputs, an answer; then a next turn"""
        self.put("a.txt", "alpha\n")
        self.put("b.txt", "beta\n")
        server, agent, session = self.start(
            Answer().thought("**Reading**", "**Both**", sealed="gAAA1")
            .text("I ", "look.", phase="commentary")
            .call("call_a", "read_file", path="a.txt")
            .call("call_b", "read_file", path="b.txt").end(),
            Answer().thought(sealed="gAAA2").text("alpha, ", "beta", phase="final_answer").end())
        server.sealed = {"gAAA1", "gAAA2"}
        self.assertEqual(agent.turn(session, "read both"), "end_turn")
        self.assertEqual(agent.thoughts(session), "**Reading**\n\n**Both**")
        self.assertEqual(agent.text(session), "I look.alpha, beta")
        self.assertEqual([card.status for card in agent.cards(session)], ["completed"] * 2)
        first, second = server.requests
        self.assertEqual(first.kinds(), ["message"])
        self.assertEqual(first.json["include"], ["reasoning.encrypted_content"])
        self.assertEqual(first.json["reasoning"], {"summary": "auto"})
        self.assertEqual(first.json["prompt_cache_key"], session)
        self.assertNotIn("max_output_tokens", first.json)
        self.assertTrue(first.json["instructions"])
        self.assertIn("terminal", first.tools)
        self.assertEqual(second.kinds(), ["message", "reasoning", "message", "function_call",
                                          "function_call", "function_call_output",
                                          "function_call_output"])
        self.assertIn("alpha", second.outputs["call_a"])
        self.assertIn("beta", second.outputs["call_b"])
        self.assertEqual(second.input[2]["phase"], "commentary")
        self.assertEqual(agent.turn(session, "next"), "end_turn")
        third = server.requests[2]
        # What was sent once is sent again to the byte: the server's cache depends on it.
        self.assertEqual(json.dumps(third.input[:len(second.input)]), json.dumps(second.input))
        for member in ("instructions", "tools"):
            self.assertEqual(json.dumps(third.json[member]), json.dumps(first.json[member]))
        self.assertEqual(third.kinds()[-3:], ["reasoning", "message", "message"])
        self.assertEqual(third.input[-3]["encrypted_content"], "gAAA2")

    def test_loaded_session(self):
        """what a successor loads is sent as before, sealed thoughts included"""
        server, agent, session = self.start(
            Answer().thought("**Hm**", sealed="gAAA1").call("call_a", "todo").end(),
            Answer().text("done", phase="final_answer").end())
        server.sealed = {"gAAA1"}
        self.assertEqual(agent.turn(session, "go"), "end_turn")
        before = server.last.input
        rows = self.message_rows()
        stored = json.loads(rows[1]["codex_reasoning_items"])
        self.assertEqual(stored[0]["_issuer_kind"], "other:" + server.base_url)
        self.assertEqual(json.loads(rows[3]["codex_message_items"])[0]["phase"], "final_answer")
        again = self.reload(agent, session)
        self.assertEqual(again.thoughts(session), "**Hm**")
        self.assertEqual(again.turn(session, "more"), "end_turn")
        self.assertEqual(json.dumps(server.last.input[:len(before)]), json.dumps(before))
        self.assertEqual(server.last.json["prompt_cache_key"], session)

    def test_foreign_thoughts(self):
        """thoughts that another server sealed are left out"""
        first, agent, session = self.start(
            Answer().thought("**Hm**", sealed="gAAA1").text("one").end())
        self.assertEqual(agent.turn(session), "end_turn")
        self.sweep(agent)
        second = self.model()
        again = self.agent()
        again.load(session, self.work)
        self.assertEqual(again.turn(session, "more"), "end_turn")
        self.assertEqual(second.last.kinds(), ["message"] * 3)
        self.assertEqual(second.last.texts("assistant"), ["one"])
        self.assertFalse(first.errors)

    def test_thoughts_that_are_refused(self):
        """a server that cannot open its own thoughts any more is asked without them, for good"""
        server, agent, session = self.start(
            Answer().thought("**Hm**", sealed="gAAA1").text("one").end())
        server.sealed = {"gAAA1"}
        self.assertEqual(agent.turn(session), "end_turn")
        server.sealed = set()
        self.assertEqual(agent.turn(session, "two"), "end_turn")
        self.assertEqual(agent.turn(session, "three"), "end_turn")
        self.assertEqual(len(server.requests), 3)
        self.assertNotIn("reasoning", server.last.kinds())
        self.assertEqual(agent.text(session), "oneokok")

    def test_switched_dialect(self):
        """the same session in Chat Completions, and back"""
        import model_server
        server, agent, session = self.start(
            Answer().thought("**Hm**", sealed="gAAA1").text("I", phase="commentary")
            .call("call_a", "todo").end(), responses.say("done"))
        server.sealed = {"gAAA1"}
        self.assertEqual(agent.turn(session), "end_turn")
        self.sweep(agent)
        chat = model_server.ModelServer(model_server.call("todo"), model_server.say("chat"))
        self.servers.append(chat)
        self.configure(model={"provider": "custom", "base_url": chat.base_url,
                              "default": "fake"})
        again = self.agent()
        again.load(session, self.work)
        self.assertEqual(again.turn(session, "more"), "end_turn")
        self.assertEqual({key for message in chat.last.messages for key in message},
                         {"role", "content", "tool_calls", "tool_call_id", "name"})
        self.sweep(again)
        self.configure(model={"provider": "custom", "base_url": server.base_url,
                              "default": "gpt-5.2", "api_mode": "codex_responses"})
        last = self.agent()
        last.load(session, self.work)
        self.assertEqual(last.turn(session, "back"), "end_turn")
        self.assertEqual(server.last.kinds().count("function_call_output"), 2)

    def test_image(self):
        """a picture goes out as input_image; a model that takes none is asked without"""
        refusal = failure(400, "This model does not support image inputs")
        server, agent, session = self.start(responses.say("seen"), refusal,
                                            responses.say("blind"))
        blocks = [{"type": "text", "text": "see"},
                  {"type": "image", "mimeType": "image/png", "data": PNG}]
        for expected in ("seen", "blind"):
            response = agent.request("session/prompt", {"sessionId": session, "prompt": blocks})
            self.assertEqual(response["result"]["stopReason"], "end_turn", response)
            self.assertIn(expected, agent.text(session))
        content = server.requests[0].items("message")[0]["content"]
        self.assertEqual(content, [
            {"type": "input_text", "text": "see"},
            {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}"}])
        self.assertNotIn("input_image", json.dumps(server.last.input))

    def test_settings(self):
        """effort and limit of the configuration, members of the user's own, the key"""
        server = self.model(max_tokens=4096, api_key="sk-test-1234")
        self.configure(agent={"reasoning_effort": "low"})
        agent = self.agent()
        self.assertEqual(agent.turn(agent.new_session(self.work)), "end_turn")
        asked = server.last.json
        self.assertEqual(asked["max_output_tokens"], 4096)
        self.assertEqual(asked["reasoning"], {"effort": "low", "summary": "auto"})
        self.assertEqual(server.last.headers["authorization"], "Bearer sk-test-1234")

    def test_model_that_does_not_think(self):
        server = self.model(model="llama")
        agent = self.agent()
        self.assertEqual(agent.turn(agent.new_session(self.work)), "end_turn")
        self.assertNotIn("reasoning", server.last.json)
        self.assertNotIn("include", server.last.json)

    def test_usage(self):
        """one update per request, with what the server counted"""
        _server, agent, session = self.start()
        self.assertEqual(agent.turn(session), "end_turn")
        updates = agent.updates(session, "usage_update")
        self.assertEqual(updates[-1]["used"], 120)


class Streams(ResponsesTest):
    def assert_text(self, reply, expected):
        _server, agent, session = self.start(reply)
        response = agent.prompt(session, "go", 30)
        self.assertEqual(response.get("result", {}).get("stopReason"), "end_turn", response)
        self.assertEqual(agent.text(session), expected)
        self.sweep(agent)

    def test_one_byte_at_a_time(self):
        whole = b"".join(responses.say("你好 🌍 é"))
        self.assert_text([bytes([byte]) for byte in whole], "你好 🌍 é")

    def test_variants(self):
        """no stream, [DONE] behind the end, without numbers, wholes only, padding"""
        parts = Answer().text("a", "b").parts
        message = {"id": "m", "type": "message", "role": "assistant",
                   "content": [{"type": "output_text", "text": "ab"}]}
        for reply in (responses.body(output=[message]),
                      [*responses.say("a", "b"), DONE],
                      Answer(numbered=False).text("a", "b").end(),
                      Answer(padding=True).text("a", "b").end(),
                      [part for part in responses.say("a", "b") if b".delta" not in part],
                      [*parts, DONE],
                      [responses.say("a", "b")[-1]]):
            self.assert_text(reply, "ab")

    def test_exact_arguments(self):
        content = "naïve 🌍\n"
        parts = Answer().call("c", "write_file", path="f.txt", content=content).end()
        _server, agent, session = self.start([bytes([byte]) for byte in b"".join(parts)])
        self.assertEqual(agent.turn(session), "end_turn")
        self.assertEqual(self.get("f.txt"), content.encode())

    def test_cut_calls_do_not_run(self):
        """B45: cut by the connection, by the limit, in silence"""
        call = Answer().call("c", "write_file", path="f.txt", content="x")
        short = Answer().raw_call("c", "write_file", '{"path":"f.txt","content":"x')
        for script, reason in (([[*call.parts, CUT]] * 3, "end_turn"),
                               ([call.incomplete()], "max_tokens"),
                               ([short.end()], "end_turn")):
            _server, agent, session = self.start(*script)
            response = agent.prompt(session, "go", 30)
            if "result" in response:
                self.assertEqual(response["result"]["stopReason"], reason)
            self.assertFalse(os.path.exists(self.path("f.txt")))
            self.sweep(agent)

    def test_incomplete(self):
        """the limit, the filter, a reason that nobody knows"""
        for reason, stop, shown in (
                ("max_output_tokens", "max_tokens", "Par"),
                ("content_filter", "refusal", "Par"),
                ("full_moon", "max_tokens", "full_moon")):
            _server, agent, session = self.start(
                *[Answer().text("Par").incomplete(reason) for _time in range(4)])
            self.assertEqual(agent.turn(session), stop)
            self.assertIn(shown, agent.text(session))
            self.sweep(agent)

    def test_refusal(self):
        _server, agent, session = self.start(Answer().refuse("I cannot").end())
        self.assertEqual(agent.turn(session), "refusal")
        self.assertEqual(agent.text(session), "I cannot")


class Faults(ResponsesTest):
    def error_of(self, *script):
        server, agent, session = self.start(*script)
        error = agent.prompt(session, "go", 60).get("error")
        self.sweep(agent)
        return server, error

    def test_retry(self):
        """an error before anything was shown is tried again"""
        for reply in (failure(500), failure(429, headers={"Retry-After": "0"}),
                      Answer().fail("server_error", "Oh no"),
                      Answer().event("error", code="server_is_overloaded", message="Busy",
                                     param=None).parts,
                      [RESET], [*Answer().parts, CUT]):
            server, agent, session = self.start(reply, responses.say("fine"))
            self.assertEqual(agent.turn(session, "go", 30), "end_turn")
            self.assertEqual(agent.text(session), "fine")
            self.assertEqual(len(server.requests), 2)
            self.sweep(agent)

    def test_not_retried(self):
        for reply, word in ((failure(401, "Incorrect API key"), "Incorrect API key"),
                            (failure(400, "Unknown parameter: 'x'"), "Unknown parameter"),
                            (failure(429, "pay", code="insufficient_quota"), "pay"),
                            (Answer().fail("invalid_prompt", "Not this"), "Not this"),
                            (Answer().text("Par").fail("server_error", "Oh no"), "Oh no"),
                            ([*Answer().text("Par").parts, CUT], "cut off")):
            server, error = self.error_of(reply)
            self.assertIn(word, json.dumps(error))
            self.assertEqual(len(server.requests), 1)

    def test_not_an_answer(self):
        """a page, another dialect, nothing at all"""
        chat = b'data: {"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]}\n\n'
        for reply, word in ((Reply(b"<html><title>Hi</title>", content_type="text/html"), "Hi"),
                            ([chat, DONE], "no answer"), ([], "empty"), ([DONE], "DONE")):
            _server, error = self.error_of(*[reply] * 4)
            self.assertIn(word, json.dumps(error))

    def test_part_is_kept(self):
        """what was shown before the break stays in the history"""
        server, agent, session = self.start([*Answer().text("Par", "t").parts, CUT])
        self.assertIn("error", agent.prompt(session, "go", 30))
        self.assertEqual(agent.turn(session, "again"), "end_turn")
        self.assertEqual(server.last.texts("assistant"), ["Part"])

    @within(5)
    def test_cancel(self):
        """the stream is closed, the next turn starts from a valid history"""
        server, agent, session = self.start(
            [*Answer().text("Par").parts, HANG],
            Answer().call("c1", "terminal", command="sleep 30")
            .call("c2", "terminal", command="sleep 30").end())
        prompt = agent.prompt_start(session, "go")
        agent.wait_text(session, "Par")
        agent.cancel(session)
        self.assertEqual(agent.wait(prompt)["result"]["stopReason"], "cancelled")
        self.assertTrue(server.requests[0].closed.wait(5))
        prompt = agent.prompt_start(session, "run")
        agent.wait_card(session, status="in_progress")
        agent.cancel(session)
        self.assertEqual(agent.wait(prompt)["result"]["stopReason"], "cancelled")
        self.assertEqual(agent.turn(session, "next"), "end_turn")
        self.assertEqual(sorted(server.last.outputs), ["c1", "c2"])

    def test_worker_dies(self):
        """a turn goes on with a valid history when its worker dies in the stream"""
        gate = threading.Event()
        server, agent, session = self.start(
            Answer().thought("**Hm**", sealed="gAAA1").call("c1", "todo").end(),
            [*Answer().text("Par").parts, gate.wait, HANG], responses.say("tial"))
        server.sealed = {"gAAA1"}
        prompt = agent.prompt_start(session, "go")
        agent.wait_text(session, "Par")
        self.stderr_is_quiet = False  # a crash is worth a line
        for pid in [pid for pid, line in agent.workers().items() if "--session" in line]:
            os.kill(pid, 9)
        gate.set()
        self.assertEqual(agent.wait(prompt)["result"]["stopReason"], "end_turn")
        self.assertIn("tial", agent.text(session))
        self.assertEqual(server.last.kinds(), ["message", "reasoning", "function_call",
                                               "function_call_output", "message", "message"])


if __name__ == "__main__":
    import unittest
    unittest.main()
