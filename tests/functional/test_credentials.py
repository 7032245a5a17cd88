"""Keys of auth.json, going over from one to the next, and the limits of requests."""
import fcntl
import json
import os
import stat
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import model_server as model
from acp import BUILD, AcpTest
from model_server import ModelServer, failure, say


def entry(identity, key, **more):
    return {"id": identity, "label": f"label-{identity}", "auth_type": "api_key", "priority": 0,
            "source": "manual", "access_token": key, "last_status": None, **more}


def bearers(server):
    return [request.headers.get("authorization", "").removeprefix("Bearer ")
            for request in server.requests]


class CredentialsTest(AcpTest):
    @property
    def auth_path(self):
        return os.path.join(self.folder, "home", ".hermes", "auth.json")

    def auth(self, value=None):
        """Writes auth.json (an object or bytes), or reads it."""
        if value is None:
            with open(self.auth_path, "rb") as file:
                return json.load(file)
        os.makedirs(os.path.dirname(self.auth_path), mode=0o700, exist_ok=True)
        with open(self.auth_path, "wb") as file:
            file.write(value if isinstance(value, bytes) else json.dumps(value).encode())
        os.chmod(self.auth_path, 0o600)
        return value

    def server(self, *script, **options):
        server = ModelServer(*script, **options)
        self.servers.append(server)
        return server

    def pooled(self, *entries, script=(), **sections):
        """A server of the user's own with a pool of keys."""
        server = self.server(*script)
        self.configure(model={"provider": "custom:lab", "default": "fake"},
                       custom_providers=[{"name": "Lab", "base_url": server.base_url}], **sections)
        self.auth({"version": 1, "providers": {}, "credential_pool": {"custom:lab": list(entries)}})
        return server

    def entries(self, pool="custom:lab"):
        return {one["id"]: one for one in self.auth()["credential_pool"][pool]}

    def session(self, **options):
        agent = self.agent(**options)
        return agent, agent.new_session(self.work)

    def until_entered(self, identity, status="exhausted"):
        end = time.monotonic() + 10
        while self.entries()[identity].get("last_status") != status:
            self.assertLess(time.monotonic(), end, self.auth())
            time.sleep(0.02)
        return self.entries()[identity]


