"""What every dialect must do alike: streams in all spellings, faults, waiting, history, the key."""
import gzip
import json
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import model_server
from acp import within
from model_server import CUT, DONE, HANG, RESET, Reply, dump
from modes import MODES, ModesTest, in_each_mode

PIXEL = ("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5E"
         "rkJggg==")
TEXT = "你好 🌍 é and more"


def brotli(data):
    """The bytes as Brotli's uncompressed blocks."""
    out, first = b"", True
    for at in range(0, len(data), 60000):
        piece = data[at:at + 60000]
        header = (len(piece) - 1) << 3 | 1 << 19
        if first:  # a bit for the window comes before the first block
            header, first = header << 1, False
        out += header.to_bytes(3, "little") + piece
    return out + b"\x03"


def halves(data, seconds=0.03):
    return [data[:23], seconds, data[23:]]


class Spellings(ModesTest):
    def assert_text(self, mode, reply):
        server, agent, session = self.begin(mode, reply)
        self.assertEqual(agent.turn(session), "end_turn")
        self.assertEqual(agent.text(session), TEXT)
        self.assertEqual(len(server.requests), 1)
        self.sweep(agent)

    @in_each_mode
    def test_grammar(self, mode):
        """B38, B39: byte by byte; CRLF, CR, a mark, comments, no space, no blank line at the end"""
        whole = b"".join(mode.say(TEXT[:3], TEXT[3:]))
        for body in ([bytes([byte]) for byte in whole], [whole.replace(b"\n", b"\r\n")],
                     [whole.replace(b"\n", b"\r")], [b"\xef\xbb\xbf" + whole],
                     [b":\n\n" + whole.replace(b"\n\n", b"\n: ping\n\n: x\n\nid: 7\nretry: 5\n\n")],
                     [whole.replace(b"data: ", b"data:").replace(b"event: ", b"event:")],
                     [whole.rstrip(b"\n")]):
            self.assert_text(mode, body)

    @in_each_mode
    def test_compressed(self, mode):
        """B47 a: compressed although nobody asked for it, in pieces"""
        whole = b"".join(mode.say(TEXT[:3], TEXT[3:]))
        for name, body in (("gzip", gzip.compress(whole)), ("br", brotli(whole))):
            self.assert_text(mode, Reply(halves(body), headers={"Content-Encoding": name}))

    @in_each_mode
    def test_framing(self, mode):
        """B47 j-l: HTTP/1.0, a body that is shorter than it says, no last chunk"""
        whole = b"".join(mode.say(TEXT))
        self.assert_text(mode, Reply([whole], framing="close"))
        self.assert_text(mode, [whole, CUT])
        self.assert_text(mode, Reply([whole, CUT], framing="length",
                                     headers={"Content-Length": str(len(whole) + 50)}))


