"""The model of a session: what can be chosen, the switch, what is refused, and what outlives a process."""
import json
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import anthropic_server as claude
import model_server as model
import processes
from acp import AcpTest
from anthropic_server import AnthropicServer

PIXEL = ("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5E"
         "rkJggg==")
OPUS = "anthropic:claude-opus-4-8"


class ModelTest(AcpTest):
    def begin(self, chat=(), other=(), **options):
        """Two servers: Chat Completions, which is configured, and Messages, which has a key."""
        self.chat = self.model(*chat)
        self.other = AnthropicServer(*other)
        self.servers.append(self.other)
        self.environment = {"ANTHROPIC_BASE_URL": self.other.base_url,
                            "ANTHROPIC_API_KEY": "sk-ant-api03-secret"}
        self.client = self.again(**options)
        self.opened = self.client.call("session/new", {"cwd": self.work, "mcpServers": []})
        self.session = self.opened["sessionId"]
        return self.client, self.session

    def again(self, **options):
        return self.agent(environment=self.environment, **options)

    def choose(self, value, option="model"):
        return self.client.call("session/set_config_option", {
            "sessionId": self.session, "configId": option, "value": value})

    def refuse(self, value, option="model"):
        error = self.client.error("session/set_config_option", {
            "sessionId": self.session, "configId": option, "value": value})
        self.assert_code(error, -32602)
        return error["data"]["details"]

    def values(self, result):
        return {option["id"]: option["currentValue"] for option in result["configOptions"]}

    def option(self, result, identity):
        return next(one for one in result["configOptions"] if one["id"] == identity)

    def assert_other(self, request):
        self.assertEqual(request.json["model"], "claude-opus-4-8")
        self.assertIn("Model: claude-opus-4-8 by Anthropic", json.dumps(request.json["system"]))

    def kill_worker(self):
        for pid, line in self.client.workers().items():
            if "--session" in line:
                processes.kill(pid, signal.SIGKILL)


class Choice(ModelTest):
    def test_list(self):
        """The current one first, then those of providers with a key"""
        self.begin()
        option = self.option(self.opened, "model")
        self.assertEqual((option["category"], option["currentValue"]), ("model", "custom:fake"))
        values = [one["value"] for one in option["options"]]
        self.assertEqual(values[0], "custom:fake")
        self.assertIn(OPUS, values)
        self.assertFalse([value for value in values if value.startswith("deepseek:")])
        self.assertEqual(len(values), len(set(values)))
        self.assertNotIn("thought_level", self.values(self.opened))

    def test_older_method_and_command(self):
        agent, session = self.begin([model.say("chat")], [claude.say("other")])
        agent.call("session/set_model", {"sessionId": session, "modelId": OPUS})
        self.assertEqual(
            self.values(agent.updates(session, "config_option_update")[-1])["model"], OPUS)
        self.assertEqual(agent.turn(session), "end_turn")
        self.assert_other(self.other.last)
        mark = agent.mark()
        agent.turn(session, "/model custom:another:7b")
        self.assertIn("`another:7b`", agent.text(session, mark))
        agent.turn(session, "more")
        self.assertEqual(self.chat.last.json["model"], "another:7b")
        mark = agent.mark()
        agent.turn(session, "/model")
        self.assertIn(f"`{OPUS}`", agent.text(session, mark))
        mark = agent.mark()
        agent.turn(session, "/model deepseek:deepseek-chat")
        self.assertIn("DEEPSEEK_API_KEY", agent.text(session, mark))
        self.assertIn("`another:7b`", agent.text(session, mark))

    def test_refused(self):
        """The reason is told, and the session goes on as it was"""
        agent, session = self.begin([model.say("chat")])
        self.assertIn("not known", self.refuse("anthropic:claude-of-tomorrow"))
        self.assertIn("DEEPSEEK_API_KEY", self.refuse("deepseek:deepseek-chat"))
        self.refuse("")
        self.refuse("custom:with blank")
        self.refuse("custom:" + "x" * 300)
        self.refuse("high", "thought_level")
        error = agent.error("session/set_model",
                            {"sessionId": session, "modelId": "xai:grok-4"})
        self.assert_code(error, -32602)
        self.assertIn("XAI_API_KEY", error["data"]["details"])
        self.assertFalse(agent.updates(session, "config_option_update"))
        agent.turn(session)
        self.assertEqual(self.chat.last.json["model"], "fake")

    def test_thought_level(self):
        """Only levels of the model; the level goes with the request, and stays over a switch"""
        agent, session = self.begin([model.say("chat")], [claude.say("a"), claude.say("b")])
        option = self.option(self.choose(OPUS), "thought_level")
        self.assertEqual((option["category"], option["currentValue"]),
                         ("thought_level", "default"))
        self.assertIn("xhigh", [one["value"] for one in option["options"]])
        self.refuse("minimal", "thought_level")
        self.assertEqual(self.values(self.choose("low", "thought_level"))["thought_level"], "low")
        agent.turn(session)
        self.assertEqual(self.other.last.json["output_config"], {"effort": "low"})
        self.assertNotIn("thought_level", self.values(self.choose("custom:fake")))
        self.assertEqual(self.values(self.choose(OPUS))["thought_level"], "low")
        self.choose("default", "thought_level")
        agent.turn(session)
        self.assertNotIn("output_config", self.other.last.json)