class Pool(CredentialsTest):
    def test_priority(self):
        """the key with the smallest priority is sent, the others are not"""
        server = self.pooled(entry("b", "key-second", priority=1), entry("a", "key-first"))
        agent, session = self.session()
        self.assertEqual(agent.turn(session), "end_turn")
        self.assertEqual(bearers(server), ["key-first"])

    def test_rotation(self):
        """429, 402 and 401: the next key within the same request; the rest is entered"""
        for status, word in ((429, None), (402, "credits"), (401, "refused")):
            with self.subTest(status=status):
                server = self.pooled(entry("a", "key-first"), entry("b", "key-second", priority=1),
                                     script=[failure(status, "not this one"), say("served")])
                # Waiting would be seen: nothing is shortened.
                agent, session = self.session(environment={"HERMES_ACP_RETRY_SCALE": "100"})
                before = time.time()
                self.assertEqual(agent.turn(session), "end_turn")
                self.assertEqual(agent.text(session), "served")
                self.assertEqual(bearers(server), ["key-first", "key-second"])
                self.assertEqual("label-a" in agent.thoughts(session), word is not None)
                self.assertIn(word or "", agent.thoughts(session))
                failed = self.until_entered("a")
                self.assertEqual(failed["last_error_code"], status)
                self.assertGreaterEqual(failed["last_status_at"], before - 1)
                self.assertEqual(failed["access_token"], "key-first")
                self.assertIsNone(self.entries()["b"]["last_status"])
                self.assertEqual(agent.turn(session, "again"), "end_turn")
                self.assertEqual(bearers(server)[2:], ["key-second"])
                self.sweep(agent)

    def test_the_last_one_is_tried_again(self):
        """when every key was limited the last one waits as the server says"""
        server = self.pooled(entry("a", "key-first"), entry("b", "key-second", priority=1),
                             script=[failure(429, "slow"), failure(429, "slow"), say("served")])
        agent, session = self.session()
        self.assertEqual(agent.turn(session), "end_turn")
        self.assertEqual(bearers(server), ["key-first", "key-second", "key-second"])

    def test_all_refused(self):
        """an error, after one try of each"""
        server = self.pooled(entry("a", "key-first"), entry("b", "key-second", priority=1),
                             script=[failure(401, "go away")] * 5)
        agent, session = self.session()
        self.assertIn("go away", str(agent.prompt(session, "go")["error"]))
        self.assertEqual(bearers(server), ["key-first", "key-second"])

    def test_not_rotated(self):
        """what does not speak of the key uses no other one"""
        for status in (400, 404, 500):
            server = self.pooled(entry("a", "key-first"), entry("b", "key-second", priority=1),
                                 script=[failure(status, "no")] * 5)
            agent, session = self.session()
            agent.prompt(session, "go")
            self.assertEqual(set(bearers(server)), {"key-first"})
            self.sweep(agent)

    def test_resting_key(self):
        """one that rests by the file is not sent; one whose rest is over is"""
        now = time.time()
        rows = [({"last_status_at": now, "last_error_code": 429}, "key-second"),
                ({"last_status_at": now - 3700, "last_error_code": 429}, "key-first"),
                ({"last_status_at": now - 400, "last_error_code": 401}, "key-first"),
                ({"last_status_at": now - 3000, "last_error_code": 402}, "key-second"),
                ({"last_status_at": now, "last_error_reset_at": now - 1}, "key-first"),
                ({"last_status_at": "2001-01-01T00:00:00Z", "last_error_reset_at": now + 60},
                 "key-second")]
        for state, expected in rows:
            with self.subTest(**state):
                server = self.pooled(
                    entry("a", "key-first", **{**state, "last_status": "exhausted"}),
                    entry("b", "key-second", priority=1))
                agent, session = self.session()
                self.assertEqual(agent.turn(session), "end_turn")
                self.assertEqual(bearers(server), [expected])
                self.sweep(agent)

    def test_strategies(self):
        """round_robin and least_used take turns over sessions, and say so in the file"""
        for strategy in ("round_robin", "least_used"):
            server = self.pooled(*[entry(name, f"key-{name}", priority=place, request_count=0)
                                   for place, name in enumerate("abc")],
                                 credential_pool_strategies={"custom:lab": strategy})
            agent = self.agent()
            for _number in range(4):
                session = agent.new_session(self.work)
                self.assertEqual(agent.turn(session), "end_turn")
                self.assertEqual(agent.turn(session), "end_turn")
            self.assertEqual(bearers(server)[::2], ["key-a", "key-b", "key-c", "key-a"])
            self.assertEqual(bearers(server)[1::2], bearers(server)[::2])
            self.sweep(agent)

    def test_bound_to_an_address(self):
        """a key with a base_url goes there only, on the same host as well"""
        other = self.server()
        server = self.pooled(entry("a", "key-other", base_url=other.base_url),
                             entry("b", "key-mine", priority=1),
                             script=[failure(401, "no")] * 3)
        agent, session = self.session()
        self.assertIn("error", agent.prompt(session, "go"))
        self.assertEqual(bearers(server), ["key-mine"])
        self.assertEqual(other.requests, [])

    def test_address_of_a_key(self):
        """a provider by name is asked at its key's own address; other keys do not go there"""
        server = self.server(failure(402, "paid out"), say("served"))
        self.configure(model={"provider": "deepseek", "default": "fake"})
        self.auth({"credential_pool": {"deepseek": [
            entry("a", "key-first", base_url=server.base_url),
            entry("c", "key-of-the-provider", priority=1),
            entry("b", "key-second", priority=2, base_url=server.base_url + "/")]}})
        agent, session = self.session()
        self.assertEqual(agent.turn(session), "end_turn")
        self.assertEqual(bearers(server), ["key-first", "key-second"])

    def test_chosen_by_itself(self):
        """no provider is named: auth.json's active one"""
        server = self.server()
        self.configure(model={"default": "fake"})
        self.auth({"active_provider": "deepseek", "credential_pool": {
            "deepseek": [entry("a", "key-first", base_url=server.base_url)]}})
        agent, session = self.session()
        self.assertEqual(agent.turn(session), "end_turn")
        self.assertEqual(bearers(server), ["key-first"])

    def test_key_of_the_configuration(self):
        """a key that config.yaml names is used alone"""
        server = self.pooled(entry("a", "key-first"), script=[failure(401, "no")])
        self.configure(custom_providers=[{"name": "Lab", "base_url": server.base_url,
                                          "api_key": "key-config"}])
        agent, session = self.session()
        agent.prompt(session, "go")
        self.assertEqual(bearers(server), ["key-config"])

    def test_login_only(self):
        """what is a login is named as such, and not sent"""
        server = self.server()
        for provider in ("anthropic", None):
            self.configure(model={"provider": provider or "auto", "default": "fake"})
            self.auth({"providers": {"nous": {"tokens": {}}}, "credential_pool": {"anthropic": [
                entry("a", "sk-ant-oat-1234", auth_type="oauth", base_url=server.base_url)]}})
            agent = self.agent()
            error = agent.error("session/new", {"cwd": self.work, "mcpServers": []})
            self.assertIn("OAuth", str(error))
            self.assertIn(".env", str(error))
            self.assertNotIn("sk-ant-oat", str(error))
            self.sweep(agent)
        self.assertEqual(server.requests, [])

    def test_file_that_cannot_be_used(self):
        """named, not changed, and the rest works"""
        for content, word in ((b'{"version": 1, "cred', "JSON"), (b"[1]", "object"),
                              (b'{"version": 7, "credential_pool": {}}', "version"),
                              (b'{"credential_pool": []}', "credential_pool")):
            server = self.model()
            self.configure(model={"provider": "custom", "base_url": server.base_url,
                                  "default": "fake", "api_key": "key-config"})
            self.auth(content)
            agent, session = self.session()
            self.assertEqual(agent.turn(session), "end_turn")
            self.assertEqual(bearers(server), ["key-config"])
            self.assertIn("auth.json", agent.text(session) + agent.thoughts(session) +
                          str(agent.updates(session)))
            self.assertIn(word, str(agent.updates(session)))
            with open(self.auth_path, "rb") as file:
                self.assertEqual(file.read(), content)
            self.sweep(agent)

    def test_file_that_breaks_later(self):
        """between the start and the failure: the request goes on, the file stays as it is"""
        server = self.pooled(entry("a", "key-first"), entry("b", "key-second", priority=1),
                             script=[failure(429, "slow"), say("served")])
        agent, session = self.session()
        self.auth(b"{broken")
        self.assertEqual(agent.turn(session), "end_turn")
        self.assertEqual(bearers(server), ["key-first", "key-second"])
        with open(self.auth_path, "rb") as file:
            self.assertEqual(file.read(), b"{broken")


