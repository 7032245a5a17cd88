"""hermes-acp against aimock, a model server that others wrote, in each dialect.

Started by tests/interop/run, which installs the package and tells where it is.
"""
import json
import os
import subprocess
import sys
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from acp import BUILD, AcpTest

CACHE = os.environ.get("HERMES_TEST_INTEROP", os.path.join(BUILD, "interop"))
MODES = {"chat_completions": ("/v1", "/v1/chat/completions"),
         "anthropic_messages": ("", "/v1/messages"),
         "codex_responses": ("/v1", "/v1/responses")}
TEXT = "你好 🌍, a text that comes in several pieces."


def tool(identity, name, **arguments):
    return {"id": identity, "name": name, "arguments": json.dumps(arguments, ensure_ascii=False)}


def fixture(response, result=None, **options):
    """Answers "go": before (False) or after (True) the results of its calls, None = always."""
    match = {"userMessage": "go"}
    if result is not None:
        match["hasToolResult"] = result
    return {"match": match, "response": response, **options}


class Aimock(AcpTest):
    def tearDown(self):
        self.end_mock()
        super().tearDown()

    def end_mock(self):
        mock = self.__dict__.pop("mock", None)
        if mock:
            mock.communicate(timeout=10)

    def serve(self, mode, *fixtures):
        """(agent, session) with aimock as the server in this dialect."""
        self.end_mock()
        path = os.path.join(self.folder, "fixtures.json")
        with open(path, "w", encoding="utf-8") as file:
            # First: a prompt after a failed one may reach the model together with it.
            json.dump([{"match": {"userMessage": "again"}, "response": {"content": "fine"}},
                       *fixtures], file)
        self.mock = subprocess.Popen(["node", "aimock.mjs", path], cwd=CACHE, text=True,
                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.url = self.mock.stdout.readline().strip()
        self.assertTrue(self.url.startswith("http://127.0.0.1:"), self.url)
        self.configure(model={"provider": "custom", "base_url": self.url + MODES[mode][0],
                              "api_mode": mode, "api_key": "key-for-aimock", "default": "fake"})
        agent = self.agent()
        return agent, agent.new_session(self.work)

    def journal(self, mode):
        """The requests that the server saw; all are for this dialect."""
        with urllib.request.urlopen(self.url + "/__aimock/journal") as answer:
            seen = [row for row in json.load(answer) if not row["path"].startswith("/__aimock")]
        self.assertEqual({row["path"] for row in seen}, {MODES[mode][1]})
        return seen

    def in_each_mode(self, check, *fixtures):
        for mode in MODES:
            with self.subTest(mode):
                agent, session = self.serve(mode, *fixtures)
                check(mode, agent, session)
                self.assertEqual(agent.turn(session, "again"), "end_turn")
                self.assertTrue(agent.text(session).endswith("fine"))
                self.end_mock()
                self.sweep(agent)

    def test_text(self):
        """A text in pieces"""
        def check(mode, agent, session):
            self.assertEqual(agent.turn(session), "end_turn")
            self.assertEqual(agent.text(session), TEXT)
            self.assertEqual(len(self.journal(mode)), 1)
        self.in_each_mode(check, fixture({"content": TEXT}))

    def test_thought(self):
        """Reasoning is shown as thoughts"""
        def check(_mode, agent, session):
            self.assertEqual(agent.turn(session), "end_turn")
            self.assertEqual(agent.thoughts(session), "I think 🌍 first.")
            self.assertEqual(agent.text(session), TEXT)
        self.in_each_mode(check, fixture({"content": TEXT, "reasoning": "I think 🌍 first."}))

    def test_call(self):
        """A call whose arguments come in pieces; the result goes back"""
        content = "naïve 🌍\n"

        def check(mode, agent, session):
            self.assertEqual(agent.turn(session), "end_turn")
            self.assertEqual(self.get("f.txt"), content.encode())
            self.assertEqual(agent.text(session), "written")
            self.assertEqual([card.status for card in agent.cards(session)], ["completed"])
            self.assertEqual(len(self.journal(mode)), 2)
            os.unlink(self.path("f.txt"))
        self.in_each_mode(
            check, fixture({"toolCalls": [tool("call_w", "write_file", path="f.txt",
                                               content=content)]}, False),
            fixture({"content": "written"}, True))

    def test_parallel_calls(self):
        """Text and three calls in one answer, each answered once"""
        for name in "abc":
            self.put(f"{name}.txt", f"content of {name}\n")

        def check(mode, agent, session):
            self.assertEqual(agent.turn(session), "end_turn")
            self.assertEqual(agent.text(session), "I read.done")
            self.assertEqual([card.status for card in agent.cards(session)], ["completed"] * 3)
            sent = json.dumps(self.journal(mode)[1]["body"])
            for name in "abc":
                self.assertEqual(sent.count(f"content of {name}"), 1)
        self.in_each_mode(
            check, fixture({"content": "I read.", "toolCalls": [
                tool(f"call_{name}", "read_file", path=f"{name}.txt") for name in "abc"]}, False),
            fixture({"content": "done"}, True))

    def test_error(self):
        """An error that waiting does not heal: told in the server's words, asked once"""
        def check(mode, agent, session):
            error = agent.prompt(session, "go", 30)["error"]
            self.assertIn("no such thing", json.dumps(error))
            self.assertIn("400", json.dumps(error))
            self.assertEqual(len(self.journal(mode)), 1)
        self.in_each_mode(check, fixture({"error": {"message": "no such thing",
                                                    "type": "invalid_request_error"},
                                          "status": 400}))

    def test_overload(self):
        """An error that heals: three tries, then the error"""
        def check(mode, agent, session):
            error = agent.prompt(session, "go", 30)["error"]
            self.assertIn("come back later", json.dumps(error))
            self.assertEqual(len(self.journal(mode)), 3)
        self.in_each_mode(check, fixture({"error": {"message": "come back later",
                                                    "type": "overloaded_error"}, "status": 503}))

    def test_cut(self):
        """The connection ends in the middle of a call: it does not run"""
        def check(_mode, agent, session):
            self.assertIn("cut off", json.dumps(agent.prompt(session, "go", 30)["error"]))
            self.assertFalse(os.path.exists(self.path("ran")))
        self.in_each_mode(check, fixture({"toolCalls": [
            tool("call_r", "terminal", command="touch ran; echo " + "x" * 200)]},
            truncateAfterChunks=12, latency=5))


if __name__ == "__main__":
    import unittest
    unittest.main()