class Nonsense(ModesTest):
    """B42, B47: a failure is an error that names the server, the status and the reason."""

    def assert_error(self, mode, reply, *words):
        server, agent, session = self.begin(mode, *[reply] * 3)
        error = agent.prompt(session, "go", 30).get("error")
        self.assertIsNotNone(error)
        for word in ("custom endpoint at 127.0.0.1", *words):
            self.assertIn(word, error["message"])
        self.assertNotIn(self.KEY, json.dumps(error))
        self.assertEqual([role for role, _content in self.rows(session)], ["user"])
        self.assert_goes_on(server, agent, session)
        self.sweep(agent)

    @in_each_mode
    def test_not_an_answer(self, mode):
        """B47 b, d-h: pages, rubbish, nothing, comments only, [DONE] only, no content"""
        page = b"<html><head><title>Bad gateway page</title></head><body>x</body></html>"
        squeezed = gzip.compress(b"".join(mode.say("zipped")))
        for reply, *words in (
                (Reply([page], content_type="text/html"), "HTTP 200", "Bad gateway page"),
                (Reply([page], 502, content_type="text/html"), "HTTP 502", "Bad gateway page"),
                (Reply([squeezed]), "HTTP 200"), (Reply([], framing="length"), "empty"),
                (Reply([b": ping\n\n"] * 3), "only comments"), (Reply([DONE]), "[DONE]"),
                (Reply([], 204, framing="length"), "HTTP 204"),
                (Reply([b"data: {\n\n"]), "not JSON")):
            self.assert_error(mode, reply, *words)

    @in_each_mode
    def test_other_dialect(self, mode):
        """An answer in another dialect's words"""
        for other in MODES:
            if other is not mode:
                self.assert_error(mode, other.say("x"), "HTTP 200")

    @in_each_mode
    def test_error_inside(self, mode):
        """B42: an error object in a stream and in place of one, with the status 200"""
        self.assert_error(mode, [mode.error("inner words")], "inner words")
        self.assert_error(mode, Reply([dump({"error": {"message": "inner words"}})],
                                      framing="length", content_type="application/json"),
                          "inner words")

    @in_each_mode
    def test_error_after_text(self, mode):
        """B42: what was shown is kept, the turn is an error, nothing is asked again"""
        shown = mode.say("Par", "t")[:-mode.end]
        for tail, word in (([mode.error("broke off")], "broke off"), ([CUT], "cut off"),
                           ([RESET], "cut off")):
            server, agent, session = self.begin(mode, [*shown, *tail])
            error = agent.prompt(session, "go", 30)["error"]
            self.assertIn(word, error["message"])
            self.assertEqual(agent.text(session), "Part")
            self.assertEqual(len(server.requests), 1)
            self.assertEqual(self.rows(session), [("user", "go"), ("assistant", "Part")])
            self.assert_goes_on(server, agent, session)
            self.assertIn("Part", json.dumps(mode.history(server.last)))
            self.sweep(agent)


class HalfCalls(ModesTest):
    """B45: a call that has not arrived whole never runs; what it would have done is looked for."""

    @in_each_mode
    @within(180)
    def test_between_events(self, mode):
        """Cut, reset, an error, at every event, in one session"""
        parts = mode.calls(("terminal", {"command": "echo x >>ran"}),
                           ("write_file", {"path": "made.txt", "content": "x"}))
        server, agent, session = self.begin(mode)
        for count in range(len(parts) - mode.end + 1):
            for tail in ([CUT], [RESET], [mode.error("broke off")], []):
                server.script[:] = [[*parts[:count], *tail], mode.say("fine")]
                agent.prompt(session, "go", 30)
                self.assertFalse(os.path.exists(self.path("ran")), (count, tail))
                self.assertFalse(os.path.exists(self.path("made.txt")), (count, tail))
        self.assert_goes_on(server, agent, session)
        self.assertEqual(mode.results(server.last), [])

    @in_each_mode
    @within(180)
    def test_within_events(self, mode):
        """The connection ends after any number of bytes (every 7th)"""
        parts = mode.calls(("terminal", {"command": "echo x >>ran"}))
        whole = b"".join(parts[:-mode.end] if mode.end else parts)
        server, agent, session = self.begin(mode)
        for count in range(1, len(whole), 7):
            server.script[:] = [[whole[:count], CUT], mode.say("fine")]
            self.assertEqual(agent.turn(session, "go"), "end_turn")
            self.assertFalse(os.path.exists(self.path("ran")), count)
        self.assert_goes_on(server, agent, session)

    @in_each_mode
    def test_after_text(self, mode):
        """The text is kept, the call is not"""
        parts = mode.calls(("terminal", {"command": "echo x >>ran"}), text="I run it.")
        server, agent, session = self.begin(mode, [*parts[:-mode.end], CUT])
        self.assertIn("cut off", agent.prompt(session, "go", 30)["error"]["message"])
        self.assertFalse(os.path.exists(self.path("ran")))
        self.assert_goes_on(server, agent, session)
        self.assertEqual(mode.results(server.last), [])
        self.assertIn("I run it.", json.dumps(mode.history(server.last)))

    @in_each_mode
    def test_cancelled(self, mode):
        """A cancel when the call is there and its end is not"""
        parts = mode.calls(("terminal", {"command": "echo x >>ran"}), text="I run it.")
        server, agent, session = self.begin(mode, [*parts[:-mode.end], HANG])
        request = agent.prompt_start(session, "go")
        agent.wait_text(session, "I run it.")
        agent.cancel(session)
        self.assertEqual(agent.wait(request)["result"]["stopReason"], "cancelled")
        self.assertTrue(server.requests[0].closed.wait(5))
        self.assert_goes_on(server, agent, session)
        self.assertFalse(os.path.exists(self.path("ran")))
        self.assertEqual(mode.results(server.last), [])


