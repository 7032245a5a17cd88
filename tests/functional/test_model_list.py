"""The list of models of the provider's own server: asked for in the background, kept in a file, bounded."""
import glob
import json
import os
import stat
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import anthropic_server as claude
import model_server as model
import processes
from acp import AcpTest
from anthropic_server import AnthropicServer
from model_server import HANG, Reply, dump

KEY = "sk-very-secret-key-4711"


def listing(*models):
    return Reply([dump({"object": "list", "data": list(models)})], 200, None, "length",
                 "application/json")


def raw(body, status=200):
    return Reply([body], status, None, "length", "application/json")


class ModelListTest(AcpTest):
    def serve(self, reply=None, *script, **block):
        server = self.model(*script)
        server.listing = reply
        self.configure(model={**self.configuration["model"], "api_key": KEY, **block})
        return server

    def open(self, agent):
        result = agent.call("session/new", {"cwd": self.work, "mcpServers": []})
        return result["sessionId"], result

    def values(self, result):
        option = next(one for one in result["configOptions"] if one["id"] == "model")
        return [one["value"] for one in option["options"]]

    def wait_list(self, agent, session, value, since=0):
        """The values of the first update that names this one."""
        def found():
            for update in agent.updates(session, "config_option_update", since=since):
                if value in self.values(update):
                    return self.values(update)
            return None
        return agent.until(found, 10, f"an update with {value}")

    def sizes(self, agent, session):
        return [update["size"] for update in agent.updates(session, "usage_update")]

    def files(self):
        return glob.glob(os.path.join(self.folder, "home", ".hermes", "cache", "*"))

    def wait_file(self):
        self.assertTrue(processes.until(self.files, 10), "no file was written")
        return self.files()[0]

    def log(self, agent):
        path = os.path.join(agent.hermes_home, "logs", "hermes-acp.log")
        with open(path, encoding="utf-8") as file:
            return file.read()

    def choose(self, agent, session, value):
        return agent.call("session/set_config_option", {
            "sessionId": session, "configId": "model", "value": value})

    def refuse(self, agent, session, value):
        error = agent.error("session/set_config_option", {
            "sessionId": session, "configId": "model", "value": value})
        self.assert_code(error, -32602)
        return error["data"]["details"]


