"""The rehearsal provider as a user and as an author of clients meets it."""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from acp import AcpTest, reject_once


def script(*steps, **rounds):
    return {"default": {"rounds": [list(steps)]}, **rounds}


class BuiltIn(AcpTest):
    """The script that plays when none is given."""

    def start_builtin(self):
        agent = self.agent("--rehearsal")
        return agent, agent.new_session(self.work)

    def test_hello(self):
        """A greeting, without a key and without a network"""
        agent, session = self.start_builtin()
        self.assertEqual(agent.turn(session, "hello"), "end_turn")
        self.assertIn("Hello", agent.text(session))

    def test_whole_turn_edits_the_notes(self):
        """Thought, plan, read, edit with permission, command, summary"""
        self.put("notes.txt", "status: draft\n")
        agent, session = self.start_builtin()
        self.assertEqual(agent.turn(session, "Finish the notes"), "end_turn")
        self.assertNotIn(b"draft", self.get("notes.txt"))
        self.assertEqual(len(agent.permissions), 1)
        self.assertTrue(agent.thoughts(session))
        self.assertTrue(agent.updates(session, "plan"))
        kinds = [card.kind for card in agent.cards(session)]
        for kind in ("read", "edit", "execute"):
            self.assertIn(kind, kinds)

    def test_whole_turn_denied(self):
        """The edit is refused: the file stays, the turn ends"""
        self.put("notes.txt", "status: draft\n")
        agent, session = self.start_builtin()
        agent.on_permission = reject_once
        self.assertEqual(agent.turn(session, "Finish the notes"), "end_turn")
        self.assertEqual(self.get("notes.txt"), b"status: draft\n")

    def test_error(self):
        """A provider error"""
        agent, session = self.start_builtin()
        self.assertIn("error", agent.prompt(session, "error"))
        self.assertEqual(agent.turn(session, "hello"), "end_turn")

    def test_cancel(self):
        """The long text is cancelled"""
        agent, session = self.start_builtin()
        request = agent.prompt_start(session, "stream")
        agent.wait_text(session, " ")
        started = time.monotonic()
        agent.cancel(session)
        self.assertEqual(agent.wait(request)["result"], {"stopReason": "cancelled"})
        self.assertLess(time.monotonic() - started, 1)

    def test_parallel(self):
        """Two commands in one answer"""
        agent, session = self.start_builtin()
        self.assertEqual(agent.turn(session, "parallel"), "end_turn")
        self.assertEqual([card.status for card in agent.cards(session)], ["completed"] * 2)


class Scripts(AcpTest):
    """Scripts from a file."""

    def play(self, content, text="go"):
        agent = self.rehearsal(content)
        session = agent.new_session(self.work)
        return agent, session, agent.prompt(session, text)

    def test_text_and_placeholders(self):
        """${prompt} and pieces"""
        agent, session, response = self.play(script({"text": "You said: ${prompt}", "chunk": 3}), "ho")
        self.assertEqual(response["result"]["stopReason"], "end_turn")
        self.assertEqual(agent.text(session), "You said: ho")

    def test_repeat(self):
        """20,000 pieces arrive complete and in order"""
        agent, session, response = self.play(script({"repeat": {"text": "word ", "count": 20000}}))
        self.assertEqual(response["result"]["stopReason"], "end_turn")
        self.assertEqual(agent.text(session), "word " * 20000)

    def test_finish_reasons(self):
        """length and refusal"""
        for finish, reason in (("length", "max_tokens"), ("refusal", "refusal")):
            content = {"default": {"rounds": [[{"text": "x"}, {"finish": finish}]] * 8}}
            agent, _session, response = self.play(content)
            self.assertEqual(response["result"]["stopReason"], reason)
            self.sweep(agent)

    def test_mistakes_are_named(self):
        """A bad script is an error that names file and place"""
        for content, word in (({"default": {"rounds": [[{"tex": "x"}]]}}, "step 1"),
                              ({"replies": 5}, "replies"),
                              (script({"text": "x", "chunk": 0}), "chunk")):
            path = os.path.join(self.folder, f"script-{len(self.agents)}.json")
            agent = self.rehearsal(content, initialize=False)
            if agent.wait_exit(0.5) is not None:  # refused at the start: told on stderr
                self.stderr_is_quiet = False
                self.assertIn(word.encode(), agent.stderr)
                agent.exited_by_test = True
                continue
            agent.initialize()
            session = agent.new_session(self.work)
            error = agent.prompt(session, "go")["error"]
            self.assertIn(word, str(error))
            self.assertIn(os.path.basename(path), str(error))

    def test_faults_need_permission(self):
        """Without the option a fault is an error and nobody dies"""
        _agent, _session, response = self.play(script({"text": "x"}, {"fault": {"signal": "KILL"}}))
        self.assertIn("error", response)
        self.assertIn("fault", str(response["error"]))

    def test_crash_in_a_sentence(self):
        """B10: with --allow-faults the process dies once; the turn ends normally"""
        once = os.path.join(self.folder, "once")
        content = {"replies": [{"match": "continue", "rounds": [[{"text": "sentence."}]]},
                               {"match": "crash", "rounds": [[
                                   {"text": "Half of a "}, {"delay_ms": 200},
                                   {"fault": {"signal": "SEGV", "once": once}},
                                   {"text": "sentence."}]]}]}
        agent = self.rehearsal(content, "--allow-faults")
        session = agent.new_session(self.work)
        self.stderr_is_quiet = False
        response = agent.prompt(session, "crash")
        self.assertEqual(agent.text(session).count("Half of a "), 1)
        if "error" in response:
            self.assert_code(response["error"], -32603)
            self.assertRegex(str(response["error"]).lower(), "signal 11|segmentation")
            self.assertEqual(agent.turn(session, "crash"), "end_turn")
        self.assertIn("sentence.", agent.text(session))

    def test_crash_for_ever(self):
        """past the budget -32603 with the cause; the session stays loadable"""
        content = {"replies": [{"match": "again", "rounds": [[{"text": "fine"}]]}],
                   "default": {"rounds": [[{"text": "x"}, {"fault": {"signal": "SEGV"}}]] * 9}}
        agent = self.rehearsal(content, "--allow-faults")
        session = agent.new_session(self.work)
        self.stderr_is_quiet = False
        error = agent.prompt(session, "crash", 20)["error"]
        self.assert_code(error, -32603)
        self.assertRegex(str(error).lower(), "signal 11|segmentation")
        time.sleep(0.2)
        self.assertEqual(agent.turn(session, "again"), "end_turn")
