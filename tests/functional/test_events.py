"""Events of a turn: the right card, its end, text exactly once, ids of calls."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import model_server as model
from acp import AcpTest, reject_once


class Cards(AcpTest):
    """B30, B32, B34."""

    def test_three_calls_of_one_name(self):
        """B30: same name, two with the same arguments, the second ends first"""
        server, agent, session = self.start(model.calls(
            ("a", "terminal", {"command": "sleep 1; echo AAA"}),
            ("b", "terminal", {"command": "echo BBB"}),
            ("c", "terminal", {"command": "sleep 1; echo AAA"})), model.say("ok"))
        self.assertEqual(agent.turn(session), "end_turn")
        cards = agent.cards(session)
        self.assertEqual(len(cards), 3)
        for card, word in zip(cards, ("AAA", "BBB", "AAA")):
            self.assertEqual(card.status, "completed")
            self.assertIn(word, card.text)
        results = server.last.results
        self.assertEqual([result["tool_call_id"] for result in results], ["a", "b", "c"])
        for result, word in zip(results, ("AAA", "BBB", "AAA")):
            self.assertIn(word, result["content"])

    def outcome(self, reply):
        """(card, result as the model reads it) of one call."""
        server, agent, session = self.start(reply, model.say("ok"))
        self.assertEqual(agent.turn(session), "end_turn")
        found = agent.cards(session)[0], server.last.result
        self.sweep(agent)
        return found

    def test_failures_are_shown_as_failures(self):
        """B32"""
        rows = [(model.run("exit 3"), "3"), (model.run("kill -9 $$"), "9|137|kill|signal"),
                (model.run("sleep 5", timeout=1), "timed out|time"),
                (model.call("read_file", path="absent.txt"), "not found|no such"),
                (model.call("patch", mode="replace", path="a.txt", old_string="zzz",
                            new_string="y"), "not found|no match|does not")]
        self.put("a.txt", "abc\n")
        for reply, pattern in rows:
            with self.subTest(pattern):
                card, result = self.outcome(reply)
                self.assertEqual(card.status, "failed", result)
                self.assertRegex(result.lower(), pattern)

    def test_successes_are_shown_as_successes(self):
        """B32: grep without a match, and a text that speaks of failure"""
        for command, pattern in (("grep nothing /dev/null", "no match"),
                                 ('echo "tests failed"', "tests failed")):
            with self.subTest(command):
                card, result = self.outcome(model.run(command))
                self.assertEqual(card.status, "completed", result)
                self.assertRegex(result.lower(), pattern)

    def test_unknown_tool(self):
        """B32: the result lists the tools, the turn goes on"""
        card, result = self.outcome(model.call("no_such_tool", x=1))
        self.assertEqual(card.status, "failed")
        self.assertIn("terminal", result)

    def test_denied_call(self):
        """B32"""
        server, agent, session = self.start(model.run("rm -rf x"), model.say("ok"))
        agent.on_permission = reject_once
        self.assertEqual(agent.turn(session), "end_turn")
        self.assertEqual(agent.cards(session)[0].status, "failed")
        self.assertTrue(server.last.result)

    def test_ids_used_again(self):
        """B34: call_0 in every turn, twice in one batch, and an empty id"""
        server, agent, session = self.start()
        rows = [[("call_0", "terminal", {"command": "echo one"})],
                [("call_0", "terminal", {"command": "echo two"})],
                [("call_0", "terminal", {"command": "echo three"}),
                 ("call_0", "terminal", {"command": "echo four"})],
                [("", "terminal", {"command": "echo five"})]]
        for row in rows:
            server.script[:] = [model.calls(*row), model.say("ok")]
            self.assertEqual(agent.turn(session), "end_turn")
            words = [json.loads(result["content"])["output"].strip()
                     for result in server.last.results]
            self.assertEqual(words, [arguments["command"].split()[1] for _i, _n, arguments in row])
        cards = agent.cards(session)
        self.assertEqual(len(cards), 5)
        for card, word in zip(cards, ("one", "two", "three", "four", "five")):
            self.assertIn(word, card.text)
        again = self.reload(agent, session)
        if again is None:
            return
        self.assertEqual([card.id for card in again.cards(session)], [card.id for card in cards])
        server.script[:] = [model.say("ok")]
        self.assertEqual(again.turn(session), "end_turn")

    def test_same_call_twice_in_a_batch(self):
        """B34: same id and same arguments run once"""
        _server, agent, session = self.start(model.calls(
            ("call_0", "terminal", {"command": "echo x >>count"}),
            ("call_0", "terminal", {"command": "echo x >>count"})), model.say("ok"))
        self.assertEqual(agent.turn(session), "end_turn")
        self.assertEqual(self.get("count"), b"x\n")

    def test_card_is_complete(self):
        """acp 109-112, wish 20: title, kind, raw input and locations"""
        path = self.put("a.txt", "abc\n")
        _server, agent, session = self.start(model.call("read_file", path="a.txt"),
                                             model.run("echo hi"), model.say("ok"))
        self.assertEqual(agent.turn(session), "end_turn")
        read, command = agent.cards(session)
        self.assertEqual((read.kind, read.locations[0]["path"]), ("read", path))
        self.assertEqual(read.rawInput, {"path": "a.txt"})
        self.assertEqual((command.kind, command.rawInput["command"]), ("execute", "echo hi"))
        self.assertIn("echo hi", command.title)


class Text(AcpTest):
    """B33: text comes as it is produced and exactly once."""

    def test_chunks_come_at_once(self):
        """B33: the first one within 0.3 s, nothing again at the end"""
        _server, agent, session = self.start(
            [model.delta("A1"), 0.8, model.delta(" A2"), model.finish(), model.DONE])
        request = agent.prompt_start(session, "go")
        agent.wait_text(session, "A1", 0.6)
        self.assertFalse(agent.answered(request))
        self.assertEqual(agent.wait(request)["result"]["stopReason"], "end_turn")
        self.assertEqual(agent.text(session), "A1 A2")

    def test_spaces_and_newlines_are_kept(self):
        """B33: byte for byte"""
        text = "\n\n  leading\n\tand trailing \n\n"
        _server, agent, session = self.start(model.say(*text))
        self.assertEqual(agent.turn(session), "end_turn")
        self.assertEqual(agent.text(session), text)

    def test_text_around_a_tool_call(self):
        """B33: not glued: another messageId or a paragraph break"""
        _server, agent, session = self.start(model.run("true", text="before"), model.say("after"))
        self.assertEqual(agent.turn(session), "end_turn")
        chunks = agent.updates(session, "agent_message_chunk")
        self.assertTrue(len({chunk.get("messageId") for chunk in chunks}) == 2
                        or "\n\n" in agent.text(session))
        self.assertEqual("".join(agent.text(session).split()), "beforeafter")

    def test_answer_that_is_not_streamed(self):
        """B33, B47 c: a whole JSON answer to a streaming request"""
        body = model.dump({"id": "x", "object": "chat.completion", "choices": [
            {"index": 0, "finish_reason": "stop",
             "message": {"role": "assistant", "content": "whole answer"}}],
            "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}})
        _server, agent, session = self.start(
            model.Reply([body], framing="length", content_type="application/json"))
        self.assertEqual(agent.turn(session), "end_turn")
        self.assertEqual(agent.text(session), "whole answer")

    def test_usage_update(self):
        """acp 93, wish 4: used is at most size"""
        _server, agent, session = self.start(
            [model.delta("hi"), model.finish(), model.event({"choices": [], "usage": {
                "prompt_tokens": 900, "completion_tokens": 100, "total_tokens": 1000}}),
             model.DONE])
        self.assertEqual(agent.turn(session), "end_turn")
        agent.until(lambda: agent.updates(session, "usage_update"), 3, "usage_update")
        usage = agent.updates(session, "usage_update")[-1]
        self.assertLessEqual(usage["used"], usage["size"])
        self.assertGreater(usage["used"], 0)

    def test_long_text_in_short_lines(self):
        """acp 1.1: lines below 60 KiB where possible"""
        text = "wörter " * 40000
        _server, agent, session = self.start([model.delta(text), model.finish(), model.DONE])
        self.assertEqual(agent.turn(session), "end_turn")
        self.assertEqual(agent.text(session), text)
        longest = max(len(model.dump(event)) for event in agent.events)
        self.assertLess(longest, 64 << 10)
