"""What a model's server may send: characters in pieces, odd events, cut answers, errors, silence."""
import gzip
import json
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import model_server as model
from acp import AcpTest, within
from model_server import CUT, DONE, HANG, RESET, Reply, chunk, delta, event, finish


class StreamTest(AcpTest):
    def answer(self, *script, text="go", **options):
        """(model server, agent, session, response of one turn)"""
        server, agent, session = self.start(*script, **options)
        return server, agent, session, agent.prompt(session, text, 30)

    def assert_text(self, reply, expected):
        _server, agent, session, response = self.answer(reply)
        self.assertEqual(response.get("result", {}).get("stopReason"), "end_turn", response)
        self.assertEqual(agent.text(session), expected)
        self.sweep(agent)


class Characters(StreamTest):
    """B38: a character in two reads."""

    TEXT = "你好 🌍 é"

    def test_one_byte_at_a_time(self):
        """B38"""
        body = b"".join(model.say(self.TEXT))
        self.assert_text([bytes([byte]) for byte in body], self.TEXT)

    def test_cut_inside_a_character(self):
        """B38: after F0 9F"""
        body = delta(self.TEXT)
        place = body.index(b"\xf0\x9f") + 2
        self.assert_text([body[:place], 0.1, body[place:], finish(), DONE], self.TEXT)

    def test_surrogate_escapes(self):
        """B38: cut between the two escapes, also over two deltas"""
        body = b'data: {"choices":[{"index":0,"delta":{"content":"\\ud83c\\udf0d"}}]}\n\n'
        place = body.index(b"\\udf0d")
        self.assert_text([body[:place], 0.05, body[place:], finish(), DONE], "🌍")

    def test_in_tool_arguments(self):
        """B38: the file has the exact bytes"""
        content = "naïve 🌍\n"
        body = b"".join(model.call("write_file", path="f.txt", content=content))
        _server, _agent, _session, _response = self.answer([bytes([byte]) for byte in body])
        self.assertEqual(self.get("f.txt"), content.encode())

    def test_invalid_byte(self):
        """B38: one U+FFFD, no end of the answer"""
        body = delta("a?b").replace(b"?", b"\xff")
        self.assert_text([body, finish(), DONE], "a\ufffdb")


class Grammar(StreamTest):
    """B39, B41: the event stream and what may be missing."""

    def test_comments_fields_and_no_space(self):
        """B39: with LF and with CRLF"""
        parts = [b": OPENROUTER PROCESSING\n\n"] * 3
        parts += [delta("Hi").replace(b"data: ", b"data:"),
                  b"event: chunk\nid: 7\nretry: 5\n" + delta(" there"), b":\n\n", finish(), DONE]
        self.assert_text(parts, "Hi there")
        self.assert_text([part.replace(b"\n", b"\r\n") for part in parts], "Hi there")

    def test_data_over_several_lines(self):
        """B39: data lines of one event are joined"""
        body = b'data: {"choices":[{"index":0,\ndata: "delta":{"content":"Hi"}}]}\n\n'
        self.assert_text([body, finish(), DONE], "Hi")

    def test_missing_and_null_fields(self):
        """B41"""
        parts = [event({"choices": []}), event({"choices": None}), event({"id": "x"}),
                 event({"choices": [{"index": 0, "delta": None}]}), event({"choices": [{"index": 0}]}),
                 chunk({"role": "assistant", "content": None}), chunk({"tool_calls": None}),
                 chunk({"tool_calls": []}), chunk({"content": "a"}, ""),
                 chunk({"content": [{"type": "text", "text": "b"}]}), chunk({"content": "c"}, None,
                                                                            usage=None),
                 event({"choices": [{"index": 0, "message": {"content": "d"}}]}),
                 finish(), event({"choices": [], "usage": {"prompt_tokens": 9,
                                                           "completion_tokens": 2}}), DONE]
        self.assert_text(parts, "abcd")

    def test_one_usage_update(self):
        """B41: usage from the last chunk that has it"""
        parts = [chunk({"content": "a"}, None, usage={"prompt_tokens": 1, "completion_tokens": 1}),
                 finish(), event({"choices": [], "usage": {"prompt_tokens": 900,
                                                           "completion_tokens": 20}}), DONE]
        _server, agent, session, _response = self.answer(parts)
        agent.until(lambda: agent.updates(session, "usage_update"), 3, "usage_update")
        self.assertGreaterEqual(agent.updates(session, "usage_update")[-1]["used"], 900)

    def test_no_done(self):
        """B41: a finish_reason is enough"""
        self.assert_text([delta("fine"), finish()], "fine")


