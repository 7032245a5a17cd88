"""Commands: what they inherit, background children, Stop and time limits, output of all kinds."""
import json
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import model_server as model
from acp import AcpTest, within


class TerminalTest(AcpTest):
    def setUp(self):
        super().setUp()
        self.server, self.client, self.session = self.start()

    def run_command(self, command, seconds=20, **more):
        """(result object as the model reads it, card, seconds that it took)"""
        before = self.client.mark()
        self.server.script[:] = [model.run(command, **more), model.say("ok")]
        started = time.monotonic()
        self.assertEqual(self.client.turn(self.session, seconds=seconds), "end_turn")
        took = time.monotonic() - started
        return json.loads(self.server.last.result), self.client.cards(self.session, before)[0], took


class Input(TerminalTest):
    """B68: a command never reads the protocol."""

    def test_readers(self):
        """B68: end of file at once; the protocol goes on"""
        rows = [("cat", ""), ("read x; echo got:$x", "got:"), ("python3", ""),
                ("cat /dev/tty 2>&1; true", None), ("head -c 5", "")]
        for command, expected in rows:
            other_request = self.client.start("_tests/ping", {})
            result, _card, took = self.run_command(command)
            self.assertLess(took, 3, command)
            if expected is not None:
                self.assertEqual(result["output"].strip(), expected, command)
            self.assert_code(self.client.wait(other_request)["error"], -32601)

    def test_no_terminal(self):
        """B68: a session of its own without a controlling terminal"""
        result, _card, _took = self.run_command("ps -o tty= -p $$; tty")
        self.assertIn("?", result["output"])
        self.assertIn("not a tty", result["output"])

    def test_background_reader(self):
        """B68: background cat"""
        result, _card, took = self.run_command("cat", background=True)
        self.assertLess(took, 3)
        self.assertTrue(result)


class Background(TerminalTest):
    """B69: the end of the command counts, not the end of the pipe."""

    def assert_prompt_end(self, command, marker, exit_code=0):
        result, _card, took = self.run_command(command)
        self.assertLess(took, 4, command)
        if "now" not in result.get("output", ""):  # refused with the advice to use background
            self.assertRegex(str(result), "background")
        else:
            self.assertEqual(result["exit_code"], exit_code, result)
        after, _card, _took = self.run_command("echo next")
        self.assertIn("next", after["output"])
        if marker:
            self.sweep(self.client)
            self.assert_gone(marker)

    def test_child_holds_the_pipe(self):
        """B69"""
        self.assert_prompt_end("(sleep 33.5; echo late) & echo now", "sleep 33.5")

    def test_child_in_its_own_session(self):
        """B69"""
        self.assert_prompt_end("setsid sleep 34.5 >/dev/null 2>&1 & disown; echo now", "sleep 34.5")

    def test_ticking_child(self):
        """B69: it neither blocks nor fills the memory"""
        self.assert_prompt_end("nohup sh -c 'while :; do echo tick; sleep 0.1; done' & echo now",
                               "echo tick")

    def test_exit_status_with_a_child(self):
        """B69"""
        result, _card, took = self.run_command("exec 3>&1; sleep 35.5 & exit 4")
        self.assertLess(took, 4)
        self.assertIn(result["exit_code"], (4, -1))
        self.sweep(self.client)
        self.assert_gone("sleep 35.5")


class Stop(TerminalTest):
    """B70: Stop and the time limit end the whole tree."""

    ROWS = [("sh -c 'sleep 36.5 & sleep 37.5 & wait'", "sleep 37.5"),
            ("trap '' TERM; sleep 38.5; sleep 38.5", "sleep 38.5"),
            ("sleep 40.5 | cat | cat", "sleep 40.5")]
    OTHER_SESSIONS = [("setsid sleep 39.5; true", "sleep 39.5"),
                      ("setsid -f sleep 44.5; sleep 44.25", "sleep 44.5")]

    def assert_cancel(self, rows):
        for command, marker in rows:
            with self.subTest(command):
                self.server.script[:] = [model.run("echo partial; " + command)]
                request = self.client.prompt_start(self.session, "go")
                if not self.until_running(marker, request):
                    continue
                self.client.cancel(self.session)
                self.assertEqual(self.client.wait(request)["result"]["stopReason"], "cancelled")
                self.assert_gone(marker)

    @within(120)
    def test_cancel(self):
        """B70"""
        self.assert_cancel(self.ROWS)

    @within(60)
    def test_cancel_of_other_sessions(self):
        """B70"""
        self.assert_cancel(self.OTHER_SESSIONS)

    def until_running(self, marker, request):
        """False when the command was refused (setsid may be) and the turn ended."""
        from acp import SCALE
        import processes
        end = time.monotonic() + 5 * SCALE
        while time.monotonic() < end:
            if processes.with_marker(marker):
                time.sleep(0.2)
                return True
            if self.client.answered(request):
                return False
            time.sleep(0.05)
        return self.fail(f"{marker} does not run")

    def assert_time_limit(self, rows):
        for command, marker in rows:
            with self.subTest(command):
                result, card, took = self.run_command(command, timeout=2)
                self.assertEqual(card.status, "failed", result)
                self.assertLess(took, 6)
                self.assert_gone(marker)

    @within(120)
    def test_time_limit(self):
        """B70: with timeout 2"""
        self.assert_time_limit(self.ROWS)

    @within(60)
    def test_time_limit_of_other_sessions(self):
        """B70: with timeout 2"""
        self.assert_time_limit(self.OTHER_SESSIONS)

    def test_next_command_works(self):
        """B70: after a cancel"""
        self.server.script[:] = [model.run("sleep 36.25")]
        request = self.client.prompt_start(self.session, "go")
        self.assert_running("sleep 36.25")
        self.client.cancel(self.session)
        self.client.wait(request)
        result, _card, _took = self.run_command("echo again")
        self.assertEqual(result["output"].strip(), "again")


