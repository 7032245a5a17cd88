"""Framing, JSON-RPC envelopes, order of messages, a client that reads slowly."""
import base64
import json
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import model_server as model
import processes
from acp import AcpTest, dump, within

INITIALIZE = {"jsonrpc": "2.0", "id": 1, "method": "initialize",
              "params": {"protocolVersion": 1, "clientCapabilities": {}}}


def prompt(identity, session, *blocks):
    return {"jsonrpc": "2.0", "id": identity, "method": "session/prompt",
            "params": {"sessionId": session, "prompt": list(blocks)}}


def text(value):
    return {"type": "text", "text": value}


class LongLines(AcpTest):
    """B01: a line above 64 KiB."""

    def long_prompt(self, send):
        server, agent, session = self.start()
        body = "a" * 300000 + "TAIL-91"
        agent.note_request(900, "session/prompt", {"sessionId": session})
        line = dump(prompt(900, session, text(body))) + b"\n"
        send(agent, line)
        self.assertEqual(agent.wait(900)["result"]["stopReason"], "end_turn")
        self.assertIn(body, server.last.last_user)
        agent.ping()

    def test_in_one_write(self):
        """B01"""
        self.long_prompt(lambda agent, line: agent.write(line))

    def test_in_small_writes(self):
        """B01: 1,000-byte writes 1 ms apart"""
        def send(agent, line):
            for start in range(0, len(line), 1000):
                agent.write(line[start:start + 1000])
                time.sleep(0.001)
        self.long_prompt(send)

    def test_with_another_request_behind_it(self):
        """B01: the next request in the same write is answered too"""
        def send(agent, line):
            follower = {"jsonrpc": "2.0", "id": 901, "method": "_tests/ping", "params": {}}
            agent.write(line + dump(follower) + b"\n")
            self.assert_code(agent.wait(901)["error"], -32601)
        self.long_prompt(send)

    @within(120)
    def test_picture_of_20_mib(self):
        """B01: a picture in one line reaches the model unchanged"""
        server, agent, session = self.start()
        data = base64.b64encode(b"\x89PNG\r\n\x1a\n" + os.urandom(1 << 20) * 15).decode()
        agent.note_request(900, "session/prompt", {"sessionId": session})
        agent.send(prompt(900, session, text("look"),
                          {"type": "image", "mimeType": "image/png", "data": data}))
        self.assertIn("stopReason", agent.wait(900, 60).get("result", {}))
        self.assertIn(data[-1000:].encode(), server.last.body)

    @within(120)
    def test_line_above_the_cap(self):
        """B01: -32600 with id null above 64 MiB, the rest of the line is skipped"""
        agent = self.agent()
        before = self.resident(agent)
        piece = b"x" * (1 << 20)
        agent.write(b'{"jsonrpc":"2.0","id":7,"method":"session/list","params":{"cursor":"')
        for _ in range(70):
            agent.write(piece)
        agent.write(b'"}}\n')
        agent.until(lambda: agent.responses.get("None"), 30, "the error with id null")
        self.assertEqual(agent.responses["None"][0]["error"]["code"], -32600)
        agent.ping()
        self.assertFalse(agent.responses.get("7"))
        self.assertLess(self.resident(agent), before + (160 << 10))

    @staticmethod
    def resident(agent):
        for line in processes.read(f"/proc/{agent.pid}/status").splitlines():
            if line.startswith(b"VmRSS:"):
                return int(line.split()[1])
        return 0


