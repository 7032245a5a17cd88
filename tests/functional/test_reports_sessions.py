"""Field reports about stored sessions: load, resume, unknown ids, the list, fork, reads that write.

B23-B29; the number of the report is in each docstring.
"""
import hashlib
import os
import sqlite3
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import model_server as model
import processes
from acp import AcpTest, within

SHOWN = ("user_message_chunk", "agent_message_chunk", "agent_thought_chunk", "tool_call",
         "tool_call_update")


class ReportTest(AcpTest):
    def database(self):
        connection = sqlite3.connect(os.path.join(self.folder, "home", ".hermes", "state.db"),
                                     timeout=20)
        self.addCleanup(connection.close)
        return connection

    def digest(self):
        """What is stored, as one number."""
        rows = self.database().execute("SELECT * FROM messages ORDER BY id").fetchall()
        sessions = self.database().execute("SELECT * FROM sessions ORDER BY id").fetchall()
        return hashlib.sha256(repr((rows, sessions)).encode()).hexdigest()

    def count(self, table="messages"):
        return self.database().execute(f"SELECT count(*) FROM {table}").fetchone()[0]

    def shown(self, agent, session, since=0):
        """What a client has on its screen: (kind, text or final card), chunks of a message joined."""
        rows, cards = [], {}
        for update in agent.updates(session, *SHOWN, since=since):
            kind = update["sessionUpdate"]
            if kind in ("tool_call", "tool_call_update"):
                card = cards.setdefault(update["toolCallId"], {})
                card.update({key: value for key, value in update.items() if key in (
                    "title", "kind", "status", "locations") and value is not None})
                if update.get("content"):
                    card["content"] = update["content"]
                if kind == "tool_call":
                    rows.append(["card", card])
                continue
            text = update["content"].get("text", "")
            if rows and rows[-1][0] == kind:
                rows[-1][1] += text
            else:
                rows.append([kind, text])
        return rows

    def loading(self, agent, session, method="session/load"):
        return agent.start(method, {"sessionId": session, "cwd": self.work, "mcpServers": []})


def thinking(text, *parts):
    return [model.chunk({"reasoning_content": text}), *parts]


