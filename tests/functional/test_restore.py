"""What was chosen in a session is there again when it is opened anew, copied or recovered."""
import json
import os
import sqlite3
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import model_server as model
import processes
from acp import AcpTest, no_answer


class RestoreTest(AcpTest):
    def open(self, agent, method, session, **more):
        return agent.call(method, dict({"sessionId": session, "cwd": self.work,
                                        "mcpServers": []}, **more))

    def assert_mode(self, result, mode):
        self.assertEqual(result["modes"]["currentModeId"], mode)
        options = {option["id"]: option["currentValue"] for option in result["configOptions"]}
        self.assertEqual(options["mode"], mode)

    def kill_workers(self, agent):
        for pid, line in agent.workers().items():
            if "--session" in line:
                processes.kill(pid, signal.SIGKILL)

    def folder_beside(self, name):
        path = os.path.join(self.folder, name)
        os.mkdir(path)
        return path

    def config(self, session):
        connection = sqlite3.connect(os.path.join(self.folder, "home", ".hermes", "state.db"))
        try:
            (text,) = connection.execute("SELECT model_config FROM sessions WHERE id = ?",
                                         (session,)).fetchone()
            return json.loads(text)
        finally:
            connection.close()


class Options(RestoreTest):
    def test_the_mode(self):
        """By either method, before the first prompt or after it; a copy has it as well"""
        for early in True, False:
            server, agent, session = self.start()
            if not early:
                self.assertEqual(agent.turn(session), "end_turn")
            agent.call("session/set_config_option" if early else "session/set_mode",
                       {"sessionId": session, "configId": "mode", "value": "accept_edits"}
                       if early else {"sessionId": session, "modeId": "accept_edits"})
            self.assertEqual(agent.turn(session), "end_turn")
            self.sweep(agent)
            agent = self.agent()
            self.assert_mode(self.open(agent, "session/load", session), "accept_edits")
            self.assert_mode(self.open(agent, "session/resume", session), "accept_edits")
            self.assert_mode(self.open(agent, "session/fork", session), "accept_edits")
            self.sweep(agent)

    def test_a_copy_goes_its_own_way(self):
        server, agent, session = self.start()
        agent.call("session/set_mode", {"sessionId": session, "modeId": "plan"})
        self.assertEqual(agent.turn(session), "end_turn")
        copy = self.open(agent, "session/fork", session)["sessionId"]
        agent.call("session/set_mode", {"sessionId": copy, "modeId": "dont_ask"})
        self.sweep(agent)
        agent = self.agent()
        self.assert_mode(self.open(agent, "session/load", session), "plan")
        self.assert_mode(self.open(agent, "session/load", copy), "dont_ask")

    def test_the_mode_of_a_successor(self):
        """It edits without a question, as the mode says that the user chose"""
        self.stderr_is_quiet = False
        path = self.path("note.txt")
        server, agent, session = self.start(
            [model.HANG], model.call("write_file", path=path, content="x"), model.say("done"))
        agent.on_permission = no_answer
        agent.call("session/set_mode", {"sessionId": session, "modeId": "accept_edits"})
        request = agent.prompt_start(session, "go")
        server.wait_requests(1)
        self.kill_workers(agent)
        self.assertEqual(agent.wait(request)["result"]["stopReason"], "end_turn")
        self.assertEqual(self.get("note.txt"), b"x")
        self.assertEqual(agent.permissions, [])


class Prompt(RestoreTest):
    """What a provider has cached of a conversation counts only while its beginning stays the same."""

    def systems(self, server):
        return [request.texts("system")[0] for request in server.requests]

    def test_the_same_after_a_death_and_a_load(self):
        """the project's notes have changed meanwhile: they are for the next session"""
        self.stderr_is_quiet = False
        self.put("AGENTS.md", "notes-1")
        server, agent, session = self.start([model.HANG])
        request = agent.prompt_start(session, "go")
        server.wait_requests(1)
        self.put("AGENTS.md", "notes-2")
        self.kill_workers(agent)
        self.assertEqual(agent.wait(request)["result"]["stopReason"], "end_turn")
        again = self.reload(agent, session)
        self.assertEqual(again.turn(session), "end_turn")
        first, *others = self.systems(server)
        self.assertIn("notes-1", first)
        self.assertEqual(others, [first, first])
        self.assertEqual(again.turn(again.new_session(self.work)), "end_turn")
        self.assertIn("notes-2", self.systems(server)[-1])


