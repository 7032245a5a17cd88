#!/usr/bin/env python3
"""A worker that behaves well until a prompt says "attack NAME": then it breaks one rule of the boundary.

The supervisor starts it in place of hermes-acp-worker when HERMES_ACP_WORKER names it. Whatever it
tries to smuggle into the client's stream holds the word INJECTED. HOSTILE_START names an attack on
the handshake, HOSTILE_TRACE a file that gets the pid of each offender.
"""
import array
import json
import os
import socket
import struct
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import frames

NAME = frames.constants()
ROLE = sys.argv[1] if len(sys.argv) > 1 else "--session"
GENERATION = int(sys.argv[3]) if len(sys.argv) > 3 else 0


def dump(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def chunk(text):
    return {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text},
            "messageId": "m1"}


class Worker:
    def __init__(self):
        self.connection = socket.socket(fileno=3)
        self.connection.setblocking(True)
        self.reader = frames.Reader(self.connection)
        self.turn = 0

    def send(self, name, payload=b"", **more):
        kind = NAME[name] if isinstance(name, str) else name
        more.setdefault("generation", GENERATION)
        self.connection.sendall(frames.frame(kind, payload, **more))

    def update(self, payload, name="TO_SUPERVISOR_TURN_UPDATE"):
        self.send(name, payload, turn=self.turn)

    def say(self, text):
        self.update(dump(chunk(text)), "TO_SUPERVISOR_TEXT")

    def done(self):
        self.send("TO_SUPERVISOR_TURN_DONE", bytes([NAME["STOP_REASON_END_TURN"]]), turn=self.turn)

    # ---- attacks on the handshake --------------------------------------------------------

    def hello(self):
        version, pid = NAME["MESSAGE_PROTOCOL_VERSION"], os.getpid()
        attack = os.environ.get("HOSTILE_START") if ROLE == "--session" else None
        if attack == "version":
            version += 1
        elif attack == "pid":
            pid += 1
        elif attack == "exit":
            os._exit(1)
        elif attack == "garbage":
            self.connection.sendall(b"INJECTED\n" * 100)
        elif attack == "ready-first":
            self.ready()
        elif attack == "stray-output":
            for descriptor in (0, 1, 2):
                try:
                    os.write(descriptor, b'{"jsonrpc":"2.0","id":1,"result":{"INJECTED":1}}\n')
                except OSError:
                    pass
        self.send("TO_SUPERVISOR_HELLO", struct.pack("<II", version, pid))

    def ready(self):
        result = {}
        if os.environ.get("HOSTILE_START") == "session-id":
            result = {"sessionId": "INJECTED"}
        self.send("TO_SUPERVISOR_READY", frames.text("") + dump(result))

    # ---- attacks in a turn ---------------------------------------------------------------

    def attack_newline(self):
        self.update(dump(chunk("INJECTED")).replace(b",", b",\n", 1))

    def attack_second_line(self):
        self.update(dump(chunk("x")) + b'}\n{"jsonrpc":"2.0","id":1,"result":{"INJECTED":1}}')

    def attack_break_out(self):
        self.update(b'{"sessionUpdate":"x"},"sessionId":"INJECTED","y":{"sessionUpdate":"x"}')

    def attack_second_discriminator(self):
        self.update(b'{"sessionUpdate":"agent_message_chunk","sessionUpdate":"INJECTED"}')

    def attack_not_an_object(self):
        self.update(b'"INJECTED"')

    def attack_text_is_not_json(self):
        self.update(b"{INJECTED}", "TO_SUPERVISOR_TEXT")

    def attack_invalid_utf8(self):
        self.update(dump(chunk("INJECTED?")).replace(b"?", b"\xff\xfe"))

    def attack_nul(self):
        self.update(dump(chunk("INJECTED?")).replace(b"?", b"\0"))

    def attack_deep(self):
        self.update(b'{"sessionUpdate":"INJECTED","x":' + b"[" * 50000 + b"]" * 50000 + b"}")

    def attack_length_4_gib(self):
        self.connection.sendall(frames.frame(NAME["TO_SUPERVISOR_TEXT"], b"INJECTED", 0, self.turn,
                                             GENERATION, length=0xFFFFFFFF))

    def attack_frame_above_the_limit(self):
        size = NAME["MESSAGE_FRAME_MAX"] + 1
        self.update(dump(chunk("INJECTED" + "x" * size)))

    def attack_endless_parts(self):
        piece = b'{"sessionUpdate":"INJECTED' + b"x" * (NAME["MESSAGE_FRAME_MAX"] - 100)
        for _ in range(60):
            self.send("TO_SUPERVISOR_TEXT", piece, turn=self.turn, flags=frames.MORE)

    def attack_mixed_parts(self):
        self.send("TO_SUPERVISOR_TEXT", b'{"sessionUpdate":', turn=self.turn, flags=frames.MORE)
        self.send("TO_SUPERVISOR_TURN_UPDATE", b'"INJECTED"}', turn=self.turn)

    def attack_unknown_type(self):
        self.send(65535, b"INJECTED", turn=self.turn)

    def attack_unknown_flags(self):
        self.send("TO_SUPERVISOR_TEXT", dump(chunk("INJECTED")), turn=self.turn, flags=0x8000)

    def attack_wrong_direction(self):
        self.send("TO_WORKER_TURN_START", dump(chunk("INJECTED")), turn=self.turn)

    def attack_wrong_peer(self):
        self.send("TO_SUPERVISOR_SETTINGS", dump({"provider": "INJECTED"}))

    def attack_wrong_generation(self):
        self.send("TO_SUPERVISOR_TEXT", dump(chunk("INJECTED")), turn=self.turn,
                  generation=GENERATION + 1)

    def attack_second_hello(self):
        self.send("TO_SUPERVISOR_HELLO", struct.pack("<II", NAME["MESSAGE_PROTOCOL_VERSION"], os.getpid()))

    def attack_second_ready(self):
        self.send("TO_SUPERVISOR_READY", frames.text("") + dump({"INJECTED": 1}))

    def attack_answer_to_no_request(self):
        self.send("TO_SUPERVISOR_RESPONSE", dump({"INJECTED": 1}), request=4711)

    def attack_answers_to_others(self):
        for request in range(1, 40):
            self.send("TO_SUPERVISOR_RESPONSE", dump({"INJECTED": 1}), request=request)

    def attack_forged_session_in_a_request(self):
        self.send("TO_SUPERVISOR_CLIENT_REQUEST", frames.text("session/request_permission") + frames.text("")
                  + dump({"sessionId": "INJECTED", "toolCall": {}, "options": []}),
                  request=5, turn=self.turn)

    def attack_forged_method(self):
        self.send("TO_SUPERVISOR_CLIENT_REQUEST", frames.text("session/INJECTED") + frames.text("") + dump({}),
                  request=5, turn=self.turn)

    def attack_stop_reason(self):
        self.send("TO_SUPERVISOR_TURN_DONE", bytes([99]), turn=self.turn)

    def attack_usage_is_not_json(self):
        self.send("TO_SUPERVISOR_TURN_DONE", b'\0{"INJECTED":', turn=self.turn)

    def attack_end_of_another_turn(self):
        self.send("TO_SUPERVISOR_TURN_DONE", b"\0", turn=self.turn + 7)

    def attack_failure_is_not_json(self):
        self.send("TO_SUPERVISOR_TURN_FAILED", struct.pack("<i", -32603) + frames.text("no")
                  + b'"x"}\n{"INJECTED":1}', turn=self.turn)

    def attack_call_never_opened(self):
        self.send("TO_SUPERVISOR_CALL_CLOSED", frames.text("INJECTED"), turn=self.turn)

    def attack_short_payload(self):
        self.send("TO_SUPERVISOR_STATE_SAVED", b"\1", turn=self.turn)

    def attack_garbage(self):
        self.connection.sendall(os.urandom(2000) + b"INJECTED\n" * 50)

    def attack_zeros(self):
        self.connection.sendall(b"\0" * 5000)

    # ---- rude, but allowed ---------------------------------------------------------------

    def rude_descriptors(self):
        """Descriptors attached to a good message must not stay in the supervisor."""
        data = frames.frame(NAME["TO_SUPERVISOR_TEXT"], dump(chunk("fine")), 0, self.turn, GENERATION)
        null = [os.open("/dev/null", os.O_RDONLY) for _ in range(16)]
        self.connection.sendmsg([data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS,
                                          array.array("i", null))])
        for descriptor in null:
            os.close(descriptor)
        self.done()

    def rude_one_byte_at_a_time(self):
        data = frames.frame(NAME["TO_SUPERVISOR_TEXT"], dump(chunk("fine")), 0, self.turn, GENERATION)
        for byte in data:
            self.connection.sendall(bytes([byte]))
            time.sleep(0.001)
        self.done()

    def rude_log(self):
        for level in range(4):
            self.send("TO_SUPERVISOR_LOG", bytes([level]) + b'\n{"jsonrpc":"2.0"}\n\x1b[2J')
        self.say("fine")
        self.done()

    def rude_late_end(self):
        """A second end of a turn that has ended: a violation, but the prompt was answered."""
        self.say("fine")
        self.done()
        self.done()

    # ---- the loop ------------------------------------------------------------------------

    def on_turn(self, params):
        words = "".join(block.get("text", "") for block in params.get("prompt", [])).split()
        if words[:1] == ["attack"]:
            with open(os.environ["HOSTILE_TRACE"], "a") as file:
                file.write(f"{os.getpid()}\n")
            getattr(self, "attack_" + words[1].replace("-", "_"))()
            time.sleep(30)  # it does not end by itself
            return
        if words[:1] == ["rude"]:
            getattr(self, "rude_" + words[1].replace("-", "_"))()
            return
        count = int(words[1]) if words[:1] == ["count"] else 1
        for number in range(count):
            self.say(f"{number} ")
            time.sleep(0.02)
        self.done()

    def run(self):
        self.hello()
        while True:
            kind, request, turn, payload = self.reader.message()
            if kind == NAME["TO_WORKER_SETUP"]:
                if os.environ.get("HOSTILE_START") == "silent" and ROLE == "--session":
                    continue
                self.ready()
                if ROLE == "--catalogue":
                    self.settings()
            elif kind == NAME["TO_WORKER_SETTINGS_QUERY"]:
                self.settings()
            elif kind == NAME["TO_WORKER_COMMIT_TAIL"]:
                length = struct.unpack_from("<I", payload)[0]
                self.send("TO_SUPERVISOR_TAIL_COMMITTED", payload[:4 + length])
            elif kind == NAME["TO_WORKER_REQUEST"]:
                self.send("TO_SUPERVISOR_RESPONSE", dump({"sessions": []}), request=request)
            elif kind == NAME["TO_WORKER_SHUTDOWN"]:
                self.send("TO_SUPERVISOR_FAREWELL")
                return
            elif kind == NAME["TO_WORKER_TURN_START"]:
                self.turn = turn
                self.on_turn(json.loads(payload))
            elif kind == NAME["TO_WORKER_TURN_RECOVER"]:
                self.turn = turn
                self.attack_garbage()

    def settings(self):
        self.send("TO_SUPERVISOR_SETTINGS", dump({"provider": "test", "label": "Test"}))


if __name__ == "__main__":
    try:
        Worker().run()
    except (EOFError, OSError):
        pass
    os._exit(0)
