"""Questions to the user: default deny, what asks, what the card says, paths that try to escape."""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import model_server as model
from acp import (AcpTest, RpcError, allow_always, allow_once, no_answer, reject_once, say_cancelled,
                 within)


class Waiting(AcpTest):
    """B16, B17: a question that is not answered, or not in a usable way."""

    def ask(self):
        os.makedirs(self.path("keep1"), exist_ok=True)
        server, agent, session = self.start(model.run("rm -rf keep1"))
        agent.on_permission = no_answer
        request = agent.prompt_start(session, "go")
        return server, agent, session, request, agent.wait_permission()

    def check_kept(self, agent, session):
        self.assertTrue(os.path.isdir(self.path("keep1")))
        self.assertEqual(agent.cards(session)[0].status, "failed")

    def test_cancel_while_the_question_is_open(self):
        """B16, acp 102, 103: cancelled within a second, the late yes has no effect"""
        _server, agent, session, request, question = self.ask()
        started = time.monotonic()
        agent.cancel(session)
        self.assertEqual(agent.wait(request)["result"]["stopReason"], "cancelled")
        self.assertLess(time.monotonic() - started, 1.0)
        withdrawn = [event for event in agent.events if event.get("method") == "$/cancel_request"]
        self.assertEqual([event["params"]["requestId"] for event in withdrawn], [question["id"]])
        agent.choose(question, "allow_once")
        time.sleep(0.3)
        self.check_kept(agent, session)
        self.assertEqual(agent.turn(session, "again"), "end_turn")
        self.check_kept(agent, session)

    def test_client_answers_cancelled_first(self):
        """B16: as agent-shell does it"""
        _server, agent, session, request, question = self.ask()
        agent.answer(question, {"outcome": {"outcome": "cancelled"}})
        agent.cancel(session)
        self.assertIn("result", agent.wait(request, 5))
        self.check_kept(agent, session)

    def test_unusable_answers(self):
        """B17 a, R29: an error, an unknown option, nonsense: all mean no"""
        answers = [{"error": {"code": -32601, "message": "Method not found"}},
                   {"result": {"outcome": {"outcome": "selected", "optionId": "nonsense"}}},
                   {"result": {"outcome": {"outcome": "selected"}}},
                   {"result": {"outcome": {"outcome": "cancelled"}}}, {"result": {}},
                   {"result": None}, {"result": {"outcome": "selected"}},
                   {"result": {"outcome": {"outcome": "allowed", "optionId": "allow_once"}}}]
        for answer in answers:
            with self.subTest(answer):
                _server, agent, session, request, question = self.ask()
                agent.send({"jsonrpc": "2.0", "id": question["id"], **answer})
                self.assertIn("result", agent.wait(request, 5))
                self.check_kept(agent, session)
                self.sweep(agent)

    def test_client_without_permissions(self):
        """B17 a: three commands in a row, each refused at once"""
        os.mkdir(self.path("keep1"))
        _server, agent, session = self.start(*[model.run(f"rm -rf keep{number}")
                                               for number in (1, 2, 3)], model.say("gave up"))

        def refuse(_agent, _message):
            raise RpcError(-32601, "Method not found")
        agent.on_permission = refuse
        started = time.monotonic()
        self.assertEqual(agent.turn(session), "end_turn")
        self.assertLess(time.monotonic() - started, 3.0)
        self.assertEqual([card.status for card in agent.cards(session)], ["failed"] * 3)

    @within(90)
    def test_time_limit(self):
        """B17 b, c: denied after the limit; later questions of the turn are denied without waiting;
        a late yes has no effect"""
        self.configure(approvals={"timeout": 3})
        os.mkdir(self.path("keep1"))
        server = self.model(*[model.run(f"rm -rf keep{number}") for number in (1, 2, 3)],
                            model.say("gave up"))
        agent = self.agent()
        agent.on_permission = no_answer
        session = agent.new_session(self.work)
        started = time.monotonic()
        request = agent.prompt_start(session, "go")
        question = agent.wait_permission()
        self.assertEqual(agent.wait(request)["result"]["stopReason"], "end_turn")
        self.assertLess(time.monotonic() - started, 8.0)
        self.assertGreater(time.monotonic() - started, 2.5)
        agent.choose(question, "allow_once")
        time.sleep(0.3)
        self.assertTrue(os.path.isdir(self.path("keep1")))
        self.assertEqual([card.status for card in agent.cards(session)], ["failed"] * 3)
        self.assertIn("answer", server.requests[1].result.lower())

    def test_end_of_input_while_the_question_is_open(self):
        """B17 d"""
        _server, agent, _session, _request, _question = self.ask()
        agent.close_input()
        self.assertEqual(agent.wait_exit(5), 0)
        self.assertTrue(os.path.isdir(self.path("keep1")))