class Arguments(ModesTest):
    """B45, B46: arguments that are cut off or odd, in an answer that is complete."""

    def result_of(self, server, agent, session, mode, name, arguments):
        """What the model reads about the call."""
        server.script[:] = [mode.raw_call(name, arguments), mode.say("ok")]
        mark = agent.mark()
        self.assertEqual(agent.turn(session), "end_turn")
        cards = agent.cards(session, mark)
        return mode.results(server.last)[-1][1], [card.status for card in cards]

    @in_each_mode
    def test_accepted(self, mode):
        """Blank and null are an empty object, an object in a string is decoded once"""
        server, agent, session = self.begin(mode)
        for arguments in ("", " ", "null", "{}"):
            result, _cards = self.result_of(server, agent, session, mode, "terminal", arguments)
            self.assertIn("command", result, repr(arguments))
        result, _cards = self.result_of(server, agent, session, mode, "terminal",
                                        json.dumps('{"command":"echo hi-$((3+4))"}'))
        self.assertIn("hi-7", result)

    @in_each_mode
    def test_refused(self, mode):
        """An error result, never a guess, never a run"""
        server, agent, session = self.begin(mode)
        for arguments in ("[]", "5", '{"command":["echo","hi"]}', "[" * 200 + "]" * 200,
                          '{"command":"echo x >>ran"}{"command":"echo y >>ran"}', "nonsense",
                          '{"command":5}', '{"command":"echo x >>ran', '{"command":"echo x >>ran"'):
            result, cards = self.result_of(server, agent, session, mode, "terminal", arguments)
            self.assertIn("error", result, arguments)
            self.assertEqual(cards, ["failed"] * len(cards), arguments)
        self.assertFalse(os.path.exists(self.path("ran")))
        self.assert_goes_on(server, agent, session)


class Refused(ModesTest):
    """Requests that the server does not take as they are."""

    @in_each_mode
    def test_pictures(self, mode):
        """B37: a model that takes no pictures is asked again without; later turns work"""
        server, agent, session = self.begin(
            mode, mode.failure(400, "This model does not support image input"), mode.say("blind"))
        response = agent.request("session/prompt", {"sessionId": session, "prompt": [
            {"type": "text", "text": "look"},
            {"type": "image", "mimeType": "image/png", "data": PIXEL}]})
        self.assertEqual(response["result"]["stopReason"], "end_turn", response)
        self.assertRegex(agent.text(session), r"(?s)does not take images.*blind\Z")
        self.assertIn(PIXEL, json.dumps(server.requests[0].json))
        self.assert_goes_on(server, agent, session)
        for request in server.requests[1:]:
            self.assertNotIn(PIXEL, json.dumps(request.json))
        # Another process has to find out anew.
        again = self.reload(agent, session)
        server.script[:] = [mode.failure(400, "This model does not support image input")]
        self.assertEqual(again.turn(session, "after the load"), "end_turn")
        self.assertNotIn(PIXEL, json.dumps(server.last.json))

    @in_each_mode
    def test_too_long(self, mode):
        """B54: told in words that say what to do; the session stays usable"""
        for status, words in ((400, "prompt is too long: 210000 tokens > 200000 maximum"),
                              (400, "maximum context length is 8192 tokens"),
                              (413, "Request exceeds the maximum size")):
            server, agent, session = self.begin(mode, *[mode.failure(status, words)] * 9)
            error = agent.prompt(session, "go", 30)["error"]
            self.assertIn("too long", error["message"])
            self.assertLess(len(server.requests), 4)
            self.assert_goes_on(server, agent, session)
            self.sweep(agent)