class Errors(StreamTest):
    """B42, B47: a failure is never taken for success."""

    def assert_honest(self, reply, word, tries=12):
        """The turn ends in an error, or in a visible text, that holds `word`."""
        _server, agent, session, response = self.answer(*[reply] * tries)
        said = str(response.get("error", "")) + agent.text(session) + "".join(
            str(update) for update in agent.updates(session, "notice"))
        self.assertTrue("error" in response or agent.text(session), response)
        self.assertRegex(said.lower(), word.lower())
        self.servers[-1].script[:] = []
        self.servers[-1].default = model.say("fine")
        self.assertEqual(agent.turn(session, "again"), "end_turn")
        self.sweep(agent)

    def test_error_events(self):
        """B42"""
        worker = event({"error": {"message": "Worker limit reached", "code": 502}})
        overloaded = (b"event: error\n" + event({"type": "error", "error": {
            "type": "overloaded_error", "message": "Overloaded"}}))
        rows = [([delta("Par"), worker], "worker limit"), ([worker], "worker limit"),
                ([overloaded], "overloaded"), ([delta("Par"), overloaded], "overloaded"),
                ([event({"choices": [], "error": {"message": "odd thing"}})], "odd thing"),
                ([delta("x"), event({"choices": [{"index": 0, "delta": {}, "finish_reason": "error",
                                                  "error": {"message": "odd end"}}]})], "odd|error"),
                ([b"event: error\n\n"], "error|empty|nothing|no answer")]
        for reply, word in rows:
            with self.subTest(word):
                self.assert_honest(reply, word)

    def test_no_tool_from_a_broken_stream(self):
        """B42: complete arguments, then an error: not run"""
        parts = model.run("echo x >>ran")[:-2]
        self.assert_honest([*parts, event({"error": {"message": "broke off"}})], "broke off")
        self.assertFalse(os.path.exists(self.path("ran")))

    def test_not_an_event_stream(self):
        """B47 b, d-h"""
        html = b"<html><head><title>Bad gateway page</title></head><body>x</body></html>"
        squeezed = gzip.compress(b"".join(model.say("zipped")))
        rows = [(Reply([squeezed]), "."), (Reply([html], content_type="text/html"), "gateway|html"),
                (Reply([], framing="length"), "."), (Reply([b": ping\n\n"] * 3), "."),
                (Reply([DONE]), "."), (Reply([], 204, framing="length"), ".")]
        for number, (reply, word) in enumerate(rows):
            with self.subTest(number):
                self.assert_honest(reply, word)

    def test_compressed_answer(self):
        """B47 a: identity is asked for, or the answer is decoded"""
        body = gzip.compress(b"".join(model.say("zipped")))
        server, agent, session, response = self.answer(
            *[Reply([body[:20], 0.05, body[20:]], headers={"Content-Encoding": "gzip"})] * 12)
        asked = server.last.headers.get("accept-encoding", "identity")
        self.assertTrue(agent.text(session) == "zipped" or "error" in response, response)
        self.assertIn(asked, ("identity", "gzip", "gzip, deflate", "deflate, gzip"))

    def test_redirect_does_not_get_the_key(self):
        """B47 i: a redirect to another host does not see the key"""
        other = model.ModelServer()
        self.servers.append(other)
        target = other.base_url.replace("127.0.0.1", "localhost") + "/chat/completions"
        server = self.model(*[Reply([], 302, {"Location": target}, "length")] * 12)
        self.configure(model={**self.configuration["model"], "api_key": "sk-canary-redirect"})
        agent = self.agent()
        agent.prompt(agent.new_session(self.work), "go")
        for request in other.requests + other.others:
            self.assertNotIn("authorization", request.headers)
        self.assertTrue(server.requests)

    def test_cut_bodies(self):
        """B47 j, k: short body, missing last chunk; what ended properly before is an answer"""
        whole = b"".join(model.say("complete"))
        short = Reply([whole], headers={"Content-Length": str(len(whole) + 50)}, framing="length")
        short.parts.append(CUT)
        for reply in (short, [*model.say("complete"), CUT]):
            _server, agent, session, response = self.answer(*[reply] * 12)
            self.assertTrue("error" in response or "complete" in agent.text(session), response)
            self.sweep(agent)

    def test_http_1_0(self):
        """B47 l: without a length, ended by the connection"""
        _server, agent, session, response = self.answer(Reply(model.say("old style"),
                                                              framing="close"))
        self.assertEqual(response.get("result", {}).get("stopReason"), "end_turn", response)
        self.assertEqual(agent.text(session), "old style")


