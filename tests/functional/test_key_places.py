"""The key of a provider goes to its server and nowhere else."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import anthropic_server as anthropic
import model_server as model
import processes
import responses_server as responses
from acp import BUILD, AcpTest
from model_server import ModelServer, Reply

MARK = b"canary"  # at both ends of the key: half of it is found, too
KEY = "sk-canary-0123456789abcdef0123456789abcdef-canary"
WORDS = "we know no such key"


# The server, the name of a model, the api_mode.
DIALECTS = ((ModelServer, "fake", "chat_completions"),
            (anthropic.AnthropicServer, "claude-fake", "anthropic_messages"),
            (responses.ResponsesServer, "fake", "codex_responses"))


class KeyTest(AcpTest):
    def configured(self, server, name, mode):
        self.configure(model={"provider": "custom", "base_url": server.base_url, "default": name,
                              "api_mode": mode, "api_key": KEY})

    def dotenv(self, text):
        folder = os.path.join(self.folder, "home", ".hermes")
        os.makedirs(folder, mode=0o700, exist_ok=True)
        path = os.path.join(folder, ".env")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, 0o600)

    def serve(self, server, *script):
        server = server(*script)
        self.servers.append(server)
        return server

    def files(self):
        """What is on the disk, but the files in which the user put the key."""
        home = os.path.join(self.folder, "home", ".hermes")
        own = [os.path.join(home, name) for name in (".env", "config.yaml", "auth.json")]
        found = {}
        for folder, _folders, names in os.walk(self.folder):
            for path in (os.path.join(folder, name) for name in names):
                if path not in own and os.path.isfile(path):
                    with open(path, "rb") as file:
                        found[os.path.relpath(path, self.folder)] = file.read()
        return found

    def assert_no_key(self, where, data):
        data = data if isinstance(data, bytes) else str(data).encode()
        at = data.find(MARK)
        self.assertEqual(at, -1, f"{where}: {data[max(at - 200, 0):at + 100]!r}")


class Echoed(KeyTest):
    def test_pool(self):
        """A key of auth.json; its state is entered there without a message that says it"""
        server = self.serve(ModelServer)
        server.script[:] = [model.failure(401, f"{WORDS}: {KEY}")] * 4
        self.configure(model={"provider": "custom:lab", "default": "fake"},
                       custom_providers=[{"name": "Lab", "base_url": server.base_url}])
        path = os.path.join(self.folder, "home", ".hermes", "auth.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"version": 1, "credential_pool": {"custom:lab": [{
                "id": "a", "label": "one", "auth_type": "api_key", "priority": 0,
                "source": "manual", "access_token": KEY}]}}, file)
        os.chmod(path, 0o600)
        agent = self.agent("-vv")
        error = agent.prompt(agent.new_session(self.work), "go")["error"]
        self.assertIn(WORDS, json.dumps(error))

        def entered():
            with open(path, "rb") as file:
                return json.load(file)["credential_pool"]["custom:lab"][0].get("last_status")
        self.assertTrue(processes.until(entered, 10), "the state of the key is not entered")
        self.sweep(agent, quiet=False)
        with open(path, "rb") as file:
            self.assertEqual(file.read().count(KEY.encode()), 1)
        for name, data in self.files().items():
            self.assert_no_key(name, data)
        self.assert_no_key("standard error", agent.stderr)
        self.assert_no_key("what the client was told", agent.events)

    def test_many_secrets(self):
        """However many secrets there are, the one that is used is masked"""
        server = self.serve(ModelServer, model.failure(401, f"{WORDS}: {KEY}"))
        self.configure(model={"provider": "custom", "base_url": server.base_url,
                              "default": "fake", "key_env": "MY_MODEL_KEY"})
        self.dotenv("".join(f"SERVICE_{number}_API_KEY=another-secret-{number}\n"
                            for number in range(200)) + f"MY_MODEL_KEY={KEY}\n")
        agent = self.agent("-vv")
        error = agent.prompt(agent.new_session(self.work), "go")["error"]
        self.assertIn(WORDS, json.dumps(error))
        self.sweep(agent, quiet=False)
        self.assert_no_key("standard error", agent.stderr)
        self.assert_no_key("what the client was told", agent.events)

    def test_check(self):
        """--check=online says what the server made of the key, not the key"""
        for dialect, name, mode in DIALECTS:
            with self.subTest(mode):
                server = self.serve(dialect)
                server.allow_errors = True
                server.listing = model.failure(401, f"{WORDS}: {KEY}")
                server.choose = lambda request, server=server: server.listing
                self.configured(server, name, mode)
                done = subprocess.run(
                    [os.path.join(BUILD, "hermes-acp"), "--check=online"], timeout=20,
                    stdin=subprocess.DEVNULL, capture_output=True, check=False,
                    env={"PATH": os.environ["PATH"], "HOME": os.path.join(self.folder, "home")})
                self.assertIn(b"does not accept the key", done.stdout + done.stderr)
                self.assert_no_key("--check=online", done.stdout + done.stderr)


class Elsewhere(KeyTest):
    def test_redirect(self):
        """A redirect is an error that names the place; nothing is sent there"""
        for dialect, name, mode in DIALECTS:
            for status in (301, 302, 303, 307, 308):
                with self.subTest(mode, status=status):
                    other = self.serve(ModelServer)
                    target = other.base_url.replace("127.0.0.1", "localhost")
                    reply = Reply([], status, {"Location": f"{target}/x?key={KEY}"}, "length")
                    server = self.serve(dialect, *[reply] * 4)
                    self.configured(server, name, mode)
                    agent = self.agent()
                    error = agent.prompt(agent.new_session(self.work), "go")["error"]
                    self.assertIn("redirect", json.dumps(error))
                    self.assertIn("localhost", json.dumps(error))
                    self.assert_no_key("the error", error)
                    self.assertTrue(server.requests)
                    self.assertEqual(other.requests + other.others + other.auxiliary, [])
                    self.sweep(agent)

    def test_address_changes(self):
        """A key that is bound to an address stays there when the file names another one"""
        first, second = self.serve(ModelServer), self.serve(ModelServer)
        self.configure(model={"provider": "custom:lab", "default": "fake"},
                       custom_providers=[{"name": "Lab", "base_url": first.base_url}])
        path = os.path.join(self.folder, "home", ".hermes", "auth.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"version": 1, "credential_pool": {"custom:lab": [{
                "id": "a", "label": "one", "auth_type": "api_key", "priority": 0,
                "source": "manual", "access_token": KEY, "base_url": first.base_url}]}}, file)
        os.chmod(path, 0o600)
        agent = self.agent()
        session = agent.new_session(self.work)
        self.assertEqual(agent.turn(session), "end_turn")
        self.assertEqual(first.last.headers.get("authorization"), f"Bearer {KEY}")
        self.configure(custom_providers=[{"name": "Lab", "base_url": second.base_url}])
        for request in (("session/new", {"cwd": self.work, "mcpServers": []}),
                        ("session/load", {"sessionId": session, "cwd": self.work,
                                          "mcpServers": []})):
            again = self.agent()
            answer = again.request(*request)
            identity = (answer.get("result") or {}).get("sessionId", session)
            if "result" in answer:
                answer = again.prompt(identity, "more")
            self.assert_no_key("the answer", answer)
            for request in second.requests + second.others + second.auxiliary:
                self.assert_no_key("another server", (request.path, request.headers))
                self.assert_no_key("another server", request.body)
            self.sweep(again)


if __name__ == "__main__":
    import unittest
    unittest.main()