class Waiting(ModesTest):
    """B48: three tries with pauses between them; waits as long as the server says."""

    @in_each_mode
    def test_heals(self, mode):
        """Overload, errors of the server, a connection that breaks before anything is visible"""
        thinking = mode.think("Hm", "x")
        for reply in (*[mode.failure(status, "busy") for status in (429, 500, 502, 503, 529)],
                      Reply([RESET], framing="raw"), [RESET], [CUT],
                      [*thinking[:2], CUT]):
            server, agent, session = self.begin(mode, reply, mode.say("served"))
            self.assertEqual(agent.turn(session), "end_turn")
            self.assertEqual(agent.text(session), "served")
            self.assertEqual(len(server.requests), 2)
            self.sweep(agent)

    @in_each_mode
    def test_three_tries(self, mode):
        """Then the turn is an error with the server's name, the status and its words"""
        for status in (429, 503, 529):
            server, agent, session = self.begin(mode, *[mode.failure(status, "no luck")] * 9)
            error = agent.prompt(session, "go", 30)["error"]
            for word in ("custom endpoint at 127.0.0.1", str(status), "no luck"):
                self.assertIn(word, error["message"])
            self.assertEqual(len(server.requests), 3)
            self.assertEqual(self.rows(session), [("user", "go")])
            self.assert_goes_on(server, agent, session)
            self.sweep(agent)

    @in_each_mode
    def test_retry_after(self, mode):
        """In seconds and as a date; the user is told, and a cancel ends the wait"""
        date = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(time.time() + 300))
        for value in ("300", date, "999999"):
            server, agent, session = self.begin(
                mode, mode.failure(503, "busy", {"Retry-After": value}),
                environment={"HERMES_ACP_RETRY_SCALE": "1"})
            request = agent.prompt_start(session, "go")
            agent.until(lambda: "next try in " in agent.thoughts(session), 5, "a notice")
            told = agent.thoughts(session)
            seconds = int(told.split("next try in ")[1].split()[0])
            least, most = (600, 601) if value == "999999" else (295, 301)
            self.assertTrue(least <= seconds <= most, told)
            agent.cancel(session)
            self.assertEqual(agent.wait(request, 2)["result"]["stopReason"], "cancelled")
            self.assert_goes_on(server, agent, session)
            self.assertEqual(len(server.requests), 2)
            self.sweep(agent)

    @in_each_mode
    def test_wait_is_kept(self, mode):
        """Not a moment sooner than told; short waits are not announced"""
        server, agent, session = self.begin(
            mode, mode.failure(429, "busy", {"Retry-After": "1"}), mode.say("served"),
            environment={"HERMES_ACP_RETRY_SCALE": "1"})
        self.assertEqual(agent.turn(session), "end_turn")
        self.assertGreaterEqual(server.requests[1].time - server.requests[0].time, 0.95)
        self.assertEqual(agent.thoughts(session), "")


class Quiet(ModesTest):
    """B50: a stream that goes quiet (limit set to 2 s)."""

    def quiet(self, mode, *script):
        self.configure(providers={"custom": {"stale_timeout_seconds": 2}})
        return self.begin(mode, *script, environment={"HERMES_API_CALL_STALE_TIMEOUT": "2"})

    @in_each_mode
    @within(120)
    def test_before_anything(self, mode):
        """It tries again; a trickle that never becomes a line is silence"""
        for reply in ([HANG], [part for _ in range(40) for part in (b"x", 0.5)]):
            server, agent, session = self.quiet(mode, reply, mode.say("second try"))
            self.assertEqual(agent.turn(session, "go", 30), "end_turn")
            self.assertEqual(agent.text(session), "second try")
            self.assertTrue(server.requests[0].closed.wait(5))
            self.sweep(agent)

    @in_each_mode
    @within(120)
    def test_after_text(self, mode):
        """An error; what was shown is kept. Comments keep a stream alive"""
        server, agent, session = self.quiet(mode, [*mode.say("begun")[:-mode.end], HANG])
        self.assertIn("silent", agent.prompt(session, "go", 30)["error"]["message"])
        server.script[:] = [[part for _ in range(5) for part in (b": ping\n\n", 0.8)]
                            + mode.say("at last")]
        self.assertEqual(agent.turn(session, "go", 30), "end_turn")
        self.assertIn("begun", json.dumps(mode.history(server.last)))
        self.assertEqual(agent.text(session), "begunat last")
        self.assertEqual(len(server.requests), 2)


