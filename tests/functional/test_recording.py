"""Exchanges with a model, written down and played back."""
import json
import os
import stat
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import anthropic_server as anthropic
import model_server as model
import responses_server as responses
from acp import BUILD, SCALE, AcpTest
from model_server import CUT, HANG, ModelServer, Reply
import processes

KEY = 'sk-canary-"0123/456\\789+abc'
VARIABLE = "HERMES_ACP_RECORD_PROVIDER"


class RecordTest(AcpTest):
    @property
    def records(self):
        return os.path.join(self.folder, "records")

    def begin(self, server, *script, mode=None, model="fake", url=None, **options):
        server = server(*script)
        self.servers.append(server)
        self.configure(model={"provider": "custom", "base_url": url or server.base_url,
                              "default": model, "api_key": KEY,
                              **({"api_mode": mode} if mode else {})})
        environment = options.pop("environment", {VARIABLE: self.records})
        agent = self.agent(environment=environment, **options)
        return server, agent, agent.new_session(self.work)

    def read(self, number):
        with open(os.path.join(self.records, f"{number:06}.jsonl"), "rb") as file:
            return [json.loads(line) for line in file]

    def replay(self, *arguments, **options):
        agent = self.agent(f"--rehearsal={self.records}", *arguments, **options)
        return agent, agent.new_session(self.work)

    @staticmethod
    def body(records):
        """The bytes of the answer, piece by piece."""
        return [record["text"].encode() if "text" in record else record["bytes"].encode("latin-1")
                for record in records if record["record"] == "data"]


class Recording(RecordTest):
    def test_exchange(self):
        """Everything of it, numbered, private, with the key nowhere"""
        server, agent, session = self.begin(ModelServer, model.run("true"), model.say("done"))
        self.assertEqual(agent.turn(session, f"my key is {KEY}"), "end_turn")
        self.assertEqual(agent.turn(session, "again"), "end_turn")
        self.sweep(agent)
        self.assertEqual(server.requests[0].headers["authorization"], "Bearer " + KEY)
        self.assertEqual(sorted(os.listdir(self.records)),
                         ["000001.jsonl", "000002.jsonl", "000003.jsonl"])
        self.assertEqual(stat.S_IMODE(os.stat(self.records).st_mode), 0o700)
        for name in os.listdir(self.records):
            path = os.path.join(self.records, name)
            self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
            with open(path, "rb") as file:
                text = file.read()
            self.assertNotIn(b"sk-canary", text)
        request, answer, *data, end = self.read(1)
        self.assertEqual((request["record"], request["version"], request["method"],
                          request["dialect"]), ("request", 1, "POST", "chat_completions"))
        self.assertEqual(request["url"], server.base_url + "/chat/completions")
        self.assertIn(["Authorization", "***"], request["headers"])
        asked = json.loads(request["text"])
        self.assertEqual(asked["tools"], server.requests[0].json["tools"])
        self.assertEqual(asked["messages"][-1]["content"].rstrip("*"), "my key is ")
        self.assertEqual((answer["record"], answer["status"]), ("response", 200))
        self.assertIn(["content-type", "text/event-stream"], answer["headers"])
        self.assertTrue(all(piece["record"] == "data" and piece["ms"] >= 0 for piece in data))
        self.assertIn(b"tool_calls", b"".join(self.body(data)))
        self.assertEqual(end["record"], "end")

    def test_echoed_key(self):
        """A server that says the key, in pieces, with escapes, in headers and in a place to go to"""
        escaped = json.dumps(KEY)[1:-1].encode()
        half = len(escaped) // 2
        body = b'{"error":{"message":"no such key: ' + escaped + b'"}}'
        at = body.index(escaped) + half
        replies = (Reply([body[:at], 0.05, body[at:]], 401, {"X-Echo": "key " + KEY},
                         content_type="application/json"),
                   Reply([b"moved"], 307, {"Location": "http://127.0.0.1:9/?q=" + KEY,
                                           "Set-Cookie": "session=cookie-canary"}, "length"))
        _server, agent, session = self.begin(ModelServer, *replies)
        for _reply in replies:
            self.assertIn("error", agent.prompt(session, "go"))
        self.sweep(agent)
        first, second = self.read(1), self.read(2)
        text = json.dumps([first, second])
        for secret in ("sk-canary", "0123/456", "789+abc", "cookie-canary"):
            self.assertNotIn(secret, text)
        self.assertEqual(first[1]["status"], 401)
        self.assertEqual(len(b"".join(self.body(first))), len(body))
        self.assertEqual(second[1]["status"], 307)
        self.assertIn(["set-cookie", "***"], second[1]["headers"])

    def test_several_workers(self):
        """Each exchange has a file of its own"""
        self.begin(ModelServer)
        agent = self.agents[0]
        sessions = [agent.new_session(self.work) for _ in range(6)]
        for session in sessions:
            agent.prompt_start(session, "go " + session)
        agent.until(lambda: all(agent.text(session) == "ok" for session in sessions), 20, "all")
        self.sweep(agent)
        asked = [json.loads(self.read(number)[0]["text"])["messages"][-1]["content"]
                 for number in range(1, 7)]
        self.assertEqual(sorted(asked), sorted("go " + session for session in sessions))
        self.assertEqual(len(os.listdir(self.records)), 6)

    def test_left(self):
        """What a cancel breaks off is written, too"""
        _server, agent, session = self.begin(ModelServer, [model.delta("half"), HANG])
        identity = agent.prompt_start(session, "go")
        agent.wait_text(session, "half")
        agent.cancel(session)
        agent.wait(identity)
        self.sweep(agent)
        records = self.read(1)
        self.assertIn(b"half", b"".join(self.body(records)))
        self.assertEqual(records[-1]["end"], "left")

    def test_cannot_be_written(self):
        """A warning, and the turn is what it would have been"""
        blocked = os.path.join(self.folder, "blocked")
        open_to_all = os.path.join(self.folder, "open")
        os.mkdir(open_to_all)
        os.chmod(open_to_all, 0o777)
        with open(blocked, "w"):
            pass
        full = os.path.join(self.folder, "full")
        os.mkdir(full, 0o700)
        for number in range(1, 1001):
            with open(os.path.join(full, f"{number:06}.jsonl"), "w"):
                pass
        self.stderr_is_quiet = False
        for folder, reason in ((blocked, "Not a directory"), ("records", "not an absolute path"),
                               (open_to_all, "others may write there"),
                               (full, "enough records"),
                               (os.path.join(self.folder, "no", "such"), "No such file")):
            _server, agent, session = self.begin(ModelServer, model.say("fine"),
                                                 environment={VARIABLE: folder})
            self.assertEqual(agent.turn(session), "end_turn")
            self.assertEqual(agent.text(session), "fine")
            self.sweep(agent, quiet=False)
            with open(os.path.join(self.folder, "home", ".hermes", "logs", "hermes-acp.log")) as log:
                self.assertIn(reason, log.read())
        self.assertEqual(os.listdir(open_to_all), [])

    def test_link(self):
        """A link that stands where the file would is not followed"""
        os.mkdir(self.records, 0o700)
        victim = os.path.join(self.folder, "victim")
        os.symlink(victim, os.path.join(self.records, "000001.jsonl"))
        _server, agent, session = self.begin(ModelServer)
        self.assertEqual(agent.turn(session), "end_turn")
        self.sweep(agent)
        self.assertFalse(os.path.exists(victim))
        self.assertEqual(self.read(2)[0]["record"], "request")

    def test_not_unasked(self):
        _server, agent, session = self.begin(ModelServer, environment={})
        self.assertEqual(agent.turn(session), "end_turn")
        self.assertFalse(os.path.exists(self.records))

    def test_long(self):
        """A body has a limit"""
        text = "x" * (1 << 20)
        reply = [model.delta(text) for _ in range(3)] + [model.delta("end"), model.finish(),
                                                         model.DONE]
        _server, agent, session = self.begin(ModelServer, reply)
        prompt = "y" * (9 << 20)
        self.assertEqual(agent.turn(session, prompt, 60), "end_turn")
        self.sweep(agent)
        request = self.read(1)[0]
        self.assertTrue(request["cut"])
        self.assertLessEqual(len(request["text"]), 8 << 20)


