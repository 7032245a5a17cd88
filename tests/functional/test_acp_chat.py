"""acp-chat against a fake agent, and against hermes-acp in rehearsal.

The programs are found by the environment (ACP_CHAT, HERMES_ACP), else in the build folder
(HERMES_TEST_BUILD, build).
"""
import json
import os
import pty
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
FAKE = os.path.join(TOP, "tests", "lib", "fake_agent.py")


def find_program(variable, name):
    if os.environ.get(variable):
        return os.path.abspath(os.environ[variable])
    for folder in (os.environ.get("HERMES_TEST_BUILD", ""), os.path.join(TOP, "build")):
        path = os.path.join(folder, name)
        if os.access(path, os.X_OK) and os.path.isfile(path):
            return path
    return None


CHAT = find_program("ACP_CHAT", "acp-chat")
HERMES = find_program("HERMES_ACP", "hermes-acp")


class Terminal:
    """A program on a pseudo terminal."""

    def __init__(self, command, env=None):
        self.output = ""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execve(command[0], command, env or dict(os.environ, TERM="xterm"))

    def read_for(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            ready, _, _ = select.select([self.fd], [], [], 0.05)
            if ready and not self.read_once():
                return

    def read_once(self):
        try:
            data = os.read(self.fd, 65536)
        except OSError:
            data = b""
        self.output += data.decode("utf-8", "replace")
        return bool(data)

    def expect(self, text, seconds=10):
        """Reads until `text` stands in the output and cuts it off there."""
        end = time.monotonic() + seconds
        while text not in self.output:
            ready, _, _ = select.select([self.fd], [], [], 0.1)
            if (ready and not self.read_once()) or time.monotonic() > end:
                raise AssertionError("%r did not come: %r" % (text, self.output))
        at = self.output.index(text) + len(text)
        seen, self.output = self.output[:at], self.output[at:]
        return seen

    def type(self, text):
        os.write(self.fd, text.encode())

    def end(self, seconds=10):
        """Waits for the end and returns the exit status."""
        stop = time.monotonic() + seconds
        while time.monotonic() < stop:
            self.read_for(0.05)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.read_for(0.1)
                os.close(self.fd)
                self.pid = 0
                return os.waitstatus_to_exitcode(status)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        raise AssertionError("did not end: %r" % self.output)


@unittest.skipUnless(CHAT, "acp-chat is not built")
class ChatTest(unittest.TestCase):
    def setUp(self):
        self.folder = os.path.realpath(tempfile.mkdtemp(prefix="acp-chat-test."))
        self.record = os.path.join(self.folder, "record")
        self.addCleanup(shutil.rmtree, self.folder)

    def agent(self, scenario):
        return ["--", sys.executable, FAKE, scenario, self.record]

    def run_chat(self, scenario, *options, text="hi", stdin="", timeout=20):
        command = [CHAT, "-C", self.folder, *options]
        if text is not None:
            command += ["-p", text]
        return subprocess.run(command + self.agent(scenario), input=stdin, text=True,
                              capture_output=True, timeout=timeout, errors="replace")

    def sent(self, method=None):
        with open(self.record) as record:
            messages = [json.loads(line) for line in record]
        return [m for m in messages if method is None or m.get("method") == method]

    def on_terminal(self, scenario, *options, env=None):
        return Terminal([CHAT, "-C", self.folder, *options] + self.agent(scenario), env)


class Opening(ChatTest):
    def test_what_it_says_of_itself(self):
        done = self.run_chat("echo", text="two words")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout, "You said: two words\n")
        self.assertEqual(done.stderr, "")
        hello = self.sent("initialize")[0]["params"]
        self.assertEqual(hello["protocolVersion"], 1)
        self.assertEqual(hello["clientInfo"]["name"], "acp-chat")
        self.assertEqual(hello["clientCapabilities"]["fs"],
                         {"readTextFile": False, "writeTextFile": False})
        self.assertIs(hello["clientCapabilities"]["terminal"], False)
        self.assertEqual(self.sent("session/new")[0]["params"],
                         {"cwd": self.folder, "mcpServers": []})
        for message in self.sent():
            self.assertEqual(message["jsonrpc"], "2.0")

    def test_usage(self):
        for options in (["--nothing"], ["--yes", "--no"], ["-p"], ["-p", ""],
                        ["-C", "/nowhere/at/all"], ["-C", __file__]):
            done = subprocess.run([CHAT, *options], input="", text=True, capture_output=True,
                                  timeout=10)
            self.assertEqual(done.returncode, 64, options)
            self.assertIn("acp-chat", done.stderr)
        for option in ("--help", "--version"):
            done = subprocess.run([CHAT, option], text=True, capture_output=True, timeout=10)
            self.assertEqual(done.returncode, 0)
            self.assertIn("acp-chat", done.stdout)

    def test_agent_that_cannot_be_started(self):
        done = subprocess.run([CHAT, "-p", "x", "--", "/nowhere/agent"], text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=10)
        self.assertEqual(done.returncode, 69)
        self.assertIn("/nowhere/agent: No such file", done.stderr)

    def test_agent_that_ends_at_once(self):
        done = self.run_chat("die_at_start")
        self.assertEqual(done.returncode, 69)
        self.assertIn("cannot find my configuration", done.stderr)
        self.assertIn("exited with status 9 before it answered initialize", done.stderr)

    def test_no_session(self):
        done = self.run_chat("no_session")
        self.assertEqual(done.returncode, 1)
        self.assertIn("session/new failed with error -32602: Invalid params: cwd is not for you",
                      done.stderr)

    def test_other_protocol_version(self):
        done = self.run_chat("other_version")
        self.assertEqual(done.returncode, 1)
        self.assertIn("version 2", done.stderr)

    def test_sign_in(self):
        done = self.run_chat("auth")
        self.assertEqual(done.returncode, 1)
        self.assertIn("-32000", done.stderr)
        self.assertIn("acp-chat --auth key -- ", done.stderr)
        self.assertIn("--setup 'a b'", done.stderr)
        done = self.run_chat("auth", "--auth", "key")
        self.assertEqual((done.returncode, done.stdout), (0, "You said: hi\n"), done.stderr)
        done = self.run_chat("auth", "--auth", "other")
        self.assertEqual(done.returncode, 1)
        self.assertIn("authenticate failed with error -32602", done.stderr)

    def test_silent_agent_can_be_left(self):
        child = subprocess.Popen([CHAT, "-p", "x"] + self.agent("silent"),
                                 stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.assertIn("still waiting for the agent to answer initialize",
                      child.stderr.readline())
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=10)
        self.assertEqual(child.returncode, 5)


