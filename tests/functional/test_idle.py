"""acp.worker_idle_timeout: a session that rests has no process, and nobody notices."""
import json
import os
import random
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import model_server as model
import processes
from acp import AcpTest, allow_always, no_answer, within


class IdleTest(AcpTest):
    def setUp(self):
        super().setUp()
        self.configure(acp={"worker_idle_timeout": 1})

    def sessions(self, agent):
        """Workers for sessions; one of them is the spare."""
        return [pid for pid, line in agent.workers().items() if "--session" in line]

    def rest(self, agent):
        """Waits until no session has a process any more; the spare may just be coming."""
        processes.until(lambda: len(self.sessions(agent)) > 1, 0.6)
        self.assertTrue(processes.until(lambda: len(self.sessions(agent)) == 1, 10),
                        "a session keeps its process")

    def assert_works(self, agent):
        """There was a reason to stay for longer than the timeout."""
        before = set(self.sessions(agent))
        self.assertEqual(len(before), 2)
        time.sleep(2.5)
        self.assertEqual(set(self.sessions(agent)), before)

    def assert_nothing_told(self, agent, session, mark):
        """What a session tells at its beginning was told once."""
        self.assertEqual(agent.updates(session, "available_commands_update", since=mark), [])


class Requests(IdleTest):
    """Each request works as if nothing had happened."""

    def test_prompt(self):
        """the conversation goes on"""
        server, agent, session = self.start(model.say("one"), model.say("two"))
        agent.turn(session, "remember 4711")
        self.rest(agent)
        mark = agent.mark()
        self.assertEqual(agent.turn(session, "and now"), "end_turn")
        self.assertEqual(server.last.texts(), ["remember 4711", "and now"])
        self.assertEqual(server.last.texts("assistant"), ["one"])
        self.assertEqual(agent.text(session, mark), "two")
        self.assertEqual(agent.thoughts(session, mark), "")
        self.assertEqual({update["sessionUpdate"] for update in agent.updates(session, since=mark)},
                         {"agent_message_chunk", "usage_update"})
        self.assertEqual(server.requests[0].messages[0], server.last.messages[0])

    def test_without_a_prompt_before(self):
        """nothing of the session is in the database yet"""
        other = os.path.join(self.folder, "other")
        os.mkdir(other)
        server = self.model(model.call("write_file", path=os.path.join(other, "file"), content="x"),
                            model.say("done"))
        agent = self.agent()
        session = agent.new_session(self.work, additionalDirectories=[other])
        agent.call("session/set_mode", {"sessionId": session, "modeId": "accept_edits"})
        agent.on_permission = no_answer
        self.rest(agent)
        mark = agent.mark()
        self.assertEqual(agent.turn(session), "end_turn")
        self.assertEqual(agent.permissions, [])
        self.assertTrue(os.path.exists(os.path.join(other, "file")))
        self.assert_nothing_told(agent, session, mark)
        self.assertEqual(len(server.requests), 2)

    def test_mode_and_options(self):
        _, agent, session = self.start()
        for turn in (False, True):
            if turn:
                agent.turn(session)
            self.rest(agent)
            mark = agent.mark()
            agent.call("session/set_mode", {"sessionId": session, "modeId": "plan"})
            self.rest(agent)
            result = agent.call("session/set_config_option",
                                {"sessionId": session, "configId": "model", "value": "fake"})
            values = {option["id"]: option["currentValue"] for option in result["configOptions"]}
            self.assertEqual((values["mode"], values["model"]), ("plan", "custom:fake"))
            self.rest(agent)
            agent.call("session/set_model", {"sessionId": session, "modelId": "fake"})
            self.rest(agent)
            result = agent.call("session/set_config_option",
                                {"sessionId": session, "configId": "mode", "value": "default"})
            values = {option["id"]: option["currentValue"] for option in result["configOptions"]}
            self.assertEqual(values["mode"], "default")
            self.assert_nothing_told(agent, session, mark)

    def test_slash_command(self):
        _, agent, session = self.start(model.say("one"))
        agent.turn(session, "go")
        mark = agent.mark()
        agent.turn(session, "/context")
        before = agent.text(session, mark)
        self.rest(agent)
        mark = agent.mark()
        self.assertEqual(agent.turn(session, "/context"), "end_turn")
        self.assertEqual(agent.text(session, mark), before)
        self.assert_nothing_told(agent, session, mark)

    def test_list_fork_close_delete(self):
        server, agent, session = self.start(model.say("one"), model.say("two"))
        agent.turn(session, "remember 4711")
        self.rest(agent)
        listed = agent.call("session/list", {})["sessions"]
        self.assertEqual([row["sessionId"] for row in listed], [session])
        fork = agent.call("session/fork", {"sessionId": session, "cwd": self.work,
                                           "mcpServers": []})["sessionId"]
        agent.turn(fork, "in the fork")
        self.assertEqual(server.last.texts(), ["remember 4711", "in the fork"])
        self.rest(agent)
        self.assertEqual(agent.call("session/close", {"sessionId": session}), {})
        self.assert_code(agent.error("session/close", {"sessionId": session}), -32002)
        self.assertEqual(agent.call("session/delete", {"sessionId": fork}), {})
        listed = agent.call("session/list", {})["sessions"]
        self.assertEqual([row["sessionId"] for row in listed], [session])
        unused = agent.new_session(self.work)
        self.rest(agent)
        agent.cancel(unused)
        self.assertEqual(agent.call("session/close", {"sessionId": unused}), {})

    def test_load_and_resume(self):
        """they open it anew, as they do with one that has a process"""
        server, agent, session = self.start(model.say("one"), model.say("two"), model.say("three"))
        agent.turn(session, "first")
        for method in ("session/load", "session/resume"):
            self.rest(agent)
            mark = agent.mark()
            agent.call(method, {"sessionId": session, "cwd": self.work, "mcpServers": []})
            self.assertEqual(agent.text(session, mark), "one" if method == "session/load" else "")
        self.rest(agent)
        agent.turn(session, "second")
        self.assertEqual(server.last.texts(), ["first", "second"])

    @within(120)
    def test_just_then(self):
        """whenever the request comes, it is answered once"""
        server = self.model()
        agent = self.agent()
        sessions = [agent.new_session(self.work) for _ in range(8)]
        count = 0
        for step in range(6):
            time.sleep(0.95)
            requests = []
            for session in sessions:
                time.sleep(random.random() * 0.02)
                requests.append(agent.prompt_start(session, f"turn {step}"))
                requests.append(agent.start("session/set_mode",
                                            {"sessionId": session, "modeId": "default"}))
            for request in requests:
                self.assertIn("result", agent.wait(request))
            count += len(sessions)
        self.assertEqual(len(server.requests), count)


