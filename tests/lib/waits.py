"""Servers on which a request to a model waits before anything comes: a look-up of the name that is not
answered, a TLS handshake that hangs, a server that wants to be asked later, a stream that is silent.
"""
import os
import socket
import subprocess
import threading

from model_server import HANG

HERE = os.path.dirname(os.path.abspath(__file__))
SLOW_HOST = "model.slow.test"


def slow_names(folder):
    """The library that makes look-ups of SLOW_HOST wait, built in `folder`; None without a compiler."""
    library = os.path.join(folder, "slow_names.so")
    made = subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-o", library,
                           os.path.join(HERE, "slow_names.c"), "-ldl"], capture_output=True)
    return library if made.returncode == 0 else None


class MuteServer:
    """Takes connections and reads, but never writes."""

    def __init__(self):
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.socket.getsockname()[1]
        self.connections = []
        self.heard = threading.Semaphore(0)  # released when a client's first bytes are in
        self.errors = []
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                connection, _peer = self.socket.accept()
            except OSError:
                return
            self.connections.append(connection)
            threading.Thread(target=self.listen, args=(connection,), daemon=True).start()

    def listen(self, connection):
        try:
            if connection.recv(65536):
                self.heard.release()
        except OSError:
            pass

    def close(self):
        self.socket.close()
        for connection in self.connections:
            connection.close()


def retry_later(mode):
    return mode.failure(503, "come later", {"Retry-After": "300"})


def silent(mode, text=None):
    """A stream that says nothing, or nothing after a text."""
    return [*mode.say(text)[:-mode.end], HANG] if text else [HANG]