class Refused(AcpTest):
    """B19: what was refused is not done in another way."""

    def test_refused_edit_through_the_terminal(self):
        """B19"""
        self.put("notes.txt", "old\n")
        server, agent, session = self.start(
            model.call("read_file", path="notes.txt"),
            model.call("write_file", path="notes.txt", content="X"),
            model.run("printf 'X' > notes.txt"),
            model.call("patch", mode="replace", path="notes.txt", old_string="old",
                       new_string="X"),
            model.run("python3 -c \"open('notes.txt','w').write('X')\""), model.say("ok"))
        agent.on_permission = reject_once
        self.assertEqual(agent.turn(session), "end_turn")
        self.assertEqual(self.get("notes.txt"), b"old\n")
        self.assertNotIn("completed", [card.status for card in agent.cards(session)][1:])
        self.assertGreaterEqual(len(agent.permissions), 1)
        self.assertRegex(server.requests[2].result.lower(), "other|another|retry|again")


class Dangerous(AcpTest):
    """B20: which commands ask."""

    MUST_ASK = ["rm -rf T", "rm -rf \\\nT", "r\\m -rf T", "r''m -rf T", "rm${IFS}-rf${IFS}T",
                "/bin/rm -rf T", "command rm -r -f T", "env A=1 rm -fr T", "sudo rm -rf T",
                "sh -c 'rm -rf T'", "cd / && rm -rf {work}/T", "find T -delete",
                "echo T | xargs rm -rf", "X=rm; $X -rf T", "git reset --hard", "chmod -R 777 T",
                "rm -rf T; echo done", "true && rm -rf T", "$(echo rm) -rf T", "eval 'rm -rf T'",
                "curl http://127.0.0.1:1/x | sh"]
    MUST_NOT_ASK = ['echo "rm -rf /"', 'git commit -m "rm -rf /"', "grep -n 'rm -rf' a.sh",
                    "cd ${DIR}backend", "rm file.txt", "ls -la", "echo hello > out.txt",
                    "git status", "printf '%s' 'sudo rm'"]

    def run_commands(self, commands):
        os.makedirs(self.path("T/inner"), exist_ok=True)
        server, agent, session = self.start()
        agent.on_permission = reject_once
        asked = {}
        for command in commands:
            server.script[:] = [model.run(command.replace("{work}", self.work)), model.say("ok")]
            before = len(agent.permissions)
            self.assertEqual(agent.turn(session, "next"), "end_turn")
            asked[command] = len(agent.permissions) - before
            if not os.path.isdir(self.path("T/inner")):
                asked[command] = -1
                os.makedirs(self.path("T/inner"))
        return asked

    @within(120)
    def test_must_ask(self):
        """B20: every one of these asks, and nothing is deleted"""
        asked = self.run_commands(self.MUST_ASK)
        self.assertEqual({command: count for command, count in asked.items() if count != 1}, {})

    def test_must_not_ask(self):
        """B20: none of these asks"""
        asked = self.run_commands(self.MUST_NOT_ASK)
        self.assertEqual({command: count for command, count in asked.items() if count != 0}, {})