class ToolCalls(StreamTest):
    """B43: calls in odd pieces."""

    def piece(self, **row):
        function = {key: row.pop(key) for key in ("name", "arguments") if key in row}
        return chunk({"tool_calls": [{**row, "function": function}]})

    def assert_ran(self, parts, *words):
        server, agent, _session, response = self.answer([*parts, finish("tool_calls"), DONE],
                                                       model.say("ok"))
        self.assertEqual(response.get("result", {}).get("stopReason"), "end_turn", response)
        results = server.last.results
        self.assertEqual(len(results), len(words), results)
        for result, word in zip(results, words):
            self.assertIn(word, result["content"])
            self.assertTrue(result["tool_call_id"])
        self.sweep(agent)

    def test_variants(self):
        """B43 a-g"""
        one, two = '{"command":"echo W1"}', '{"command":"echo W2"}'
        piece = self.piece
        rows = {
            "no index": ([piece(id="a", name="terminal", arguments=one),
                          piece(id="b", name="terminal", arguments=two)], "W1", "W2"),
            "no id": ([piece(index=0, name="terminal", arguments=one[:9]),
                       piece(index=0, arguments=one[9:])], "W1"),
            "id once": ([piece(index=0, id="a", name="terminal", arguments=""),
                         piece(index=0, id="", name="", arguments=one[:9]),
                         piece(index=0, id=None, name=None, arguments=one[9:])], "W1"),
            "name last": ([piece(index=0, id="a", arguments=one),
                           piece(index=0, name="terminal", arguments="")], "W1"),
            "two in one delta": ([chunk({"tool_calls": [
                {"index": 0, "id": "a", "function": {"name": "terminal", "arguments": one}},
                {"index": 1, "id": "b", "function": {"name": "terminal", "arguments": two}}]})],
                "W1", "W2"),
            "object": ([piece(index=0, id="a", name="terminal",
                              arguments={"command": "echo W1"})], "W1"),
            "name in pieces": ([piece(index=0, id="a", name="term", arguments=""),
                                piece(index=0, name="inal", arguments=one)], "W1"),
            "name repeated": ([piece(index=0, id="a", name="terminal", arguments=one[:9]),
                               piece(index=0, id="a", name="terminal", arguments=one[9:])], "W1"),
            "whole again": ([piece(index=0, id="a", name="terminal", arguments=one)] * 2, "W1"),
        }
        for name, (parts, *words) in rows.items():
            with self.subTest(name):
                self.assert_ran(parts, *words)