class Roots(RestoreTest):
    """The folders of additionalDirectories"""

    def start_with(self, *folders):
        server = self.model()
        agent = self.agent()
        session = agent.call("session/new", {"cwd": self.work, "mcpServers": [],
                                             "additionalDirectories": list(folders)})
        return server, agent, session["sessionId"]

    def listed(self, agent, session):
        (row,) = [row for row in agent.call("session/list", {})["sessions"]
                  if row["sessionId"] == session]
        return row.get("additionalDirectories")

    def test_the_list_tells_them(self):
        """so that a client can give them again; a load with others, or none, replaces them"""
        one, two = self.folder_beside("one"), self.folder_beside("two")
        server, agent, session = self.start_with(one, two)
        self.assertEqual(agent.turn(session), "end_turn")
        self.assertEqual(self.listed(agent, session), [one, two])
        self.sweep(agent)
        agent = self.agent()
        self.assertEqual(self.listed(agent, session), [one, two])
        self.open(agent, "session/load", session, additionalDirectories=[two])
        self.assertEqual(agent.turn(session), "end_turn")
        self.assertEqual(self.listed(agent, session), [two])
        self.open(agent, "session/resume", session)
        self.assertEqual(agent.turn(session), "end_turn")
        self.assertIsNone(self.listed(agent, session))
        self.assertNotIn("additional_directories", self.config(session))

    def assert_told(self, server, folder, told):
        """The model is told the folders of the session"""
        (system,) = server.last.texts("system")
        self.assertEqual(folder in system, told, system)

    def test_not_given_again(self):
        """Then they are no roots any more, as the protocol has it"""
        other = self.folder_beside("other")
        server, agent, session = self.start_with(other)
        self.assertEqual(agent.turn(session), "end_turn")
        self.assert_told(server, other, True)
        for method in "session/load", "session/resume":
            self.open(agent, method, session)
            self.assertEqual(agent.turn(session), "end_turn")
            self.assert_told(server, other, False)

    def test_of_a_successor(self):
        """It has those of the request that opened the session, whatever was stored before"""
        self.stderr_is_quiet = False
        one, two = self.folder_beside("one"), self.folder_beside("two")
        server, agent, session = self.start_with(one)
        self.assertEqual(agent.turn(session), "end_turn")
        self.open(agent, "session/load", session, additionalDirectories=[two])
        server.script[:] = [[model.HANG], model.say("done")]
        request = agent.prompt_start(session, "go")
        server.wait_requests(2)
        self.kill_workers(agent)
        self.assertEqual(agent.wait(request)["result"]["stopReason"], "end_turn")
        self.assert_told(server, one, False)
        self.assert_told(server, two, True)
        self.assertEqual(self.listed(agent, session), [two])

    def test_of_a_copy(self):
        """They come from the request of the fork, not from the session that is copied"""
        one, two = self.folder_beside("one"), self.folder_beside("two")
        server, agent, session = self.start_with(one)
        self.assertEqual(agent.turn(session), "end_turn")
        copy = self.open(agent, "session/fork", session,
                         additionalDirectories=[two])["sessionId"]
        self.assertIsNone(self.listed(agent, copy))
        self.assertEqual(agent.turn(copy), "end_turn")
        self.assertEqual(self.listed(agent, copy), [two])
        self.assertEqual(self.listed(agent, session), [one])


if __name__ == "__main__":
    import unittest
    unittest.main()
