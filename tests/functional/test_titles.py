"""Titles of sessions: what the client is told is what is stored."""
import os
import sqlite3
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import model_server as model
import processes
from acp import SCALE, AcpTest


class TitleTest(AcpTest):
    def rows(self, query):
        path = os.path.join(self.folder, "home", ".hermes", "state.db")
        connection = sqlite3.connect(path)
        try:
            return connection.execute(query).fetchall()
        finally:
            connection.close()

    def rows_changed(self, statement):
        connection = sqlite3.connect(os.path.join(self.folder, "home", ".hermes", "state.db"))
        with connection:
            connection.execute(statement)
        connection.close()

    def told(self, agent, session):
        return [update["title"] for update in agent.updates(session, "session_info_update")
                if "title" in update]

    def listed(self, agent):
        return {row["sessionId"]: row["title"]
                for row in agent.call("session/list", {})["sessions"]}


class Told(TitleTest):
    def test_a_title_that_another_session_has(self):
        """The number that makes it unique is told, as the list tells it"""
        server, agent, first = self.start()
        self.assertEqual(agent.turn(first, "fix the bug"), "end_turn")
        second = agent.new_session(self.work)
        self.assertEqual(agent.turn(second, "fix the bug"), "end_turn")
        self.assertEqual(self.told(agent, first), ["fix the bug"])
        self.assertEqual(self.told(agent, second), ["fix the bug #2"])
        self.assertEqual(self.listed(agent), {first: "fix the bug", second: "fix the bug #2"})

    def test_once(self):
        """Neither a second prompt nor a load makes another one"""
        server, agent, session = self.start()
        self.assertEqual(agent.turn(session, "one"), "end_turn")
        self.assertEqual(agent.turn(session, "two"), "end_turn")
        self.assertEqual(self.told(agent, session), ["one"])
        again = self.reload(agent, session)
        self.assertEqual(again.turn(session, "three"), "end_turn")
        self.assertEqual(self.told(again, session), [])

    def test_after_a_death(self):
        """A successor tells nothing that was told"""
        self.stderr_is_quiet = False
        server, agent, session = self.start([model.HANG], model.say("after"))
        request = agent.prompt_start(session, "go on")
        server.wait_requests(1)
        self.assertTrue(processes.until(lambda: self.told(agent, session), 5 * SCALE))
        for pid, line in agent.workers().items():
            if "--session" in line:
                processes.kill(pid, signal.SIGKILL)
        self.assertEqual(agent.wait(request)["result"]["stopReason"], "end_turn")
        self.assertEqual(self.told(agent, session), ["go on"])