class Envelopes(AcpTest):
    """B04 and the JSON-RPC rules of the protocol."""

    def null_errors(self, agent):
        return [response["error"]["code"] for response in agent.responses.get("None", [])]

    def test_noise_before_the_first_message(self):
        """B04: noise costs at most one error per line and never the connection"""
        self.stderr_is_quiet = False
        agent = self.agent(initialize=False)
        agent.write(b"Welcome back\r\n" + b"\n" + b"\x1b[?2004h\n" + dump(INITIALIZE) + b"\r\n")
        self.assertEqual(agent.wait(1)["result"]["protocolVersion"], 1)
        self.assertLessEqual(len(self.null_errors(agent)), 2)
        self.assertTrue(all(code == -32700 for code in self.null_errors(agent)))

    def test_ids_come_back_unchanged(self):
        """B04: type and text of ids"""
        agent = self.agent()
        for identity in ("abc", "123", 123, -1, 0, "", 9007199254740993, "ü\u2028\""):
            agent.ping(identity)
        agent.write(b'{"jsonrpc":"2.0","id":"\\u0041b","method":"_tests/ping"}\n')
        self.assert_code(agent.wait("Ab")["error"], -32601)

    def test_two_requests_in_one_write(self):
        """B04"""
        agent = self.agent()
        agent.write(b'{"id":"a","jsonrpc":"2.0","params":{},"method":"_tests/ping"}\n'
                    b'{"method":"_tests/ping","_meta":{"x":1},"more":[],"jsonrpc":"2.0","id":"b"}\n')
        for identity in ("a", "b"):
            self.assert_code(agent.wait(identity)["error"], -32601)

    def test_split_inside_a_character(self):
        """B04: one byte at a time, through the middle of a character"""
        server, agent, session = self.start()
        agent.note_request("ü", "session/prompt", {"sessionId": session})
        for byte in dump(prompt("ü", session, text("größe 🌍"))) + b"\n":
            agent.write(bytes([byte]))
        self.assertIn("result", agent.wait("ü"))
        self.assertIn("größe 🌍", server.last.last_user)

    def test_jsonrpc_missing(self):
        """B04: tolerated or -32600, never ignored"""
        self.stderr_is_quiet = False
        agent = self.agent()
        agent.send({"id": 5, "method": "_tests/ping", "params": {}})
        agent.until(lambda: agent.answered(5) or agent.responses.get("None"), 5, "any answer")
        answer = (agent.responses.get("5") or agent.responses.get("None"))[0]
        self.assertIn(answer["error"]["code"], (-32600, -32601))
        agent.ping()

    def test_broken_lines(self):
        """acp 8-10: parse errors and invalid requests, id null, and the connection lives"""
        self.stderr_is_quiet = False
        agent = self.agent()
        rows = [(b"{bad", -32700), (b'{"jsonrpc":"2.0","id":1', -32700), (b'{"a":1} x', -32700),
                (b"[]", -32600), (b'[{"jsonrpc":"2.0","id":3,"method":"session/list"}]', -32600),
                (b"5", -32600), (b'"text"', -32600), (b"null", -32600),
                (b'{"jsonrpc":"2.0","method":5}', -32600),
                (b"{'jsonrpc':'2.0','id':1,'method':'session/list'}", -32700),
                (b'{"jsonrpc":"2.0","id":-Infinity,"method":"session/list"}', -32700),
                (b'\xef\xbb\xbf{"jsonrpc":"2.0"', -32700), (b'{"a":"\xff"}', -32700)]
        for count, (line, code) in enumerate(rows, 1):
            agent.write(line + b"\n")
            agent.until(lambda wanted=count: len(agent.responses.get("None", [])) >= wanted, 5,
                        f"the answer to {line!r}")
            self.assertEqual(self.null_errors(agent)[-1], code, line)
        agent.ping()

    def test_deep_nesting(self):
        """acp 24: depth does not overflow the stack"""
        self.stderr_is_quiet = False
        agent = self.agent()
        deep = b"[" * 100000 + b"]" * 100000
        agent.write(b'{"jsonrpc":"2.0","id":8,"method":"session/list","params":{"x":' + deep
                    + b"}}\n")
        agent.until(lambda: agent.answered(8) or agent.responses.get("None"), 10, "any answer")
        agent.ping()

    def test_unknown_methods_and_notifications(self):
        """acp 13-16"""
        agent = self.agent()
        for method in ("nope", "_vendor/thing", "session/unknown", "fs/read_text_file"):
            self.assert_code(agent.error(method, {}), -32601)
        before = agent.mark()
        for method in ("_x", "$/x", "foo/bar", "session/cancel"):
            agent.notify(method, {"sessionId": "nobody"})
        agent.notify("$/cancel_request", {"requestId": 4711})
        agent.send({"jsonrpc": "2.0", "id": 99, "result": {}})
        agent.send({"jsonrpc": "2.0", "id": "x", "error": {"code": 1, "message": "no"}})
        agent.ping()
        self.assertEqual(len([event for event in agent.events[before:]
                              if "method" not in event]), 1)

    def test_params_missing_or_null(self):
        """acp 18: missing or null params are an empty object"""
        agent = self.agent()
        agent.call("logout")
        agent.send({"jsonrpc": "2.0", "id": 5, "method": "logout", "params": None})
        self.assertEqual(agent.wait(5)["result"], {})
        for params in ([], "x", 5):
            self.assert_code(agent.error("session/new", params), -32602)

    def test_before_initialize(self):
        """acp 28: everything else is -32600 and notifications are ignored"""
        agent = self.agent(initialize=False)
        agent.notify("session/cancel", {"sessionId": "x"})
        self.assert_code(agent.error("session/set_mode", {}), -32600)
        self.assert_code(agent.error("session/new", {"cwd": "/", "mcpServers": []}), -32600)
        agent.initialize()
        agent.ping()

    def test_protocol_versions(self):
        """acp 25-27, 33"""
        agent = self.agent(initialize=False)
        for bad in (None, "1", -1, 1.5, []):
            self.assert_code(agent.error("initialize", {"protocolVersion": bad}), -32602)
        self.assert_code(agent.error("initialize", {}), -32602)
        for version in (1, 99, 65535, 0):
            self.assertEqual(agent.initialize(version)["protocolVersion"], 1)
        self.assertIn(agent.initialize(2)["protocolVersion"], (1, 2))

    def test_same_id_twice(self):
        """acp 1.2: a repeated id is answered twice, without a crash"""
        agent = self.agent()
        line = dump({"jsonrpc": "2.0", "id": 5, "method": "_tests/ping", "params": {}}) + b"\n"
        agent.write(line + line)
        agent.until(lambda: len(agent.responses.get("5", [])) == 2, 5, "two answers")
        agent.responses["5"].pop()

    def test_last_line_without_newline(self):
        """acp 1.1: the end of input ends the last line"""
        agent = self.agent()
        agent.write(dump({"jsonrpc": "2.0", "id": "last", "method": "_tests/ping"}))
        agent.close_input()
        self.assertEqual(agent.wait_exit(5), 0)
        for thread in agent.threads:
            thread.join(5)
        self.assertIn("error", agent.responses.get("'last'", [{}])[0])