class Arguments(StreamTest):
    """B45, B46: arguments that are cut off or odd."""

    CUT_CALL = model.call_delta(0, "c", "write_file", '{"path":"big.txt","content":"abc')

    def test_cut_by_the_connection(self):
        """B45 a: tried again, then an honest error; nothing is written"""
        _server, agent, session, response = self.answer(*[[self.CUT_CALL, CUT]] * 12)
        self.assertTrue("error" in response or agent.text(session).strip(), response)
        self.assertFalse(os.path.exists(self.path("big.txt")))

    def test_cut_by_a_limit_or_in_silence(self):
        """B45 b-d"""
        for reason in ("length", "tool_calls", "stop"):
            with self.subTest(reason):
                server, agent, _session, response = self.answer(
                    *[[self.CUT_CALL, finish(reason), DONE]] * 2, model.say("smaller then"))
                self.assertFalse(os.path.exists(self.path("big.txt")))
                if reason == "length":
                    self.assertIn(response.get("result", {}).get("stopReason"),
                                  ("max_tokens", "end_turn"), response)
                else:
                    self.assertIn("result", response)
                    self.assertLessEqual(len(server.requests), 6)
                self.sweep(agent)

    def test_endless_cut_calls(self):
        """B45 c: at most three times"""
        server, agent, session, _response = self.answer(
            *[[self.CUT_CALL, finish("tool_calls"), DONE]] * 30)
        self.assertLess(len(server.requests), 12)
        self.assertFalse(os.path.exists(self.path("big.txt")))
        self.assertTrue(agent.cards(session) is not None)

    def test_parsable_but_unfinished(self):
        """B45: a call from a stream without finish_reason is not run even if it parses"""
        parts = [model.call_delta(0, "c", "terminal", '{"command":"echo x >>ran"}'), CUT]
        self.answer(*[parts] * 12)
        self.assertFalse(os.path.exists(self.path("ran")))

    def result_of(self, name, arguments):
        server, agent, session, response = self.answer(model.calls(("c", name, arguments)),
                                                       model.say("ok"))
        self.assertEqual(response.get("result", {}).get("stopReason"), "end_turn", response)
        result, card = server.last.result, agent.cards(session)
        self.sweep(agent)
        return result, card

    def test_blank_arguments(self):
        """B46: blank and null are an empty object: the missing field is named"""
        for arguments in ("", " ", "null", "{}"):
            with self.subTest(arguments):
                result, _cards = self.result_of("terminal", arguments)
                self.assertIn("command", result)

    def test_doubly_encoded(self):
        """B46: a JSON text that holds an object is decoded once"""
        result, _cards = self.result_of("terminal", json.dumps('{"command":"echo hi-7"}'))
        self.assertEqual(json.loads(result).get("output", "").strip(), "hi-7")

    def test_number_as_text(self):
        """B46: a text of digits where a number is wanted"""
        self.put("a.txt", "".join(f"line-{number}\n" for number in range(1, 30)))
        result, _cards = self.result_of("read_file", '{"path":"a.txt","offset":"10"}')
        self.assertIn("line-10", result)

    def test_garbage_is_not_run(self):
        """B46: an error result, never a guess, never a crash"""
        rows = ["[]", "5", '{"command":["echo","hi"]}', "[" * 200 + "]" * 200,
                '{"command":"echo x >>ran"}{"command":"echo y >>ran"}', "nonsense", '{"command":5}']
        for arguments in rows:
            with self.subTest(arguments[:40]):
                result, cards = self.result_of("terminal", arguments)
                self.assertIn("error", json.loads(result), result)
                self.assertEqual([card.status for card in cards], ["failed"] * len(cards))
        self.assertFalse(os.path.exists(self.path("ran")))


