"""The agent loop under odd models and odd clients: what is stored, what is sent, what survives."""
import base64
import json
import os
import re
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import model_server as model
import processes
from acp import SCALE, AcpTest, allow_always, allow_once, no_answer, reject_once, within


class Oversize(AcpTest):
    """acp 68: what a client sends back at itself is cut; no worker dies of it."""

    def test_huge_values(self):
        """acp 17, 23, 68: a megabyte of nonsense in each field is -32602, and the worker stays"""
        _server, agent, session = self.start()
        workers = set(agent.workers())
        huge = "x" * (1 << 20)
        for method, params in (
                ("session/set_mode", {"modeId": huge}),
                ("session/set_model", {"modelId": huge}),
                ("session/set_config_option", {"configId": huge, "value": "x"}),
                ("session/set_config_option", {"configId": "mode", "value": huge}),
                ("session/prompt", {"prompt": [{"type": huge}]})):
            error = agent.error(method, {"sessionId": session, **params})
            self.assert_code(error, -32602)
            self.assertLess(len(json.dumps(error)), 64 << 10)
        self.assertEqual(agent.turn(session), "end_turn")
        self.assertLessEqual(workers, set(agent.workers()))

    def test_huge_folder(self):
        """acp 49, 68: a cwd of a megabyte"""
        _server, agent, session = self.start()
        for cwd in ("x" * (1 << 18), "/" + "x" * (1 << 18)):
            error = agent.error("session/new", {"cwd": cwd, "mcpServers": []})
            self.assert_code(error, -32602)
            self.assertLess(len(error["message"]), 1000)
        self.assertEqual(agent.turn(session), "end_turn")

    def test_message_is_one_line(self):
        """acp 23"""
        _server, agent, session = self.start()
        error = agent.error("session/prompt", {"sessionId": session, "prompt": [{"type": "a\nb"}]})
        self.assertNotIn("\n", error["message"])

    def test_edit_of_very_many_files(self):
        """R5: a card that would be bigger than a line may be is cut, the edit is done"""
        count = 60
        lines = ["*** Begin Patch"]
        for number in range(count):
            lines.append(f"*** Add File: f{number}.txt")
            lines += ["+" + "y" * 190000]
        patch = "\n".join([*lines, "*** End Patch", ""])
        _server, agent, session = self.start(model.call("patch", mode="patch", patch=patch),
                                             model.say("ok"))
        self.assertEqual(agent.turn(session), "end_turn")
        self.assertEqual(agent.cards(session)[0].status, "completed")
        self.assertEqual(len(self.get(f"f{count - 1}.txt")), 190001)


