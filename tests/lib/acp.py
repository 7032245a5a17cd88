"""An ACP client over stdio for the tests, and the base class of the test cases.

`Agent` starts one hermes-acp in a home of its own, reads everything that it writes on a thread, and
checks every line and the order of the lines while it reads. `AcpTest` ends each test with the same
sweep: exit status, zombies, orphans, open files, sanitizer reports, bytes on stdout and on stderr.
Python standard library only.
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import processes
import shape

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.abspath(os.environ.get("HERMES_TEST_BUILD", os.path.join(TOP, "build")))
# Slow machines and sanitizer builds: every deadline of a test is multiplied by this.
SCALE = float(os.environ.get("HERMES_TEST_SCALE", "1"))
TURN_BOUND = {"agent_message_chunk", "agent_thought_chunk", "user_message_chunk", "tool_call",
              "tool_call_update", "plan"}
NO_CAPABILITIES = {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False}


def dump(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def within(limit):
    """A decorator: the test may take this many seconds (tests/run knows 60 otherwise)."""
    def mark(function):
        function.time_limit = limit
        return function
    return mark


def alone(function):
    """A decorator: nothing else runs beside this test."""
    function.runs_alone = True
    return function


# Permission policies: called with (agent, message), they return an outcome, an exception to be sent
# as an error, or None to leave the question open.

def select(kind):
    def policy(_agent, message):
        for option in message["params"]["options"]:
            if option["kind"] == kind:
                return {"outcome": "selected", "optionId": option["optionId"]}
        return {"outcome": "cancelled"}
    return policy


allow_once = select("allow_once")
allow_always = select("allow_always")
reject_once = select("reject_once")
reject_always = select("reject_always")


def say_cancelled(_agent, _message):
    return {"outcome": "cancelled"}


def no_answer(_agent, _message):
    return None


class RpcError(Exception):
    """Raised by a handler of the client: goes to the agent as an error."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


def not_supported(_agent, _message):
    raise RpcError(-32601, "Method not found")


class Card:
    """A tool call as a client shows it: announcement and updates merged."""

    def __init__(self, identity):
        self.id = identity
        self.values = {}
        self.ends = 0

    def merge(self, update):
        if update.get("status") in ("completed", "failed"):
            self.ends += 1
        self.values.update({key: value for key, value in update.items() if value is not None})

    def __getattr__(self, name):
        return self.__dict__["values"].get(name)

    @property
    def text(self):
        return "\n".join(item["content"].get("text", "") for item in self.content or []
                         if item["type"] == "content")

    @property
    def diffs(self):
        return [item for item in self.content or [] if item["type"] == "diff"]

    def __repr__(self):
        return f"<Card {self.id} {self.values}>"