class Turns(ChatTest):
    def test_whole_turn_as_plain_text(self):
        done = self.run_chat("turn")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout, """\
[thought] Let me think.
First part, second part.
Plan
  [x] Look
  [>] Edit
  [ ] Check
* read: Read notes.txt
  | line one
  | line two
  [completed]
* edit: Edit notes.txt
  /w/notes.txt (+1 -1)
  @@
   e
   f
   g
  -status: draft
  +status: done
   z
  [completed]
* execute: make
  | one
  | two
  | three
  [failed]
The end.
""")

    def test_stop_reasons(self):
        for reason, status in (("end_turn", 0), ("max_tokens", 2), ("max_turn_requests", 3),
                               ("refusal", 4), ("cancelled", 5), ("odd", 1)):
            done = self.run_chat("stop", text=reason)
            self.assertEqual(done.returncode, status, reason)
            if status:
                self.assertIn("[stopped: %s]" % reason, done.stdout)

    def test_error(self):
        done = self.run_chat("error")
        self.assertEqual(done.returncode, 1)
        self.assertIn("session/prompt failed with error -32603: Internal error: "
                      "the disk is full", done.stderr)

    def test_death_in_a_turn(self):
        done = self.run_chat("die")
        self.assertEqual(done.returncode, 69)
        self.assertEqual(done.stdout, "about to die\n")
        self.assertIn("exited with status 3 in the middle of a turn", done.stderr)
        done = self.run_chat("killed")
        self.assertEqual(done.returncode, 69)
        self.assertIn("signal 9", done.stderr)

    def test_unknown_request(self):
        done = self.run_chat("unknown_request")
        self.assertEqual((done.returncode, done.stdout), (0, "code=-32601\n"))

    def test_nonsense(self):
        done = self.run_chat("nonsense")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("still here\n", done.stdout)
        self.assertIn("this is not JSON", done.stderr)
        self.assertIn("neither a method nor an answer", done.stderr)
        self.assertNotIn("\x1b", done.stderr)

    def test_hostile_text(self):
        done = self.run_chat("hostile", "--yes")
        self.assertEqual(done.returncode, 1)
        both = done.stdout + done.stderr
        for code in range(0x20):
            if chr(code) not in "\n\t":
                self.assertNotIn(chr(code), both)
        for character in "\x7f\u009b\u202e":
            self.assertNotIn(character, both)
        self.assertIn("Ared BCDEFGH\nI\nJ\ufffdK\nL\n", done.stdout)
        self.assertIn("* execute: bad title next\n  | output\n", done.stdout)
        self.assertIn("[ ] plan", done.stdout)
        self.assertIn("Permission: asked", done.stdout)
        self.assertIn("badness: detail x", done.stderr)

    def test_long_output(self):
        done = self.run_chat("long")
        self.assertEqual(done.returncode, 0)
        self.assertIn("  | line 23\n  | ... 976 more lines\n", done.stdout)
        self.assertIn("x" * 3000000, done.stdout)
        done = self.run_chat("long", "-v")
        self.assertIn("  | line 999\n", done.stdout)

    def test_several_prompts_from_a_pipe(self):
        done = self.run_chat("echo", text=None, stdin="one\n\n/two x\nthree")
        self.assertEqual(done.returncode, 0)
        self.assertEqual(done.stdout, "> one\nYou said: one\n> /two x\nYou said: /two x\n"
                                      "> three\nYou said: three\n")
        self.assertEqual(len(self.sent("session/prompt")), 3)

    def test_prompts_from_a_file(self):
        path = os.path.join(self.folder, "prompts")
        with open(path, "w") as prompts:
            prompts.write("from a file\n/quit\nnot reached\n")
        with open(path) as prompts:
            done = subprocess.run([CHAT, *self.agent("echo")], stdin=prompts, text=True,
                                  capture_output=True, timeout=10)
        self.assertEqual((done.returncode, done.stdout),
                         (0, "> from a file\nYou said: from a file\n"))

    def test_no_standard_output(self):
        read_end, write_end = os.pipe()
        os.close(read_end)
        child = subprocess.run([CHAT, "-p", "x"] + self.agent("long"), stdout=write_end,
                               stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=20)
        os.close(write_end)
        self.assertEqual(child.returncode, 1)

    def test_stubborn_agent_is_ended(self):
        started = time.monotonic()
        done = self.run_chat("stubborn")
        self.assertEqual(done.returncode, 0)
        self.assertLess(time.monotonic() - started, 8)

    def test_interrupt_cancels(self):
        child = subprocess.Popen([CHAT, "-p", "x"] + self.agent("wait"), text=True,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        self.assertEqual(child.stdout.read(7), "waiting")
        child.send_signal(signal.SIGINT)
        output, _ = child.communicate(timeout=10)
        self.assertEqual(child.returncode, 5)
        self.assertIn(" stopped\n", output)
        self.assertEqual(self.sent("session/cancel")[0]["params"], {"sessionId": "fake-1"})

    def test_second_interrupt_quits(self):
        child = subprocess.Popen([CHAT, "-p", "x"] + self.agent("deaf"), text=True,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        self.assertEqual(child.stdout.read(4), "deaf")
        child.send_signal(signal.SIGINT)
        time.sleep(0.3)
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=10)
        self.assertEqual(child.returncode, 5)


class Permission(ChatTest):
    def outcome(self, *options, scenario="permission"):
        done = self.run_chat(scenario, *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("Permission: Write notes.txt", done.stdout)
        return json.loads(done.stdout.split("outcome=")[1]), done.stderr

    def test_yes(self):
        outcome, complaint = self.outcome("--yes")
        self.assertEqual(outcome, {"outcome": "selected", "optionId": "o-allow_once"})
        self.assertEqual(complaint, "")

    def test_no(self):
        outcome, complaint = self.outcome("--no")
        self.assertEqual(outcome, {"outcome": "selected", "optionId": "o-reject_once"})
        self.assertEqual(complaint, "")

    def test_nobody_to_ask(self):
        outcome, complaint = self.outcome()
        self.assertEqual(outcome["optionId"], "o-reject_once")
        self.assertIn("permission denied, because there is no terminal", complaint)

    def test_yes_never_means_always(self):
        outcome, complaint = self.outcome("--yes", scenario="permission_without_once")
        self.assertEqual(outcome["optionId"], "o-reject_always")
        self.assertIn("no option allows only this once", complaint)


class OnTerminal(ChatTest):
    def test_answers(self):
        for typed, option in (("y", "o-allow_once"), ("yes", "o-allow_once"), ("1", "o-allow_once"),
                              ("2", "o-allow_always"), ("A", "o-allow_always"),
                              ("", "o-reject_once"), ("n", "o-reject_once"),
                              ("3", "o-reject_once")):
            terminal = self.on_terminal("permission", "-p", "x")
            shown = terminal.expect("Your choice [n]: ")
            self.assertIn("1, y) Name of allow_once", shown)
            terminal.type(typed + "\n")
            terminal.expect(option)
            self.assertEqual(terminal.end(), 0, typed)

    def test_answer_that_is_none(self):
        terminal = self.on_terminal("permission", "-p", "x")
        terminal.expect("Your choice [n]: ")
        for typed in ("perhaps", "4", "0", "yy", "r", "1x", "99999999999999999999"):
            terminal.type(typed + "\n")
            terminal.expect("Please give the number or letter")
        terminal.type("\n")
        terminal.expect("o-reject_once")
        self.assertEqual(terminal.end(), 0)

    def test_end_of_input_is_no(self):
        terminal = self.on_terminal("two_permissions")
        terminal.expect("> ")
        terminal.type("go\n")
        terminal.expect("Your choice [n]: ")
        terminal.type("\x04")
        terminal.expect("outcome1=o-reject_once")
        terminal.end()

    def test_typing_ahead_answers_nothing(self):
        terminal = self.on_terminal("two_permissions", "-p", "x")
        terminal.type("y\ny\ny\n")
        terminal.expect("Your choice [n]: ")
        terminal.read_for(0.5)
        self.assertNotIn("outcome1", terminal.output)
        terminal.type("n\n")
        terminal.expect("Question 2")
        terminal.expect("Your choice [n]: ")
        terminal.type("y\n")
        terminal.expect("outcome2=o-allow_once")
        self.assertEqual(terminal.end(), 0)

    def test_withdrawn_question(self):
        terminal = self.on_terminal("withdrawn", "-p", "x")
        terminal.expect("no longer asked: Withdrawn")
        terminal.expect("code=-32800")
        self.assertEqual(terminal.end(), 0)

    def test_conversation(self):
        terminal = self.on_terminal("echo")
        shown = terminal.expect("> ")
        self.assertIn("fake 1 in " + self.folder, shown)
        terminal.type("first\n")
        terminal.expect("You said: first")
        terminal.expect("> ")
        terminal.type("/help me\n")
        terminal.expect("You said: /help me")
        terminal.expect("> ")
        terminal.type("\n")
        terminal.expect("> ")
        terminal.type("/quit\n")
        self.assertEqual(terminal.end(), 0)
        self.assertEqual(len(self.sent("session/prompt")), 2)

    def test_end_of_input_ends(self):
        terminal = self.on_terminal("echo")
        terminal.expect("> ")
        terminal.type("\x04")
        self.assertEqual(terminal.end(), 0)

    def test_cancel_by_key(self):
        terminal = self.on_terminal("wait")
        terminal.expect("> ")
        terminal.type("go\n")
        terminal.expect("waiting")
        terminal.type("\x03")
        terminal.expect("[stopped: cancelled]")
        terminal.expect("> ")
        terminal.type("\x03")
        terminal.expect("Ctrl-C again")
        terminal.type("\x03")
        self.assertEqual(terminal.end(), 5)

    def test_cancel_while_it_asks(self):
        terminal = self.on_terminal("wait_with_question", "-p", "x")
        terminal.expect("Your choice [n]: ")
        terminal.type("\x03")
        terminal.expect("stopped: cancelled")
        self.assertEqual(terminal.end(), 5)
        methods = [m.get("method") for m in self.sent()]
        self.assertIn("session/cancel", methods)
        outcomes = [m["result"]["outcome"] for m in self.sent()
                    if isinstance(m.get("result"), dict) and "outcome" in m["result"]]
        self.assertEqual(outcomes, [{"outcome": "cancelled"}])

    def test_colours(self):
        terminal = self.on_terminal("turn", "-p", "x")
        self.assertEqual(terminal.end(), 0)
        self.assertIn("\x1b[2mLet me \x1b[0m\x1b[2mthink.\x1b[0m", terminal.output)
        self.assertIn("\x1b[31m-status: draft\x1b[0m", terminal.output)
        terminal = self.on_terminal("turn", "-p", "x",
                                    env=dict(os.environ, NO_COLOR="1", TERM="xterm"))
        self.assertEqual(terminal.end(), 0)
        self.assertNotIn("\x1b[3", terminal.output)
        self.assertNotIn("\x1b[2m", terminal.output)
        self.assertIn("-status: draft", terminal.output)

    def test_progress(self):
        terminal = self.on_terminal("slow", "-p", "x")
        terminal.expect("running: slow tool")
        self.assertEqual(terminal.end(), 0)
        self.assertIn("\r\x1b[K", terminal.output)


@unittest.skipUnless(HERMES, "hermes-acp is not built")
class WithHermes(ChatTest):
    """The built-in rehearsal script of hermes-acp."""

    def setUp(self):
        super().setUp()
        self.home = os.path.join(self.folder, "home")
        self.work = os.path.join(self.folder, "work")
        self.notes = os.path.join(self.work, "notes.txt")
        os.mkdir(self.work)
        with open(self.notes, "w") as notes:
            notes.write("Notes\nstatus: draft\n")
        self.env = dict(os.environ, HERMES_HOME=self.home)

    def run_hermes(self, prompt, *options, timeout=60):
        return subprocess.run(
            [CHAT, "-C", self.work, *options, "-p", prompt, "--", HERMES, "--rehearsal"],
            stdin=subprocess.DEVNULL, text=True, capture_output=True, timeout=timeout,
            env=self.env, errors="replace")

    def read_notes(self):
        with open(self.notes) as notes:
            return notes.read()

    def test_hello(self):
        done = self.run_hermes("hello")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("Hello!", done.stdout)
        self.assertEqual(done.stderr, "")

    def test_whole_turn_with_permission(self):
        done = self.run_hermes("Please finish the notes", "--yes")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.read_notes(), "Notes\nstatus: done\n")
        for text in ("[thought] ", "Plan\n", "+status: done", "-status: draft",
                     "Permission: ", "[completed]", "That was a whole turn"):
            self.assertIn(text, done.stdout)

    def test_whole_turn_without_permission(self):
        done = self.run_hermes("Please finish the notes", "--no")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.read_notes(), "Notes\nstatus: draft\n")
        self.assertIn("[failed]", done.stdout)

    def test_without_the_file(self):
        os.unlink(self.notes)
        done = self.run_hermes("Please finish the notes", "--yes")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("That was a whole turn", done.stdout)

    def test_error(self):
        done = self.run_hermes("error")
        self.assertEqual(done.returncode, 1)
        self.assertIn("500", done.stderr)

    def test_cancel(self):
        child = subprocess.Popen(
            [CHAT, "-C", self.work, "-p", "stream", "--", HERMES, "--rehearsal"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, env=self.env)
        self.assertEqual(child.stdout.read(11), "This answer")
        started = time.monotonic()
        child.send_signal(signal.SIGINT)
        output, _ = child.communicate(timeout=10)
        self.assertEqual(child.returncode, 5)
        self.assertIn("[stopped: cancelled]", output)
        self.assertLess(time.monotonic() - started, 5)


if __name__ == "__main__":
    unittest.main()