class Endless(StreamTest):
    """Answers that do not end by themselves are ended: the memory, the disk and the screen are finite."""

    LONG = "0123456789abcde " * 4096  # 64 KiB

    def assert_cut(self, agent, session, reason, kind):
        said = agent.text(session, kind=kind)
        self.assertEqual(reason, "max_tokens")
        self.assertGreater(len(said), 4 << 20)
        self.assertLess(len(said), 5 << 20)
        self.assertIn("longer than 4 MiB", agent.text(session)[-200:])
        self.assertEqual(agent.turn(session, "once more"), "end_turn")

    @within(120)
    def test_text(self):
        """one that comes as fast as it can, and one that stands still after the limit"""
        script = {"replies": [{"match": "forever",
                               "rounds": [[{"repeat": {"text": "word ", "count": 100000000}}]]}],
                  "default": {"rounds": [[{"text": "short"}]]}}
        agent = self.rehearsal(script)
        session = agent.new_session(self.work)
        self.assert_cut(agent, session, agent.turn(session, "forever", 60), "agent_message_chunk")
        _server, agent, session = self.start(
            [*[model.delta(self.LONG)] * 70, model.HANG], model.say("short"))
        self.assert_cut(agent, session, agent.turn(session, "go", 60), "agent_message_chunk")

    @within(120)
    def test_thoughts(self):
        """thoughts count as well"""
        _server, agent, session = self.start(
            [*[model.chunk({"reasoning": self.LONG})] * 70, model.HANG], model.say("short"))
        self.assert_cut(agent, session, agent.turn(session, "go", 60), "agent_thought_chunk")

    @within(120)
    def test_arguments(self):
        """a call that is longer than 16 MiB is an error and is not run"""
        begin = model.call_delta(0, "c", "write_file", '{"path":"big.txt","content":"')
        more = model.chunk({"tool_calls": [{"index": 0, "function": {"arguments": self.LONG * 8}}]})
        server, agent, session = self.start(*[[begin, *[more] * 40, model.HANG]] * 5)
        response = agent.prompt(session, "go", 60)
        self.assertIn("16 MiB", json.dumps(response["error"]))
        self.assertFalse(os.path.exists(self.path("big.txt")))
        server.script[:] = [model.say("short")]
        self.assertEqual(agent.turn(session, "once more"), "end_turn")


