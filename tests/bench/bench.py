#!/usr/bin/env python3
"""Measures what the budgets promise and prints it as a Markdown table: start, session/new, our share of a
turn, CPU per delta, memory, cancel, the death of one worker of many, stored sessions, files.

    tests/bench/bench.py [--build DIR] [--quick] [--only WORD] [--json FILE]

Release builds only: with sanitizers the numbers mean nothing. The client side is kept cheap: bytes are
counted and searched, lines are parsed only where a value of them is needed.
"""
import argparse
import json
import os
import select
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
import uuid

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
import anthropic_server as anthropic
import model_server as model
import processes
import responses_server as responses
import waits

TICKS = os.sysconf("SC_CLK_TCK")
ANTHROPIC = {"server": anthropic.AnthropicServer}
RESPONSES = {"server": responses.ResponsesServer, "api_mode": "codex_responses"}
NOTHING = {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False}


def dump(value):
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"


class Client:
    """A client of a benchmark: one thread, os.read and select."""

    def __init__(self, build, folder, *arguments, environment=None):
        home = os.path.join(folder, "home")
        os.makedirs(os.path.join(home, ".hermes"), mode=0o700, exist_ok=True)
        self.work = os.path.join(folder, "work")
        os.makedirs(self.work, exist_ok=True)
        self.started = time.perf_counter()
        self.process = subprocess.Popen(
            [os.path.join(build, "hermes-acp"), *arguments], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0, cwd=folder,
            env={"PATH": os.environ["PATH"], "HOME": home, "LANG": "C.UTF-8",
                 "HERMES_HOME": os.path.join(home, ".hermes"), **(environment or {})})
        self.out = self.process.stdout.fileno()
        self.input = self.process.stdin.fileno()
        self.pending = b""
        self.last_id = 0

    def send(self, method, params, notification=False):
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        if not notification:
            self.last_id += 1
            message["id"] = self.last_id
        os.write(self.input, dump(message))
        return self.last_id

    def read(self, seconds=30.0):
        """Some more bytes; b"" is the end."""
        if not select.select([self.out], [], [], seconds)[0]:
            raise TimeoutError("nothing came")
        return os.read(self.out, 1 << 18)

    def until(self, needle, seconds=30.0):
        """Reads until the bytes hold `needle`; returns all of it."""
        while needle not in self.pending:
            data = self.read(seconds)
            if not data:
                raise EOFError(self.pending[-500:])
            self.pending += data
        taken, self.pending = self.pending, b""
        return taken

    def answer(self, identity, seconds=30.0):
        """The parsed response to a request."""
        mark = b'"id":%d,' % identity
        while True:
            for line in self.until(mark, seconds).split(b"\n"):
                if mark in line and b'"method"' not in line:
                    if not line.endswith(b"}"):
                        self.pending = line
                        break
                    message = json.loads(line)
                    if message.get("id") == identity:
                        if "error" in message:
                            raise RuntimeError(message["error"])
                        return message["result"]

    def call(self, method, params):
        return self.answer(self.send(method, params))

    def initialize(self):
        return self.call("initialize", {"protocolVersion": 1, "clientCapabilities": NOTHING})

    def session(self):
        return self.call("session/new", {"cwd": self.work, "mcpServers": []})["sessionId"]

    def prompt(self, session, text):
        return self.send("session/prompt", {"sessionId": session,
                                            "prompt": [{"type": "text", "text": text}]})

    def drain(self, identity, seconds=60.0, member=b"stopReason"):
        """Reads to the response of `identity`, which has this member; returns the number of bytes.
        Nothing is parsed."""
        mark, tail, size = b'"id":%d,' % identity, b"", 0
        while True:
            data = self.read(seconds)
            if not data:
                raise EOFError("the agent went")
            size += len(data)
            if mark in tail + data and member in tail + data:
                return size
            tail = data[-200:]

    def tree(self):
        return [self.process.pid, *processes.descendants(self.process.pid)]

    def cpu(self):
        """Seconds of CPU of all our processes: in nanoseconds where the kernel counts them."""
        total = 0.0
        for pid in self.tree():
            exact = processes.read(f"/proc/{pid}/schedstat").split()
            row = processes.stat(pid)
            if exact:
                total += int(exact[0]) / 1e9
            elif row:
                total += row[3] / TICKS
        return total

    def workers(self):
        return [pid for pid, row in processes.descendants(self.process.pid).items()
                if row[1] == self.process.pid
                and b"--session" in processes.read(f"/proc/{pid}/cmdline")]

    def pss(self, pids=None):
        """KiB of proportional memory."""
        total = 0
        for pid in pids or self.tree():
            for line in processes.read(f"/proc/{pid}/smaps_rollup").splitlines():
                if line.startswith(b"Pss:"):
                    total += int(line.split()[1])
        return total

    def close(self):
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