class NoPerson(TerminalTest):
    """B71: programs that want a person do not wait for one."""

    @within(120)
    def test_git_and_pagers(self):
        """B71"""
        setup = ("git init -q . && git config user.email a@b && git config user.name n && "
                 "git config core.pager less && for i in $(seq 60); do echo $i >f; git add f; "
                 "git commit -qm c$i; done")
        result, _card, _took = self.run_command(setup, timeout=60, seconds=60)
        self.assertEqual(result["exit_code"], 0, result)
        for command in ("git log", "git diff HEAD~30", "git commit --amend",
                        "git clone https://127.0.0.1:1/x", "less f", "man ls 2>&1 | head -5",
                        "git -c credential.helper= ls-remote https://127.0.0.1:1/x"):
            _result, _card, took = self.run_command(command)
            self.assertLess(took, 10, command)

    def test_environment(self):
        """B71: pagers are cat, terminals dumb, git asks nobody"""
        result, _card, _took = self.run_command(
            "echo P=$PAGER G=$GIT_PAGER T=$GIT_TERMINAL_PROMPT X=$TERM")
        self.assertIn("P=cat G=cat T=0", result["output"])


class TimeLimit(TerminalTest):
    """B72: what was printed before the limit is kept."""

    def test_partial_output(self):
        """B72"""
        result, card, took = self.run_command(
            "for i in 1 2 3; do echo line$i; done; printf 'no newline'; sleep 60", timeout=2)
        for word in ("line1", "line3", "no newline"):
            self.assertIn(word, result["output"])
        self.assertRegex(str(result).lower(), "timed out|timeout|time limit")
        self.assertEqual(card.status, "failed")
        self.assertLess(took, 5)

    def test_odd_limits(self):
        """B72: clamped and said, or refused; never a hang"""
        for limit in (0, -1, 10 ** 9, "5", 2.5):
            result, _card, took = self.run_command("echo fine", timeout=limit)
            self.assertLess(took, 5)
            self.assertTrue("fine" in str(result) or "timeout" in str(result).lower(), result)


class Output(TerminalTest):
    """B73, B74: output that is long, or not text."""

    def test_head_and_tail(self):
        """B73: the end is visible, and how much was left out"""
        result, card, _took = self.run_command("seq 1 200000; echo FINAL-ERROR >&2; exit 2")
        self.assertIn("FINAL-ERROR", result["output"])
        self.assertTrue(result["output"].startswith("1\n2\n"))
        self.assertLess(len(result["output"]), 120000)
        self.assertRegex(result["output"].lower(), "truncated|omitted|left out")
        self.assertEqual((card.status, result["exit_code"]), ("failed", 2))

    @within(120)
    def test_gigabyte(self):
        """B73: memory stays bounded"""
        result, _card, _took = self.run_command("yes | head -c 1000000000", seconds=90, timeout=90)
        self.assertLess(len(result["output"]), 120000)

    def test_cut_at_characters(self):
        """B73: no half characters"""
        result, _card, _took = self.run_command("python3 -c \"print('中'*400000)\"")
        self.assertNotIn("\ufffd", result["output"])
        self.assertIn("中", result["output"])

    def test_one_line_of_3_mb(self):
        """B73"""
        result, _card, _took = self.run_command("head -c 3000000 /dev/zero | tr '\\0' x")
        self.assertLess(len(result["output"]), 120000)

    def test_bytes_that_are_not_text(self):
        """B74: valid JSON everywhere; text behind a NUL survives"""
        result, card, _took = self.run_command("printf '\\xff\\xfeA\\x00B\\n'")
        self.assertIn("A", result["output"])
        self.assertIn("B", result["output"])
        self.assertIn("B", card.text)
        result, _card, _took = self.run_command("head -c 3000 /bin/ls")
        self.assertTrue(result["output"])

    def test_progress_lines(self):
        """B74: collapsed to the last state; escapes are gone"""
        result, _card, _took = self.run_command("printf '\\033[2K\\r10%%\\r100%%\\n'")
        self.assertEqual(result["output"].strip(), "100%")
        result, _card, _took = self.run_command(
            "printf '\\033[?25l\\033]8;;http://x\\033\\\\link\\033]8;;\\033\\\\\\n'")
        self.assertEqual(result["output"].strip(), "link")

    def test_names_that_are_not_utf8(self):
        """B74: listed without breaking the protocol"""
        with open(os.path.join(os.fsencode(self.work), b"n\xff.txt"), "wb") as file:
            file.write(b"found here\n")
        result, _card, _took = self.run_command("ls")
        self.assertIn("n", result["output"])
        self.server.script[:] = [model.call("search_files", pattern="found"), model.say("ok")]
        self.assertEqual(self.client.turn(self.session), "end_turn")
        json.loads(self.server.last.result)

    def test_state_carries_over(self):
        """cd and exports persist"""
        os.mkdir(self.path("sub"))
        self.run_command("cd sub; export MINE=4711")
        result, _card, _took = self.run_command("pwd; echo $MINE")
        self.assertEqual(result["output"].split(), [self.path("sub"), "4711"])
