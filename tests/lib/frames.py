"""The frames between supervisor and worker, for a worker that is written in Python.

Numbers come from common/message.h, so that a change there is a change here.
"""
import os
import re
import struct

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HEADER = struct.Struct("<IHHIII")  # length, type, flags, request, turn, generation
MORE = 1


def constants():
    """Name -> number of the message types and of MESSAGE_PROTOCOL_VERSION and its like."""
    with open(os.path.join(TOP, "common", "message.h"), encoding="utf-8") as file:
        text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
    found = {}
    for body in re.findall(r"enum\s+\w+\s*\{([^}]*)\}", text):
        number = -1
        for entry in body.split(","):
            name, _equals, value = (part.strip() for part in entry.partition("="))
            if not name:
                continue
            number = int(value, 0) if value else number + 1
            found[name] = number
    for name, value in re.findall(r"#define\s+(MESSAGE_\w+)\s+([\d* ()]+)$", text, flags=re.M):
        number = 1
        for factor in re.findall(r"\d+", value):
            number *= int(factor)
        found[name] = number
    return found


def text(value):
    """A text of a payload: u32 length and bytes."""
    data = value.encode() if isinstance(value, str) else value
    return struct.pack("<I", len(data)) + data


def frame(kind, payload=b"", request=0, turn=0, generation=0, flags=0, length=None):
    size = len(payload) if length is None else length
    return HEADER.pack(size, kind, flags, request, turn, generation) + payload


class Reader:
    """Whole messages from a socket, parts joined."""

    def __init__(self, connection):
        self.connection = connection
        self.pending = b""

    def exactly(self, count):
        while len(self.pending) < count:
            data = self.connection.recv(1 << 16)
            if not data:
                raise EOFError
            self.pending += data
        taken, self.pending = self.pending[:count], self.pending[count:]
        return taken

    def message(self):
        """(type, request, turn, payload)"""
        payload = b""
        while True:
            length, kind, flags, request, turn, _generation = \
                HEADER.unpack(self.exactly(HEADER.size))
            payload += self.exactly(length)
            if not flags & MORE:
                return kind, request, turn, payload