class Playing(RecordTest):
    def check(self, server, *script, prompts=("one", "two"), mode=None, name="fake", **options):
        """Two turns at a server, then the same from the records: the same to the client."""
        server, agent, session = self.begin(server, *script, mode=mode, model=name)
        server.allow_errors = True
        outcomes = []
        told = []
        for one in (False, True):
            if one:
                self.sweep(agent)
                for server in self.servers:
                    server.close()
                agent, session = self.replay(**options)
            mark = agent.mark()
            answers = []
            for prompt in prompts:
                answer = agent.prompt(session, prompt)
                error = answer.get("error", {}).get("message", "")
                for label in ("custom endpoint at 127.0.0.1", "Rehearsal"):
                    error = error.replace(label, "it")
                answers.append((answer.get("result", {}).get("stopReason"), error))
            outcomes.append((answers, agent.text(session, mark), agent.thoughts(session, mark),
                             [(card.status, card.title) for card in agent.cards(session, mark)]))
            told.append(answers)
        self.maxDiff = None
        self.assertEqual(outcomes[0][0], outcomes[1][0])
        self.assertEqual(outcomes[0][1:], outcomes[1][1:])
        self.assertGreater(len(outcomes[0][1]), 0)
        return agent, session

    def test_chat_completions(self):
        text = b"".join(model.say("wörter \U0001f30d ", "und mehr"))
        pieces = [text[at:at + 7] for at in range(0, len(text), 7)]  # also within characters
        self.check(ModelServer, model.run("echo one"), pieces, model.say("the end"))

    def test_anthropic_messages(self):
        self.check(anthropic.AnthropicServer,
                   anthropic.answer(anthropic.thinking("Hm ", "\U0001f30d"),
                                    anthropic.run("echo one")),
                   anthropic.say("first"), anthropic.say("second"), name="claude-fake")

    def test_responses(self):
        self.check(responses.ResponsesServer,
                   responses.Answer().thought("**Hm**").call("call_1", "todo").end(),
                   responses.say("first"), responses.say("second"), mode="responses")

    def test_whole_body(self):
        body = model.dump({"choices": [{"index": 0, "finish_reason": "stop", "message": {
            "role": "assistant", "content": "whole answer"}}]})
        self.check(ModelServer, Reply([body], framing="length", content_type="application/json"))

    def test_faults(self):
        """A refusal that is told, one that is tried again, an answer that is cut off"""
        agent, _session = self.check(
            ModelServer, model.failure(400, "we do not like it"),
            model.failure(503, "busy", {"Retry-After": "0"}), model.say("now"),
            [model.delta("half an"), CUT], model.say("swer"), prompts=("one", "two", "three"))
        self.sweep(agent)

    def test_silence(self):
        """What nobody waited for does not end"""
        _server, agent, session = self.begin(ModelServer, [model.delta("half"), HANG])
        identity = agent.prompt_start(session, "go")
        agent.wait_text(session, "half")
        agent.cancel(session)
        agent.wait(identity)
        self.sweep(agent)
        again, session = self.replay()
        identity = again.prompt_start(session, "go")
        again.wait_text(session, "half")
        again.ping()
        self.assertFalse(again.answered(identity))
        again.cancel(session)
        self.assertEqual(again.wait(identity)["result"]["stopReason"], "cancelled")

    def test_after_the_last(self):
        agent, session = self.check(ModelServer, model.say("a"), model.say("b"))
        error = agent.prompt(session, "three")["error"]
        self.assertIn("no more exchanges", json.dumps(error))
        self.assertEqual(agent.prompt(agent.new_session(self.work), "one")["result"]["stopReason"],
                         "end_turn")

    def test_successor(self):
        """A process that takes over goes on where the conversation stands"""
        _server, agent, session = self.begin(ModelServer, model.say("a"), model.say("b"))
        for prompt in "one", "two":
            self.assertEqual(agent.turn(session, prompt), "end_turn")
        self.sweep(agent)
        agent, session = self.replay()
        self.assertEqual(agent.turn(session, "one"), "end_turn")
        self.sweep(agent)
        again = self.agent(f"--rehearsal={self.records}")
        again.load(session, self.work)
        self.assertEqual(again.text(session), "a")
        self.assertEqual(again.turn(session, "two"), "end_turn")
        self.assertEqual(again.text(session), "ab")

    def test_title(self):
        """The conversation and what is asked beside it do not mix"""
        self.configure(acp={"generate_titles": True})
        server, agent, session = self.begin(ModelServer, model.say("a"), model.say("b"))
        server.respond = lambda request: None if request.json.get("tools") else model.say(
            "A recorded title")
        for one in agent, None:
            if one is None:
                self.sweep(agent)
                agent, session = self.replay()
            self.assertEqual(agent.turn(session, "one"), "end_turn")
            self.assertTrue(processes.until(
                lambda: any(update["title"].startswith("A recorded title")
                            for update in agent.updates(session, "session_info_update")),
                5 * SCALE), "no title")
            self.assertEqual(agent.turn(session, "two"), "end_turn")
            self.assertEqual(agent.text(session), "ab")

    def test_damaged(self):
        """A file that is no record is an error that names it; nothing else happens"""
        os.mkdir(self.records, 0o700)
        path = os.path.join(self.records, "7.jsonl")
        for text, reason in (
                ("{", "line 1"), ("[]", "line 1"), ('{"record":"data"}\n\n{"record":"x"}', "line 3"),
                ('{"record":"end"}', "no request"), ("", "no request"), ("\0\0", "line 1")):
            with open(path, "w") as file:
                file.write(text)
            agent, session = self.replay()
            error = json.dumps(agent.prompt(session, "go")["error"])
            self.assertIn("7.jsonl", error)
            self.assertIn(reason, error)
            self.sweep(agent)
        # Records in which everything has another form than it should.
        records = [{"record": "request", "dialect": "chat_completions"},
                   {"record": "response", "status": "200", "headers": [1, ["a"], [None, {}], []]},
                   {"record": "data"}, {"record": "data", "text": 7},
                   {"record": "data", "bytes": "\u20ac"}, {"record": "data", "bytes": "\0\xff"},
                   {"record": "end", "end": "done", "message": []}]
        with open(path, "w") as file:
            file.write("\n".join(json.dumps(record) for record in records))
        agent, session = self.replay()
        self.assertIn("error", agent.prompt(session, "go"))
        self.sweep(agent)

    def test_check(self):
        os.mkdir(self.records, 0o700)
        done = subprocess.run([os.path.join(BUILD, "hermes-acp"), f"--rehearsal={self.records}",
                               "--check"], stdin=subprocess.DEVNULL, capture_output=True,
                              env={"PATH": os.environ["PATH"], "HOME": self.folder}, timeout=20,
                              text=True)
        self.assertIn(f"recorded in {self.records}", done.stdout)


if __name__ == "__main__":
    import unittest
    unittest.main()