class Load(ReportTest):
    def told(self):
        """Two turns: reasoning, text, a good call, a failed one, an edit; then a new process."""
        self.put("note.txt", "one\n")
        server, agent, session = self.start(
            thinking("First I think.\n\n ", *model.call(
                "read_file", text="I  read\n", path=self.path("note.txt"))),
            model.call("read_file", path=self.path("none.txt")),
            model.say("That was\n\n    all. "),
            thinking("Then I write. ", *model.call(
                "patch", mode="replace", path=self.path("note.txt"), old_string="one",
                new_string="two")),
            model.say("Written."))
        self.assertEqual(agent.turn(session, "  read it\n"), "end_turn")
        self.assertEqual(agent.turn(session, "write it"), "end_turn")
        # The client wrote the prompts: only a load shows them.
        live = self.shown(agent, session)
        self.sweep(agent)
        return server, session, live

    def test_load_is_complete(self):
        """B23: everything in its order before the response, nothing twice, nothing of ours"""
        server, session, live = self.told()
        agent = self.agent()
        request = self.loading(agent, session)
        self.assertIn("result", agent.wait(request))
        at = next(index for index, event in enumerate(agent.events) if event.get("id") == request)
        self.assertFalse([event for event in agent.events[at:] if event.get("method") ==
                          "session/update" and event["params"]["update"]["sessionUpdate"] in SHOWN])
        replayed = self.shown(agent, session)
        self.assertEqual([row[1] for row in replayed if row[0] == "user_message_chunk"],
                         ["  read it\n", "write it"])
        self.assertEqual([row for row in replayed if row[0] != "user_message_chunk"], live)
        self.assertEqual([row[1]["status"] for row in replayed if row[0] == "card"],
                         ["completed", "failed", "completed"])
        self.assertIn("diff", str(replayed[-2][1]["content"]))

    def test_ids_are_the_same(self):
        """B23: messages and calls have the ids that they had"""
        server, agent, session = self.start(
            model.call("read_file", text="look", path="/dev/null"), model.say("done"))
        agent.turn(session)
        live = [(row.get("messageId"), row.get("toolCallId")) for row in agent.updates(
            session, "agent_message_chunk", "tool_call")]
        again = self.reload(agent, session)
        self.assertEqual(live, [(row.get("messageId"), row.get("toolCallId")) for row in
                                again.updates(session, "agent_message_chunk", "tool_call")])

    def test_load_and_prompt_in_one_write(self):
        """B23: the prompt behind the load works, and its updates come after the replay"""
        server, session, _live = self.told()
        server.script[:] = [model.say("the next answer")]
        agent = self.agent()
        load, prompt = agent.next_id(), agent.next_id()
        params = {"sessionId": session, "cwd": self.work, "mcpServers": []}
        text = {"sessionId": session, "prompt": [{"type": "text", "text": "next"}]}
        agent.note_request(load, "session/load", params)
        agent.note_request(prompt, "session/prompt", text)
        lines = [{"jsonrpc": "2.0", "id": load, "method": "session/load", "params": params},
                 {"jsonrpc": "2.0", "id": prompt, "method": "session/prompt", "params": text}]
        agent.write(b"".join(model.dump(line) + b"\n" for line in lines))
        self.assertIn("result", agent.wait(load))
        self.assertEqual(agent.wait(prompt)["result"]["stopReason"], "end_turn")
        at = next(index for index, event in enumerate(agent.events) if event.get("id") == load)
        self.assertTrue(agent.text(session).endswith("Written.the next answer"))
        self.assertEqual(agent.text(session, at), "the next answer")
        self.assertEqual(server.last.texts(), ["  read it\n", "write it", "next"])

    def test_resume_does_not_replay(self):
        """B24: no update of the conversation, and the model gets the history once"""
        server, session, _live = self.told()
        server.script[:] = [model.say("You said: read it")]
        agent = self.agent()
        self.assertIn("result", agent.wait(self.loading(agent, session, "session/resume")))
        self.assertEqual(self.shown(agent, session), [])
        self.assertEqual(agent.turn(session, "what did I say first?"), "end_turn")
        self.assertEqual(server.last.texts(), ["  read it\n", "write it", "what did I say first?"])
        self.assertEqual([text for text in server.last.texts("assistant") if text],
                         ["I  read\n", "That was\n\n    all. ", "Written."])


class Unknown(ReportTest):
    IDS = ("nope", "", "x" * 10000, "../../x", "'; drop table sessions;--")

    def test_every_method_says_so(self):
        """B25: -32002 with the id in data from each method, and no row is made"""
        server, agent, session = self.start()
        agent.turn(session)
        before = self.digest()
        cases = {
            "session/load": {"cwd": self.work, "mcpServers": []},
            "session/resume": {"cwd": self.work, "mcpServers": []},
            "session/fork": {"cwd": self.work, "mcpServers": []},
            "session/prompt": {"prompt": [{"type": "text", "text": "x"}]},
            "session/set_mode": {"modeId": "plan"},
            "session/set_config_option": {"configId": "mode", "value": "plan"},
        }
        for method, params in cases.items():
            for identity in self.IDS:
                with self.subTest(method=method, identity=identity[:20]):
                    error = agent.error(method, {"sessionId": identity, **params})
                    self.assertEqual((error["code"], error["data"].get("sessionId")),
                                     (-32002, identity), error)
        self.assertEqual(self.digest(), before)
        self.assertEqual(len(agent.call("session/list", {})["sessions"]), 1)

    def test_set_model(self):
        """B25: session/set_model"""
        self.model()
        agent = self.agent()
        error = agent.error("session/set_model", {"sessionId": "nope", "modelId": "m"})
        if error["code"] == -32601:
            self.skipTest("session/set_model is not there: models cannot be switched yet")
        self.assert_code(error, -32002)