class Calls(AcpTest):
    """B34, B43, B46: calls as odd models write them."""

    def test_doubly_encoded_for_long(self):
        """B46: a model that encodes its arguments twice in every answer is served to the end"""
        server, agent, session = self.start(
            *[model.calls((f"c{number}", "terminal", json.dumps(json.dumps(
                {"command": f"echo round-{number}"})))) for number in range(6)], model.say("ok"))
        self.assertEqual(agent.turn(session), "end_turn")
        self.assertEqual([card.status for card in agent.cards(session)], ["completed"] * 6)
        for message in server.last.messages:
            for call in message.get("tool_calls") or []:
                self.assertIn("command", json.loads(call["function"]["arguments"]))

    def test_blank_for_long(self):
        """B46: blank and null arguments count as {}"""
        _server, agent, session = self.start(
            *[model.calls((f"c{number}", "todo", (" ", "null", "")[number % 3]))
              for number in range(6)], model.say("ok"))
        self.assertEqual(agent.turn(session), "end_turn")
        self.assertEqual([card.status for card in agent.cards(session)], ["completed"] * 6)

    def test_names_that_providers_refuse(self):
        """B51, hermes#47967: a made-up name is stored in a form that a strict provider takes"""
        names = ["functions.read_file", "", "read file", "n" * 200, "ünïcode", 'quo"te\n']
        server, agent, session = self.start(
            *[reply for number, name in enumerate(names)
              for reply in (model.calls((f"c{number}", name, "{}")), model.run("true"))],
            model.say("ok"))
        self.assertEqual(agent.turn(session), "end_turn")
        for message in server.last.messages:
            for call in message.get("tool_calls") or []:
                self.assertRegex(call["function"]["name"], r"^[a-zA-Z0-9_-]{1,64}$")
            if message["role"] == "tool":
                self.assertRegex(message.get("name", "x"), r"^[a-zA-Z0-9_-]{1,64}$")
        failed = [card for card in agent.cards(session) if card.status == "failed"]
        self.assertEqual(len(failed), len(names))

    def test_endless_unknown_tools(self):
        """hermes#47967: a model that calls nothing but unknown tools is stopped soon"""
        server, agent, session = self.start(
            *[model.calls((f"c{number}", "nope", "{}"), text=f"try {number}")
              for number in range(20)])
        error = agent.prompt(session, "go")["error"]
        self.assertIn("could not be used", error["message"])
        self.assertLess(len(server.requests), 8)
        server.script[:] = [model.say("fine")]
        self.assertEqual(agent.turn(session, "next"), "end_turn")
        self.assertIn("try 3", "\n".join(server.last.texts("assistant")))

    def test_odd_ids(self):
        """B34: ids with line breaks, quotes, or of a kilobyte"""
        ids = ["a\nb", 'q"x', "\\", "ü", "i" * 1024, " "]
        server, agent, session = self.start(model.calls(
            *[(identity, "terminal", {"command": f"echo n{number}"})
              for number, identity in enumerate(ids)]), model.say("ok"))
        self.assertEqual(agent.turn(session), "end_turn")
        for number, result in enumerate(server.last.results):
            self.assertIn(f"n{number}", result["content"])
        self.assertEqual(len({card.id for card in agent.cards(session)}), len(ids))

    def test_many_reads_at_once(self):
        """acp 120, DESIGN 6: 20 reads in one answer, results in the order of the calls"""
        for number in range(20):
            self.put(f"r{number}.txt", f"content-{number}\n")
        server, agent, session = self.start(model.calls(
            *[(f"c{number}", "read_file", {"path": f"r{number}.txt"}) for number in range(20)]),
            model.say("ok"))
        self.assertEqual(agent.turn(session), "end_turn")
        for number, result in enumerate(server.last.results):
            self.assertIn(f"content-{number}", result["content"])
        self.assertEqual([card.status for card in agent.cards(session)], ["completed"] * 20)

    def test_status_path(self):
        """acp 111: pending, in_progress, one end; denied: pending, failed"""
        _server, agent, session = self.start(model.run("echo hi"), model.run("rm -rf x"),
                                             model.say("ok"))
        agent.on_permission = reject_once
        self.assertEqual(agent.turn(session), "end_turn")
        paths = {}
        for update in agent.updates(session, "tool_call", "tool_call_update"):
            if "status" in update:
                path = paths.setdefault(update["toolCallId"], [])
                if path[-1:] != [update["status"]]:
                    path.append(update["status"])
        self.assertEqual(list(paths.values()), [["pending", "in_progress", "completed"],
                                                ["pending", "failed"]])

    def test_plan(self):
        """acp 94: the whole list in each update, statuses move on"""
        def todo(*statuses):
            return model.call("todo", todos=[
                {"id": str(number), "content": f"step {number}", "status": status}
                for number, status in enumerate(statuses)])
        _server, agent, session = self.start(
            todo("in_progress", "pending", "pending"), todo("completed", "in_progress", "pending"),
            todo("completed", "completed", "cancelled"), model.say("ok"))
        self.assertEqual(agent.turn(session), "end_turn")
        plans = [[entry["status"] for entry in update["entries"]]
                 for update in agent.updates(session, "plan")]
        self.assertEqual(plans, [["in_progress", "pending", "pending"],
                                 ["completed", "in_progress", "pending"],
                                 ["completed", "completed", "completed"]])