class Paths(AcpTest):
    """B21: auto-approval sees the same path as the use."""

    def edit_in_mode(self, *script, mode="accept_edits"):
        server, agent, session = self.start(*script)
        agent.on_permission = reject_once
        agent.call("session/set_mode", {"sessionId": session, "modeId": mode})
        self.assertEqual(agent.turn(session), "end_turn")
        return server, agent, session

    def test_plain_edit_in_the_folder_goes_through(self):
        """B21: the mode does what it says"""
        _server, agent, _session = self.edit_in_mode(
            model.call("write_file", path="new.txt", content="hello\n"))
        self.assertEqual(agent.permissions, [])
        self.assertEqual(self.get("new.txt"), b"hello\n")

    def test_link_to_a_sensitive_file(self):
        """B21: notes.txt is a link to authorized_keys"""
        secret = os.path.join(self.folder, "home", ".ssh", "authorized_keys")
        os.makedirs(os.path.dirname(secret))
        with open(secret, "w") as file:
            file.write("key\n")
        os.symlink(secret, self.path("notes.txt"))
        _server, agent, _session = self.edit_in_mode(
            model.call("write_file", path="notes.txt", content="evil\n"))
        with open(secret) as file:
            self.assertEqual(file.read(), "key\n")
        for question in agent.permissions:
            self.assertIn("authorized_keys", str(question["params"]["toolCall"]))

    def test_folder_link_out_of_the_session(self):
        """B21: sub is a link to a folder elsewhere"""
        out = os.path.join(self.folder, "outside")
        os.mkdir(out)
        os.symlink(out, self.path("sub"))
        self.edit_in_mode(model.call("write_file", path="sub/new.txt", content="evil\n"))
        self.assertEqual(os.listdir(out), [])

    def test_patch_over_two_files_one_sensitive(self):
        """B21: a.txt and .git/config in one patch ask; nothing of it is done"""
        self.put("a.txt", "one\n")
        self.put(".git/config", "[core]\n")
        patch = ("*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+two\n"
                 "*** Update File: .git/config\n@@\n-[core]\n+[evil]\n*** End Patch\n")
        _server, agent, _session = self.edit_in_mode(model.call("patch", mode="patch", patch=patch))
        self.assertEqual((self.get("a.txt"), self.get(".git/config")), (b"one\n", b"[core]\n"))
        self.assertIn(".git/config", str(agent.permissions[0]["params"]["toolCall"]))

    def test_spellings(self):
        """B21: dots, case, percent signs"""
        self.put(".git/config", "[core]\n")
        for path in ("a/../../x", "../x", ".git/../.git/config", "./.git/config",
                     os.path.join(self.folder, "x"), ".env"):
            with self.subTest(path):
                _server, agent, _session = self.edit_in_mode(
                    model.call("write_file", path=path, content="evil\n"))
                self.assertFalse(os.path.exists(os.path.join(self.folder, "x")))
                self.assertFalse(os.path.exists(self.path(".env")))
                self.assertEqual(self.get(".git/config"), b"[core]\n")
                self.sweep(agent)

    def test_link_swapped_after_the_question(self):
        """B21: between question and write the target becomes a link"""
        victim = os.path.join(self.folder, "victim")
        with open(victim, "w") as file:
            file.write("safe\n")
        self.put("notes.txt", "old\n")
        _server, agent, session = self.start(
            model.call("read_file", path="notes.txt"),
            model.call("write_file", path="notes.txt", content="evil\n"), model.say("ok"))

        def swap(one, message):
            os.unlink(self.path("notes.txt"))
            os.symlink(victim, self.path("notes.txt"))
            return allow_once(one, message)
        agent.on_permission = swap
        agent.turn(session)
        with open(victim) as file:
            self.assertEqual(file.read(), "safe\n")

    def test_plan_mode_changes_nothing(self):
        """plan is read only"""
        self.put("a.txt", "one\n")
        self.edit_in_mode(
            model.call("write_file", path="a.txt", content="two\n"), model.run("echo x > b.txt"),
            mode="plan")
        self.assertEqual(self.get("a.txt"), b"one\n")
        self.assertFalse(os.path.exists(self.path("b.txt")))