class Listing(ReportTest):
    def sessions(self, agent, folder, count, text="go"):
        os.makedirs(folder, exist_ok=True)
        made = []
        for number in range(count):
            session = agent.new_session(folder)
            agent.prompt(session, f"{text} {number}")
            made.append(session)
            agent.call("session/close", {"sessionId": session})
        return made

    def pages(self, agent, **params):
        pages = [agent.call("session/list", params)]
        while "nextCursor" in pages[-1]:
            pages.append(agent.call("session/list", {**params, "cursor": pages[-1]["nextCursor"]}))
        return [page["sessions"] for page in pages]

    @within(120)
    def test_filter_and_pages(self):
        """B26: filter, pages of 50, order, what is hidden, the same from any folder"""
        server = self.model()
        server.when("fails", model.failure(401), model.failure(401))
        first, second, third = (os.path.join(self.folder, name) for name in "abc")
        os.mkdir(third)
        agent = self.agent()
        many = self.sessions(agent, first, 60)
        few = self.sessions(agent, second, 2, "other")
        agent.new_session(second)  # never prompted
        agent.prompt(failed := agent.new_session(second), "this fails")
        for start in second, self.folder:
            other = self.agent(cwd=start)
            pages = self.pages(other)
            self.assertEqual([len(page) for page in pages], [50, 13])
            rows = sum(pages, [])
            self.assertEqual([row["sessionId"] for row in rows],
                             [failed, *reversed(few), *reversed(many)])
            self.assertEqual([row["updatedAt"] for row in rows],
                             sorted((row["updatedAt"] for row in rows), reverse=True))
            for row in rows:
                self.assertTrue(os.path.isabs(row["cwd"]))
                self.assertRegex(row["updatedAt"], r"^20\d\d-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)$")
            self.assertIn("other 1", rows[1]["title"])
            self.assertEqual([len(page) for page in self.pages(other, cwd=first)], [50, 10])
            self.assertEqual([row["sessionId"] for row in self.pages(other, cwd=second)[0]],
                             [failed, *reversed(few)])
            self.assertEqual(self.pages(other, cwd=third), [[]])


class Fork(ReportTest):
    def test_in_the_middle_of_a_call(self):
        """B28: the copy has whole exchanges only, its own folder, and goes on apart"""
        server, agent, session = self.start(model.say("the first answer"),
                                            model.run("echo x >>ran; sleep 57.5"))
        self.assertEqual(agent.turn(session, "first"), "end_turn")
        agent.call("session/set_mode", {"sessionId": session, "modeId": "accept_edits"})
        request = agent.prompt_start(session, "second")
        self.assertTrue(processes.until(lambda: os.path.exists(self.path("ran")), 10))
        folder = os.path.join(self.folder, "copy")
        os.mkdir(folder)
        result = agent.call("session/fork", {"sessionId": session, "cwd": folder, "mcpServers": []})
        copy = result["sessionId"]
        self.assertEqual(result.get("modes", {}).get("currentModeId"), "accept_edits")
        server.script[:] = [model.say("of the copy")]
        self.assertEqual(agent.turn(copy, "third"), "end_turn")
        self.assertNotIn("sleep 57.5", server.last.body.decode())
        self.assertEqual(server.last.texts("assistant"), ["the first answer"])
        self.assertFalse(agent.answered(request))
        agent.cancel(session)
        agent.wait(request)
        server.script[:] = [model.say("of the first")]
        self.assertEqual(agent.turn(session, "fourth"), "end_turn")
        self.assertNotIn("third", server.last.texts())
        row = self.database().execute(
            "SELECT cwd, parent_session_id FROM sessions WHERE id = ?", (copy,)).fetchone()
        self.assertEqual(row, (folder, session))

    def test_grants_stay_behind(self):
        """B28: what was allowed always in the one is asked again in the other"""
        self.put("old.txt", "x\n")
        edit = dict(mode="replace", path=self.path("old.txt"), old_string="x", new_string="x")
        server, agent, session = self.start(
            model.call("write_file", path=self.path("new.txt"), content="1\n"), model.say("done"))
        asked = []

        def always(agent, message):
            asked.append(message["params"]["sessionId"])
            kinds = {option["kind"]: option for option in message["params"]["options"]}
            return {"outcome": "selected", "optionId": kinds["allow_always"]["optionId"]}
        agent.on_permission = always
        agent.turn(session)
        copy = agent.call("session/fork", {"sessionId": session, "cwd": self.work,
                                           "mcpServers": []})["sessionId"]
        server.script[:] = [model.call("write_file", path=self.path("new2.txt"), content="2\n"),
                            model.say("done")]
        agent.turn(copy)
        self.assertEqual(asked, [session, copy], edit)

    def test_model_of_the_parent(self):
        """B28: the copy has the model of its parent"""
        server, agent, session = self.start(model.say("one"), model.say("two"))
        agent.turn(session)
        # Each time at once: the choice is in the database when it has been answered.
        for name in [f"m{number}" for number in range(20)] + ["other"]:
            agent.call("session/set_model", {"sessionId": session, "modelId": f"custom:{name}"})
            copy = agent.call("session/fork", {"sessionId": session, "cwd": self.work,
                                               "mcpServers": []})
            self.assertEqual([option["currentValue"] for option in copy["configOptions"]
                              if option["id"] == "model"], [f"custom:{name}"])
        agent.turn(copy["sessionId"])
        self.assertEqual(server.last.json["model"], "other")