class Answers(AcpTest):
    """B15, B41, B53, B54: ends of a turn."""

    def test_refusal_takes_the_exchange_out(self):
        """acp 88: nothing of the refused turn is sent again, tools included"""
        server, agent, session = self.start(model.say("first answer"))
        self.assertEqual(agent.turn(session, "kept"), "end_turn")
        server.script[:] = [model.run("echo tool-ran", text="let me see"),
                            [model.delta("I will not"), model.finish("content_filter"), model.DONE]]
        self.assertEqual(agent.turn(session, "forbidden-question"), "refusal")
        self.assertEqual(agent.turn(session, "third"), "end_turn")
        body = server.last.body.decode()
        self.assertNotIn("forbidden-question", body)
        self.assertNotIn("tool-ran", body)
        self.assertEqual(server.last.texts(), ["kept", "third"])

    def test_reasoning_only_is_asked_again(self):
        """B53: twice, then the answer that comes counts"""
        only = [model.chunk({"reasoning_content": "hm"}), model.finish(), model.DONE]
        server, agent, session = self.start(only, only, model.say("the answer"))
        self.assertEqual(agent.turn(session), "end_turn")
        self.assertEqual(agent.text(session), "the answer")
        self.assertEqual(len(server.requests), 3)

    def test_empty_then_an_answer(self):
        """B47: an empty answer is asked for again; three in a row are an error"""
        empty = [model.finish(), model.DONE]
        server, agent, session = self.start(empty, empty, model.say("here"))
        self.assertEqual(agent.turn(session), "end_turn")
        server.script[:] = [empty] * 9
        before = len(server.requests)
        self.assert_code(agent.prompt(session, "go")["error"], -32603)
        self.assertEqual(len(server.requests) - before, 3)
        server.script[:] = []
        self.assertEqual(agent.turn(session), "end_turn")

    def test_too_long(self):
        """B54: the message says what it is, the details what the provider said"""
        for reply in (model.failure(400, "This model's maximum context length is 8192 tokens",
                                    code="context_length_exceeded"), model.failure(413, "big")):
            server, agent, session = self.start(*[reply] * 4)
            error = agent.prompt(session, "go")["error"]
            self.assert_code(error, -32603)
            self.assertIn("too long", error["message"])
            self.assertTrue(re.search("maximum context|413", error["data"]["details"]), error)
            self.assertEqual(len(server.requests), 1)
            self.sweep(agent)

    def test_limit_of_requests(self):
        """acp 88: max_turn_requests says so; the next turn begins anew"""
        self.configure(agent={"max_turns": 2})
        server, agent, session = self.start(*[model.run("true")] * 3)
        self.assertEqual(agent.turn(session), "max_turn_requests")
        self.assertIn("2 model requests", agent.text(session))
        server.script[:] = [model.say("next")]
        self.assertEqual(agent.turn(session), "end_turn")
        again = self.reload(agent, session)
        self.assertIn("2 model requests", again.text(session))
        self.assertEqual(again.text(session), agent.text(session))

    def test_cut_answer_with_calls(self):
        """B45 b, acp 88: max_tokens; the text is kept, the calls are not run"""
        server, agent, session = self.start(
            [model.delta("half"), model.call_delta(0, "c1", "terminal", {"command": "touch x"}),
             model.finish("length"), model.DONE])
        self.assertEqual(agent.turn(session), "max_tokens")
        self.assertFalse(os.path.exists(self.path("x")))
        self.assertEqual(agent.turn(session), "end_turn")
        self.assertEqual(server.last.texts("assistant"), ["half"])

    def test_message_ids(self):
        """acp 87: one id per message, none used twice, over turns and kinds"""
        server, agent, session = self.start()
        for number in range(3):
            server.script[:] = [
                [model.chunk({"reasoning_content": "why"}), *model.run("true", text="before")],
                model.say("af", "ter")]
            self.assertEqual(agent.turn(session), "end_turn")
        runs = []
        for update in agent.updates(session, "agent_message_chunk", "agent_thought_chunk"):
            key = (update["sessionUpdate"], update["messageId"])
            if runs[-1:] != [key]:
                runs.append(key)
        self.assertEqual(len({identity for _kind, identity in runs}), 9)
        self.assertEqual(len(runs), 9)

    def test_one_usage_update_per_turn(self):
        """acp 93: also when the provider tells nothing and when the turn fails"""
        server, agent, session = self.start()
        agent.until(lambda: agent.updates(session, "usage_update"), 5, "the first one")
        for script in ([model.say("a")], [model.failure(400, "no")],
                       [model.run("true"), model.say("b")]):
            server.script[:] = script
            mark = agent.mark()
            agent.prompt(session, "go")
            updates = agent.updates(session, "usage_update", since=mark)
            self.assertEqual(len(updates), 1)
            self.assertLessEqual(updates[0]["used"], updates[0]["size"])