class Writers(CredentialsTest):
    def test_unknown_members_stay(self):
        """members of other programs come through a change unharmed"""
        server = self.pooled(script=[failure(429, "slow"), say("served")])
        content = {"version": 1, "later": {"x": [1.5, None, "\u00e9\"", 12345678901234567]},
                   "providers": {"nous": {"tokens": {"refresh_token": "r"}}},
                   "credential_pool": {"custom:lab": [
                       entry("a", "key-first", agent_key="k", tls={"insecure": False}), "odd",
                       entry("b", "key-second", priority=1)], "xai": [{"id": 5}]}}
        self.auth(content)
        agent, session = self.session()
        self.assertEqual(agent.turn(session), "end_turn")
        self.assertEqual(len(server.requests), 2)
        self.sweep(agent)
        changed = self.auth()
        self.assertEqual(stat.S_IMODE(os.stat(self.auth_path).st_mode), 0o600)
        self.assertEqual(changed.pop("updated_at")[:2], "20")
        first = changed["credential_pool"]["custom:lab"][0]
        self.assertEqual((first["last_status"], first["last_error_code"]), ("exhausted", 429))
        for name in [name for name in first if name.startswith("last_")]:
            del first[name]
        del content["credential_pool"]["custom:lab"][0]["last_status"]
        self.assertEqual(changed, content)

    def test_lock_of_another_program(self):
        """while another program has the lock the turn goes on; it is entered afterwards"""
        self.pooled(entry("a", "key-first"), entry("b", "key-second", priority=1),
                    script=[failure(429, "slow"), [model.delta("ser"), 1.0, *say("ved")]])
        agent, session = self.session()
        with open(os.path.join(os.path.dirname(self.auth_path), "auth.lock"), "a+") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            request = agent.prompt_start(session, "go")
            agent.wait_text(session, "ser")
            self.assertIsNone(self.entries()["a"]["last_status"])
            fcntl.flock(lock, fcntl.LOCK_UN)
        self.assertEqual(agent.wait(request)["result"]["stopReason"], "end_turn")
        self.assertEqual(self.until_entered("a")["last_error_code"], 429)

    def test_many_at_once(self):
        """sessions and a program of the family change the file: nothing is lost"""
        count = 6
        keys = [entry(f"k{number}", f"key-number-{number}", priority=number)
                for number in range(count + 1)]
        server = self.pooled(*keys)
        lock = threading.Lock()
        refused = set()

        def respond(request):
            key = request.headers["authorization"]
            with lock:
                if key not in refused and len(refused) < count:
                    refused.add(key)
                    return failure(429, "slow")
                if key in refused:
                    return failure(429, "slow")
            return None

        server.respond = respond
        agent = self.agent()
        sessions = [agent.new_session(self.work) for _number in range(4)]
        stop = threading.Event()
        written = [0]

        def write():
            folder = os.path.dirname(self.auth_path)
            while not stop.is_set():
                with open(os.path.join(folder, "auth.lock"), "a+") as file:
                    fcntl.flock(file, fcntl.LOCK_EX)
                    content = self.auth()
                    written[0] += 1
                    content["counter"] = written[0]
                    with open(self.auth_path + ".tmp", "w") as out:
                        json.dump(content, out)
                    os.replace(self.auth_path + ".tmp", self.auth_path)
                time.sleep(0.003)

        writer = threading.Thread(target=write)
        writer.start()
        requests = [agent.prompt_start(session, "go") for session in sessions]
        for request in requests:
            self.assertEqual(agent.wait(request, 60)["result"]["stopReason"], "end_turn")
        stop.set()
        writer.join()
        self.sweep(agent)
        content = self.auth()
        self.assertEqual(content["counter"], written[0])
        self.assertEqual(len(content["credential_pool"]["custom:lab"]), count + 1)
        for identity, one in self.entries().items():
            used = f"Bearer {one['access_token']}" in refused
            self.assertEqual(one["last_status"] == "exhausted", used, identity)