class Agent:
    """One hermes-acp process and what it said. `home` is $HOME; $HERMES_HOME is below it."""

    def __init__(self, folder, arguments=(), environment=None, cwd=None, program=None,
                 capabilities=None, bare_environment=False):
        self.folder = folder
        self.home = os.path.join(folder, "home")
        self.hermes_home = os.path.join(self.home, ".hermes")
        self.reports = os.path.join(folder, "reports")
        for path in (self.home, self.hermes_home, self.reports, os.path.join(folder, "tmp")):
            os.makedirs(path, mode=0o700, exist_ok=True)
        self.tag = f"{os.path.basename(folder)}-{time.monotonic_ns()}"
        self.environment = {} if bare_environment else self.default_environment()
        self.environment.update(environment or {})
        self.environment = {key: value for key, value in self.environment.items()
                            if value is not None}
        self.capabilities = NO_CAPABILITIES if capabilities is None else capabilities
        self.on_permission = allow_once
        self.handlers = {}
        self.events = []       # every message from the agent, in order
        self.times = []        # the moment of each
        self.raw_lines = 0
        self.problems = []     # what the reader found wrong
        self.responses = {}    # repr(id) -> list of responses
        self.sent = {}         # repr(id) -> (method, sessionId)
        self.permissions = []  # session/request_permission messages
        self.known = set()     # session ids that a client may have heard of
        self.cards_by_session = {}
        self.open_requests = {}   # sessionId -> ids of requests in which turn updates are legal
        self.stderr = b""
        self.exited_by_test = False
        self.swept = False
        self.lock = threading.Condition()
        self.write_lock = threading.Lock()
        self.running = threading.Event()
        self.running.set()
        self.last_id = 100
        self.can_load = False
        self.process = subprocess.Popen(
            [program or os.path.join(BUILD, "hermes-acp"), *arguments], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0, cwd=cwd or folder,
            env=self.environment)
        self.pid = self.process.pid
        AcpTest.own_children.add(self.pid)
        self.threads = [threading.Thread(target=self.read_output, daemon=True),
                        threading.Thread(target=self.read_errors, daemon=True)]
        for thread in self.threads:
            thread.start()

    def default_environment(self):
        report = os.path.join(self.reports, "sanitizer")
        leaks = os.environ.get("HERMES_TEST_LEAKS", "1" if os.getuid() == 0 else "0")
        keep = {name: os.environ[name] for name in ("PATH", "LD_PRELOAD", "FIU_ENABLE")
                if name in os.environ}
        return {**keep, "HOME": self.home, "HERMES_HOME": self.hermes_home, "USER": "tester",
                "LANG": "C.UTF-8", "TERM": "dumb", "SHELL": "/bin/sh",
                "TMPDIR": os.path.join(self.folder, "tmp"), "ACP_TEST_TAG": self.tag,
                "HERMES_ACP_RETRY_SCALE": "0.01",
                "ASAN_OPTIONS": f"log_path={report}:detect_leaks={leaks}:abort_on_error=0",
                "UBSAN_OPTIONS": f"log_path={report}:print_stacktrace=1"}

    # ---- reading -------------------------------------------------------------------------

    def read_output(self):
        pending = b""
        descriptor = self.process.stdout.fileno()
        while True:
            self.running.wait()
            try:
                data = os.read(descriptor, 1 << 16)
            except OSError:
                break
            if not data:
                break
            pending += data
            if b"\n" in data:
                *lines, pending = pending.split(b"\n")
                for line in lines:
                    self.take_line(line)
        if pending:
            self.problems.append(f"stdout ends in the middle of a line: {pending[-200:]!r}")
        with self.lock:
            self.lock.notify_all()

    def read_errors(self):
        for line in self.process.stderr:
            self.stderr = (self.stderr + line)[-100000:]

    def take_line(self, line):
        now = time.monotonic()
        try:
            message = json.loads(line.decode("utf-8", "strict"))
        except ValueError as error:
            self.problems.append(f"not a JSON line on stdout: {line[:200]!r} ({error})")
            return
        problems = shape.message_problems(message)
        if b"\r" in line:
            problems.append("a carriage return in a line")
        if problems:
            self.problems.append(f"{problems[:4]} in {line[:300]!r}")
            if not isinstance(message, dict):
                return
        with self.lock:
            self.raw_lines += 1
            self.events.append(message)
            self.times.append(now)
            self.check_order(message)
            if "method" not in message:
                self.responses.setdefault(repr(message.get("id")), []).append(message)
            elif message["method"] == "session/request_permission":
                self.permissions.append(message)
            self.lock.notify_all()
        if "method" in message and "id" in message:
            self.serve(message)

    def check_order(self, message):
        """The rules about what may come when; holds the lock."""
        if message.get("method") == "session/update":
            self.check_update(message["params"])
        elif "method" not in message:
            method, session = self.sent.get(repr(message.get("id")), (None, None))
            result = message.get("result") or {}
            if isinstance(result, dict) and isinstance(result.get("sessionId"), str):
                self.known.add(result["sessionId"])
            if session is not None:
                self.open_requests.get(session, set()).discard(repr(message.get("id")))
            if method == "session/prompt" and not self.open_requests.get(session):
                for card in self.cards_by_session.get(session, {}).values():
                    if card.status not in ("completed", "failed"):
                        self.problems.append(f"a card is open after the turn: {card}")
                        card.values["status"] = "failed"

    def check_update(self, params):
        session, update = params.get("sessionId"), params.get("update", {})
        variant = update.get("sessionUpdate")
        if session not in self.known:
            self.problems.append(f"{variant} for a session that the client does not know yet")
        if variant in TURN_BOUND and not self.open_requests.get(session):
            self.problems.append(f"{variant} outside of a turn: {str(update)[:200]}")
        if variant not in ("tool_call", "tool_call_update"):
            return
        cards = self.cards_by_session.setdefault(session, {})
        identity = update.get("toolCallId")
        if variant == "tool_call":
            if identity in cards:
                self.problems.append(f"a second tool_call with the id {identity}")
            cards[identity] = Card(identity)
        elif identity not in cards:
            self.problems.append(f"tool_call_update before tool_call: {identity}")
            cards[identity] = Card(identity)
        cards[identity].merge(update)
        if cards[identity].ends > 1:
            self.problems.append(f"a card ended twice: {cards[identity]}")

    def serve(self, message):
        """Answers a request of the agent on the reader thread."""
        handler = self.on_permission
        if message["method"] != "session/request_permission":
            handler = self.handlers.get(message["method"], not_supported)
        try:
            answer = handler(self, message)
        except RpcError as error:
            self.send({"jsonrpc": "2.0", "id": message["id"],
                       "error": {"code": error.code, "message": str(error)}})
            return
        if answer is None:
            return
        if message["method"] == "session/request_permission":
            answer = {"outcome": answer}
        self.answer(message, answer)

    def answer(self, message, result):
        self.send({"jsonrpc": "2.0", "id": message["id"], "result": result})

    def choose(self, message, kind):
        """Answers a permission question that a policy had left open."""
        self.answer(message, {"outcome": select(kind)(self, message)})

    def pause(self):
        """Stops reading stdout, as a slow client does."""
        self.running.clear()

    def resume(self):
        self.running.set()

    # ---- writing -------------------------------------------------------------------------

    def write(self, data):
        """Raw bytes. A dead agent shows up as a missing answer, not here."""
        with self.write_lock:
            view = memoryview(data)
            try:
                while view:
                    view = view[os.write(self.process.stdin.fileno(), view):]
            except (OSError, ValueError):
                pass

    def send(self, message):
        self.write(dump(message) + b"\n")

    def note_request(self, identity, method, params):
        session = params.get("sessionId") if isinstance(params, dict) else None
        if not isinstance(session, str):
            session = None
        with self.lock:
            self.sent[repr(identity)] = (method, session)
            if session is not None and method in ("session/prompt", "session/load"):
                self.open_requests.setdefault(session, set()).add(repr(identity))
            if method in ("session/load", "session/resume") and session is not None:
                self.known.add(session)
                if method == "session/load":
                    self.cards_by_session[session] = {}

    def next_id(self):
        self.last_id += 1
        return self.last_id

    def start(self, method, params=None, identity=None):
        """Sends a request and returns its id."""
        identity = self.next_id() if identity is None else identity
        message = {"jsonrpc": "2.0", "id": identity, "method": method}
        if params is not None:
            message["params"] = params
        self.note_request(identity, method, params)
        self.send(message)
        return identity

    def notify(self, method, params):
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    # ---- waiting -------------------------------------------------------------------------

    def until(self, condition, seconds=10.0, what="the condition"):
        """Waits for `condition()`, which is evaluated after each message; returns its value."""
        end = time.monotonic() + seconds * SCALE
        with self.lock:
            while True:
                value = condition()
                if value:
                    return value
                left = end - time.monotonic()
                if left <= 0:
                    raise AssertionError(f"not within {seconds} s: {what}; {self.tail()}")
                self.lock.wait(min(left, 0.1))

    def tail(self):
        last = [str(event)[:300] for event in self.events[-6:]]
        return (f"exit status {self.process.poll()}, stderr {self.stderr[-500:]!r}, "
                "last messages:\n  " + "\n  ".join(last))

    def wait(self, identity, seconds=20.0):
        """The response to a request; there is none any more when stdout was read to its end."""
        self.until(lambda: self.responses.get(repr(identity)) or
                   not self.threads[0].is_alive(), seconds,
                   f"the response to {identity} {self.sent.get(repr(identity))}")
        found = self.responses.get(repr(identity))
        if not found:
            raise AssertionError(f"the agent ended without an answer to {identity}; {self.tail()}")
        return found[0]

    def answered(self, identity):
        return bool(self.responses.get(repr(identity)))

    def request(self, method, params=None, seconds=20.0):
        return self.wait(self.start(method, params), seconds)

    def call(self, method, params=None, seconds=20.0):
        """The result; an error is a failure of the test."""
        response = self.request(method, params, seconds)
        if "error" in response:
            raise AssertionError(f"{method}: {response['error']}")
        return response["result"]

    def error(self, method, params=None, seconds=20.0):
        """The error; a result is a failure of the test."""
        response = self.request(method, params, seconds)
        if "error" not in response:
            raise AssertionError(f"{method} succeeded: {str(response)[:300]}")
        return response["error"]

    def response_time(self, identity):
        with self.lock:
            for event, moment in zip(self.events, self.times):
                if "method" not in event and event.get("id") == identity:
                    return moment
        return None

    # ---- the protocol --------------------------------------------------------------------

    def initialize(self, version=1):
        result = self.call("initialize", {
            "protocolVersion": version, "clientCapabilities": self.capabilities,
            "clientInfo": {"name": "tests", "version": "1"}})
        self.can_load = result.get("agentCapabilities", {}).get("loadSession") is True
        return result

    def ping(self, identity=None):
        """A request that every version answers: an unknown method."""
        response = self.wait(self.start("_tests/ping", {}, identity), 5)
        if response.get("error", {}).get("code") != -32601:
            raise AssertionError(f"ping was answered {response}")

    def load(self, session, cwd):
        return self.call("session/load", {"sessionId": session, "cwd": cwd, "mcpServers": []})

    def new_session(self, cwd, **more):
        return self.call("session/new", {"cwd": cwd, "mcpServers": [], **more})["sessionId"]

    def prompt_start(self, session, text):
        blocks = [{"type": "text", "text": text}] if isinstance(text, str) else text
        return self.start("session/prompt", {"sessionId": session, "prompt": blocks})

    def prompt(self, session, text, seconds=20.0):
        """The whole response of a turn."""
        return self.wait(self.prompt_start(session, text), seconds)

    def turn(self, session, text="go", seconds=20.0):
        """The stop reason of a turn that must not end in an error."""
        response = self.prompt(session, text, seconds)
        if "error" in response:
            raise AssertionError(f"the turn failed: {response['error']}; {self.tail()}")
        return response["result"]["stopReason"]

    def cancel(self, session):
        self.notify("session/cancel", {"sessionId": session})

    def mark(self):
        with self.lock:
            return len(self.events)

    def updates(self, session=None, *kinds, since=0):
        with self.lock:
            return [event["params"]["update"] for event in self.events[since:]
                    if event.get("method") == "session/update"
                    and session in (None, event["params"]["sessionId"])
                    and (not kinds or event["params"]["update"]["sessionUpdate"] in kinds)]

    def text(self, session=None, since=0, kind="agent_message_chunk"):
        return "".join(update["content"].get("text", "")
                       for update in self.updates(session, kind, since=since))

    def thoughts(self, session=None, since=0):
        return self.text(session, since, "agent_thought_chunk")

    def cards(self, session, since=0):
        """The cards of a session in the order of their announcement."""
        cards = {}
        for update in self.updates(session, "tool_call", "tool_call_update", since=since):
            identity = update["toolCallId"]
            cards.setdefault(identity, Card(identity)).merge(update)
        return list(cards.values())

    def wait_permission(self, count=1, seconds=10.0):
        """The count-th question that was ever asked."""
        return self.until(lambda: len(self.permissions) >= count and self.permissions[count - 1],
                          seconds, f"permission question {count}")

    def wait_text(self, session, needle, seconds=10.0, since=0):
        return self.until(lambda: needle in self.text(session, since), seconds,
                          f"{needle!r} in the text")

    def wait_card(self, session, seconds=10.0, status=None, since=0):
        def found():
            return [card for card in self.cards(session, since)
                    if status is None or card.status == status]
        return self.until(found, seconds, f"a card ({status})")[-1]

    # ---- processes -----------------------------------------------------------------------

    def workers(self):
        """pid -> command line of the worker processes."""
        table = processes.descendants(self.pid)
        return {pid: processes.command_line(pid) for pid, row in table.items()
                if row[1] == self.pid and row[0] not in "ZX"}

    def worker_of(self, session, marker=None):
        """The pid of the worker that serves a session. The worker carries the session id in its
        title or arguments; where it does not, `marker` names a process below it."""
        for pid, line in self.workers().items():
            if session in line or session in processes.read(f"/proc/{pid}/comm").decode():
                return pid
        if marker is not None:
            for pid in processes.with_marker(marker):
                while pid and pid != self.pid:
                    row = processes.stat(pid)
                    if row is None:
                        break
                    if row[1] == self.pid:
                        return pid
                    pid = row[1]
        return None

    def files(self):
        return processes.open_files(self.pid)

    # ---- the end -------------------------------------------------------------------------

    def close_input(self):
        with self.write_lock:
            try:
                self.process.stdin.close()
            except OSError:
                pass

    def wait_exit(self, seconds=5.0):
        """The exit status, None when it did not end."""
        try:
            return self.process.wait(seconds * SCALE)
        except subprocess.TimeoutExpired:
            return None

    def kill(self, number=signal.SIGKILL):
        """The test itself ends the agent: the sweep does not judge the exit status."""
        self.exited_by_test = True
        processes.kill(self.pid, number)

    def sweep(self, limit=5.0, status=0, quiet=True):
        """Ends the agent and returns what is wrong, as a list of texts."""
        self.swept = True
        problems = []
        self.resume()
        table = processes.descendants(self.pid)
        if self.process.poll() is None:
            problems += self.lasting_zombies()
            table = processes.descendants(self.pid)
            self.close_input()
        code = self.wait_exit(limit)
        if code is None:
            problems.append(f"it did not exit within {limit} s after the end of its input")
            processes.kill(self.pid)
            self.process.wait()
        elif not self.exited_by_test and status is not None and code != status:
            problems.append(f"exit status {code}, expected {status}")
        self.close_input()
        problems += self.orphans(table)
        for thread in self.threads:
            thread.join(5)
        self.process.stdout.close()
        self.process.stderr.close()
        problems += self.problems
        for identity, found in self.responses.items():
            if len(found) > 1 and identity != "None":
                problems.append(f"request {identity} was answered {len(found)} times")
        if quiet and self.stderr:
            problems.append(f"stderr: {self.stderr[-2000:].decode('utf-8', 'replace')}")
        for name in sorted(os.listdir(self.reports)):
            with open(os.path.join(self.reports, name), errors="replace") as file:
                problems.append(f"sanitizer report {name}: {file.read(4000)}")
        return problems

    def lasting_zombies(self):
        def zombies():
            return [pid for pid, row in processes.descendants(self.pid).items() if row[0] == "Z"]
        if processes.until(lambda: not zombies(), 2):
            return []
        return [f"zombie {pid} ({processes.read(f'/proc/{pid}/comm').decode().strip()})"
                for pid in zombies()]

    def orphans(self, table):
        """What is left of the agent's processes; it is killed after it was noted."""
        def left():
            processes.reap_adopted(AcpTest.own_children)
            found = {pid for pid, row in table.items() if processes.same(pid, row)}
            found |= {pid for pid, row in processes.descendants(os.getpid()).items()
                      if row[1] == os.getpid() and row[0] != "Z" and pid not in AcpTest.own_children}
            found |= set(processes.with_environment(f"ACP_TEST_TAG={self.tag}"))
            return found - {self.pid, os.getpid()}
        if processes.until(lambda: not left(), 2 * SCALE):
            return []
        lines = []
        for pid in left():
            lines.append(f"orphan {pid}: {processes.command_line(pid)}")
            processes.kill(pid)
        return lines