class Reasoning(AcpTest):
    """B53: who gets earlier thoughts back."""

    def reply(self):
        detail = {"type": "reasoning.text", "text": "t", "signature": "s", "index": 0}
        return [model.chunk({"reasoning_content": "deep", "reasoning_details": [detail]}),
                *model.run("true")]

    def second_request(self, **settings):
        server = self.model(self.reply(), model.say("done"))
        self.configure(model={**self.configuration["model"], **settings})
        agent = self.agent()
        session = agent.new_session(self.work)
        self.assertEqual(agent.turn(session), "end_turn")
        self.sweep(agent)
        return [message for message in server.last.messages if message["role"] == "assistant"][0]

    def test_not_by_default(self):
        """B53: a server that refuses the member is content"""
        message = self.second_request()
        self.assertEqual(set(message), {"role", "content", "tool_calls"})

    def test_switched_on(self):
        """B53: model.reasoning_echo sends both back as they came"""
        message = self.second_request(reasoning_echo=True)
        self.assertEqual(message["reasoning_content"], "deep")
        self.assertEqual(message["reasoning_details"][0]["signature"], "s")

    def test_providers_that_want_it(self):
        """B53: DeepSeek and Kimi get reasoning_content, OpenRouter reasoning_details"""
        for provider, there, absent in (("deepseek", "reasoning_content", "reasoning_details"),
                                        ("kimi-coding", "reasoning_content", "reasoning_details"),
                                        ("openrouter", "reasoning_details", "reasoning_content")):
            with self.subTest(provider):
                message = self.second_request(provider=provider, api_key="k-123456789")
                self.assertIn(there, message)
                self.assertNotIn(absent, message)

    def test_switched_off(self):
        """B53: false is false, whoever the provider is"""
        message = self.second_request(provider="deepseek", api_key="k-123456789",
                                      reasoning_echo=False)
        self.assertEqual(set(message), {"role", "content", "tool_calls"})

    def test_other_member_names(self):
        """B53: thoughts under another name go back as reasoning_content; none as an empty one"""
        server = self.model([model.chunk({"reasoning": "deep"}), *model.run("true")],
                            model.run("true"), model.say("done"))
        self.configure(model={**self.configuration["model"], "reasoning_echo": True})
        agent = self.agent()
        self.assertEqual(agent.turn(agent.new_session(self.work)), "end_turn")
        sent = [message.get("reasoning_content") for message in server.last.messages
                if message["role"] == "assistant"]
        self.assertEqual(sent, ["deep", ""])


