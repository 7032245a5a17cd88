"""What a session uses: told to the client, counted in the database, the same after a load."""
import json
import os
import sqlite3
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import anthropic_server as anthropic
import model_server as model
import responses_server as responses
from acp import SCALE, AcpTest
from model_server import ModelServer
import processes

COUNTS = ("api_call_count", "input_tokens", "output_tokens", "cache_read_tokens",
          "cache_write_tokens", "reasoning_tokens")
# What each dialect says about one request: 100 of input, 60 of them read from a cache and 10 written
# to it (Responses does not tell writes), 7 of output, 3 of them thoughts.
CHAT = {"prompt_tokens": 100, "completion_tokens": 7, "total_tokens": 107,
        "prompt_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 10},
        "completion_tokens_details": {"reasoning_tokens": 3}}
ANTHROPIC = {"input_tokens": 30, "cache_read_input_tokens": 60, "cache_creation_input_tokens": 10,
             "output_tokens": 7}
RESPONSES = {"input_tokens": 100, "input_tokens_details": {"cached_tokens": 60},
             "output_tokens": 7, "output_tokens_details": {"reasoning_tokens": 3},
             "total_tokens": 107}


def chat(usage):
    return [model.delta("x"), model.finish(usage=usage), model.DONE]


def message(usage):
    """Everything in the first event; the last one says nothing."""
    return [anthropic.event("message_start", message={
                "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-fake",
                "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}),
            *anthropic.block_events(0, anthropic.text("x")),
            anthropic.event("message_delta", delta={"stop_reason": "end_turn",
                                                    "stop_sequence": None}),
            anthropic.event("message_stop")]


def response(usage):
    answer = responses.Answer()
    answer.usage = usage
    return answer.text("x").end()


class UsageTest(AcpTest):
    def begin(self, make, server, *replies, **options):
        """A session with a server of some dialect; `make` makes a reply of a usage."""
        server = server(*[make(usage) for usage in replies])
        self.servers.append(server)
        mode = {chat: {}, message: {"api_key": "sk-ant-api03-secret"},
                response: {"api_mode": "responses"}}[make]
        self.configure(model={"provider": "custom", "base_url": server.base_url,
                              "default": "claude-fake" if make is message else "fake", **mode})
        agent = self.agent(**options)
        return server, agent, agent.new_session(self.work)

    def rows(self, query, *values):
        with sqlite3.connect(os.path.join(self.folder, "home", ".hermes", "state.db")) as database:
            database.row_factory = sqlite3.Row
            return [tuple(row) for row in database.execute(query, values)]

    def counts(self, session, table="sessions", key="id", more=""):
        return self.rows(f"SELECT {', '.join(COUNTS)} FROM {table} WHERE {key} = ?{more}", session)

    def ask(self, agent, session, text="go"):
        """The usage in the answer and the last update of a turn."""
        mark = agent.mark()
        result = agent.prompt(session, text)["result"]
        self.assertEqual(result["stopReason"], "end_turn")
        agent.until(lambda: agent.updates(session, "usage_update", since=mark), 3, "usage_update")
        return result.get("usage"), agent.updates(session, "usage_update", since=mark)[-1]


class Dialects(UsageTest):
    def check(self, make, server, usage, written, thoughts):
        server, agent, session = self.begin(make, server, usage, usage)
        agent.until(lambda: agent.updates(session, "usage_update"), 3, "usage_update")
        first = agent.updates(session, "usage_update")[-1]
        self.assertGreater(first["size"], 0)
        self.assertNotIn("cost", first)
        expected = {"inputTokens": 40 - written, "outputTokens": 7, "totalTokens": 107,
                    "cachedReadTokens": 60}
        expected.update({"cachedWriteTokens": written} if written else {})
        expected.update({"thoughtTokens": thoughts} if thoughts else {})
        told, update = self.ask(agent, session)
        self.assertEqual(told, expected)
        self.assertEqual(update["_meta"]["usage"], expected)
        self.assertEqual(update["used"], 107)
        self.assertNotIn("cost", update)
        told, update = self.ask(agent, session)
        twice = {key: 2 * count for key, count in expected.items()}
        self.assertEqual(told, twice)
        self.assertEqual(update["used"], 107)
        row = (2, 80 - 2 * written, 14, 120, 2 * written, 2 * thoughts)
        self.assertEqual(self.counts(session), [row])
        self.assertEqual(self.counts(session, "session_model_usage", "session_id"), [row])
        self.assertEqual(self.rows("SELECT estimated_cost_usd, cost_status FROM sessions"),
                         [(None, "unknown")])
        # The next process goes on from there.
        again = self.reload(agent, session)
        again.until(lambda: again.updates(session, "usage_update"), 3, "usage_update")
        self.assertEqual(again.updates(session, "usage_update")[-1]["_meta"]["usage"], twice)
        server.script.append(make(usage))
        told, _update = self.ask(again, session)
        self.assertEqual(told, {key: 3 * count for key, count in expected.items()})

    def test_chat_completions(self):
        self.check(chat, ModelServer, CHAT, 10, 3)

    def test_anthropic_messages(self):
        self.check(message, anthropic.AnthropicServer, ANTHROPIC, 10, 0)

    def test_responses(self):
        self.check(response, responses.ResponsesServer, RESPONSES, 0, 3)


class Nonsense(UsageTest):
    def check(self, make, server, names):
        """Whatever stands there, the turn ends as ever and nothing is counted of it"""
        given, made = names
        values = (None, -5, "many", 1e300, 9223372036854775807, [1], {"a": 1}, 1.5, True, "-3")
        usages = [None, [], "none", 7, {}]
        usages += [{given: value, made: value, "total_tokens": value,
                    "prompt_tokens_details": value, "input_tokens_details": value,
                    "cache_read_input_tokens": value, "cost": value} for value in values]
        _server, agent, session = self.begin(make, server, *usages, {given: 5, made: 2})
        for usage in usages:
            told, update = self.ask(agent, session, json.dumps(usage))
            self.assertIsNone(told, usage)
            self.assertLessEqual(update["used"], update["size"])
        told, _update = self.ask(agent, session, "last")
        self.assertEqual(told, {"inputTokens": 5, "outputTokens": 2, "totalTokens": 7})
        self.assertEqual(self.counts(session), [(len(usages) + 1, 5, 2, 0, 0, 0)])

    def test_chat_completions(self):
        self.check(chat, ModelServer, ("prompt_tokens", "completion_tokens"))

    def test_anthropic_messages(self):
        self.check(message, anthropic.AnthropicServer, ("input_tokens", "output_tokens"))

    def test_responses(self):
        self.check(response, responses.ResponsesServer, ("input_tokens", "output_tokens"))


class Costs(UsageTest):
    def behind(self, url, name, *usages):
        """A vendor's own address, which a proxy leads to the loopback device."""
        server = ModelServer(*[chat(usage) for usage in usages])
        self.servers.append(server)
        self.configure(model={"provider": "custom", "base_url": url, "default": name,
                              "api_mode": "chat_completions", "api_key": "sk-test-0123456789"})
        return server, self.agent(environment={
            "http_proxy": f"http://127.0.0.1:{server.port}"})

    def test_told_by_openrouter(self):
        _server, agent = self.behind("http://openrouter.ai/api/v1", "some/model",
                                     {**CHAT, "cost": 0.25}, {**CHAT, "cost": 0.5})
        session = agent.new_session(self.work)
        _told, update = self.ask(agent, session)
        self.assertEqual(update["cost"], {"amount": 0.25, "currency": "USD"})
        _told, update = self.ask(agent, session)
        self.assertEqual(update["cost"], {"amount": 0.75, "currency": "USD"})
        for table in "sessions", "session_model_usage":
            self.assertEqual(self.rows("SELECT estimated_cost_usd, cost_status, cost_source FROM "
                                       + table), [(0.75, "actual", "provider_cost_api")])
        self.sweep(agent)
        server = self.servers[0]
        server.script.append(chat({**CHAT, "cost": 1}))
        again = self.agent(environment={"http_proxy": f"http://127.0.0.1:{server.port}"})
        again.load(session, self.work)
        again.until(lambda: again.updates(session, "usage_update"), 3, "usage_update")
        self.assertEqual(again.updates(session, "usage_update")[-1]["cost"]["amount"], 0.75)
        self.assertEqual(self.ask(again, session)[1]["cost"]["amount"], 1.75)
        # One request of which nobody knows what it cost: nor does anybody know the sum.
        server.script.append(chat(CHAT))
        self.assertNotIn("cost", self.ask(again, session)[1])
        server.script.append(chat({**CHAT, "cost": 1}))
        self.assertNotIn("cost", self.ask(again, session)[1])
        self.assertEqual(self.rows("SELECT estimated_cost_usd, cost_status FROM sessions"),
                         [(2.75, "unknown")])

    def test_list_price(self):
        _server, agent = self.behind("http://api.openai.com/v1", "gpt-4.1", CHAT)
        session = agent.new_session(self.work)
        _told, update = self.ask(agent, session)
        # 30 at 2 $, 60 at 0.5 $, 10 that a cache took in at 2 $, 7 at 8 $ per million
        self.assertAlmostEqual(update["cost"]["amount"], 166e-6, 12)
        self.assertEqual(self.rows("SELECT cost_status, cost_source FROM sessions"),
                         [("estimated", "official_docs_snapshot")])

    def test_unknown(self):
        """A model that is not in the table, and a price that a stranger names"""
        _server, agent = self.behind("http://api.openai.com/v1", "gpt-4.1-future",
                                     {**CHAT, "cost": 3})
        session = agent.new_session(self.work)
        self.assertNotIn("cost", self.ask(agent, session)[1])
        self.assertEqual(self.rows("SELECT estimated_cost_usd, cost_status, cost_source "
                                   "FROM sessions"), [(None, "unknown", None)])


class Requests(UsageTest):
    def test_failures_do_not_count(self):
        server, agent, session = self.begin(chat, ModelServer, CHAT)
        server.script.insert(0, model.failure(401, "no such key"))
        self.assertIn("error", agent.prompt(session, "go"))
        self.assertIn(self.counts(session), ([(0, 0, 0, 0, 0, 0)], [(None,) * 6]))
        told, _update = self.ask(agent, session)
        self.assertEqual(told["totalTokens"], 107)
        self.assertEqual(self.counts(session)[0][0], 1)

    def test_each_request_of_a_turn(self):
        server, agent, session = self.begin(chat, ModelServer, CHAT)
        call = model.run("true")
        call[-2] = model.finish("tool_calls", usage=CHAT)
        server.script.insert(0, call)
        told, update = self.ask(agent, session)
        self.assertEqual(told["totalTokens"], 214)
        self.assertEqual(update["used"], 107)
        self.assertEqual(self.counts(session)[0][0], 2)

    def test_fallback(self):
        """What another model answers counts as that model's, at its address"""
        first, second = ModelServer(), ModelServer(chat(CHAT))
        self.servers += [first, second]
        first.respond = lambda request: model.failure(503, "overloaded")
        self.configure(
            model={"provider": "custom", "base_url": first.base_url, "default": "first"},
            fallback_providers=[{"provider": "custom", "base_url": second.base_url,
                                 "model": "other"}])
        agent = self.agent()
        session = agent.new_session(self.work)
        told, _update = self.ask(agent, session)
        self.assertEqual(told["totalTokens"], 107)
        self.assertEqual(self.counts(session), [(1, 30, 7, 60, 10, 3)])
        self.assertEqual(self.rows("SELECT model, billing_base_url, api_call_count FROM "
                                   "session_model_usage WHERE session_id = ?", session),
                         [("other", second.base_url, 1)])

    def test_title(self):
        """A request beside the conversation counts for the session, in a row of its own"""
        self.configure(acp={"generate_titles": True})
        server, agent, session = self.begin(chat, ModelServer, CHAT, CHAT)
        server.respond = lambda request: None if request.json.get("tools") else [
            model.delta("A title"), model.finish(usage=CHAT), model.DONE]
        self.ask(agent, session)

        def titled():
            return self.counts(session, "session_model_usage", "session_id",
                               " AND task = 'title_generation'")
        self.assertTrue(processes.until(titled, 5 * SCALE), "the title is not counted")
        self.assertEqual(titled(), [(1, 30, 7, 60, 10, 3)])
        self.assertEqual(self.counts(session)[0][:2], (2, 60))
        told, update = self.ask(agent, session)
        self.assertEqual(told["totalTokens"], 321)
        self.assertEqual(update["used"], 107)


if __name__ == "__main__":
    import unittest
    unittest.main()