class Live(ModelListTest):
    def test_update_after_the_start(self):
        """What the server has is told by an update; a model of it can be chosen and is used"""
        server = self.serve(listing({"id": "fake"}, {"id": "big/one:7b", "context_length": 32768}),
                            model.say("a"))
        agent = self.agent()
        session, opened = self.open(agent)
        self.assertEqual(self.values(opened), ["custom:fake"])
        self.assertEqual(self.wait_list(agent, session, "custom:big/one:7b"),
                         ["custom:fake", "custom:big/one:7b"])
        request = server.others[0]
        self.assertEqual((request.path, request.headers["authorization"]),
                         ("/v1/models", f"Bearer {KEY}"))
        self.choose(agent, session, "custom:big/one:7b")
        self.assertEqual(self.sizes(agent, session)[-1], 32768)
        agent.turn(session)
        self.assertEqual(server.last.json["model"], "big/one:7b")
        agent.call("session/set_model", {"sessionId": session, "modelId": "fake"})
        self.assertEqual(len(server.others), 1)

    def test_second_session_asks_nobody(self):
        server = self.serve(listing({"id": "fake", "max_model_len": 4096}, {"id": "more"}))
        agent = self.agent()
        session, _opened = self.open(agent)
        self.wait_list(agent, session, "custom:more")
        path = self.wait_file()
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
        self.assertEqual(stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode), 0o700)
        self.assertRegex(os.path.basename(path), r"^models-custom-[0-9a-f]{16}\.json$")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        self.assertNotIn(KEY, text)
        self.assertNotIn("127.0.0.1", text)
        self.sweep(agent)
        agent = self.agent()
        session, opened = self.open(agent)
        self.assertEqual(self.values(opened), ["custom:fake", "custom:more"])
        self.assertEqual(agent.turn(session), "end_turn")
        self.assertEqual(set(self.sizes(agent, session)), {4096})
        self.assertFalse(agent.updates(session, "config_option_update"))
        self.assertEqual(len(server.others), 1)

    def test_old_or_broken_file(self):
        """Is asked again; the old list is used meanwhile"""
        server = self.serve(listing({"id": "new"}))
        agent = self.agent()
        session, _opened = self.open(agent)
        self.wait_list(agent, session, "custom:new")
        path = self.wait_file()
        for count, text, values in (
                (2, json.dumps({"again": 1, "models": [{"id": "old"}, {"id": "a b"}, 7]}),
                 ["custom:fake", "custom:old"]),
                (3, json.dumps({"again": 1 << 60, "models": 7}), ["custom:fake"]),
                (4, "{\0", ["custom:fake"]), (5, "[" * 5000, ["custom:fake"]),
                (6, "x" * (2 << 20), ["custom:fake"])):
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            session, opened = self.open(agent)
            self.assertEqual(self.values(opened), values)
            self.assertEqual(self.wait_list(agent, session, "custom:new"),
                             ["custom:fake", "custom:new"])
            self.assertEqual(len(server.others), count)

    def test_switched_off(self):
        server = self.serve(listing({"id": "fake", "context_length": 4096}, {"id": "more"}))
        agent = self.agent()
        session, _opened = self.open(agent)
        self.wait_list(agent, session, "custom:more")
        self.sweep(agent)
        self.configure(acp={"model_list": False})
        agent = self.agent()
        session, opened = self.open(agent)
        agent.turn(session)
        self.assertEqual(self.values(opened), ["custom:fake"])
        self.assertNotIn(4096, self.sizes(agent, session))
        self.assertEqual(len(server.others), 1)

    def test_several_at_once(self):
        self.serve(listing({"id": "more"}))
        agent = self.agent()
        requests = [agent.start("session/new", {"cwd": self.work, "mcpServers": []})
                    for _count in range(5)]
        for request in requests:
            session = agent.wait(request)["result"]["sessionId"]
            self.wait_list(agent, session, "custom:more")
        self.sweep(agent)
        self.assertEqual(len(self.files()), 1)

    def test_folder_cannot_be_made(self):
        """The list counts for the session all the same"""
        self.serve(listing({"id": "more"}), model.say("a"))
        agent = self.agent()
        with open(os.path.join(agent.hermes_home, "cache"), "w", encoding="utf-8"):
            pass
        session, _opened = self.open(agent)
        self.wait_list(agent, session, "custom:more")
        self.choose(agent, session, "custom:more")
        self.assertEqual(agent.turn(session), "end_turn")

    def test_another_provider(self):
        """Its server is asked once it is chosen, with its own key; what was known stays offered"""
        server = self.serve(listing({"id": "fake"}, {"id": "more"}))
        other = AnthropicServer(claude.say("a"))
        other.listing = listing({"id": "claude-of-tomorrow", "max_input_tokens": 90000})
        self.servers.append(other)
        agent = self.agent(environment={"ANTHROPIC_BASE_URL": other.base_url,
                                        "ANTHROPIC_API_KEY": "sk-ant-api03-other"})
        session, _opened = self.open(agent)
        self.wait_list(agent, session, "custom:more")
        self.choose(agent, session, "anthropic:claude-opus-4-8")
        values = self.wait_list(agent, session, "anthropic:claude-of-tomorrow")
        self.assertIn("custom:more", values)
        request = other.listings[0]
        self.assertEqual((request.path, request.headers["x-api-key"]),
                         ("/anthropic/v1/models?limit=1000", "sk-ant-api03-other"))
        self.assertNotIn(KEY, str(request.headers))
        self.assertNotIn("sk-ant-api03-other", str([one.headers for one in server.others]))
        self.choose(agent, session, "anthropic:claude-of-tomorrow")
        self.assertEqual(self.sizes(agent, session)[-1], 90000)
        agent.turn(session)
        self.assertEqual(other.last.json["model"], "claude-of-tomorrow")
        self.choose(agent, session, "custom:more")
        agent.turn(session)
        self.assertEqual(server.last.json["model"], "more")

    def test_rehearsal_asks_nobody(self):
        server = self.serve(listing({"id": "more"}))
        agent = self.agent("--rehearsal")
        session, _opened = self.open(agent)
        self.assertEqual(agent.turn(session), "end_turn")
        self.sweep(agent)
        self.assertFalse(server.others + self.files())


