"""R15, R17: a worker's bytes are untrusted. Nothing of what a hostile worker sends reaches stdout,
it dies, the client gets an error, and the other sessions do not notice."""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import hostile_worker
import processes
from acp import AcpTest, dump, within

PROGRAM = os.path.abspath(hostile_worker.__file__)
ATTACKS = [name[len("attack_"):] for name in dir(hostile_worker.Worker)
           if name.startswith("attack_")]
COUNT = 60


class HostileTest(AcpTest):
    def start_hostile(self, **environment):
        self.stderr_is_quiet = False
        self.trace = os.path.join(self.folder, "offenders")
        agent = self.agent(environment={"HERMES_ACP_WORKER": PROGRAM, "HOSTILE_TRACE": self.trace,
                                        **environment})
        return agent

    def offenders(self):
        with open(self.trace) as file:
            return [int(line) for line in file]

    def assert_clean(self, agent):
        self.assertEqual(agent.problems, [])
        self.assertNotIn(b"INJECTED", b"".join(dump(event) for event in agent.events))


class InATurn(HostileTest):
    """R17: each attack in a turn, with a bystander that streams."""

    def attack(self, name):
        agent = self.start_hostile()
        bystander, victim = agent.new_session(self.work), agent.new_session(self.work)
        counting = agent.prompt_start(bystander, f"count {COUNT}")
        agent.wait_text(bystander, "1 ")
        response = agent.prompt(victim, f"attack {name}", 10)
        self.assertIn("error", response)
        self.assert_code(response["error"], -32603)
        self.assertTrue(processes.until(
            lambda: not [pid for pid in self.offenders() if processes.stat(pid)], 1),
            "the offender lives")
        self.assertEqual(agent.wait(counting)["result"]["stopReason"], "end_turn")
        self.assertEqual(agent.text(bystander), "".join(f"{number} " for number in range(COUNT)))
        self.assert_clean(agent)
        time.sleep(0.3)
        self.assertEqual(agent.turn(victim, "count 2"), "end_turn")
        self.assertEqual(agent.text(victim)[-4:], "0 1 ")


def add_attacks():
    for name in ATTACKS:
        def test(self, attack=name):
            self.attack(attack)
        test.__doc__ = f"R17: {name.replace('_', ' ')}"
        setattr(InATurn, f"test_{name}", test)


add_attacks()


class Rude(HostileTest):
    """What is odd but allowed does no harm."""

    def rude(self, name):
        agent = self.start_hostile()
        session = agent.new_session(self.work)
        time.sleep(0.3)
        before = agent.files()
        self.assertEqual(agent.turn(session, f"rude {name}"), "end_turn")
        self.assertEqual(agent.text(session), "fine")
        self.assert_clean(agent)
        time.sleep(0.3)
        self.assertEqual(agent.turn(session, "count 1"), "end_turn")
        if before is not None:
            self.assertTrue(processes.until(lambda: agent.files() <= before, 2))

    def test_descriptors(self):
        """R17: attached descriptors do not stay"""
        self.rude("descriptors")

    def test_one_byte_at_a_time(self):
        """R25: a frame in 1-byte writes"""
        self.rude("one-byte-at-a-time")

    def test_log(self):
        """acp 2: log lines with newlines and escapes never reach stdout"""
        self.rude("log")

    def test_late_end(self):
        """R17: wrong state: a second end of the turn; the next prompt is served"""
        self.rude("late-end")


class AtTheStart(HostileTest):
    """The handshake."""

    def refused(self, attack, seconds=10):
        agent = self.start_hostile(HOSTILE_START=attack)
        error = agent.error("session/new", {"cwd": self.work, "mcpServers": []}, seconds)
        self.assert_code(error, -32603)
        self.assert_clean(agent)
        return error

    def test_other_version(self):
        """R23: a half-upgraded installation is named"""
        self.assertRegex(str(self.refused("version")).lower(), "version")

    def test_wrong_pid(self):
        """R17"""
        self.refused("pid")

    def test_exit(self):
        """R10: a worker that always dies: few starts, then one clear error"""
        self.refused("exit")

    def test_garbage(self):
        """R17"""
        self.refused("garbage")

    def test_ready_before_hello(self):
        """R17"""
        self.refused("ready-first")

    def test_session_id_in_ready(self):
        """R17: a worker cannot name a session"""
        self.refused("session-id")

    @within(90)
    def test_silent(self):
        """HELLO, SETUP, READY within 5 s"""
        started = time.monotonic()
        self.refused("silent", 20)
        self.assertLess(time.monotonic() - started, 18)

    def test_set_up_cancelled(self):
        """acp 104: $/cancel_request ends a session/new that hangs, with -32800"""
        agent = self.start_hostile(HOSTILE_START="silent")
        request = agent.start("session/new", {"cwd": self.work, "mcpServers": []})
        time.sleep(0.3)
        agent.notify("$/cancel_request", {"requestId": request})
        self.assert_code(agent.wait(request, 3)["error"], -32800)
        self.assert_clean(agent)

    def test_stopped_while_setting_up(self):
        """B08: what is still open at the end is answered"""
        agent = self.start_hostile(HOSTILE_START="silent")
        request = agent.start("session/new", {"cwd": self.work, "mcpServers": []})
        time.sleep(0.3)
        agent.process.terminate()
        self.assertIn(agent.wait(request, 3)["error"]["code"], (-32800, -32603))

    def test_stray_output(self):
        """acp 2: a stray printf never reaches the protocol"""
        agent = self.start_hostile(HOSTILE_START="stray-output")
        session = agent.new_session(self.work)
        self.assertEqual(agent.turn(session, "count 2"), "end_turn")
        self.assert_clean(agent)

    def test_program_missing_or_not_executable(self):
        """R23: the reason is told at the start"""
        for program in ("/nowhere/worker", self.put("worker", "x", 0o644)):
            agent = self.agent(initialize=False, environment={"HERMES_ACP_WORKER": program})
            self.stderr_is_quiet = False
            status = agent.wait_exit(3)
            if status is None:
                agent.initialize()
                self.assertIn(os.path.basename(program), str(
                    agent.error("session/new", {"cwd": self.work, "mcpServers": []})))
            else:
                self.assertNotEqual(status, 0)
                for thread in agent.threads:
                    thread.join(5)
                self.assertIn(program.encode(), agent.stderr)
                agent.exited_by_test = True
            self.sweep(agent, quiet=False)