class Switch(ModelTest):
    def test_across_dialects(self):
        """History with pictures, calls and sealed thoughts goes to and fro; the servers are strict"""
        agent, session = self.begin(
            [model.run("echo one"), model.say("seen"), model.say("back"), model.say("still")],
            [claude.answer(claude.thinking("deep"), claude.run("echo two")),
             claude.answer(claude.thinking("deeper"), claude.text("answered"))])
        agent.call("session/prompt", {"sessionId": session, "prompt": [
            {"type": "text", "text": "look"},
            {"type": "image", "mimeType": "image/png", "data": PIXEL}]})
        self.choose(OPUS)
        agent.turn(session, "and you")
        self.assert_other(self.other.last)
        kinds = json.dumps(self.other.requests[0].messages)
        for part in ('"image"', '"tool_use"', '"tool_result"'):
            self.assertIn(part, kinds)
        self.choose("custom:fake")
        agent.turn(session, "you again")
        agent.turn(session, "and again")
        sent = json.dumps(self.chat.last.json)
        self.assertIn("image_url", sent)
        self.assertIn("echo two", sent)
        for foreign in ("signature", "thinking", "reasoning_details", "deep"):
            self.assertNotIn(foreign, sent)
        self.assertIn("Model: fake by", self.chat.last.messages[0]["content"])
        self.assertEqual(self.chat.requests[-1].messages[0], self.chat.requests[-2].messages[0])

    def test_model_without_pictures(self):
        self.environment = {}
        agent, session = self.begin([model.say("seen")])
        deep = model.ModelServer(model.say("ok"))
        self.servers.append(deep)
        self.environment.update(DEEPSEEK_BASE_URL=deep.base_url, DEEPSEEK_API_KEY="sk-" + "d" * 20)
        self.sweep(agent)
        self.client = agent = self.again()
        self.session = session = agent.new_session(self.work)
        agent.call("session/prompt", {"sessionId": session, "prompt": [
            {"type": "text", "text": "look"},
            {"type": "image", "mimeType": "image/png", "data": PIXEL}]})
        self.choose("deepseek:deepseek-chat")
        agent.turn(session, "go on")
        self.assertNotIn("image_url", json.dumps(deep.last.json))
        self.assertIn("An image stood here", json.dumps(deep.last.json))

    def test_in_a_turn(self):
        """The request that runs goes on; the next one of the same turn goes to the other model"""
        agent, session = self.begin([[0.5, *model.run("echo one")]], [claude.say("other")])
        request = agent.prompt_start(session, "go")
        self.chat.wait_requests(1)
        self.choose(OPUS)
        self.assertEqual(agent.wait(request)["result"]["stopReason"], "end_turn")
        self.assertEqual(len(self.chat.requests), 1)
        self.assert_other(self.other.last)
        self.assertIn("tool_result", json.dumps(self.other.last.messages))
        self.assertEqual(agent.text(session), "other")


    def test_in_a_request_that_fails(self):
        """What the model of before did not take says nothing of the one that was chosen meanwhile"""
        agent, session = self.begin((), [claude.say("seen")])

        def respond(_request):
            self.choose(OPUS)
            return model.failure(400, "This model does not support image input")
        self.chat.respond = respond
        response = agent.prompt(session, [{"type": "text", "text": "look"},
                                          {"type": "image", "mimeType": "image/png", "data": PIXEL}])
        self.assertEqual(response["result"]["stopReason"], "end_turn")
        self.assertEqual(len(self.chat.requests), 1)
        self.assertEqual(agent.text(session), "seen")
        self.assertIn('"image"', json.dumps(self.other.last.messages))


