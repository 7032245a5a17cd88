"""A database that cannot be read is moved aside, and the user learns of it once."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from acp import NO_CAPABILITIES, AcpTest

UNKNOWN = "7b2a1f6e-0000-4000-8000-000000000000"
NOTICES = dict(NO_CAPABILITIES, session={"notices": {}})


class DamagedStore(AcpTest):
    def setUp(self):
        super().setUp()
        self.stderr_is_quiet = False  # an operator should see it as well
        self.home = os.path.join(self.folder, "home", ".hermes")
        os.makedirs(self.home, mode=0o700)

    def damage(self):
        with open(os.path.join(self.home, "state.db"), "w") as file:
            file.write("This is no database, and it is long enough to be taken for one. " * 9)

    def moved(self):
        return [name for name in os.listdir(self.home)
                if name.startswith("state.db.") and not name.endswith((".new", ".lock"))]

    def test_told_in_the_first_turn(self):
        """As text, before the model's, and not again"""
        self.damage()
        server, agent, session = self.start()
        self.assertEqual(agent.turn(session, "one"), "end_turn")
        (name,) = self.moved()
        text = agent.text(session)
        self.assertIn("could not be read", text)
        self.assertIn(name, text)
        self.assertTrue(text.endswith("\nok"), text)
        mark = agent.mark()
        self.assertEqual(agent.turn(session, "two"), "end_turn")
        self.assertEqual(agent.text(session, mark), "ok")
        again = self.reload(agent, session, quiet=False)
        self.assertEqual(again.turn(session, "three"), "end_turn")
        self.assertNotIn("could not be read", again.text(session))
        self.assertNotIn("could not be read", server.last.body.decode())

    def test_told_as_a_notice(self):
        """Where the client shows notices"""
        self.damage()
        server, agent, session = self.start(capabilities=NOTICES)
        self.assertEqual(agent.turn(session, "one"), "end_turn")
        (notice,) = agent.updates(session, "notice")
        self.assertIn(self.moved()[0], notice["description"])
        self.assertEqual(agent.text(session), "ok")

    def test_told_with_the_answer_to_a_load(self):
        """The session is gone with the file: the error says where"""
        self.damage()
        self.model()
        error = self.agent().error("session/load", {"sessionId": UNKNOWN, "cwd": self.work,
                                                    "mcpServers": []})
        self.assert_code(error, -32002)
        self.assertEqual(error["data"]["sessionId"], UNKNOWN)
        self.assertIn(self.moved()[0], error["data"]["details"])

    def test_told_in_the_log_by_the_list(self):
        self.damage()
        self.model()
        agent = self.agent()
        self.assertEqual(agent.call("session/list", {})["sessions"], [])
        self.sweep(agent, quiet=False)
        self.assertIn(self.moved()[0], agent.stderr.decode())

    def test_damaged_while_in_use(self):
        """The session that meets it says so in its next turn"""
        server, agent, session = self.start()
        self.assertEqual(agent.turn(session, "one"), "end_turn")
        os.unlink(os.path.join(self.home, "state.db"))
        self.damage()
        agent.prompt(session, "two")
        mark = agent.mark()
        self.assertEqual(agent.turn(session, "three"), "end_turn")
        self.assertIn(self.moved()[0], agent.text(session))
        self.assertEqual(agent.text(session).count("could not be read"), 1)


if __name__ == "__main__":
    import unittest
    unittest.main()
