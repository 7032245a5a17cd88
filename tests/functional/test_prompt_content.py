"""Content of prompts: attached files, links, pictures, unknown blocks."""
import base64
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import model_server as model
from acp import AcpTest

PNG = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGA"
                       "WjR9awAAAABJRU5ErkJggg==")


def text(value):
    return {"type": "text", "text": value}


def link(path, name="a file", **more):
    return {"type": "resource_link", "uri": path, "name": name, **more}


def resource(uri, **more):
    return {"type": "resource", "resource": {"uri": uri, **more}}


def image(data=PNG, kind="image/png"):
    return {"type": "image", "mimeType": kind, "data": base64.b64encode(data).decode()}


class Blocks(AcpTest):
    """B35: nothing that the user attached is dropped in silence."""

    def ask(self, *blocks):
        server, agent, session = self.start()
        response = agent.prompt(session, list(blocks))
        return server, agent, session, response

    def test_order_of_blocks(self):
        """B35: text, link, resource, blob, in this order"""
        path = self.put("a.c", "int link_body;\n")
        server, _agent, _session, response = self.ask(
            text("look:"), link("file://" + path, "a.c"),
            resource("file:///x/b.c", text="int embedded_body;"),
            resource("file:///x/c.txt", blob=base64.b64encode(b"blob body").decode(),
                     mimeType="text/plain"), text("the end"))
        self.assertEqual(response["result"]["stopReason"], "end_turn")
        prompt = server.last.last_user
        places = [prompt.find(word) for word in
                  ("look:", "a.c", "int embedded_body;", "blob body", "the end")]
        self.assertNotIn(-1, places, prompt)
        self.assertEqual(places, sorted(places))

    def test_only_a_resource(self):
        """B35: a prompt that is only an embedded resource is not empty"""
        server, _agent, _session, response = self.ask(resource("file:///x/b.c", text="only me 4711"))
        self.assertEqual(response["result"]["stopReason"], "end_turn")
        self.assertIn("only me 4711", server.last.last_user)

    def test_line_range(self):
        """B35: #L2:3 gives these lines"""
        path = self.put("r.txt", "".join(f"line-{number}\n" for number in range(1, 8)))
        server, _agent, _session, _response = self.ask(text("see"), link(f"file://{path}#L2:3"))
        prompt = server.last.last_user
        self.assertIn("line-2", prompt)
        self.assertIn("line-3", prompt)
        self.assertNotIn("line-5", prompt)

    def test_unknown_block(self):
        """B35, acp 81: an unknown type is refused by name"""
        _server, agent, session, response = self.ask(text("x"), {"type": "hologram", "data": "y"})
        self.assert_code(response["error"], -32602)
        self.assertIn("hologram", str(response["error"]))
        self.assertEqual(agent.turn(session), "end_turn")

    def test_audio_is_refused_or_used(self):
        """B35, acp 81: un-advertised audio is -32602"""
        _server, agent, _session, response = self.ask(
            text("x"), {"type": "audio", "mimeType": "audio/wav", "data": "UklGRg=="})
        capabilities = agent.events[0]["result"]["agentCapabilities"]["promptCapabilities"]
        if not capabilities.get("audio"):
            self.assert_code(response["error"], -32602)

    def test_bad_prompts(self):
        """acp 83: empty, missing, wrong type"""
        _server, agent, session = self.start()
        for prompt in ([], None, "text", [5], [{"type": "text"}], [{"text": "x"}],
                       [{"type": "resource_link", "name": "x"}]):
            self.assert_code(agent.error("session/prompt",
                                         {"sessionId": session, "prompt": prompt}), -32602)
        self.assert_code(agent.error("session/prompt", {"sessionId": 5, "prompt": [text("x")]}),
                         -32602)
        self.assertEqual(agent.turn(session), "end_turn")

    def test_big_attachment(self):
        """B35: 2 MiB of text reaches the model or is cut with a note"""
        body = "0123456789abcde\n" * 131072
        server, _agent, _session, response = self.ask(text("see"), resource("file:///x/big", text=body))
        self.assertEqual(response["result"]["stopReason"], "end_turn")
        prompt = server.last.last_user
        self.assertTrue(body in prompt or len(prompt) > 10000, len(prompt))

    def test_link_to_a_folder_and_to_nothing(self):
        """B35: a note that names it"""
        os.mkdir(self.path("folder"))
        server, _agent, _session, response = self.ask(
            text("see"), link("file://" + self.path("folder"), "folder"),
            link("file://" + self.path("absent.txt"), "absent.txt"))
        self.assertEqual(response["result"]["stopReason"], "end_turn")
        self.assertIn("absent.txt", server.last.last_user)
        self.assertIn("folder", server.last.last_user)

    def test_percent_encoding(self):
        """acp 82: with and without percent-encoding"""
        path = self.put("with space ü.txt", "found-me-88\n")
        encoded = "file://" + path.replace(" ", "%20").replace("ü", "%C3%BC")
        for uri in (encoded, "file://" + path):
            server, agent, _session, response = self.ask(text("see"), link(uri, "x"))
            self.assertEqual(response["result"]["stopReason"], "end_turn")
            self.assertRegex(server.last.last_user, "found-me-88|with space")
            self.sweep(agent)

    def test_slash_commands_only_in_the_first_text(self):
        """B35, acp 91: /help in a later block is plain text"""
        server, agent, session, response = self.ask(text("explain"), text("/help"))
        self.assertEqual(response["result"]["stopReason"], "end_turn")
        self.assertIn("/help", server.last.last_user)
        before = len(server.requests)
        self.assertEqual(agent.turn(session, "/help"), "end_turn")
        self.assertEqual(len(server.requests), before)
        self.assertTrue(agent.text(session))

    def test_unknown_slash_command(self):
        """acp 91: it goes to the model or is answered"""
        _server, agent, session = self.start()
        self.assertEqual(agent.turn(session, "/no-such-command now"), "end_turn")
        self.assertTrue(agent.text(session))


class Pictures(AcpTest):
    """B37: one picture must not make the session unusable."""

    def test_model_without_pictures(self):
        """B37: the session lives, the picture stays out of later requests to that model"""
        server = self.model()

        def answer(request):
            if b'"image_url"' in request.body:
                return model.failure(400, "This model does not support image input")
            return None
        server.respond = answer
        agent = self.agent()
        session = agent.new_session(self.work)
        response = agent.prompt(session, [text("look"), image()])
        self.assertTrue("result" in response or "image" in str(response["error"]), response)
        self.assertEqual(agent.turn(session, "text only"), "end_turn")
        self.assertEqual(agent.turn(session, "text again"), "end_turn")
        again = self.reload(agent, session)
        if again:
            self.assertEqual(again.turn(session, "after load"), "end_turn")

    def test_picture_reaches_the_model(self):
        """acp 81: advertised pictures are used"""
        server, agent, session = self.start()
        self.assertEqual(agent.prompt(session, [text("look"), image()])["result"]["stopReason"],
                         "end_turn")
        self.assertIn(base64.b64encode(PNG), server.last.body)

    def test_broken_pictures(self):
        """B37: refused or noted, never a crash"""
        server, agent, session = self.start()
        for data in ("!!!not base64!!!", "", "QUJD"):
            response = agent.prompt(session, [text("look"), {"type": "image", "data": data,
                                                             "mimeType": "image/png"}])
            self.assertTrue("result" in response or response["error"]["code"] == -32602, response)
        self.assertEqual(agent.turn(session, "still there?"), "end_turn")
        self.assertTrue(server.requests)