class Made(TitleTest):
    """By a model, after the first turn, where the user wants it"""

    def wanted(self, *script, auxiliary=None, **options):
        server = self.model(*script)
        self.configure(acp={"generate_titles": True},
                       auxiliary={"title_generation": auxiliary or {}})
        agent = self.agent(**options)
        return server, agent, agent.new_session(self.work)

    def answer(self, server, reply):
        """What requests without tools get."""
        server.respond = lambda request: None if request.tools else reply

    def wait_told(self, agent, session, *titles):
        processes.until(lambda: len(self.told(agent, session)) >= len(titles), 5 * SCALE)
        self.assertEqual(self.told(agent, session), list(titles))

    def wait_asked(self, server, count):
        self.assertTrue(processes.until(lambda: len(server.auxiliary) >= count, 5 * SCALE),
                        "%d requests for a title" % len(server.auxiliary))

    def assert_not_asked(self, server):
        self.assertFalse(processes.until(lambda: server.auxiliary, 0.3 * SCALE))

    def test_not_unasked(self):
        """It costs a request: without the key nobody is asked"""
        server, agent, session = self.start()
        self.configure(auxiliary={"title_generation": {"enabled": True}})
        other = agent.new_session(self.work)
        for one in session, other:
            self.assertEqual(agent.turn(one, "hello there"), "end_turn")
        self.assert_not_asked(server)

    def test_made(self):
        """Told, listed and stored with its source; nothing of it is text, and it is counted"""
        server, agent, session = self.wanted(model.say("the answer"))
        self.answer(server, [model.delta("\"Greeting a "), model.delta("friend.\"\n"),
                             model.finish(usage={"prompt_tokens": 70, "completion_tokens": 5,
                                                 "total_tokens": 75}), model.DONE])
        self.assertEqual(agent.turn(session, "hello there\nmy friend"), "end_turn")
        self.wait_told(agent, session, "hello there", "Greeting a friend")
        self.assertEqual(agent.text(session), "the answer")
        self.assertEqual(self.listed(agent), {session: "Greeting a friend"})
        self.assertEqual(self.rows("SELECT title, title_source FROM sessions"),
                         [("Greeting a friend", "llm")])
        self.assertEqual(self.rows("SELECT input_tokens, output_tokens FROM session_model_usage "
                                   "WHERE task = 'title_generation'"), [(70, 5)])
        (request,) = server.auxiliary
        self.assertEqual((request.json["model"], request.json["max_tokens"]), ("fake", 512))
        self.assertIn("hello there\nmy friend", request.last_user)
        self.assertEqual(agent.turn(session, "and now"), "end_turn")
        self.assertEqual(server.last.texts("assistant"), ["the answer"])
        self.assertEqual(len(server.auxiliary), 1)

    def test_unique(self):
        server, agent, first = self.wanted()
        self.answer(server, model.say('{"title": "The same"}'))
        second = agent.new_session(self.work)
        for session, title in (first, "The same"), (second, "The same #2"):
            self.assertEqual(agent.turn(session, session), "end_turn")
            self.assertTrue(processes.until(lambda: len(self.told(agent, session)) > 1, 5 * SCALE))
            self.assertEqual(self.told(agent, session)[1], title)

    def test_wishes(self):
        """Language, instructions and the model of the auxiliary section; a long prompt is cut"""
        server, agent, session = self.wanted(auxiliary={
            "language": "Finnish", "instructions": "Begin with a verb.", "model": "small",
            "extra_body": {"seed": 7}})
        self.assertEqual(agent.turn(session, "begin " + "x" * 5000), "end_turn")
        self.wait_asked(server, 1)
        request = server.auxiliary[0]
        (system,) = request.texts("system")
        self.assertIn("Finnish", system)
        self.assertIn("Begin with a verb.", system)
        self.assertEqual((request.json["model"], request.json["seed"]), ("small", 7))
        self.assertLess(len(request.last_user), 1200)
        self.assertEqual(server.last.json["model"], "fake")

    def test_turned_off_as_in_hermes(self):
        for key in "enabled", "model_upgrade_enabled":
            with self.subTest(key):
                server, agent, session = self.wanted(auxiliary={key: False})
                self.assertEqual(agent.turn(session), "end_turn")
                self.assert_not_asked(server)

    def test_another_server(self):
        """It gets its own key and no other, and the first server is not asked"""
        main = self.model()
        other = model.ModelServer()
        self.servers.append(other)
        self.configure(
            model={"provider": "custom", "base_url": main.base_url, "default": "fake",
                   "api_key": "key-of-the-main"},
            acp={"generate_titles": True},
            auxiliary={"title_generation": {"base_url": other.base_url, "model": "small",
                                            "api_key": "key-of-the-other"}})
        agent = self.agent(environment={"HERMES_INFERENCE_PROVIDER": "openrouter"})
        session = agent.new_session(self.work)
        self.assertEqual(agent.turn(session, "hello"), "end_turn")
        self.wait_told(agent, session, "hello", "A title")
        self.assertEqual(main.auxiliary, [])
        self.assertEqual(main.last.headers["authorization"], "Bearer key-of-the-main")
        (request,) = other.auxiliary
        self.assertEqual(request.headers["authorization"], "Bearer key-of-the-other")
        self.assertEqual(request.json["model"], "small")

    def test_no_title(self):
        """An error, a refusal to be short, nothing: the first line stays, nobody is told more"""
        for reply in (model.failure(500), model.failure(429), model.say(""), model.say("word " * 13),
                      [model.CUT], model.say("x" * 10000)):
            server, agent, session = self.wanted()
            self.answer(server, reply)
            self.assertEqual(agent.turn(session, "a prompt"), "end_turn")
            self.wait_asked(server, 1)
            self.assertEqual(agent.turn(session, "another"), "end_turn")
            agent.call("session/close", {"sessionId": session})
            self.assertEqual(len(self.told(agent, session)), 1)
            self.assertIn(len(server.auxiliary), (1, 2))  # the second prompt may break it off
            agent.call("session/delete", {"sessionId": session})

    def test_the_next_prompt_does_not_wait(self):
        """It breaks the request off, which is made again after it"""
        server, agent, session = self.wanted(model.say("one"), model.say("two"))
        self.answer(server, [model.HANG])
        self.assertEqual(agent.turn(session, "first"), "end_turn")
        self.wait_asked(server, 1)
        self.answer(server, model.say("In the end"))
        self.assertEqual(agent.turn(session, "second"), "end_turn")
        self.assertTrue(server.auxiliary[0].closed.wait(5 * SCALE))
        self.wait_told(agent, session, "first", "In the end")
        self.assertIn("first", server.auxiliary[1].last_user)
        self.assertEqual(agent.text(session), "onetwo")

    def test_not_for_ever(self):
        """Broken off after three turns, it is left"""
        server, agent, session = self.wanted()
        self.answer(server, [model.HANG])
        for count in 1, 2, 3:
            self.assertEqual(agent.turn(session), "end_turn")
            self.wait_asked(server, count)
        self.assertEqual(agent.turn(session), "end_turn")
        agent.call("session/close", {"sessionId": session})
        self.assertEqual(len(server.auxiliary), 3)

    def test_time_limit(self):
        server, agent, session = self.wanted(auxiliary={"timeout": 1})
        self.answer(server, [model.HANG])
        self.assertEqual(agent.turn(session), "end_turn")
        self.wait_asked(server, 1)
        self.assertTrue(server.auxiliary[0].closed.wait(5 * SCALE))

    def test_close_breaks_it_off(self):
        for method in "session/close", "session/delete":
            server, agent, session = self.wanted()
            self.answer(server, [model.HANG])
            self.assertEqual(agent.turn(session), "end_turn")
            self.wait_asked(server, 1)
            agent.call(method, {"sessionId": session})
            self.assertTrue(server.auxiliary[0].closed.wait(5 * SCALE))

    def test_not_after_a_turn_that_failed(self):
        server, agent, session = self.wanted(model.failure(400, "no"), [model.HANG])
        agent.prompt(session, "first")
        request = agent.prompt_start(session, "second")
        server.wait_requests(2)
        agent.cancel(session)
        agent.wait(request)
        self.assert_not_asked(server)

    def test_a_title_that_a_person_chose(self):
        """Given while the model thinks about one: it stays, and is the one that is told"""
        server, agent, session = self.wanted()

        def choose():
            self.rows_changed("UPDATE sessions SET title = 'Mine', title_source = 'user'")

        self.answer(server, [choose, *model.say("Not mine")])
        self.assertEqual(agent.turn(session, "hello"), "end_turn")
        self.wait_told(agent, session, "hello", "Mine")
        self.assertEqual(self.listed(agent), {session: "Mine"})

    def test_rehearsal(self):
        """The script has a place of its own for it; without one the first line stays"""
        self.configure(acp={"generate_titles": True})
        script = {"default": {"rounds": [[{"text": "the answer"}]]},
                  "title": {"rounds": [[{"text": "A rehearsed title"}]]}}
        agent = self.rehearsal(script)
        session = agent.new_session(self.work)
        self.assertEqual(agent.turn(session, "hello"), "end_turn")
        self.wait_told(agent, session, "hello", "A rehearsed title")
        self.assertEqual(agent.text(session), "the answer")
        self.sweep(agent)
        del script["title"]
        agent = self.rehearsal(script)
        session = agent.new_session(self.work)
        self.assertEqual(agent.turn(session, "again"), "end_turn")
        agent.call("session/close", {"sessionId": session})
        self.assertEqual(self.told(agent, session), ["again"])


if __name__ == "__main__":
    import unittest
    unittest.main()
