"""What the tests of crashes share: a model that knows what it is to say and goes on where it was cut
off, and the comparison of what a client saw with what is stored. Python standard library only.
"""
import os
import signal
import sqlite3
import subprocess

import model_server as model
import processes
from acp import BUILD, AcpTest

HERE = os.path.dirname(os.path.abspath(__file__))
GO_ON = "Your answer was cut off"


def sanitized():
    """True for a build with sanitizers: they want to be loaded before everything else."""
    with open(os.path.join(BUILD, "config.log"), errors="replace") as file:
        return "--enable-sanitizers" in file.read(20000)


def alternation_problem(messages, user_after_tool=False):
    """What a provider objects to that wants user and assistant by turns and no prefill. A turn that
    was cancelled or failed among its calls leaves results that the next prompt follows."""
    roles = [message["role"] for message in messages if message["role"] != "system"]
    for first, second in zip(roles, roles[1:]):
        if first == second and first != "tool":
            return f"two messages of {first} in a row: {roles}"
        if (first, second) == ("user", "tool") or (first, second) == ("tool", "user") and \
                not user_after_tool:
            return f"{second} after {first}: {roles}"
    if not roles or roles[-1] == "assistant":
        return f"the last message is the assistant's: {roles}"
    return None


class Plan:
    """What a turn is to be: rounds of (text, calls), a call being (name, arguments). The answer to a
    request says what is not said yet, told from the history alone as a model does it. `pieces` is
    how many pieces the text of a round comes in; `gate(round, piece)` is called before each."""

    def __init__(self, *rounds, pieces=3, gate=None):
        self.rounds = rounds
        self.pieces = pieces
        self.gate = gate

    @property
    def text(self):
        return "".join(text for text, _calls in self.rounds)

    def said(self, messages):
        """(round, text of it that the history holds)"""
        number, text = 0, ""
        for message in messages:
            if message["role"] == "user" and GO_ON not in model_text(message):
                number, text = 0, ""
            elif message["role"] == "assistant" and message.get("tool_calls"):
                number, text = number + 1, ""
            elif message["role"] == "assistant":
                text += model_text(message)
        return number, text

    def answer(self, messages, counter):
        number, said = self.said(messages)
        if number >= len(self.rounds):
            return model.failure(400, f"a round too many: {messages[-4:]}")
        text, calls = self.rounds[number]
        if not text.startswith(said):
            return model.failure(400, f"{said!r} is not the beginning of {text!r}")
        rest = text[len(said):]
        size = max(1, -(-len(rest) // self.pieces))
        parts = [model.chunk({"role": "assistant", "content": ""})]
        for place in range(0, len(rest), size):
            if self.gate:
                parts.append(lambda n=number, p=place // size: self.gate(n, p))
            parts.append(model.delta(rest[place:place + size]))
        parts += [model.call_delta(index, f"call_{next(counter)}", name, arguments)
                  for index, (name, arguments) in enumerate(calls)]
        return [*parts, model.finish("tool_calls" if calls else "stop"), model.DONE]


def model_text(message):
    content = message.get("content")
    if isinstance(content, list):
        return "\n".join(part.get("text", "") for part in content)
    return content or ""


class CrashTest(AcpTest):
    """Sessions whose turns follow a plan; prompts that do not name one are answered "usable"."""

    def setUp(self):
        super().setUp()
        self.stderr_is_quiet = False  # a crash is worth a line
        self.plans = {}               # a word of the prompt -> Plan

    def planned_model(self):
        server = self.model()
        server.respond = lambda request: self.respond(server, request)
        return server

    def respond(self, server, request):
        problem = alternation_problem(request.messages)
        if problem:
            server.errors.append(problem)
            return model.failure(400, problem)
        prompts = [text for text in request.texts() if GO_ON not in text[:len(GO_ON)]]
        for word, plan in self.plans.items():
            if prompts and word in prompts[-1]:
                return plan.answer(request.messages, model.counter)
        return Plan(("usable", [])).answer(request.messages, model.counter)

    def preloaded(self, agent_options=None):
        """An agent whose workers obey kill_at.c."""
        if sanitized():
            self.skipTest("a library cannot be loaded before the sanitizers")
        library = os.path.join(self.folder, "kill_at.so")
        made = subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-o", library,
                               os.path.join(HERE, "kill_at.c"), "-ldl"], capture_output=True,
                              text=True)
        if made.returncode != 0:
            self.skipTest(f"no C compiler for kill_at.c: {made.stderr[-300:]}")
        self.marks = os.path.join(self.folder, "marks")
        os.mkdir(self.marks)
        return self.agent(environment={"LD_PRELOAD": library, "KILL_AT_FOLDER": self.marks},
                          **(agent_options or {}))

    def died(self, name):
        return os.path.exists(os.path.join(self.marks, name + ".dead"))

    def database(self):
        connection = sqlite3.connect(os.path.join(self.folder, "home", ".hermes", "state.db"),
                                     timeout=20)
        self.addCleanup(connection.close)
        return connection

    def switch_to_wal(self):
        """The database is made by the program and put into the other journal mode."""
        agent = self.rehearsal({"default": {"rounds": [[{"text": "made"}]]}})
        agent.turn(agent.new_session(self.work))
        self.sweep(agent)
        self.assertEqual(self.database().execute("PRAGMA journal_mode=WAL").fetchone(), ("wal",))

    def lines(self, name):
        """The lines of a file that tools append to."""
        try:
            return self.get(name).decode().splitlines()
        except FileNotFoundError:
            return []

    def session_workers(self, agent):
        return [pid for pid, line in agent.workers().items() if "--session" in line]

    def oldest_worker(self, agent):
        """With one session this is its worker; the younger one is the spare."""
        return min(self.session_workers(agent), key=lambda pid: processes.stat(pid)[2])

    def kill_sessions(self, agent, number=signal.SIGKILL):
        for pid in self.session_workers(agent):
            processes.kill(pid, number)

    def ended(self, agent, request, seconds=20):
        """The response to a prompt, which must be a normal end."""
        response = agent.wait(request, seconds)
        self.assertEqual(response.get("result", {}).get("stopReason"), "end_turn",
                         f"{response}; {agent.stderr[-800:]!r}")

    def stored_text(self, agent, session):
        """The session is closed and loaded from the database: what it shows, and what is there."""
        agent.call("session/close", {"sessionId": session})
        mark = agent.mark()
        agent.load(session, self.work)
        return (agent.text(session, mark, "user_message_chunk"), agent.text(session, mark),
                agent.cards(session, mark))

    def assert_usable(self, agent, session):
        mark = agent.mark()
        self.assertEqual(agent.turn(session, "again"), "end_turn")
        self.assertEqual(agent.text(session, mark), "usable")

    def assert_durable(self, agent, session, prompt, text):
        """The client saw `text`, the next prompt works, the stored session shows the same, and the next
        prompt after that works. The cards of the stored session."""
        self.assertEqual(agent.text(session), text)
        self.assert_usable(agent, session)
        user, stored, cards = self.stored_text(agent, session)
        self.assertEqual((user, stored), (prompt + "again", text + "usable"))
        self.assert_usable(agent, session)
        return cards