class Window(ModelListTest):
    def test_taken(self):
        """By any of the names that servers use, and told at once"""
        for block in ({"context_length": 5000}, {"context_window": 5000},
                      {"max_model_len": 5000}, {"max_context_length": 5000},
                      {"top_provider": {"context_length": 5000}}):
            self.serve(listing({"id": "fake", **block}))
            agent = self.agent()
            session, _opened = self.open(agent)
            agent.until(lambda: self.sizes(agent, session)[-1:] == [5000], 10, f"{block}")
            self.assertEqual(self.sizes(agent, session), [256000, 5000])
            agent.turn(session)
            self.assertEqual(self.sizes(agent, session)[-1], 5000)
            self.sweep(agent)

    def test_configured_one_counts(self):
        self.serve(listing({"id": "fake", "context_length": 5000}, {"id": "more"}),
                   context_length=70000)
        agent = self.agent()
        session, _opened = self.open(agent)
        self.wait_list(agent, session, "custom:more")
        agent.turn(session)
        self.assertEqual(set(self.sizes(agent, session)), {70000})

    def test_senseless_ones(self):
        self.serve(listing({"id": "fake", "context_length": -5, "context_window": 1 << 40,
                            "max_model_len": "x", "top_provider": 3}, {"id": "more"}))
        agent = self.agent()
        session, _opened = self.open(agent)
        self.wait_list(agent, session, "custom:more")
        self.assertEqual(set(self.sizes(agent, session)), {256000})


class Refused(ModelListTest):
    def test_known_provider(self):
        """What the server names counts like the table; what neither names is refused"""
        server = model.ModelServer(model.say("a"))
        server.listing = listing({"id": "deepseek-of-tomorrow", "context_length": 77000})
        self.servers.append(server)
        self.configure(model={"provider": "deepseek", "default": "deepseek-chat"},
                       terminal={"env_passthrough": ["ACP_TEST_TAG"]})
        agent = self.agent(environment={"DEEPSEEK_BASE_URL": server.base_url,
                                        "DEEPSEEK_API_KEY": "sk-" + "d" * 20})
        session, opened = self.open(agent)
        self.assertIn("deepseek:deepseek-reasoner", self.values(opened))
        values = self.wait_list(agent, session, "deepseek:deepseek-of-tomorrow")
        self.assertIn("deepseek:deepseek-reasoner", values)
        self.assertIn("not known", self.refuse(agent, session, "deepseek:nobody-has-it"))
        agent.call("session/set_model", {"sessionId": session,
                                         "modelId": "deepseek:deepseek-of-tomorrow"})
        self.assertEqual(self.sizes(agent, session)[-1], 77000)
        agent.turn(session)
        self.assertEqual(server.last.json["model"], "deepseek-of-tomorrow")
        self.assertIn("not known", self.refuse(agent, session, "deepseek:nobody-has-it"))

    def test_huge_list(self):
        """A long list is offered in part, a name beyond that is known; one without end is ignored"""
        rows = [{"id": f"model-{'x' * 100}-{i}"} for i in range(2500)]
        server = model.ModelServer(model.say("a"))
        server.listing = listing(*rows)
        self.servers.append(server)
        self.configure(model={"provider": "deepseek", "default": "deepseek-chat"},
                       terminal={"env_passthrough": ["ACP_TEST_TAG"]})
        agent = self.agent(environment={"DEEPSEEK_BASE_URL": server.base_url,
                                        "DEEPSEEK_API_KEY": "sk-" + "d" * 20})
        session, _opened = self.open(agent)
        values = self.wait_list(agent, session, "deepseek:" + rows[0]["id"])
        self.assertLess(len(values), 1000)
        self.assertNotIn("deepseek:" + rows[1999]["id"], values)
        self.choose(agent, session, "deepseek:" + rows[1999]["id"])
        self.refuse(agent, session, "deepseek:" + rows[2000]["id"])
        second, opened = self.open(agent)
        self.assertGreater(len(self.values(opened)), 50)
        self.assertEqual(agent.turn(second), "end_turn")