class Kept(IdleTest):
    """What lives in the process only goes with the session."""

    def test_shell(self):
        _, agent, session = self.start(
            model.run("mkdir sub; cd sub; export ACP_A='x y'"), model.say("one"),
            model.run("basename $PWD; echo \"$ACP_A\" >seen; cd ..; export ACP_A=z"),
            model.say("two"), model.run("basename $PWD; echo \"$ACP_A\" >seen"), model.say("three"))
        for _ in range(3):
            agent.turn(session)
            self.rest(agent)
        self.assertEqual(self.get("sub/seen"), b"x y\n")
        self.assertEqual(self.get("seen"), b"z\n")

    def test_permissions(self):
        self.put("a", "a")
        self.put("b", "b")

        def edit(name):
            return model.call("patch", path=name, old_string=name, new_string="new")
        _, agent, session = self.start(edit("a"), model.say("one"), edit("b"), model.say("two"))
        agent.on_permission = allow_always
        agent.turn(session)
        agent.on_permission = no_answer
        self.rest(agent)
        self.assertEqual(agent.turn(session), "end_turn")
        self.assertEqual(len(agent.permissions), 1)
        self.assertEqual(self.get("b"), b"new")

    def test_files_that_were_read(self):
        """a file may be written over when the model has read it"""
        self.put("a", "old\n")
        server, agent, session = self.start(
            model.call("read_file", path="a"), model.say("one"),
            model.call("write_file", path="a", content="new\n"), model.say("two"))
        agent.turn(session)
        self.rest(agent)
        agent.turn(session)
        self.assertEqual(self.get("a"), b"new\n", server.last.result)

    def test_model(self):
        """another default model is for the next session"""
        server, agent, session = self.start()
        self.rest(agent)
        self.configure(model=dict(self.configuration["model"], default="other"))
        agent.turn(session)
        self.assertEqual(json.loads(server.last.body)["model"], "fake")
        agent.turn(agent.new_session(self.work))
        self.assertEqual(json.loads(server.last.body)["model"], "other")

    def test_nothing_is_left_behind(self):
        """processes, descriptors and temporary folders of a dozen sessions"""
        temporary = os.path.join(self.folder, "tmp")
        os.mkdir(temporary)
        self.model()
        agent = self.agent(environment={"TMPDIR": temporary})
        agent.turn(agent.new_session(self.work))
        self.rest(agent)
        # the catalogue worker and the spare
        self.assertTrue(processes.until(lambda: len(processes.descendants(agent.pid)) == 2, 5))
        files, count = agent.files(), len(processes.descendants(agent.pid))
        sessions = [agent.new_session(self.work) for _ in range(12)]
        self.assertGreater(len(self.sessions(agent)), 6)
        for session in sessions[:6]:
            agent.turn(session)
        self.rest(agent)
        self.assertTrue(processes.until(
            lambda: (agent.files(), len(processes.descendants(agent.pid))) == (files, count), 5))
        self.assertEqual(os.listdir(temporary), [])
        for session in sessions:
            self.assertEqual(agent.turn(session), "end_turn")