class Retry(StreamTest):
    """B48: when and how often it tries again (waiting is shortened by HERMES_ACP_RETRY_SCALE)."""

    def test_retryable(self):
        """B48: 429, 500, 502, 503, 524, 529 and Retry-After in all spellings"""
        soon = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(time.time() + 4))
        rows = [(429, {"Retry-After": "3"}), (429, {"Retry-After": "3.5"}),
                (429, {"Retry-After": soon}),
                (429, {"Retry-After": "Mon, 01 Jan 2001 00:00:00 GMT"}),
                (429, {"Retry-After": "abc"}), (429, {"Retry-After": "-1"}), (429, {}),
                (503, {"Retry-After": "2"}), (529, {}), (524, {}), (500, {}), (502, {})]
        for status, headers in rows:
            with self.subTest(status=status, headers=headers):
                server, agent, session, response = self.answer(
                    model.failure(status, "busy", headers), model.say("served"))
                self.assertEqual(response.get("result", {}).get("stopReason"), "end_turn", response)
                self.assertEqual(agent.text(session), "served")
                self.assertEqual(len(server.requests), 2)
                self.sweep(agent)

    def test_not_retried(self):
        """B48: 400, 401, 402, 404 and a used-up quota"""
        for status, more in ((400, {}), (401, {}), (402, {}), (404, {}),
                             (429, {"code": "insufficient_quota", "type": "insufficient_quota"})):
            with self.subTest(status=status, **more):
                server, agent, _session, response = self.answer(
                    *[model.failure(status, "never ever", **more)] * 5)
                self.assertIn("never ever", str(response.get("error")), response)
                self.assertEqual(len(server.requests), 1)
                self.sweep(agent)

    def test_wait_is_kept(self):
        """B48: at least the given time"""
        server, _agent, _session, response = self.answer(
            model.failure(429, "busy", {"Retry-After": "2"}), model.say("served"),
            environment={"HERMES_ACP_RETRY_SCALE": "1"})
        self.assertEqual(response.get("result", {}).get("stopReason"), "end_turn", response)
        waited = server.requests[1].time - server.requests[0].time
        self.assertGreaterEqual(waited, 1.9)
        self.assertLess(waited, 6)

    def test_bounded(self):
        """B48: a server that always fails ends in an error after few tries"""
        server, _agent, _session, response = self.answer(*[model.failure(500, "for ever")] * 100)
        self.assertIn("for ever", str(response.get("error")), response)
        self.assertLess(len(server.requests), 15)

    def test_connection_refused_and_reset(self):
        """B48: refused, reset before and after the headers"""
        for reply in (Reply([RESET], framing="raw"), [RESET]):
            _server, agent, session, response = self.answer(reply, model.say("served"))
            self.assertEqual(response.get("result", {}).get("stopReason"), "end_turn", response)
            self.assertEqual(agent.text(session), "served")
            self.sweep(agent)
        server = self.model()
        agent = self.agent()
        session = agent.new_session(self.work)
        server.close()
        error = agent.prompt(session, "go", 30)["error"]
        self.assertRegex(str(error).lower(), "connect|refused|reach")

    def test_no_retry_after_visible_text(self):
        """B48: once text was shown it is not shown again"""
        _server, agent, session, response = self.answer([delta("shown once"), RESET],
                                                        model.say(" and on"), model.say("more"))
        self.assertEqual(agent.text(session).count("shown once"), 1)
        self.assertTrue("error" in response or "result" in response)


class Silence(StreamTest):
    """B50: a stream that goes quiet (limit set to 2 s)."""

    QUICK = {"HERMES_API_CALL_STALE_TIMEOUT": "2"}

    def quiet(self, *script):
        self.configure(providers={"custom": {"stale_timeout_seconds": 2}})
        return self.answer(*script, environment=self.QUICK)

    @within(90)
    def test_nothing_after_the_headers(self):
        """B50: before output it tries again"""
        server, agent, session, response = self.quiet([HANG], model.say("second try"))
        self.assertEqual(response.get("result", {}).get("stopReason"), "end_turn", response)
        self.assertEqual(agent.text(session), "second try")
        self.assertTrue(server.requests[0].closed.wait(3))

    @within(90)
    def test_nothing_after_a_chunk(self):
        """B50: after output an error or a visible note; what was shown is kept"""
        server, agent, session, response = self.quiet(*[[delta("begun"), HANG]] * 8)
        self.assertTrue("error" in response or len(agent.text(session)) > 5, response)
        server.script[:] = [model.say("fine")]
        self.assertEqual(agent.turn(session), "end_turn")
        self.assertIn("begun", "\n".join(server.last.texts("assistant")))

    @within(90)
    def test_trickle_without_a_line(self):
        """B50: one byte at a time without a newline is silence"""
        trickle = [part for _ in range(40) for part in (b"x", 0.5)]
        started = time.monotonic()
        _server, agent, session, _response = self.quiet(trickle, model.say("second try"))
        self.assertLess(time.monotonic() - started, 15)
        self.assertEqual(agent.text(session), "second try")

    @within(90)
    def test_comments_keep_it_alive(self):
        """B50, B39: comments count as life"""
        parts = [part for _ in range(6) for part in (b": ping\n\n", 0.8)]
        server, agent, session, response = self.quiet([*parts, *model.say("at last")])
        self.assertEqual(response.get("result", {}).get("stopReason"), "end_turn", response)
        self.assertEqual(agent.text(session), "at last")
        self.assertEqual(len(server.requests), 1)