class Persistence(ModelTest):
    def test_load_and_fork(self):
        agent, session = self.begin([model.say("one")], [claude.say("two"), claude.say("three"),
                                                         claude.say("four")])
        agent.turn(session)
        self.choose(OPUS)
        self.choose("high", "thought_level")
        agent.turn(session, "more")
        self.sweep(agent)
        agent = self.again()
        wanted = {"model": OPUS, "thought_level": "high", "mode": "default"}
        for method in "session/load", "session/fork":
            result = agent.call(method, {"sessionId": session, "cwd": self.work,
                                         "mcpServers": []})
            self.assertEqual(self.values(result), wanted)
            agent.turn(result.get("sessionId", session), "again")
            self.assert_other(self.other.last)
            self.assertEqual(self.other.last.json["output_config"], {"effort": "high"})

    def test_killed(self):
        """The successor uses the model that was chosen in this turn"""
        agent, session = self.begin([[0.3, *model.run("sleep 30")]], [claude.say("other")])
        request = agent.prompt_start(session, "go")
        self.chat.wait_requests(1)
        self.choose(OPUS)
        agent.wait_card(session, status="in_progress")
        self.kill_worker()
        self.assertEqual(agent.wait(request)["result"]["stopReason"], "end_turn")
        self.assert_other(self.other.last)

    def test_chosen_and_killed_before_the_first_prompt(self):
        agent, session = self.begin([], [claude.say("other")])
        self.choose(OPUS)
        self.kill_worker()
        self.assertEqual(agent.turn(session), "end_turn")
        self.assert_other(self.other.last)

    def test_idle(self):
        """A process that retired leaves model and level to the next one"""
        self.configure(acp={"worker_idle_timeout": 1})
        agent, session = self.begin([], [claude.say("one"), claude.say("two")])
        self.choose(OPUS)
        self.choose("high", "thought_level")
        agent.turn(session)
        prompt = self.other.last.json["system"]
        agent.until(lambda: len([line for line in agent.workers().values()
                                 if "--session" in line]) == 1, 10, "only the spare")
        agent.turn(session, "more")
        self.assert_other(self.other.last)
        self.assertEqual(self.other.last.json["output_config"], {"effort": "high"})
        self.assertEqual(json.dumps(self.other.last.json["system"]), json.dumps(prompt))

    def test_provider_is_gone(self):
        agent, session = self.begin([model.say("one"), model.say("two")])
        agent.turn(session)
        self.choose(OPUS)
        self.sweep(agent)
        self.environment = {}
        agent = self.again()
        result = agent.call("session/load", {"sessionId": session, "cwd": self.work,
                                             "mcpServers": []})
        self.assertEqual(self.values(result)["model"], "custom:fake")
        self.assertEqual(agent.turn(session, "more"), "end_turn")
        self.assertIn("claude-opus-4-8 of anthropic, cannot be used any more",
                      agent.text(session))
        self.assertIn("ANTHROPIC_API_KEY", agent.text(session))


if __name__ == "__main__":
    import unittest
    unittest.main()