class NotIdle(IdleTest):
    def test_turn_and_question(self):
        _, agent, session = self.start(model.run("rm -rf A"), [model.HANG])
        agent.on_permission = no_answer
        request = agent.prompt_start(session, "go")
        question = agent.wait_permission()
        self.assert_works(agent)
        agent.choose(question, "allow_once")
        self.assert_works(agent)
        agent.cancel(session)
        agent.wait(request)
        self.rest(agent)

    def test_command_that_still_runs(self):
        _, agent, session = self.start(model.run("sleep 54.25 >/dev/null 2>&1 &"), model.say("x"))
        agent.turn(session)
        self.assert_running("sleep 54.25")
        self.assert_works(agent)
        self.assert_running("sleep 54.25")
        for pid in processes.with_marker("54.25"):
            if processes.command_line(pid).startswith("sleep"):
                processes.kill(pid, signal.SIGTERM)
        self.rest(agent)

    def test_never(self):
        self.configure(acp={"worker_idle_timeout": 0})
        _, agent, session = self.start()
        agent.turn(session)
        self.assert_works(agent)

    def test_change_of_the_configuration(self):
        """SIGHUP: it counts for sessions that rest already"""
        self.configure(acp={})
        _, agent, session = self.start()
        agent.turn(session)
        self.assert_works(agent)
        self.configure(acp={"worker_idle_timeout": 1})
        processes.kill(agent.pid, signal.SIGHUP)
        self.rest(agent)
        self.assertEqual(agent.turn(session), "end_turn")

    def test_wedged_worker(self):
        """one that does not answer is ended, and the session goes on"""
        self.stderr_is_quiet = False
        server, agent, session = self.start(model.say("one"), model.say("two"))
        agent.turn(session, "first")
        for pid in self.sessions(agent):
            processes.kill(pid, signal.SIGSTOP)
        self.rest(agent)
        for pid in self.sessions(agent):
            processes.kill(pid, signal.SIGCONT)
        agent.turn(session, "second")
        self.assertEqual(server.last.texts(), ["first", "second"])


if __name__ == "__main__":
    import unittest
    unittest.main()