class History(ModesTest):
    @in_each_mode
    def test_same_beginning(self, mode):
        """Instructions and tools are the same bytes in each request, and history only grows:
        over calls, a failure, a cancel, a second process"""
        server, agent, session = self.begin(
            mode, mode.calls(("todo", {}), ("todo", {}), text="Both."), mode.say("one"),
            mode.say("two"), mode.failure(400, "not this"), [*mode.say("th")[:-mode.end], HANG])
        for text in ("first", "second"):
            self.assertEqual(agent.turn(session, text), "end_turn")
        for before, after in zip(server.requests, server.requests[1:]):
            old, new = mode.history(before), mode.history(after)
            self.assertEqual(json.dumps(new[:len(old)]), json.dumps(old))
        self.assertIn("error", agent.prompt(session, "third"))
        request = agent.prompt_start(session, "fourth")
        agent.wait_text(session, "onetwoth")
        agent.cancel(session)
        agent.wait(request)
        self.assertEqual(agent.turn(session, "fifth"), "end_turn")
        again = self.reload(agent, session)
        self.assertEqual(again.turn(session, "sixth"), "end_turn")
        constants = {json.dumps(mode.constant(one)) for one in server.requests}
        self.assertEqual(len(constants), 1)
        old, new = mode.history(server.requests[2]), mode.history(server.last)
        self.assertEqual(json.dumps(new[:len(old)]), json.dumps(old))

    @in_each_mode
    def test_pairs_after_a_cancel(self, mode):
        """Two calls, a cancel in the first: one result each, in order, also after a load"""
        server, agent, session = self.begin(mode, mode.calls(
            ("terminal", {"command": "sleep 57.5"}), ("terminal", {"command": "echo x >>ran"})))
        request = agent.prompt_start(session, "go")
        agent.wait_card(session, status="in_progress")
        agent.cancel(session)
        self.assertEqual(agent.wait(request)["result"]["stopReason"], "cancelled")
        self.assert_goes_on(server, agent, session)
        first = mode.results(server.last)
        self.assertEqual(len(first), 2)
        again = self.reload(agent, session)
        self.assert_goes_on(server, again, session)
        self.assertEqual(mode.results(server.last), first)
        self.assertFalse(os.path.exists(self.path("ran")))

    @in_each_mode
    def test_failure_after_results(self, mode):
        """The request with the results fails: they stay, each once"""
        server, agent, session = self.begin(
            mode, mode.calls(("terminal", {"command": "echo 1"}),
                             ("terminal", {"command": "echo 2"})), mode.failure(400, "no"))
        self.assertIn("error", agent.prompt(session, "go"))
        self.assert_goes_on(server, agent, session)
        self.assertEqual(len(mode.results(server.last)), 2)


class Key(ModesTest):
    @in_each_mode
    def test_redirect(self, mode):
        """B47 i: no redirect is followed, to no host"""
        other = self.served(mode)
        for status in (301, 302, 303, 307, 308):
            for host in ("localhost", "127.0.0.1"):
                target = other.base_url.replace("127.0.0.1", host) + mode.path
                server, agent, session = self.begin(
                    mode, *[Reply([], status, {"Location": target}, "length")] * 3)
                error = agent.prompt(session, "go")["error"]
                self.assertIn("redirect", error["message"])
                self.assertIn(self.KEY, mode.key(server.last))
                self.sweep(agent)
        self.assertEqual(other.requests + other.others, [])

    @in_each_mode
    def test_certificates(self, mode):
        """TLS: an unknown authority and another host's certificate are refused, a known one is used"""
        server, agent, session = self.begin(mode, mode.say("secret"), tls=True)
        self.assertEqual(agent.turn(session), "end_turn")
        self.assertEqual(agent.text(session), "secret")
        self.sweep(agent)
        nobody = self.agent()
        error = nobody.prompt(nobody.new_session(self.work), "go", 30)["error"]
        self.assertRegex(error["message"].lower(), "certificate|ssl|tls")
        self.sweep(nobody)
        certificate = server.authority.sign("other", "/CN=elsewhere", "subjectAltName=DNS:other")
        server.context.load_cert_chain(certificate, os.path.join(server.authority.folder,
                                                                 "other.key"))
        wrong = self.agent(environment=server.trust)
        error = wrong.prompt(wrong.new_session(self.work), "go", 30)["error"]
        self.assertRegex(error["message"].lower(), "certificate|ssl|tls|match")
        self.assertEqual(len(server.requests), 1)


if __name__ == "__main__":
    import unittest
    unittest.main()