class AcpTest(unittest.TestCase):
    """A test with a folder of its own. `self.work` is where sessions live."""

    maxDiff = 4000
    own_children = set()  # processes that a test started itself and takes care of
    exit_limit = 5.0

    def setUp(self):
        processes.become_subreaper()
        self.folder = os.path.realpath(tempfile.mkdtemp(prefix="hermes-acp-test-"))
        self.work = os.path.join(self.folder, "work")
        os.mkdir(self.work)
        self.agents = []
        self.servers = []
        self.stderr_is_quiet = True

    def tearDown(self):
        problems = []
        for agent in self.agents:
            if not agent.swept:
                problems += agent.sweep(self.exit_limit, quiet=self.stderr_is_quiet)
        for server in self.servers:
            problems += [f"model server: {error}" for error in server.errors]
            server.close()
        keep = os.environ.get("HERMES_TEST_KEEP")
        if not keep:
            make_removable(self.folder)
            shutil.rmtree(self.folder, ignore_errors=True)
        if problems:
            self.fail("sweep: " + "\n".join(problems[:20]))

    def sweep(self, agent, **options):
        """Sweeps one agent now and fails on what it finds."""
        problems = agent.sweep(**options)
        if problems:
            self.fail("sweep: " + "\n".join(problems[:20]))

    def configure(self, **sections):
        """Merges sections into config.yaml (JSON is YAML) of the home that agents will get."""
        home = os.path.join(self.folder, "home", ".hermes")
        os.makedirs(home, mode=0o700, exist_ok=True)
        self.configuration = {**getattr(self, "configuration", {}), **sections}
        path = os.path.join(home, "config.yaml")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(self.configuration, file, indent=1)
        os.chmod(path, 0o600)

    def model(self, *script, **options):
        """A model server that the agents of this test are configured for."""
        from model_server import ModelServer
        server = ModelServer(*script, **options)
        self.servers.append(server)
        self.configure(model={"provider": "custom", "base_url": server.base_url,
                              "default": "fake"},
                       terminal={"env_passthrough": ["ACP_TEST_TAG"]})
        return server

    def agent(self, *arguments, initialize=True, **options):
        agent = Agent(self.folder, arguments, **options)
        self.agents.append(agent)
        if initialize:
            agent.initialize()
        return agent

    def rehearsal(self, script, *arguments, **options):
        """An agent that plays a script instead of calling a model."""
        path = os.path.join(self.folder, f"script-{len(self.agents)}.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(script, file)
        return self.agent(f"--rehearsal={path}", *arguments, **options)

    def start(self, *script, **options):
        """The usual beginning: model server, agent, one session in self.work."""
        server = self.model(*script)
        agent = self.agent(**options)
        return server, agent, agent.new_session(self.work)

    def reload(self, agent, session, quiet=True):
        """Ends the agent; a new one that has loaded the session, None where it cannot load."""
        if not agent.swept:
            self.sweep(agent, quiet=quiet)
        if not agent.can_load:
            return None
        again = self.agent()
        again.load(session, self.work)
        return again

    def path(self, name):
        return os.path.join(self.work, name)

    def put(self, name, content, mode=None):
        """Writes a file in the session's folder."""
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
        if mode is not None:
            os.chmod(path, mode)
        return path

    def get(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def assert_gone(self, marker, seconds=3.0):
        def gone():
            processes.reap_adopted(AcpTest.own_children)  # as process 1 would
            return not processes.with_marker(marker)
        if not processes.until(gone, seconds * SCALE):
            pids = processes.with_marker(marker)
            lines = [f"{pid}: {processes.command_line(pid)}" for pid in pids]
            self.fail(f"still there after {seconds} s: {lines}")

    def assert_running(self, marker, seconds=5.0):
        if not processes.until(lambda: processes.with_marker(marker), seconds * SCALE):
            self.fail(f"{marker!r} does not run")

    def assert_code(self, error, code):
        self.assertEqual(error.get("code"), code, error)


def make_removable(folder):
    for path, folders, _files in os.walk(folder):
        for name in folders:
            full = os.path.join(path, name)
            if not os.path.islink(full):
                try:
                    os.chmod(full, 0o700)
                except OSError:
                    pass


if __name__ == "__main__":
    unittest.main()