class Failing(ModelListTest):
    def test_garbage(self):
        """Is a line of the log, remembered for a while, and nothing else"""
        for body in (raw(b"\xff\xfe{"), raw(b"[]"), raw(b'{"data": 7}'), raw(b"{" * 5000),
                     raw(b"x" * (3 << 20)), raw(b"no such thing", 404), raw(b"oh", 500),
                     model.failure(401, "go away")):
            server = self.serve(body, model.say("a"))
            agent = self.agent()
            session, _opened = self.open(agent)
            self.assertTrue(processes.until(lambda: "has told no models" in self.log(agent), 10))
            self.assertEqual(agent.turn(session), "end_turn")
            self.assertFalse(agent.updates(session, "config_option_update"))
            second, opened = self.open(agent)
            self.assertEqual(self.values(opened), ["custom:fake"])
            self.assertEqual(agent.turn(second), "end_turn")
            self.sweep(agent)
            self.assertEqual(len(server.others), 1)
            self.assertNotIn(KEY, self.log(agent))
            os.unlink(os.path.join(agent.hermes_home, "logs", "hermes-acp.log"))

    def test_key_stays_with_its_server(self):
        """A redirect to another server is not followed"""
        other = model.ModelServer()
        self.servers.append(other)
        target = other.base_url.replace("127.0.0.1", "localhost") + "/models"
        self.serve(Reply([], 307, {"Location": target}, "length"), model.say("a"))
        agent = self.agent()
        session, _opened = self.open(agent)
        self.assertTrue(processes.until(lambda: "has told no models" in self.log(agent), 10))
        self.assertEqual(agent.turn(session), "end_turn")
        self.assertFalse(other.requests + other.others)

    def test_bad_names(self):
        self.serve(listing(7, None, {"id": 3}, {"id": "a b"}, {"id": "x" * 257}, {"id": "\u0001"},
                           {"id": "more"}, {"id": "more"}))
        agent = self.agent()
        session, _opened = self.open(agent)
        self.assertEqual(self.wait_list(agent, session, "custom:more"),
                         ["custom:fake", "custom:more"])

    def test_hangs(self):
        """A server that does not answer delays no session, no turn and not the end"""
        for parts in ([HANG], [b'{"data": [', HANG]):
            server = self.serve(Reply(parts, 200, {}, "close", "application/json"),
                                model.say("a"), model.say("b"))
            agent = self.agent()
            session, _opened = self.open(agent)
            self.assertTrue(processes.until(lambda: server.others, 10))
            self.assertEqual(agent.turn(session), "end_turn")
            second, _opened = self.open(agent)
            self.assertEqual(agent.turn(second), "end_turn")
            self.assertFalse(server.others[0].closed.is_set())
            self.sweep(agent)

    def retired_while_it_hangs(self):
        """A session whose process was given back without an answer to its request for the list, which
        the server has from then on"""
        self.configure(acp={"worker_idle_timeout": 1})
        server = self.serve(Reply([HANG], 200, {}, "close", "application/json"), model.say("a"))
        agent = self.agent()
        session, _opened = self.open(agent)
        self.assertEqual(agent.turn(session), "end_turn")
        self.assertTrue(processes.until(lambda: server.others, 10))
        agent.until(lambda: len([line for line in agent.workers().values()
                                 if "--session" in line]) == 1, 10, "only the spare")
        server.listing = listing({"id": "more"})
        return server, agent, session

    def test_hangs_while_idle(self):
        """The process is given back all the same, and the next one asks again"""
        server, agent, session = self.retired_while_it_hangs()
        self.assertEqual(agent.turn(session, "again"), "end_turn")
        self.wait_list(agent, session, "custom:more")

    def test_missed_by_a_process_that_retired(self):
        """What another session has learned meanwhile is told by the next process"""
        server, agent, session = self.retired_while_it_hangs()
        other, _opened = self.open(agent)
        self.wait_list(agent, other, "custom:more")
        self.assertEqual(agent.turn(session, "again"), "end_turn")
        self.wait_list(agent, session, "custom:more")
        self.assertEqual(len(server.others), 2)


if __name__ == "__main__":
    import unittest
    unittest.main()