class Permissions(AcpTest):
    """B16, B17, acp 115-119."""

    def test_option_that_was_not_offered(self):
        """acp 117: "always" for a sensitive file, which only has "once", means no"""
        _server, agent, session = self.start(
            model.call("write_file", path=".env", content="A=1\n"), model.say("ok"))
        agent.on_permission = lambda _agent, _message: {"outcome": "selected",
                                                        "optionId": "allow_always"}
        self.assertEqual(agent.turn(session), "end_turn")
        kinds = [option["kind"] for option in agent.permissions[0]["params"]["options"]]
        self.assertNotIn("allow_always", kinds)
        self.assertFalse(os.path.exists(self.path(".env")))
        self.assertEqual(agent.cards(session)[0].status, "failed")

    def test_reason_is_shown(self):
        """B22: the question says why it is asked, after what is to be done"""
        _server, agent, session = self.start(
            model.run("rm -rf A"), model.call("write_file", path=".env", content="A=1\n"),
            model.say("ok"))
        agent.on_permission = reject_once
        self.assertEqual(agent.turn(session), "end_turn")
        for question, word in zip(agent.permissions, ("delete", "sensitive")):
            contents = question["params"]["toolCall"]["content"]
            self.assertIn(word, contents[-1]["content"]["text"])
            self.assertGreater(len(contents), 1)
        self.assertEqual(agent.permissions[1]["params"]["toolCall"]["content"][0]["type"], "diff")

    def test_late_answer_is_not_taken_for_the_next_question(self):
        """B16, R29: the yes to a withdrawn question does not answer another one"""
        os.mkdir(self.path("keep"))
        server, agent, session = self.start(model.run("rm -rf gone"))
        agent.on_permission = no_answer
        request = agent.prompt_start(session, "go")
        first = agent.wait_permission(1)
        agent.cancel(session)
        self.assertEqual(agent.wait(request)["result"]["stopReason"], "cancelled")
        server.script[:] = [model.run("rm -rf keep"), model.say("ok")]
        request = agent.prompt_start(session, "again")
        second = agent.wait_permission(2)
        for _ in range(3):
            agent.choose(first, "allow_once")
        agent.answer({"id": second["id"] + 1}, {"outcome": {"outcome": "selected",
                                                            "optionId": "allow_once"}})
        time.sleep(0.3)
        self.assertFalse(agent.answered(request))
        agent.choose(second, "reject_once")
        agent.choose(second, "allow_once")
        self.assertEqual(agent.wait(request)["result"]["stopReason"], "end_turn")
        self.assertTrue(os.path.isdir(self.path("keep")))

    def test_always_is_written_and_comments_stay(self):
        """acp 119, DESIGN 7: command_allowlist grows in config.yaml; another process knows it"""
        server = self.model(model.run("rm -rf A"), model.say("ok"))
        path = os.path.join(self.folder, "home", ".hermes", "config.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"# my settings\nmodel:\n  provider: custom # mine\n"
                       f"  base_url: {server.base_url}\n  default: fake\n"
                       "terminal:\n  env_passthrough: [ACP_TEST_TAG]\n"
                       "command_allowlist: # kinds\n  - some label # kept\n# the end\n")
        agent = self.agent()
        agent.on_permission = allow_always
        self.assertEqual(agent.turn(agent.new_session(self.work)), "end_turn")
        self.assertEqual(len(agent.permissions), 1)
        self.sweep(agent)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        for comment in ("# my settings", "# mine", "# kinds", "# kept", "# the end"):
            self.assertIn(comment, text)
        self.assertGreater(text.count("\n  - "), 1)
        self.assertEqual(os.stat(path).st_mode & 0o022, 0)
        server.script[:] = [model.run("rm -rf B"), model.say("ok")]
        again = self.agent()
        again.on_permission = reject_once
        self.assertEqual(again.turn(again.new_session(self.work)), "end_turn")
        self.assertEqual(again.permissions, [])

    def test_always_for_edits_ends_with_the_session(self):
        """acp 119: the label says "in this session", and so it is"""
        server, agent, session = self.start(
            model.call("write_file", path="a.txt", content="1\n"),
            model.call("write_file", path="b.txt", content="2\n"), model.say("ok"))
        agent.on_permission = allow_always
        self.assertEqual(agent.turn(session), "end_turn")
        self.assertEqual(len(agent.permissions), 1)
        labels = {option["kind"]: option["name"]
                  for option in agent.permissions[0]["params"]["options"]}
        self.assertIn("session", labels["allow_always"])
        server.script[:] = [model.call("write_file", path="c.txt", content="3\n"), model.say("ok")]
        other = agent.new_session(self.work)
        self.assertEqual(agent.turn(other), "end_turn")
        self.assertEqual(len(agent.permissions), 2)

    def test_limits_of_the_time(self):
        """B17: a limit beyond all numbers and a negative one do no harm"""
        for limit in (9223372036854775807, -5):
            with self.subTest(limit):
                self.configure(approvals={"timeout": limit})
                server = self.model(model.run("rm -rf A"), model.say("ok"))
                agent = self.agent()
                agent.on_permission = lambda one, message: time.sleep(0.3) or allow_once(
                    one, message)
                self.assertEqual(agent.turn(agent.new_session(self.work)), "end_turn")
                self.assertNotIn("no answer", server.last.result)
                self.sweep(agent)

    def test_mode_changes_while_it_asks(self):
        """acp 134, DESIGN 8: plan mode comes in between: an allowed edit is not done any more"""
        _server, agent, session = self.start(
            model.call("write_file", path="a.txt", content="x\n"), model.say("ok"))
        agent.on_permission = no_answer
        request = agent.prompt_start(session, "go")
        question = agent.wait_permission()
        agent.call("session/set_mode", {"sessionId": session, "modeId": "plan"})
        agent.choose(question, "allow_once")
        self.assertEqual(agent.wait(request)["result"]["stopReason"], "end_turn")
        self.assertFalse(os.path.exists(self.path("a.txt")))
        self.assertEqual(agent.cards(session)[0].status, "failed")

    def test_mode_changes_in_a_turn(self):
        """acp 133, 134: the next call of the same turn follows the new mode; both are told"""
        server, agent, session = self.start(
            model.call("write_file", path="a.txt", content="x\n"),
            [0.5, *model.call("write_file", path="b.txt", content="y\n")], model.say("ok"))
        request = agent.prompt_start(session, "go")
        server.wait_requests(2)
        result = agent.call("session/set_config_option",
                            {"sessionId": session, "configId": "mode", "value": "dont_ask"})
        values = {option["id"]: option["currentValue"] for option in result["configOptions"]}
        self.assertEqual(values["mode"], "dont_ask")
        self.assertEqual(agent.wait(request)["result"]["stopReason"], "end_turn")
        self.assertEqual(len(agent.permissions), 1)
        self.assertEqual(self.get("b.txt"), b"y\n")
        self.assertEqual(agent.updates(session, "current_mode_update")[-1]["currentModeId"],
                         "dont_ask")