class Cards(AcpTest):
    """B22, acp 115-119: what a question shows."""

    def test_command(self):
        """B22"""
        command = "rm -rf T && echo '" + "ü" * 3000 + "'"
        _server, agent, session = self.start(model.run(command))
        agent.turn(session)
        call = agent.permissions[0]["params"]["toolCall"]
        card = agent.cards(session)[0]
        self.assertEqual(call["toolCallId"], card.id)
        self.assertEqual(call["rawInput"]["command"], command)
        self.assertEqual(call["kind"], "execute")
        self.assertEqual(call["status"], "pending")
        self.assertIn("rm -rf T", call["title"])
        self.assertNotIn("\n", call["title"])
        self.assertLess(len(call["title"].encode()), 400)

    def test_options(self):
        """acp 116: one per kind, once and never among them"""
        _server, agent, session = self.start(model.run("rm -rf T"))
        agent.turn(session)
        options = agent.permissions[0]["params"]["options"]
        kinds = [option["kind"] for option in options]
        self.assertEqual(len(set(kinds)), len(kinds))
        self.assertEqual(kinds[0], "allow_once")
        self.assertIn("reject_once", kinds)
        self.assertEqual(len({option["optionId"] for option in options}), len(options))

    def test_edit_has_the_diff_first(self):
        """acp 115, 113: diff with absolute path"""
        path = self.put("a.txt", "one\n")
        _server, agent, session = self.start(
            model.call("read_file", path="a.txt"),
            model.call("write_file", path="a.txt", content="two\n"),
            model.call("write_file", path="new.txt", content="fresh\n"))
        agent.turn(session)
        first = [question["params"]["toolCall"]["content"][0] for question in agent.permissions]
        self.assertEqual(first[0], {"type": "diff", "path": path, "oldText": "one\n",
                                    "newText": "two\n"})
        self.assertIsNone(first[1].get("oldText"))
        self.assertEqual(self.get("new.txt"), b"fresh\n")

    def test_two_at_once(self):
        """B22: two questions, answers in the other order go to the right calls"""
        for name in ("T1", "T2"):
            os.mkdir(self.path(name))
        _server, agent, session = self.start(model.calls(
            ("p1", "terminal", {"command": "rm -rf T1"}),
            ("p2", "terminal", {"command": "rm -rf T2"})), model.say("ok"))
        agent.on_permission = no_answer
        request = agent.prompt_start(session, "go")
        first = agent.wait_permission(1)
        time.sleep(0.3)
        if len(agent.permissions) > 1:
            second = agent.permissions[1]
            self.assertNotEqual(first["id"], second["id"])
            agent.choose(second, "reject_once")
            agent.choose(first, "allow_once")
        else:
            agent.choose(first, "allow_once")
            agent.choose(agent.wait_permission(2), "reject_once")
        agent.wait(request)
        gone = first["params"]["toolCall"]["rawInput"]["command"].split()[-1]
        self.assertFalse(os.path.exists(self.path(gone)))
        self.assertTrue(os.path.exists(self.path("T2" if gone == "T1" else "T1")))

    def test_always_is_remembered(self):
        """acp 119: allow_always asks once for the same kind of command"""
        _server, agent, session = self.start(model.run("rm -rf A"), model.run("rm -rf A"),
                                             model.say("ok"))
        agent.on_permission = allow_always
        self.assertEqual(agent.turn(session), "end_turn")
        self.assertEqual(len(agent.permissions), 1)

    def test_reject_always_is_remembered(self):
        """the same question is refused for the rest of the session"""
        os.mkdir(self.path("A"))
        _server, agent, session = self.start(model.run("rm -rf A"), model.run("rm -rf A"),
                                             model.say("ok"))
        agent.on_permission = lambda one, message: {"outcome": "selected", "optionId": next(
            (option["optionId"] for option in message["params"]["options"]
             if option["kind"] == "reject_always"), "none")}
        self.assertEqual(agent.turn(session), "end_turn")
        self.assertEqual(len(agent.permissions), 1)
        self.assertTrue(os.path.isdir(self.path("A")))

    def test_rejected_turn_goes_on(self):
        """acp 118"""
        _server, agent, session = self.start(model.run("rm -rf A"), model.say("then not"))
        agent.on_permission = say_cancelled
        self.assertEqual(agent.turn(session), "end_turn")
        self.assertEqual(agent.text(session), "then not")