class Reads(ReportTest):
    def test_reading_writes_nothing(self):
        """B29: three loads, a list, a load right after, a load with a cancel"""
        server, agent, session = self.start(model.run("echo x"), model.say("done"))
        agent.turn(session)
        before = self.digest()
        for _ in range(3):
            agent.load(session, self.work)
        agent.call("session/list", {})
        self.assertEqual(self.digest(), before)
        self.sweep(agent)
        self.assertEqual(self.digest(), before)
        again = self.agent()
        for _ in range(3):
            again.load(session, self.work)
        request = self.loading(again, session)
        again.cancel(session)
        again.wait(request)
        again.call("session/close", {"sessionId": session})
        self.assertEqual(self.digest(), before)

    def test_one_row_a_message(self):
        """B29: five turns with tools: the rows are the messages, each once"""
        script = []
        for number in range(5):
            script += [model.run(f"echo {number}"), model.say(f"done {number}")]
        server, agent, session = self.start(*script)
        for number in range(5):
            agent.turn(session, f"go {number}")
            self.assertEqual(self.count(), 4 * (number + 1))
        rows = self.database().execute(
            "SELECT role, content FROM messages ORDER BY id").fetchall()
        self.assertEqual([role for role, _content in rows],
                         ["user", "assistant", "tool", "assistant"] * 5)
        self.assertEqual([content for role, content in rows if role == "user"],
                         [f"go {number}" for number in range(5)])

    def test_a_save_that_failed(self):
        """B29: what could not be saved is saved with the next message, once"""
        server, agent, session = self.start(model.say("one"), model.say("two"))
        agent.turn(session, "first")
        database = self.database()
        database.execute("CREATE TRIGGER refuse BEFORE INSERT ON messages WHEN "
                         "NEW.content = 'two' BEGIN SELECT RAISE(ABORT, 'not now'); END")
        database.commit()
        self.stderr_is_quiet = False  # it says so
        agent.prompt(session, "second")
        database.execute("DROP TRIGGER refuse")
        database.commit()
        server.script[:] = [model.say("three")]
        self.assertEqual(agent.turn(session, "third"), "end_turn")
        users = [row[0] for row in self.database().execute(
            "SELECT content FROM messages WHERE role = 'user' ORDER BY id")]
        self.assertEqual(users, ["first", "second", "third"])


if __name__ == "__main__":
    import unittest
    unittest.main()