class Ends(AcpTest):
    """R-rows: every way in which a turn can be left, in the states that are hard to reach."""

    def test_close_while_asking(self):
        """acp 67: the prompt is cancelled, nothing is done"""
        os.mkdir(self.path("keep"))
        _server, agent, session = self.start(model.run("rm -rf keep"))
        agent.on_permission = no_answer
        request = agent.prompt_start(session, "go")
        question = agent.wait_permission()
        self.assertEqual(agent.call("session/close", {"sessionId": session}), {})
        self.assertEqual(agent.wait(request)["result"]["stopReason"], "cancelled")
        agent.choose(question, "allow_once")
        time.sleep(0.2)
        self.assertTrue(os.path.isdir(self.path("keep")))

    def test_terminated_while_asking(self):
        """B10 d: SIGTERM to the worker while it asks: the question stays; a late answer is ignored"""
        os.mkdir(self.path("keep"))
        server, agent, session = self.start(model.run("rm -rf keep"))
        agent.on_permission = no_answer
        request = agent.prompt_start(session, "go")
        question = agent.wait_permission()
        for pid in agent.workers():
            processes.kill(pid, signal.SIGTERM)
        agent.until(lambda: "Another one goes on" in agent.thoughts(session), what="the notice")
        time.sleep(0.2)
        self.assertTrue(os.path.isdir(self.path("keep")))
        agent.choose(question, "reject_once")
        agent.choose(question, "allow_once")
        self.assertEqual(agent.wait(request, 5)["result"]["stopReason"], "end_turn")
        self.assertTrue(os.path.isdir(self.path("keep")))
        self.assertEqual(len(agent.permissions), 1)
        self.assertEqual([card.status for card in agent.cards(session)], ["failed"])
        server.script[:] = [model.say("back")]
        self.assertEqual(agent.turn(session, "again"), "end_turn")

    def test_cancel_while_reads_run_beside_each_other(self):
        """B51, acp 106: eight searches at once are cancelled; each has one result and one end"""
        for number in range(300):
            self.put(f"d{number % 10}/f{number}.txt", "word\n" * 2000)
        server, agent, session = self.start()
        for step in range(6):
            server.script[:] = [model.calls(*[
                (f"s{step}_{number}", "search_files", {"pattern": "w.*d"})
                for number in range(10)], text="looking"), model.say("never")]
            request = agent.prompt_start(session, f"turn {step}")
            agent.until(lambda: len(agent.cards(session)) > step * 4, 10, "cards")
            time.sleep(step * 0.01)
            agent.cancel(session)
            response = agent.wait(request, 5)
            self.assertIn(response["result"]["stopReason"], ("cancelled", "end_turn"))
        server.script[:] = [model.say("fine")]
        self.assertEqual(agent.turn(session, "next"), "end_turn")

    @within(120)
    def test_cancel_while_the_start_waits(self):
        """DESIGN 4: the client does not read, so that the start of a command cannot be put on
        record; a cancel then means that it never runs, else it runs when the client reads again"""
        states = set()
        for kilobytes in (4200, 4350, 4450):  # 4 MiB in the supervisor, the rest in the socket
            for cancel in (True, False):
                name = f"ran-{kilobytes}-{cancel}"
                server, agent, session = self.start(
                    [model.delta("abcdefg " * (kilobytes * 128)),
                     model.call_delta(0, "c1", "terminal", {"command": f"touch {name}"}),
                     model.finish("tool_calls"), model.DONE], model.say("fine"))
                agent.pause()
                request = agent.prompt_start(session, "go")
                time.sleep(SCALE)
                before = os.path.exists(self.path(name))
                if cancel:
                    agent.cancel(session)
                    time.sleep(0.5)
                agent.resume()
                reason = agent.wait(request)["result"]["stopReason"]
                after = os.path.exists(self.path(name))
                self.assertEqual(after, before or not cancel)
                if not cancel:
                    self.assertEqual(reason, "end_turn")
                states.add((cancel, before))
                server.script[:] = [model.say("fine")]
                self.assertEqual(agent.turn(session, "next"), "end_turn")
                self.assertEqual(os.path.exists(self.path(name)), after)
                self.sweep(agent)
        self.assertIn((True, False), states)

    def test_end_of_input_in_every_state(self):
        """acp 137: streaming, asking, running, waiting to try again; exit status 0, nothing left"""
        for script in ([model.delta("half"), model.HANG], model.run("rm -rf keep"),
                       model.run("sleep 53.5"), model.failure(500), [model.HANG]):
            with self.subTest(str(script)[:60]):
                server, agent, session = self.start(script, environment={
                    "HERMES_ACP_RETRY_SCALE": "20"})
                agent.on_permission = no_answer
                agent.prompt_start(session, "go")
                server.wait_requests(1)
                time.sleep(0.3)
                self.sweep(agent, limit=2.0)


