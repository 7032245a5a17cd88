"""The files of an editor that has buffers: the client's side of fs/read_text_file and
fs/write_text_file. Python standard library only.
"""
import json
import os
import threading

import acp
import model_server as model
import processes


def capabilities(read=True, write=True):
    return {"fs": {"readTextFile": read, "writeTextFile": write}, "terminal": False}


class Editor:
    """Buffers by path. `plain` hands out and takes LF text without a byte order mark, whatever the
    file has; `saves` writes each edit to the disk at once; else it stays in the buffer."""

    def __init__(self, agent, plain=False, saves=False):
        self.buffers = {}
        self.plain = plain
        self.saves = saves
        self.reads = []   # params of each request
        self.writes = []
        self.held = []    # requests that were left open
        self.on_read = None   # called with params; a result, an RpcError to raise, or None
        self.on_write = None  # to hold it
        self.hold = set()     # methods that get no answer
        self.lock = threading.Lock()
        agent.handlers["fs/read_text_file"] = self.read
        agent.handlers["fs/write_text_file"] = self.write

    def disk(self, path):
        try:
            with open(path, "rb") as file:
                text = file.read().decode()
        except FileNotFoundError:
            return None
        return text.replace("\r\n", "\n").lstrip("\ufeff") if self.plain else text

    def text(self, path):
        return self.buffers[path] if path in self.buffers else self.disk(path)

    def read(self, _agent, message):
        params = message["params"]
        self.reads.append(params)
        if "fs/read_text_file" in self.hold:
            self.held.append(message)
            return None
        if self.on_read is not None:
            return self.on_read(params)
        text = self.text(params["path"])
        if text is None:
            raise acp.RpcError(-32002, "Resource not found")
        if "limit" in params or "line" in params:
            first = params.get("line", 1) - 1
            lines = text.splitlines(keepends=True)
            text = "".join(lines[first:first + params.get("limit", len(lines))])
        return {"content": text}

    def write(self, _agent, message):
        params = message["params"]
        self.writes.append(params)
        if "fs/write_text_file" in self.hold:
            self.held.append(message)
            return None
        if self.on_write is not None:
            return self.on_write(params)
        self.take(params)
        return {}

    def take(self, params):
        path, text = params["path"], params["content"]
        if not self.saves:
            self.buffers[path] = text
            return
        with open(path, "wb") as file:
            file.write(text.encode())
        self.buffers.pop(path, None)

    def asked(self):
        return [os.path.basename(params["path"]) for params in self.reads]


class EditorTest(acp.AcpTest):
    def open(self, can_read=True, can_write=True, **options):
        self.server = self.model()
        self.client = self.agent(capabilities=capabilities(can_read, can_write))
        self.editor = Editor(self.client, **options)
        self.session = self.client.new_session(self.work)

    def do(self, *replies, seconds=20.0):
        """Runs calls in one turn; the results as the model reads them."""
        seen = len(self.server.requests)
        self.server.script[:] = [*replies, model.say("ok")]
        self.assertEqual(self.client.turn(self.session, seconds=seconds), "end_turn")
        return [json.loads(result["content"]) for request in self.server.requests[seen + 1:]
                for result in request.results]

    def begin(self, *replies):
        self.server.script[:] = [*replies, model.say("ok")]
        return self.client.prompt_start(self.session, "go")

    def wait_held(self, count=1):
        self.client.until(lambda: len(self.editor.held) >= count, 10, "a request for a file")

    def wait_workers(self):
        def session_workers():
            return [pid for pid, line in self.client.workers().items() if "--session" in line]
        self.assertTrue(processes.until(session_workers, 5))
        return session_workers()
