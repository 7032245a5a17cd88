"""A key that must not be found: not in files, messages, processes, nor at another host."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import anthropic_server as anthropic
import model_server as model
import responses_server as responses
from acp import AcpTest
from model_server import CUT, ModelServer, Reply
import processes

KEY = "sk-canary-5f2c81d07b6e4a93"
HEADER = "canary-header-77aa31c9"
PART = 10  # bytes: what is shorter is no part of a key that helps anybody
DIALECTS = {
    "chat_completions": (ModelServer, lambda text: model.say(text), "fake",
                         lambda: model.run("env; cat /proc/self/environ /proc/$PPID/environ")),
    "anthropic_messages": (anthropic.AnthropicServer, lambda text: anthropic.say(text),
                           "claude-fake", lambda: anthropic.answer(anthropic.run(
                               "env; cat /proc/self/environ /proc/$PPID/environ"))),
    "responses": (responses.ResponsesServer, lambda text: responses.say(text), "fake",
                  lambda: responses.Answer().call(
                      "call_1", "terminal",
                      command="env; cat /proc/self/environ /proc/$PPID/environ").end()),
}


def parts(secret):
    """Every piece of it that has that many bytes and more than the common beginning."""
    return {secret[at:at + PART].encode() for at in range(6, len(secret) - PART + 1)}


PARTS = parts(KEY) | parts(HEADER)


def found(data):
    return [part for part in PARTS if part in data]


def failures(secret, elsewhere):
    """What servers do with a key; 200s are streams."""
    page = f"<html><title>{'t' * 190}{secret}</title><body>{'b' * 190}{secret}</body></html>"
    return [
        model.failure(401, f"Incorrect API key provided: {secret}."),
        model.failure(403, "x" * 480 + secret),
        Reply([page.encode()], 502, framing="length", content_type="text/html"),
        Reply([b"x" * 195 + secret.encode()], 400, framing="length", content_type="text/plain"),
        Reply([b"moved"], 307, {"Location": f"{elsewhere}/v1?" + "l" * 170 + secret}, "length"),
        Reply([b"moved"], 301, {"Location": f"{elsewhere}/{secret}"}, "length"),
        Reply([b"hm"], 200, framing="length", content_type="text/" + "c" * 65 + secret),
        Reply([b"x" * 195 + secret.encode()], 200, framing="length"),
        Reply([b"data: {" + b"x" * 180 + secret.encode() + b"\n\n"]),
        [model.event({"error": {"message": f"the key {secret} is worn out", "code": 401}})],
        [b"event: error\ndata: " + model.dump({"type": "error", "error": {
            "type": "authentication_error", "message": f"invalid x-api-key {secret}"}}) + b"\n\n"],
        [b"event: response.failed\ndata: " + model.dump({"type": "response.failed", "response": {
            "status": "failed", "error": {"code": "x", "message": "no: " + secret}}}) + b"\n\n"],
        [b"event: response.incomplete\ndata: " + model.dump({
            "type": "response.incomplete", "response": {"status": "incomplete", "output": [],
                "incomplete_details": {"reason": "r" * 185 + secret}}}) + b"\n\n"],
        Reply([b"half", CUT], 200, {"Retry-After": secret}),
    ]


class CanaryTest(AcpTest):
    def put_key(self, name="MODEL_KEY"):
        home = os.path.join(self.folder, "home", ".hermes")
        os.makedirs(home, mode=0o700, exist_ok=True)
        with open(os.path.join(home, ".env"), "w") as file:
            # Many others first, and one that is the beginning of it.
            for number in range(100):
                file.write(f"OTHER_{number}_TOKEN=other-token-{number:04}\n")
            file.write(f"SHORT_KEY={KEY[:18]}\n{name}={KEY}\n")
        os.chmod(os.path.join(home, ".env"), 0o600)

    def begin(self, mode, *replies, **options):
        server = DIALECTS[mode][0](*replies)
        server.allow_errors = True
        self.servers.append(server)
        self.configure(model={"provider": "custom", "base_url": server.base_url,
                              "api_mode": mode, "default": DIALECTS[mode][2],
                              "api_key": "${MODEL_KEY}"},
                       providers={}, custom_providers=[])
        records = os.path.join(self.folder, "records")
        agent = self.agent("-vv", environment={"HERMES_ACP_RECORD_PROVIDER": records}, **options)
        self.stderr_is_quiet = False
        return server, agent, agent.new_session(self.work)

    def processes_of(self, agent):
        """pid -> environment of all that it has started, itself included."""
        pids = [agent.pid, *processes.descendants(agent.pid)]
        return {pid: processes.read(f"/proc/{pid}/environ") for pid in pids}

    def check_processes(self, agent, own=True):
        """With `own` False the environment of our own processes may hold it."""
        environments = self.processes_of(agent)
        allowed = () if own else {agent.pid, *agent.workers()}
        for pid, environment in environments.items():
            line = processes.read(f"/proc/{pid}/cmdline")
            self.assertFalse(found(line), line)
            if pid not in allowed:
                self.assertFalse(found(environment), line)

    def check_files(self):
        """All that was written but the file that the user has written."""
        count = 0
        for folder, _folders, names in os.walk(self.folder):
            for name in names:
                path = os.path.join(folder, name)
                if name == ".env" or os.path.islink(path) or not os.path.isfile(path):
                    continue
                with open(path, "rb") as file:
                    data = file.read()
                count += 1
                self.assertFalse(found(data), path)
        self.assertGreater(count, 3)

    def check_messages(self, agent):
        for message in agent.events:
            self.assertFalse(found(json.dumps(message).encode()), message)
        self.assertFalse(found(agent.stderr), agent.stderr[-2000:])

    def check_cores(self, agent):
        for pid in [agent.pid, *agent.workers()]:
            for line in processes.read(f"/proc/{pid}/limits").decode().splitlines():
                if line.startswith("Max core file size"):
                    self.assertEqual(line.split()[4], "0", line)


class Dialects(CanaryTest):
    def play(self, mode):
        self.put_key()
        _kind, say, _name, call = DIALECTS[mode]
        elsewhere = ModelServer()
        self.servers.append(elsewhere)
        place = f"http://127.0.0.1:{elsewhere.port}"
        server, agent, session = self.begin(mode, call(), say("fine"))
        self.assertEqual(agent.turn(session, "look around"), "end_turn")
        self.check_processes(agent)
        self.check_cores(agent)
        asked = server.requests[0].headers
        self.assertIn(KEY, asked.get("authorization", "") + asked.get("x-api-key", ""))
        replies = failures(KEY, place)
        for reply in replies:
            # As often as it is tried again, and then something else.
            server.default = reply
            response = agent.prompt(session, "go", 60)
            self.assertTrue("error" in response or "result" in response)
        server.default = say("ok")
        self.assertEqual(agent.turn(session, "and now"), "end_turn")
        # Nothing went to where the redirects pointed, and no body ever held the key.
        self.assertEqual((elsewhere.requests, elsewhere.others, elsewhere.errors), ([], [], []))
        for request in server.requests + server.others:
            self.assertFalse(found(request.body), request.path)
            self.assertFalse(found(request.path.encode()))
        self.check_processes(agent)
        self.check_messages(agent)
        self.sweep(agent, quiet=False)
        self.check_files()

    def test_chat_completions(self):
        self.play("chat_completions")

    def test_anthropic_messages(self):
        self.play("anthropic_messages")

    def test_responses(self):
        self.play("responses")


class Places(CanaryTest):
    def test_header(self):
        """A header of the user's own that holds a secret"""
        self.put_key()
        server = ModelServer(model.failure(401, f"who is {HEADER}?"),
                             model.failure(400, "Bearer " + HEADER + " is not welcome"))
        self.servers.append(server)
        self.configure(model={"provider": "custom:gate", "default": "fake"}, custom_providers=[
            {"name": "gate", "base_url": server.base_url, "extra_headers": {
                "Authorization": "Bearer ${GATE_PASS}"}}])
        with open(os.path.join(self.folder, "home", ".hermes", ".env"), "a") as file:
            file.write(f"GATE_PASS={HEADER}\n")
        agent = self.agent("-vv", environment={
            "HERMES_ACP_RECORD_PROVIDER": os.path.join(self.folder, "records")})
        self.stderr_is_quiet = False
        session = agent.new_session(self.work)
        for _time in range(2):
            self.assertIn("error", agent.prompt(session, "go"))
        self.assertIn(HEADER, server.last.headers["authorization"])
        self.check_messages(agent)
        self.check_processes(agent)
        self.sweep(agent, quiet=False)
        self.check_files()

    def test_another_host(self):
        """A key that belongs to a vendor does not go where another address leads"""
        for name, provider, mode in (("OPENROUTER_API_KEY", "openrouter", "chat_completions"),
                                     ("ANTHROPIC_API_KEY", "anthropic", "anthropic_messages"),
                                     ("OPENAI_API_KEY", "openai-api", "responses"),
                                     ("OPENROUTER_API_KEY", "custom", "chat_completions")):
            self.put_key(name)
            kind, _say, fake, _call = DIALECTS[mode]
            server = kind()
            server.strict = False
            server.allow_errors = True
            self.servers.append(server)
            self.configure(model={"provider": provider, "base_url": server.base_url,
                                  "default": fake, "api_mode": mode})
            agent = self.agent()
            self.stderr_is_quiet = False
            response = agent.request("session/new", {"cwd": self.work, "mcpServers": []})
            if "result" in response:
                agent.prompt(response["result"]["sessionId"], "go")
            for request in server.requests + server.others:
                self.assertFalse(found(json.dumps(request.headers).encode()), (provider, name))
                self.assertFalse(found(request.body))
            self.check_messages(agent)
            self.sweep(agent, quiet=False)

    def test_environment(self):
        """A key of the environment is in our own processes, and in none that they start"""
        server = ModelServer(model.run("sleep 300 >f 2>&1 & env"), model.say("fine"))
        self.servers.append(server)
        self.configure(model={"provider": "custom", "base_url": server.base_url,
                              "default": "fake", "api_key": "${MODEL_KEY}"})
        agent = self.agent(environment={"MODEL_KEY": KEY, "OPENROUTER_API_KEY": KEY})
        session = agent.new_session(self.work)
        self.assertEqual(agent.turn(session), "end_turn")
        self.assertIn(KEY, server.requests[0].headers["authorization"])
        self.assertFalse(found(server.last.body))
        self.assertTrue(set(processes.descendants(agent.pid)) - set(agent.workers()),
                        "no command runs")
        self.check_processes(agent, own=False)
        self.check_cores(agent)
        self.check_messages(agent)
        self.sweep(agent)
        self.check_files()


if __name__ == "__main__":
    import unittest
    unittest.main()