class Notes(AcpTest):
    """What the user is told with the first turn."""

    def start_with_problem(self, capabilities=None):
        self.model()
        self.configure(agent={"max_turns": "many"})
        agent = self.agent(capabilities=capabilities)
        return agent, agent.new_session(self.work)

    def test_as_text(self):
        """acp 95: without the capability it is text of the first turn, once"""
        agent, session = self.start_with_problem()
        self.assertEqual(agent.turn(session), "end_turn")
        self.assertIn("max_turns", agent.text(session))
        self.assertEqual(agent.updates(session, "notice"), [])
        mark = agent.mark()
        self.assertEqual(agent.turn(session), "end_turn")
        self.assertNotIn("max_turns", agent.text(session, mark))

    def test_as_notice(self):
        """acp 95: with it a notice, once, and not in the text"""
        agent, session = self.start_with_problem({"session": {"notices": {}}})
        self.assertEqual(agent.turn(session), "end_turn")
        self.assertEqual(len(agent.updates(session, "notice")), 1)
        self.assertNotIn("max_turns", agent.text(session))

    def test_servers_are_named(self):
        """acp 53: MCP servers that are not started are named, the session works"""
        self.model()
        agent = self.agent()
        session = agent.call("session/new", {"cwd": self.work, "mcpServers": [
            {"name": "tools-7", "command": "/bin/true", "args": [], "env": []}]})["sessionId"]
        self.assertEqual(agent.turn(session), "end_turn")
        self.assertIn("tools-7", agent.text(session))

    def test_not_again_after_a_worker_died(self):
        """B10 b: the successor repeats neither the notes nor the title"""
        agent, session = self.start_with_problem()
        self.assertEqual(agent.turn(session, "the first title"), "end_turn")
        mark = agent.mark()
        for pid in agent.workers():
            processes.kill(pid)
        time.sleep(0.3)
        self.assertEqual(agent.turn(session, "another text"), "end_turn")
        self.assertNotIn("max_turns", agent.text(session, mark))
        self.assertEqual(agent.updates(session, "session_info_update", since=mark), [])