class Purity(AcpTest):
    """B02: nothing but messages on stdout."""

    def test_fresh_home_broken_configuration_noisy_server_and_commands(self):
        """B02"""
        self.stderr_is_quiet = False
        self.model(
            model.run("echo x >/proc/$PPID/fd/1; ls -l /proc/self/fd; echo y >&2"),
            model.run("for p in $PPID $(ps -o ppid= -p $PPID); do echo x >/proc/$p/fd/1;"
                      " echo x >/proc/$p/fd/3; done"))
        path = os.path.join(self.folder, "home", ".hermes", ".env")
        with open(path, "w") as file:
            file.write("this line is no assignment\n=\n")
        os.chmod(path, 0o600)
        noisy = self.put("noisy.py", "import sys, time\nprint('BANNER')\nprint('{\"x\":', flush=True)\n"
                         "sys.stderr.write('e' * 100000)\ntime.sleep(2)\n")
        agent = self.agent("-v")
        self.assertTrue(os.path.isdir(agent.hermes_home))
        session = agent.call("session/new", {"cwd": self.work, "mcpServers": [
            {"name": "noisy", "command": sys.executable, "args": [noisy], "env": []}]})["sessionId"]
        agent.prompt(session, "go")
        self.assertEqual(agent.problems, [])
        self.assertTrue(agent.raw_lines)

    def test_descriptors_of_a_command(self):
        """B02: a command has 0, 1 and 2 and nothing of ours"""
        server, agent, session = self.start(model.run("ls -l /proc/self/fd"))
        self.assertEqual(agent.turn(session), "end_turn")
        output = json.loads(server.last.result)["output"]
        names = [line.split(" -> ")[0].split()[-1] for line in output.splitlines()
                 if " -> " in line]
        self.assertEqual(names[:3], ["0", "1", "2"], output)
        self.assertEqual(len(names), 4, output)  # and the folder that ls reads
        self.assertNotIn("socket:", output)
        self.assertNotIn("state.db", output)

    def test_our_descriptors_are_out_of_reach(self):
        """B02: a command of the same user cannot write into the agent's output"""
        # Only the agent that runs the script and its workers: others on the machine are not ours.
        script = ("p=$$; while p=$(sed -n 's/^PPid:[[:space:]]*//p' /proc/$p/status); test $p -gt 1; "
                  "do for q in $p $(pgrep -P $p); do case $(cat /proc/$q/comm 2>/dev/null) in "
                  "hermes-acp*) ;; *) continue;; esac; "
                  "echo tried $q; for f in /proc/$q/fd/*; do (printf 'INJECTED\\n' >$f) 2>/dev/null; "
                  "done; done; case $(cat /proc/$p/comm) in hermes-acp) break;; esac; done; echo done")
        if os.getuid() == 0:
            self.skipTest("root may open everything")
        server, agent, session = self.start(model.run(script))
        agent.turn(session)
        self.assertGreaterEqual(json.loads(server.last.result)["output"].count("tried"), 4)
        self.assertEqual(agent.problems, [])