def steps_at(milliseconds):
    """An answer of a word each so many milliseconds, longer than anybody waits."""
    return [{"repeat": {"text": "word ", "count": 700000, "slice": 1, "every_ms": milliseconds}}]


def quantile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


class Bench:
    def __init__(self, arguments):
        self.arguments = arguments
        self.rows = []
        self.folder = tempfile.mkdtemp(prefix="hermes-acp-bench-")
        self.times = 20 if arguments.quick else 100

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def wanted(self, name):
        return self.arguments.only is None or self.arguments.only in name

    def row(self, name, budget, *values):
        self.rows.append((name, budget, *values))
        print(f"| {name} | {budget} | {' / '.join(values)} |", flush=True)

    def latency(self, name, budget, values):
        self.row(name, budget, f"p50 {statistics.median(values) * 1e3:.2f} ms",
                 f"p99 {quantile(values, 0.99) * 1e3:.2f} ms")

    def script(self, steps, name="script.json"):
        path = os.path.join(self.folder, name)
        with open(path, "w") as file:
            json.dump({"default": {"rounds": [steps]}}, file)
        return f"--rehearsal={path}"

    def client(self, *arguments, **options):
        return Client(self.arguments.build, self.folder, *arguments, **options)

    def configured(self, tls, server=model.ModelServer, **more):
        """A model server, and the environment for an agent that talks to it."""
        server = server(tls=tls)
        path = os.path.join(self.folder, "home", ".hermes", "config.yaml")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            json.dump({"model": {"provider": "custom", "base_url": server.base_url,
                                 "api_key": "key-of-the-bench",
                                 "default": "fake", **more}}, file)
        return server, server.trust if tls else {}

    # ---- rows ----------------------------------------------------------------------------

    def start(self):
        """spawn → initialize"""
        values, fresh = [], []
        for _ in range(self.times):
            client = self.client("--rehearsal")
            client.initialize()
            values.append(time.perf_counter() - client.started)
            started = time.perf_counter()
            client.session()
            fresh.append(time.perf_counter() - started)
            client.close()
        self.latency("spawn → initialize answered", "p50 ≤ 8 ms, p99 ≤ 30 ms", values)
        self.latency("session/new at once (no spare yet)", "p50 ≤ 10 ms", fresh)

    def new(self):
        """session/new"""
        client = self.client("--rehearsal")
        client.initialize()
        values = []
        for _ in range(min(self.times, 50)):
            time.sleep(0.1)
            started = time.perf_counter()
            session = client.session()
            values.append(time.perf_counter() - started)
            client.call("session/close", {"sessionId": session})
        client.close()
        self.latency("session/new with a spare worker", "p50 ≤ 3 ms", values)

    def turn(self):
        """prompt → first chunk / → response"""
        for label, tls, more in (("rehearsal", None, {}), ("loopback HTTP", False, {}),
                                 ("loopback TLS", True, {}),
                                 ("loopback HTTP, Responses", False, RESPONSES),
                                 ("loopback TLS, Responses", True, RESPONSES),
                                 ("loopback HTTP, Anthropic", False, ANTHROPIC),
                                 ("loopback TLS, Anthropic", True, ANTHROPIC)):
            server, environment = (None, {})
            arguments = [self.script([{"text": "hello"}])]
            if tls is not None:
                server, environment = self.configured(tls, **more)
                arguments = []
            client = self.client(*arguments, environment=environment)
            client.initialize()
            session, first, whole = client.session(), [], []
            for number in range(self.times + 3):
                started = time.perf_counter()
                request = client.prompt(session, "go")
                data = client.until(b"agent_message_chunk")
                middle = time.perf_counter()
                while b'"id":%d,' % request not in data:
                    data += client.read()
                ended = time.perf_counter()
                if number >= 3:
                    first.append(middle - started)
                    whole.append(ended - started)
            client.close()
            if server:
                server.close()
            self.latency(f"prompt → first chunk, {label}", "p50 ≤ 5 ms", first)
            self.latency(f"prompt → response, {label}", "p50 ≤ 8 ms", whole)

    def deltas(self):
        """CPU per delta"""
        count = 20000
        rows = [("rehearsal, burst", "≤ 10 µs",
                 [{"repeat": {"text": "word ", "count": count}}], count)]
        for label, budget, steps, number in rows:
            client = self.client(self.script(steps))
            self.delta_row(client, label, budget, number)
        words = ["word "] * count
        for label, more, parts in (
                ("", {}, [*map(model.delta, words), model.finish(), model.DONE]),
                (", Anthropic", ANTHROPIC, anthropic.say(*words)),
                (", Responses", RESPONSES, responses.Answer(padding=True).text(*words).end())):
            for tls in (False, True):
                server, environment = self.configured(tls, **more)
                server.default = model.Reply([b"".join(parts)])
                client = self.client(environment=environment)
                self.delta_row(client, f"loopback {'TLS' if tls else 'HTTP'}{label}, burst",
                               "≤ 10 µs", count)
                server.close()
        if not self.arguments.quick:
            # Not by the rehearsal: there the timer between two deltas would be measured.
            server, environment = self.configured(False)
            server.default = model.Reply([part for _ in range(count)
                                          for part in (model.delta("word "), 0.0003)]
                                         + [model.finish() + model.DONE])
            client = self.client(environment=environment)
            self.delta_row(client, "loopback HTTP, each alone", "≤ 20 µs", count)
            server.close()

    def delta_row(self, client, label, budget, count):
        client.initialize()
        session = client.session()
        client.drain(client.prompt(session, "warm"), 120)
        time.sleep(0.2)
        before, started = client.cpu(), time.perf_counter()
        size = client.drain(client.prompt(session, "go"), 120)
        wall, used = time.perf_counter() - started, client.cpu() - before
        client.close()
        self.row(f"{count} deltas, {label}: CPU per delta", budget,
                 f"{used / count * 1e6:.1f} µs", f"{wall:.2f} s", f"{size / count:.0f} B out each")

    def memory(self):
        """PSS"""
        client = self.client(self.script([{"text": "hello"}]))
        client.initialize()
        time.sleep(0.7)
        supervisor, everything = client.pss([client.process.pid]), client.pss()
        sessions = [client.session()]
        time.sleep(0.5)
        before, count = client.pss(), 10
        for _ in range(count):
            sessions.append(client.session())
            time.sleep(0.1)
        time.sleep(0.5)
        each = (client.pss() - before) / count
        client.close()
        self.row("memory (PSS): supervisor", "≤ 1.5 MiB", f"{supervisor / 1024:.2f} MiB")
        self.row("memory (PSS): after initialize, catalogue and spare included", "≤ 13 MiB",
                 f"{everything / 1024:.2f} MiB")
        self.row("memory (PSS): each further session", "≤ 2 MiB", f"{each / 1024:.2f} MiB")
        server, environment = self.configured(True)
        client = self.client(environment=environment)
        client.initialize()
        time.sleep(0.5)
        sessions, base = [], client.pss()
        for _ in range(5):
            session = client.session()
            sessions.append(session)
            for _turn in range(50):
                client.drain(client.prompt(session, "go"))
        time.sleep(0.5)
        each = (client.pss() - base) / 5
        client.close()
        server.close()
        self.row("memory (PSS): each session after HTTPS turns and 100 messages", "≤ 4.5 MiB",
                 f"{each / 1024:.2f} MiB")

    def cancel(self):
        """cancel → answered"""
        client = self.client(self.script(steps_at(5)))
        client.initialize()
        session = client.session()
        values = [self.cancel_once(client, session) for _ in range(self.times)]
        client.close()
        self.latency("cancel → answered, streaming, idle machine", "p50 ≤ 5 ms, p99 ≤ 50 ms", values)
        self.cancel_in_a_tool()
        self.cancel_in_waits()
        self.cancel_among("with up to 1000 deltas/s each", [steps_at(1)])
        # 300 kB as fast as it can, then a tool, and so on to the limit of a turn
        look = {"tool": {"name": "todo", "arguments": {}}}
        self.cancel_among("as fast as they can, with a tool each 300 kB",
                          [[{"repeat": {"text": "word ", "count": 60000}}, look]] * 89)

    def cancel_among(self, label, rounds):
        """Cancel in one session while 31 others are busy."""
        path = os.path.join(self.folder, "busy.json")
        with open(path, "w") as file:
            json.dump({"replies": [{"match": "busy", "rounds": rounds}],
                       "default": {"rounds": [steps_at(5)]}}, file)
        client = self.client(f"--rehearsal={path}")
        client.initialize()
        busy = [client.session() for _ in range(31)]
        session = client.session()
        for one in busy:
            client.prompt(one, "busy")
        values = [self.cancel_once(client, session) for _ in range(min(self.times, 30))]
        client.process.kill()
        client.close()
        self.latency(f"cancel → answered, 32 workers {label}", "≤ 250 ms", values)

    def cancel_in_a_tool(self):
        arguments = {"command": "sleep 1000"}
        client = self.client(self.script([{"tool": {"name": "terminal", "arguments": arguments}}]))
        client.initialize()
        session, values = client.session(), []
        for _ in range(min(self.times, 30)):
            request = client.prompt(session, "go")
            client.until(b"in_progress")
            time.sleep(0.05)
            started = time.perf_counter()
            client.send("session/cancel", {"sessionId": session}, True)
            client.drain(request)
            values.append(time.perf_counter() - started)
        client.close()
        self.latency("cancel → answered, in a tool", "p50 ≤ 5 ms, p99 ≤ 50 ms", values)

    def cancel_in_waits(self):
        """Cancel while a request waits for the model's server."""
        mute, later, silent = waits.MuteServer(), waits.retry_later(model), waits.silent(model)
        library = waits.slow_names(self.folder)
        slow = {"base_url": f"http://{waits.SLOW_HOST}/v1"}
        if library is not None:
            self.wait_row("a look-up of the server's name", None, {"LD_PRELOAD": library}, **slow)
        self.wait_row("a TLS handshake that hangs", None,
                      base_url=f"https://127.0.0.1:{mute.port}/v1")
        self.wait_row("a wait of 300 s before the next try", later)
        self.wait_row("a silent stream, HTTP", silent)
        self.wait_row("a silent stream, TLS", silent, tls=True)
        mute.close()

    def wait_row(self, label, reply, environment=None, tls=False, **more):
        server, trust = self.configured(tls, **more)
        server.default = reply
        client = self.client(environment={**trust, **(environment or {})})
        client.initialize()
        session, values = client.session(), []
        for _ in range(self.times):
            request = client.prompt(session, "go")
            time.sleep(0.05)
            started = time.perf_counter()
            client.send("session/cancel", {"sessionId": session}, True)
            client.drain(request)
            values.append(time.perf_counter() - started)
        client.close()
        server.close()
        self.latency(f"cancel → answered, in {label}", "p50 ≤ 5 ms, p99 ≤ 50 ms", values)

    def stored(self):
        """session/load of a long session, session/list of many"""
        template = self.stored_template()
        database = sqlite3.connect(os.path.join(self.folder, "home", ".hermes", "state.db"))
        columns = {table: [row[1] for row in database.execute(f"PRAGMA table_info({table})")
                           if row[1] not in ("id", "session_id")] for table in ("messages", "sessions")}
        messages = ", ".join(columns["messages"])
        rows = database.execute("SELECT count(*) FROM messages").fetchone()[0]
        # A long session: the same turn with its card and its answer again and again.
        database.execute(f"INSERT INTO messages (session_id, {messages}) "
                         "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE "
                         f"i < {10000 // rows}) SELECT session_id, {messages} FROM n, messages "
                         "ORDER BY n.i, messages.id")
        for number in range(5000):
            values = ", ".join({"title": f"'session {number}'"}.get(name, name)
                               for name in columns["sessions"])
            database.execute(f"INSERT INTO sessions (id, {', '.join(columns['sessions'])}) SELECT "
                             f"'{uuid.uuid4()}', {values} FROM sessions WHERE id = ?", (template,))
        database.execute(f"INSERT INTO messages (session_id, {messages}) SELECT s.id, "
                         f"{', '.join('m.' + name for name in columns['messages'])} FROM sessions s, "
                         "messages m WHERE s.id <> ?1 AND m.id <= 2", (template,))
        database.commit()
        database.close()
        client = self.client("--rehearsal")
        client.initialize()
        self.latency("session/list of 5,000 sessions, first page", "p50 ≤ 20 ms",
                     [self.timed(client, "session/list", {}) for _ in range(self.times)])
        self.latency("session/list of 5,000 sessions, one folder", "p50 ≤ 20 ms",
                     [self.timed(client, "session/list", {"cwd": client.work})
                      for _ in range(self.times)])
        values, used = [], []
        for _ in range(5):
            time.sleep(0.2)  # the spare is ready
            before, started = client.cpu(), time.perf_counter()
            written = client.drain(client.send("session/load", {
                "sessionId": template, "cwd": client.work, "mcpServers": []}), 60, b"configOptions")
            values.append(time.perf_counter() - started)
            used.append(client.cpu() - before)
            client.call("session/close", {"sessionId": template})
        client.close()
        seconds = statistics.median(values)
        self.row("load of a session of 10,000 messages", "≥ 50 MB/s or ≤ 300 ms",
                 f"{seconds * 1e3:.0f} ms", f"{written / seconds / 1e6:.0f} MB/s",
                 f"{statistics.median(used) * 1e3:.0f} ms CPU")

    def stored_template(self):
        """A session of one turn with a tool, made by the program itself."""
        path = os.path.join(self.folder, "home", ".hermes", "state.db")
        if os.path.exists(path):
            os.unlink(path)
        steps = [[{"text": "I look at the file first. " * 4},
                  {"tool": {"name": "terminal", "arguments": {"command": "seq 100"}}}],
                 [{"text": "The answer has some length, as answers have. " * 30}]]
        with open(os.path.join(self.folder, "stored.json"), "w") as file:
            json.dump({"default": {"rounds": steps}}, file)
        client = self.client(f"--rehearsal={file.name}")
        client.initialize()
        session = client.session()
        client.drain(client.prompt(session, "What is in it? " * 10))
        client.close()
        return session

    @staticmethod
    def timed(client, method, params):
        started = time.perf_counter()
        client.call(method, params)
        return time.perf_counter() - started

    @staticmethod
    def cancel_once(client, session):
        request = client.prompt(session, "go")
        # neighbours may flood the stream: wait for text of this session
        mark = b'"%s","update":{"sessionUpdate":"agent_message_chunk"' % session.encode()
        tail = b""
        while True:
            data = client.read()
            if mark in tail + data:
                break
            tail = data[-200:]
        started = time.perf_counter()
        client.send("session/cancel", {"sessionId": session}, True)
        client.drain(request)
        return time.perf_counter() - started

    def death(self):
        """SIGKILL of one of 32"""
        steps = [{"repeat": {"text": "w ", "count": 400, "slice": 1, "every_ms": 10}}]
        client = self.client(self.script(steps))
        client.initialize()
        sessions = [client.session() for _ in range(32)]
        requests = [client.prompt(session, "go") for session in sessions]
        gaps, last, killed, noticed = {}, {}, None, None
        pending = b""
        answered = set()
        end = time.perf_counter() + 20
        while len(answered) < 32 and time.perf_counter() < end:
            now = time.perf_counter()
            if killed is None and now > end - 18.5:
                processes.kill(client.workers()[0])
                killed = time.perf_counter()
            try:
                pending += client.read(5)
            except TimeoutError:
                break
            now = time.perf_counter()
            *lines, pending = pending.split(b"\n")
            for line in lines:
                place = line.find(b'"sessionId":"')
                if b'"method"' in line and place > 0:
                    session = line[place + 13:place + 49]
                    if b"agent_message_chunk" in line:
                        gaps[session] = max(gaps.get(session, 0), now - last.get(session, now))
                        last[session] = now
                elif b'"id":' in line:
                    message = json.loads(line)
                    if message.get("id") in requests:
                        answered.add(message["id"])
                        if "error" in message and killed:
                            noticed = now - killed
        client.close()
        ordered = sorted(gaps.values())
        victim = "the turn went on" if noticed is None else \
            f"error after {noticed * 1e3:.1f} ms"
        self.row("SIGKILL of one worker of 32: longest gap of the others", "≤ 100 ms",
                 f"{ordered[-2] * 1e3:.0f} ms" if len(ordered) > 1 else "?", victim,
                 f"{len(answered)} of 32 answered")

    def tool(self, name, *rows):
        """(client, session) of a script in which the prompt "call N." is one call with the N-th arguments."""
        path = os.path.join(self.folder, "calls.json")
        with open(path, "w") as file:
            json.dump({"replies": [{"match": f"call {number}.", "rounds": [
                [{"tool": {"name": name, "arguments": row}}], [{"text": "done"}]]}
                for number, row in enumerate(rows)]}, file)
        client = self.client(f"--rehearsal={path}")
        client.initialize()
        return client, client.session()

    def files(self):
        """search_files on a tree of 50,000 files; a page of a file of 2 GB"""
        tree = os.path.join(self.folder, "work", "tree")
        for number in range(500):
            folder = os.path.join(tree, f"d{number // 25}", f"e{number % 25}")
            os.makedirs(folder)
            for name in range(100):
                with open(os.path.join(folder, f"f{name}.c"), "w") as file:
                    file.write(f"int value_{number}_{name};\n" + "static int other;\n" * 20)
        for label, pattern in (("few matches", "value_77_[0-9]+"), ("no match", "value_x")):
            self.search_row(tree, label, pattern)
        shutil.rmtree(tree)
        self.page_row()

    def search_row(self, tree, label, pattern):
        client, session = self.tool("search_files", *[
            {"pattern": pattern, "path": "tree", "limit": 50 + number} for number in range(12)])
        direct, values = [], []
        for number in range(12):
            started = time.perf_counter()
            subprocess.run(["rg", "-n", "--no-config", "-e", pattern, tree], check=False,
                           stdout=subprocess.DEVNULL)
            middle = time.perf_counter()
            client.drain(client.prompt(session, f"call {number}."))
            if number >= 2:
                direct.append(middle - started)
                values.append(time.perf_counter() - middle)
        client.close()
        ours, theirs = statistics.median(values), statistics.median(direct)
        self.row(f"search_files in 50,000 files, {label}: whole turn against ripgrep alone",
                 "≤ 1.2 ×", f"{ours / theirs:.2f} ×", f"{ours * 1e3:.0f} ms",
                 f"{theirs * 1e3:.0f} ms")

    def page_row(self):
        path = os.path.join(self.folder, "work", "huge.txt")
        with open(path, "w") as file:
            file.write("a line of a file that is much too big\n" * 5000)
            file.truncate(2 << 30)
        times = 30
        client, session = self.tool("read_file", *[
            {"path": "huge.txt", "offset": 100 * number + 1, "limit": 100} for number in range(times)])
        time.sleep(0.5)
        before, values = self.peak(client), []
        for number in range(times):
            started = time.perf_counter()
            client.drain(client.prompt(session, f"call {number}."))
            values.append(time.perf_counter() - started)
        more = self.peak(client) - before
        client.close()
        os.unlink(path)
        self.latency("a page of a file of 2 GB, whole turn", "p50 ≤ 50 ms", values)
        self.row("a page of a file of 2 GB: memory above idle", "≤ 8 MiB", f"{more / 1024:.2f} MiB")

    @staticmethod
    def peak(client):
        """KiB that the processes of sessions have held at most, together."""
        total = 0
        for pid in client.workers():
            for line in processes.read(f"/proc/{pid}/status").splitlines():
                if line.startswith(b"VmHWM:"):
                    total += int(line.split()[1])
        return total

    def run(self):
        print("| what | budget | measured |\n|---|---|---|", flush=True)
        for name in ("start", "new", "turn", "deltas", "memory", "cancel", "death", "stored",
                     "files"):
            if self.wanted(name):
                try:
                    getattr(self, name)()
                except (OSError, EOFError, RuntimeError, TimeoutError) as error:
                    self.row(f"{name}: failed", "", f"{type(error).__name__}: {str(error)[:120]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(HERE, "..", "..", "build"))
    parser.add_argument("--quick", action="store_true", help="a fifth of the repetitions")
    parser.add_argument("--only", help="start, new, turn, deltas, memory, cancel, death, stored or files")
    parser.add_argument("--json", help="write the rows to this file too")
    arguments = parser.parse_args()
    arguments.build = os.path.abspath(arguments.build)
    processes.become_subreaper()
    bench = Bench(arguments)
    try:
        bench.run()
    finally:
        bench.close()
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump(bench.rows, file, ensure_ascii=False, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