class Commands(AcpTest):
    """acp 91: slash commands while a turn runs and while none does."""

    def test_in_a_turn(self):
        """B13: answered at once, beside the running text; the model's text stays whole"""
        server, agent, session = self.start(
            [model.delta("one "), 0.8, model.delta("two"), model.finish(), model.DONE])
        request = agent.prompt_start(session, "go")
        agent.wait_text(session, "one ")
        answer = agent.prompt(session, "/context", 2)
        self.assertEqual(answer["result"]["stopReason"], "end_turn")
        self.assertFalse(agent.answered(request))
        self.assertIn("Messages:", agent.text(session))
        self.assertEqual(agent.wait(request)["result"]["stopReason"], "end_turn")
        self.assertEqual(agent.turn(session, "next"), "end_turn")
        self.assertEqual(server.last.texts("assistant"), ["one two"])
        self.assertEqual(server.last.texts(), ["go", "next"])

    def test_while_it_asks_and_while_a_command_runs(self):
        """B13: neither the question nor the command is disturbed"""
        _server, agent, session = self.start(model.run("rm -rf A"), model.run("sleep 1; echo z"),
                                             model.say("done"))
        agent.on_permission = no_answer
        request = agent.prompt_start(session, "go")
        question = agent.wait_permission()
        self.assertIn("result", agent.prompt(session, "/version", 2))
        agent.choose(question, "allow_once")
        agent.until(lambda: len(agent.cards(session)) == 2, 5, "the second card")
        self.assertIn("result", agent.prompt(session, "/help", 2))
        self.assertEqual(agent.wait(request)["result"]["stopReason"], "end_turn")
        self.assertEqual([card.status for card in agent.cards(session)], ["completed"] * 2)

    def test_at_the_end_of_a_turn(self):
        """B13: whatever the moment, a command's text comes before its answer"""
        server, agent, session = self.start()
        for step in range(25):
            server.script[:] = [[model.delta("x"), 0.02, model.finish(), model.DONE]]
            request = agent.prompt_start(session, f"turn {step}")
            time.sleep(0.01 + step * 0.001)
            mark = agent.mark()
            self.assertIn("result", agent.prompt(session, "/version", 3))
            self.assertIn("hermes-acp", agent.text(session, mark))
            agent.wait(request)


class Content(AcpTest):
    """B35, acp 83."""

    def test_blank_prompt(self):
        """acp 83: a prompt without a single letter is refused, not sent to the model"""
        server, agent, session = self.start()
        for text in ("", " \n\t"):
            self.assert_code(agent.prompt(session, text)["error"], -32602)
        self.assertEqual(server.requests, [])
        self.assertEqual(agent.turn(session, "x"), "end_turn")

    def test_empty_picture_file(self):
        """B37: a linked picture of 0 bytes is noted, not sent"""
        path = self.put("zero.png", b"")
        server, agent, session = self.start()
        response = agent.prompt(session, [
            {"type": "text", "text": "look"},
            {"type": "resource_link", "uri": f"file://{path}", "name": "zero.png"}])
        self.assertEqual(response["result"]["stopReason"], "end_turn")
        self.assertNotIn(b"image_url", server.last.body)
        self.assertIn("empty", server.last.last_user)

    def test_picture_is_left_out_once_and_for_all(self):
        """B37: one retry, the user is told, later requests have a line instead of the picture"""
        server = self.model()
        server.respond = lambda request: model.failure(
            400, "This model does not support image input") \
            if b"image_url" in request.body else model.say("seen")
        agent = self.agent()
        session = agent.new_session(self.work)
        response = agent.prompt(session, [
            {"type": "text", "text": "look"},
            {"type": "image", "mimeType": "image/png", "data": "iVBORw0KGgo="}])
        self.assertEqual(response["result"]["stopReason"], "end_turn")
        self.assertIn("does not take images", agent.text(session))
        self.assertTrue(agent.text(session).endswith("seen"))
        self.assertEqual(len(server.requests), 2)
        self.assertEqual(agent.turn(session, "more"), "end_turn")
        self.assertEqual(len(server.requests), 3)
        self.assertIn("image stood here", server.last.texts()[0])

    def test_svg_is_text(self):
        """B35: an embedded SVG goes to the model as the text that it is"""
        server, agent, session = self.start()
        blob = base64.b64encode(b"<svg>found-me-3</svg>").decode()
        response = agent.prompt(session, [{"type": "resource", "resource": {
            "uri": "file:///x/a.svg", "mimeType": "image/svg+xml", "blob": blob}}])
        self.assertEqual(response["result"]["stopReason"], "end_turn")
        self.assertIn("found-me-3", server.last.last_user)

    def test_text_with_nul(self):
        """acp 3: a NUL in the text is content like any other"""
        server, agent, session = self.start()
        self.assertEqual(agent.turn(session, "a\0b"), "end_turn")
        self.assertEqual(server.last.last_user, "a\0b")


if __name__ == "__main__":
    import unittest
    unittest.main()