class Limits(CredentialsTest):
    def test_tries(self):
        """agent.api_max_retries"""
        for tries, expected in ((1, 1), (2, 2), (5, 5), ("many", 3)):
            server = self.model(*[failure(500, "down")] * 9)
            self.configure(agent={"api_max_retries": tries})
            agent, session = self.session()
            agent.prompt(session, "go")
            self.assertEqual(len(server.requests), expected)
            self.sweep(agent)

    def test_check(self):
        """--check names what is wrong, with line and key, and the models that take over"""
        server = self.pooled(entry("a", "key-first"), entry("b", "key-second"))
        self.configure(
            custom_providers=[{"name": "lab", "base_url": server.base_url,
                               "ssl_ca_cert": "/nowhere/ca.pem", "connect_timeout_seconds": "soon"}],
            credential_pool_strategies={"custom:lab": "best"}, agent={"api_max_retries": 100},
            fallback_providers=[{"provider": "custom:lab", "model": "spare"},
                                {"provider": "deepseek", "model": "keyless"}, {"model": "lost"}, 5])
        environment = {"PATH": os.environ["PATH"], "HOME": os.path.join(self.folder, "home")}
        done = subprocess.run([os.path.join(BUILD, "hermes-acp"), "--check"], env=environment,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=20, text=True)
        self.assertEqual(done.returncode, 1)
        lines = done.stdout.splitlines()
        for words in (("ok", "keys: 2"), ("ok", "fallback 1", "spare"),
                      ("problem", "fallback 2", "DEEPSEEK_API_KEY"),
                      ("problem", ":", "fallback_providers[2]", "provider"),
                      ("problem", "fallback_providers[3]"),
                      ("problem", "ssl_ca_cert"), ("problem", "connect_timeout_seconds"),
                      ("problem", "credential_pool_strategies.custom:lab", "fill_first"),
                      ("problem", "agent.api_max_retries", "20")):
            self.assertTrue(any(line.startswith(words[0]) and
                                all(word in line for word in words[1:]) for line in lines),
                            f"{words}: {lines}")
        self.assertNotIn("key-first", "".join(lines))
        self.assertEqual(server.requests, [])

    def test_proxy(self):
        """http_proxy and no_proxy of the environment"""
        proxy, server = self.server(), self.server()
        address = proxy.base_url.removesuffix("/v1")
        for base, more, asked in (("http://model.invalid/v1", {}, proxy),
                                  (server.base_url, {"no_proxy": "127.0.0.1"}, server)):
            self.configure(model={"provider": "custom", "base_url": base, "default": "fake"})
            agent, session = self.session(environment={"http_proxy": address, **more})
            self.assertEqual(agent.turn(session), "end_turn")
            self.assertEqual(len(asked.requests), 1)
            self.sweep(agent)
        self.assertEqual(proxy.last.path, "http://model.invalid/v1/chat/completions")

    def test_certificates(self):
        """ssl_ca_cert of the endpoint, and the variables, in .env as well"""
        server = self.server(tls=True)
        home = os.path.join(self.folder, "home", ".hermes")

        def turn(block, dotenv="", environment=None):
            self.configure(model={"provider": "custom:lab", "default": "fake"},
                           custom_providers=[{"name": "lab", "base_url": server.base_url, **block}])
            with open(os.path.join(home, ".env"), "w") as file:
                file.write(dotenv)
            agent, session = self.session(environment=environment)
            response = agent.prompt(session, "go", 60)
            self.sweep(agent)
            return "result" in response

        self.assertTrue(turn({"ssl_ca_cert": server.ca_file}))
        self.assertFalse(turn({"ssl_ca_cert": "/nowhere/ca.pem"}))
        self.assertFalse(turn({}))
        for name in ("HERMES_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE"):
            self.assertTrue(turn({}, environment={name: server.ca_file}), name)
            self.assertTrue(turn({}, dotenv=f"{name}={server.ca_file}\n"), name)


if __name__ == "__main__":
    import unittest
    unittest.main()
