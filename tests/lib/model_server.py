"""A scripted model that speaks Chat Completions on the loopback interface, with or without TLS.

A reply is a list of parts: bytes (sent as one piece), a number (seconds of sleep), HANG (nothing more
until the client goes), RESET (the connection is reset), CUT (the connection ends in the middle of the
body) or a callable (called in the server's thread, e.g. an Event's wait). `Reply` gives control of
status, headers and framing. The server is strict about the history, as providers are: every call
must be answered by exactly one tool message directly after it. Python standard library only.
"""
import json
import os
import shutil
import socket
import ssl
import struct
import subprocess
import tempfile
import threading
import time

HANG = object()
RESET = object()
CUT = object()
DONE = b"data: [DONE]\n\n"


def dump(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def event(value):
    return b"data: " + dump(value) + b"\n\n"


def chunk(delta=None, finish=None, **more):
    return event({"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "fake",
                  "choices": [{"index": 0, "delta": delta or {}, "finish_reason": finish}],
                  **more})


def delta(text):
    return chunk({"content": text})


def finish(reason="stop", **more):
    return chunk({}, reason, **more)


def say(*texts, reason="stop"):
    """A whole answer of text, one chunk per argument."""
    return [chunk({"role": "assistant", "content": ""}), *[delta(text) for text in texts],
            finish(reason), DONE]


def call_delta(index, identity, name, arguments):
    if not isinstance(arguments, str):
        arguments = json.dumps(arguments, ensure_ascii=False)
    return chunk({"tool_calls": [{"index": index, "id": identity, "type": "function",
                                  "function": {"name": name, "arguments": arguments}}]})


def calls(*rows, text=None, reason="tool_calls"):
    """A whole answer of tool calls: rows of (id, name, arguments as object or text)."""
    parts = [chunk({"role": "assistant", "content": text})]
    parts += [call_delta(index, *row) for index, row in enumerate(rows)]
    return [*parts, finish(reason), DONE]


counter = iter(range(1, 1 << 30))


def call(name, text=None, **arguments):
    """A whole answer of one call with an id that is used only once."""
    return calls((f"call_{next(counter)}", name, arguments), text=text)


def run(command, **more):
    return call("terminal", command=command, **more)


class Reply:
    """An answer with its envelope. `framing`: chunked, length (Content-Length is computed unless it
    is among the headers), close (HTTP/1.0 manners) or raw (the parts are everything that is sent)."""

    def __init__(self, parts=(), status=200, headers=None, framing="chunked",
                 content_type="text/event-stream"):
        self.parts = [parts] if isinstance(parts, (bytes, bytearray)) else list(parts)
        self.status = status
        self.headers = {"Content-Type": content_type, **(headers or {})}
        self.framing = framing


def failure(status, message="it failed", headers=None, **more):
    """An error in the form that most providers use."""
    return Reply([dump({"error": {"message": message, **more}})], status, headers, "length",
                 "application/json")


class Request:
    def __init__(self, method, path, headers, body, moment):
        self.method = method
        self.path = path
        self.headers = headers  # names in lower case
        self.body = body
        self.time = moment
        self.json = None
        self.closed = threading.Event()  # the client went while the answer was being sent
        try:
            self.json = json.loads(body.decode("utf-8", "strict")) if body else None
        except ValueError:
            pass

    @property
    def messages(self):
        return (self.json or {}).get("messages", [])

    @property
    def tools(self):
        return [tool["function"]["name"] for tool in (self.json or {}).get("tools") or []]

    def text_of(self, message):
        content = message.get("content")
        if isinstance(content, list):
            return "\n".join(part.get("text", "") for part in content)
        return content or ""

    def texts(self, role="user"):
        return [self.text_of(message) for message in self.messages if message["role"] == role]

    @property
    def last_user(self):
        return (self.texts() or [""])[-1]

    @property
    def results(self):
        """The tool messages at the end of the history, in order."""
        tail = []
        for message in reversed(self.messages):
            if message["role"] != "tool":
                break
            tail.insert(0, message)
        return tail

    @property
    def result(self):
        """The last tool result as the model reads it."""
        return self.results[-1]["content"] if self.results else ""


def history_problem(messages):
    """What a strict provider objects to, None when it is content."""
    index = 0
    while index < len(messages):
        message = messages[index]
        role = message.get("role")
        if role == "tool":
            return f"messages[{index}]: a tool message that answers no call"
        wanted = [one.get("id") for one in message.get("tool_calls") or []]
        if "tool_calls" in message and not wanted:
            return f"messages[{index}]: tool_calls is empty"
        if len(set(wanted)) != len(wanted) or not all(wanted):
            return f"messages[{index}]: ids of calls {wanted}"
        if role == "assistant" and not wanted and not message.get("content"):
            return f"messages[{index}]: an assistant message without content"
        for one in message.get("tool_calls") or []:
            if not isinstance(one.get("function", {}).get("arguments"), str):
                return f"messages[{index}]: arguments are not a string"
        index += 1
        answered = []
        while wanted and index < len(messages) and messages[index].get("role") == "tool":
            answered.append(messages[index].get("tool_call_id"))
            index += 1
        if sorted(answered) != sorted(wanted):
            return f"messages[{index - 1}]: calls {wanted} are answered by {answered}"
    return None


class Authority:
    """A certificate authority of one test run, made by the openssl program."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="hermes-acp-ca-")
        self.ca_file = self.make("ca", "/CN=test authority", ["-x509"])
        self.key = os.path.join(self.folder, "server.key")
        self.certificate = self.sign("server", "/CN=localhost",
                                     "subjectAltName=DNS:localhost,IP:127.0.0.1")

    def run(self, *arguments):
        subprocess.run(["openssl", *arguments], check=True, cwd=self.folder,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def make(self, name, subject, more):
        out = os.path.join(self.folder, f"{name}.{'pem' if more else 'csr'}")
        self.run("req", "-new", *more, "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                 "-nodes", "-keyout", f"{name}.key", "-out", out, "-subj", subject, "-days", "3")
        return out

    def sign(self, name, subject, extension):
        request = self.make(name, subject, [])
        with open(os.path.join(self.folder, "extensions"), "w") as file:
            file.write(extension + "\n")
        out = os.path.join(self.folder, f"{name}.pem")
        self.run("x509", "-req", "-in", request, "-CA", "ca.pem", "-CAkey", "ca.key",
                 "-CAcreateserial", "-days", "3", "-extfile", "extensions", "-out", out)
        return out

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)


class ModelServer:
    """Replies are used in order: first those that when() ties to a text of the newest user message,
    then the common script, then `default`. A request that offers no tools does not use the script
    up (titles and the like); it is kept in `auxiliary` and gets a short text."""

    def __init__(self, *script, tls=False, strict=True, default=None, http10=False):
        self.script = list(script)
        self.rules = []
        self.strict = strict
        self.default = default if default is not None else say("ok")
        self.respond = None    # callable(Request) -> reply or None, asked before everything else
        self.requests = []     # chat completions, in order
        self.auxiliary = []
        self.others = []       # everything else: GET /models …
        self.listing = None    # the answer to GET /models, None for one model "fake"
        self.errors = []       # broken rules; a test fails on them
        self.allow_errors = False
        self.active = 0        # answers of the model that are being sent now
        self.most_active = 0
        self.lock = threading.Condition()
        self.authority = Authority() if tls else None
        self.context = None
        if tls:
            self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.context.load_cert_chain(self.authority.certificate, self.authority.key)
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port = self.socket.getsockname()[1]
        self.base_url = f"http{'s' if tls else ''}://127.0.0.1:{self.port}/v1"
        self.closing = False
        self.connections = set()
        threading.Thread(target=self.accept, daemon=True).start()

    @property
    def ca_file(self):
        return self.authority.ca_file

    @property
    def trust(self):
        """Environment that makes clients accept the certificate."""
        return {"SSL_CERT_FILE": self.ca_file, "CURL_CA_BUNDLE": self.ca_file}

    def when(self, needle, *replies):
        self.rules.append((needle, list(replies)))

    def wait_requests(self, count, seconds=10.0):
        """The count-th chat request."""
        end = time.monotonic() + seconds
        with self.lock:
            while len(self.requests) < count:
                left = end - time.monotonic()
                if left <= 0:
                    raise AssertionError(f"{len(self.requests)} requests to the model, "
                                         f"{count} were expected")
                self.lock.wait(left)
            return self.requests[count - 1]

    @property
    def last(self):
        return self.requests[-1]

    def close(self):
        self.closing = True
        self.socket.close()
        for connection in list(self.connections):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        if self.authority:
            self.authority.close()

    # ---- connections ---------------------------------------------------------------------

    def accept(self):
        while not self.closing:
            try:
                connection, _peer = self.socket.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, plain):
        connection = plain
        try:
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self.context:
                connection = self.context.wrap_socket(plain, server_side=True)
            self.connections.add(connection)
            stream = connection.makefile("rb")
            while not self.closing:
                request = self.read_request(connection, stream)
                if request is None or not self.reply(connection, request):
                    break
        except (OSError, ValueError):
            pass
        finally:
            self.connections.discard(connection)
            try:
                connection.close()
            except OSError:
                pass

    def read_request(self, connection, stream):
        first = stream.readline(65536).split()
        if len(first) != 3:
            return None
        headers = {}
        while True:
            line = stream.readline(65536).strip()
            if not line:
                break
            name, _colon, value = line.decode("latin-1").partition(":")
            headers[name.strip().lower()] = value.strip()
        if headers.get("expect", "").lower() == "100-continue":
            connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        if "chunked" in headers.get("transfer-encoding", ""):
            body = self.read_chunks(stream)
        else:
            size = int(headers.get("content-length", 0))
            body = stream.read(size)
            if len(body) < size:
                return None  # the client went while it was sending
        return Request(first[0].decode(), first[1].decode(), headers, body, time.monotonic())

    @staticmethod
    def read_chunks(stream):
        body = b""
        while True:
            size = int(stream.readline().split(b";")[0], 16)
            body += stream.read(size)
            stream.readline()
            if size == 0:
                return body

    # ---- choosing an answer --------------------------------------------------------------

    def list_models(self):
        if self.listing is not None:
            return self.listing
        return Reply([dump({"object": "list", "data": [{"id": "fake", "object": "model"}]})],
                     framing="length", content_type="application/json")

    def choose(self, request):
        if request.method == "GET":
            self.others.append(request)
            return self.list_models()
        if request.json is None or "messages" not in request.json:
            self.errors.append(f"{request.path}: not a chat request: {request.body[:200]!r}")
            return failure(400, "the body is not valid")
        problem = history_problem(request.messages) if self.strict else None
        if problem:
            if not self.allow_errors:
                self.errors.append(problem)
            return failure(400, problem, type="invalid_request_error")
        with self.lock:
            if not request.json.get("tools"):
                self.auxiliary.append(request)
                return (self.respond(request) if self.respond else None) or say("A title")
            self.requests.append(request)
            self.lock.notify_all()
            reply = self.respond(request) if self.respond else None
            if reply is not None:
                return reply
            for needle, replies in self.rules:
                if needle in request.last_user and replies:
                    return replies.pop(0)
            return self.script.pop(0) if self.script else self.default

    # ---- sending -------------------------------------------------------------------------

    def reply(self, connection, request):
        """Sends the answer; True when the connection may be used again."""
        reply = self.choose(request)
        if not isinstance(reply, Reply):
            reply = Reply(reply)
        counted = request.method == "POST"  # lists of models may come beside
        with self.lock:
            self.active += counted
            self.most_active = max(self.active, self.most_active)
        try:
            return self.send(connection, request, reply)
        except OSError:
            request.closed.set()
            return False
        finally:
            with self.lock:
                self.active -= counted

    def send(self, connection, request, reply):
        chunked = reply.framing == "chunked"
        if reply.framing != "raw":
            connection.sendall(self.head(reply))
        for part in reply.parts:
            if part is HANG:
                connection.settimeout(120)
                while connection.recv(4096):
                    pass
                request.closed.set()
                return False
            if part is RESET:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                      struct.pack("ii", 1, 0))
                return False
            if part is CUT:
                return False
            if isinstance(part, (int, float)):
                self.sleep(connection, part)
            elif callable(part):
                part()
            elif chunked:
                connection.sendall(b"%x\r\n%s\r\n" % (len(part), part))
            else:
                connection.sendall(part)
        if chunked:
            connection.sendall(b"0\r\n\r\n")
        return reply.framing in ("chunked", "length")

    @staticmethod
    def sleep(connection, seconds):
        """Sleeps, but notices at once when the client goes."""
        end = time.monotonic() + seconds
        while True:
            left = end - time.monotonic()
            if left <= 0:
                return
            if isinstance(connection, ssl.SSLSocket):
                time.sleep(min(left, 0.05))
                continue
            connection.settimeout(left)
            try:
                if connection.recv(1, socket.MSG_PEEK) == b"":
                    raise ConnectionResetError("the client went")
                time.sleep(min(left, 0.05))  # a pipelined request: not ours to read now
            except TimeoutError:
                return
            finally:
                connection.settimeout(None)

    @staticmethod
    def head(reply):
        headers = dict(reply.headers)
        version = "HTTP/1.1"
        if reply.framing == "chunked":
            headers.setdefault("Transfer-Encoding", "chunked")
        elif reply.framing == "length":
            size = sum(len(part) for part in reply.parts if isinstance(part, bytes))
            headers.setdefault("Content-Length", str(size))
        elif reply.framing == "close":
            version = "HTTP/1.0"
            headers.setdefault("Connection", "close")
        lines = [f"{version} {reply.status} Reply"]
        lines += [f"{name}: {value}" for name, value in headers.items() if value is not None]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