class Order(AcpTest):
    """B07: what may come when (the client of these tests checks it everywhere)."""

    def test_commands_after_the_response(self):
        """B07: session/new, then its updates"""
        self.model()
        agent = self.agent()
        first = agent.start("session/new", {"cwd": self.work, "mcpServers": []})
        second = agent.start("session/new", {"cwd": self.work, "mcpServers": []})
        sessions = [agent.wait(one)["result"]["sessionId"] for one in (first, second)]
        self.assertNotEqual(*sessions)
        for session in sessions:
            agent.until(lambda one=session: agent.updates(one, "available_commands_update"), 2,
                        "available_commands_update")

    def test_load_replays_before_it_answers(self):
        """B07, B23: all replayed updates before the response"""
        _server, agent, session = self.start(model.say("hello"))
        agent.turn(session, "hi")
        if not agent.can_load:
            self.skipTest("the agent does not advertise loadSession")
        before = agent.mark()
        agent.load(session, self.work)
        kinds = [update["sessionUpdate"] for update in agent.updates(session, since=before)]
        self.assertIn("user_message_chunk", kinds)
        self.assertIn("agent_message_chunk", kinds)
        self.assertEqual(agent.text(session, since=before), "hello")

    def test_initialize_is_the_first_line(self):
        """acp 35"""
        agent = self.agent()
        self.assertEqual(agent.events[0].get("result", {}).get("protocolVersion"), 1)


class SlowReader(AcpTest):
    """B05: a client that does not read."""

    @within(90)
    def test_cancel_and_request_while_nobody_reads(self):
        """B05: stdin is still served, lines stay whole, memory stays bounded"""
        piece = model.delta("0123456789" * 1000)
        server, agent, session = self.start([piece] * 3000 + [model.HANG])
        other = agent.new_session(self.work)
        before = LongLines.resident(agent)
        agent.pause()
        request = agent.prompt_start(session, "flood")
        server.wait_requests(1)
        time.sleep(3)
        memory = LongLines.resident(agent)
        agent.cancel(session)
        other_request = agent.start("_tests/ping", {})
        time.sleep(2)
        agent.resume()
        self.assertEqual(agent.wait(request, 30)["result"]["stopReason"], "cancelled")
        self.assert_code(agent.wait(other_request)["error"], -32601)
        self.assertLess(memory, before + (64 << 10))
        server.script.append(model.say("fine"))
        self.assertEqual(agent.turn(other, "next"), "end_turn")

    @within(90)
    def test_nothing_is_lost_or_reordered(self):
        """B05: 4 MB of text through a stalled reader"""
        words = [f"{number:07d} " for number in range(500000)]
        pieces = [model.delta("".join(words[start:start + 500]))
                  for start in range(0, len(words), 500)]
        _server, agent, session = self.start([*pieces, model.finish(), model.DONE])
        agent.pause()
        request = agent.prompt_start(session, "count")
        time.sleep(2)
        agent.resume()
        self.assertEqual(agent.wait(request, 60)["result"]["stopReason"], "end_turn")
        self.assertEqual(agent.text(session), "".join(words))

    def test_reader_stalled_for_good(self):
        """R19: the end of input ends the agent although nobody reads"""
        _server, agent, session = self.start([model.delta("x" * 10000)] * 2000 + [model.HANG])
        agent.pause()
        agent.prompt_start(session, "flood")
        time.sleep(1)
        agent.close_input()
        self.assertEqual(agent.wait_exit(10), 0)
        agent.resume()
        for thread in agent.threads:
            thread.join(10)
        # What did not fit the pipe could not be delivered: the last line may be cut.
        agent.problems = [one for one in agent.problems if "middle of a line" not in one]
