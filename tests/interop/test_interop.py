"""hermes-acp against the official SDK and acpx, acp-chat against an agent of the SDK.

Started by tests/interop/run, which installs the packages and tells where they are.
"""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import model_server as model
from acp import BUILD, AcpTest, within

CACHE = os.environ.get("HERMES_TEST_INTEROP", os.path.join(BUILD, "interop"))
AGENT = os.path.join(BUILD, "hermes-acp")


def node_version():
    text = subprocess.run(["node", "--version"], capture_output=True, text=True).stdout
    return int(text.lstrip("v").split(".")[0])


class InteropTest(AcpTest):
    def environment(self, server=None):
        home = os.path.join(self.folder, "home")
        os.makedirs(os.path.join(home, ".hermes"), exist_ok=True)
        trust = server.trust if server and server.authority else {}
        return {"PATH": os.environ["PATH"], "HOME": home, "LANG": "C.UTF-8",
                "HERMES_HOME": os.path.join(home, ".hermes"), **trust}

    def coding_turn(self, **options):
        """A model that reads, edits and runs a command."""
        self.put("notes.txt", "status: draft\n")
        server = self.model(
            [model.chunk({"reasoning_content": "I should look first."}),
             *model.call("read_file", path="notes.txt")],
            model.call("patch", mode="replace", path="notes.txt", old_string="draft",
                       new_string="final"),
            model.run("cat notes.txt; printf 'ran\\n' > ran.txt"),
            model.say("All ", "done."), **options)
        return server

    def node(self, *arguments, server=None, seconds=60, data=None):
        return subprocess.run(["node", *arguments], cwd=CACHE, env=self.environment(server),
                              capture_output=True, text=True, timeout=seconds, input=data)

    def sdk(self, scenario, server):
        done = self.node("client.mjs", scenario, self.work, AGENT, server=server)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(done.stderr, "")
        seen = json.loads(done.stdout)
        self.assertEqual((seen["problems"], seen["strays"]), ([], []))
        self.assertEqual(seen["exit"], 0)
        self.assertGreater(seen["checked"], 5)
        return seen


class Sdk(InteropTest):
    """The official TypeScript SDK as the client."""

    def assert_turn(self, server):
        seen = self.sdk("turn", server)
        self.assertEqual(seen["stopReason"], "end_turn")
        self.assertEqual(seen["text"], "All done.")
        self.assertEqual(self.get("notes.txt"), b"status: final\n")
        self.assertEqual(self.get("ran.txt"), b"ran\n")
        self.assertGreaterEqual(seen["permissions"], 1)
        self.assertEqual(seen["updates"]["tool_call"], 3)

    def test_turn_over_http(self):
        """A turn that edits a file and runs a command; every message fits the SDK's schemas"""
        self.assert_turn(self.coding_turn())

    def test_turn_over_tls(self):
        """The same over TLS"""
        self.assert_turn(self.coding_turn(tls=True))

    def test_denied(self):
        """The user says no"""
        server = self.coding_turn()
        seen = self.sdk("deny", server)
        self.assertEqual(seen["stopReason"], "end_turn")
        self.assertEqual(self.get("notes.txt"), b"status: draft\n")

    def test_files(self):
        """The client's buffers are read and written; the disk is not"""
        server = self.coding_turn()
        seen = self.sdk("files", server)
        self.assertEqual(seen["stopReason"], "end_turn")
        self.assertIn("unsaved", server.requests[1].result)
        self.assertEqual(seen["buffers"], {self.path("notes.txt"): "unsaved\nstatus: final\n"})
        self.assertEqual(self.get("notes.txt"), b"status: draft\n")

    def test_cancel(self):
        """Cancel while text streams"""
        server = self.model([model.delta("begun"), model.HANG])
        self.assertEqual(self.sdk("cancel", server)["stopReason"], "cancelled")

    def test_certificate_of_nobody(self):
        """TLS: an unknown certificate is refused, and the error says so"""
        server = self.coding_turn(tls=True)
        agent = self.agent()
        error = agent.prompt(agent.new_session(self.work), "go", 30)["error"]
        self.assertRegex(str(error).lower(), "certificate|ssl|tls")
        self.assertEqual(server.requests, [])


class Acpx(InteropTest):
    """acpx as the client."""

    def acpx(self, server, *options):
        if node_version() < 18:
            self.skipTest("acpx needs a newer Node.js than this one")
        done = self.node(os.path.join(CACHE, "node_modules", "acpx", "dist", "cli.js"), "--agent", AGENT,
                         "--cwd", self.work, *options, "exec", "Do it", server=server)
        return done

    @within(90)
    def test_exec(self):
        """One shot with everything allowed; the log fits the SDK's schemas"""
        server = self.coding_turn()
        done = self.acpx(server, "--approve-all", "--format", "json", "--json-strict")
        self.assertEqual(done.returncode, 0, done.stdout[-2000:] + done.stderr)
        self.assertEqual(self.get("notes.txt"), b"status: final\n")
        checked = self.node("validate.mjs", data=done.stdout)
        self.assertEqual(checked.returncode, 0, checked.stdout)

    @within(90)
    def test_deny_all(self):
        """Everything denied: exit status 5 and no edit"""
        server = self.coding_turn()
        done = self.acpx(server, "--deny-all")
        self.assertEqual(done.returncode, 5, done.stdout[-2000:] + done.stderr)
        self.assertEqual(self.get("notes.txt"), b"status: draft\n")


class Chat(InteropTest):
    """acp-chat, our client, with agents of others and with ours."""

    def chat(self, *arguments, agent, data=None):
        return subprocess.run([os.path.join(BUILD, "acp-chat"), *arguments, "--", *agent], input=data,
                              env=self.environment(), capture_output=True, text=True, timeout=60)

    def test_agent_of_the_sdk(self):
        """An agent that is written with the SDK"""
        self.put("notes.txt", "status: draft\n")
        done = self.chat("--yes", "-C", self.work, "-p", "Finish the notes",
                         agent=["node", os.path.join(CACHE, "agent.mjs")])
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("The notes are final.", done.stdout)
        self.assertEqual(self.get("notes.txt"), b"status: final\n")

    def test_nobody_to_ask(self):
        """Without --yes and without a terminal the answer is no"""
        self.put("notes.txt", "status: draft\n")
        done = self.chat("-C", self.work, "-p", "Finish the notes", data="",
                         agent=["node", os.path.join(CACHE, "agent.mjs")])
        self.assertIn("I left the notes alone.", done.stdout)
        self.assertEqual(self.get("notes.txt"), b"status: draft\n")

    def test_our_agent(self):
        """The turn of the quickstart"""
        self.put("notes.txt", "status: draft\n")
        done = self.chat("--yes", "-C", self.work, "-p", "Finish the notes",
                         agent=[AGENT, "--rehearsal"])
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertNotIn(b"draft", self.get("notes.txt"))
