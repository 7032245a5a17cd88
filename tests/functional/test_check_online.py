"""hermes-acp --check=online: what is told about the configured server, and the exit status."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import model_server as model
from acp import BUILD, AcpTest
from model_server import Reply, dump


def listing(*models, status=200):
    return Reply([dump({"object": "list", "data": list(models)})], status, None, "length",
                 "application/json")


class CheckOnline(AcpTest):
    def check(self, listing=None, argument="--check=online"):
        """(server, process)"""
        server = model.ModelServer()
        server.listing = listing
        self.servers.append(server)
        self.configure(model={"provider": "custom", "base_url": server.base_url,
                              "default": "fake", "api_key": "sk-very-secret-key-4711"})
        return server, self.run_check(argument)

    def run_check(self, argument="--check=online"):
        environment = {"PATH": os.environ["PATH"], "HOME": os.path.join(self.folder, "home")}
        done = subprocess.run([os.path.join(BUILD, "hermes-acp"), argument], env=environment,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=30, text=True)
        self.assertNotIn("sk-very-secret-key-4711", done.stdout + done.stderr)
        return done

    def assert_line(self, done, pattern, status):
        self.assertRegex(done.stdout, "(?m)^" + pattern)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)

    def test_good(self):
        server, done = self.check(listing({"id": "other"}, {"id": "fake",
                                                            "context_length": 300000}))
        self.assert_line(done, r"ok +server: http://127.* answered in \d+ ms, the key is accepted", 0)
        self.assert_line(done, "ok +model: fake is among the 2 models", 0)
        self.assert_line(done, "ok +context: 256000 tokens", 0)
        request = server.others[0]
        self.assertEqual((request.method, request.headers["authorization"]),
                         ("GET", "Bearer sk-very-secret-key-4711"))
        self.assertTrue(request.path.endswith("/models"), request.path)

    def test_smaller_window(self):
        for name in "context_length", "context_window", "max_model_len":
            _server, done = self.check(listing({"id": "fake", name: 4096}))
            self.assert_line(done, "note +context: the server tells 4096 tokens, 256000", 0)

    def test_another_model(self):
        _server, done = self.check(listing({"id": "other"}))
        self.assert_line(done, "problem +model: fake is not among the 1 models", 1)

    def test_refused(self):
        _server, done = self.check(model.failure(401, "go away"))
        self.assert_line(done, r"problem +server: .*does not accept the key \(HTTP status 401\)", 1)
        _server, done = self.check(model.failure(500, "oh"))
        self.assert_line(done, r"problem +server: .*\(HTTP status 500\)", 1)

    def test_no_list(self):
        _server, done = self.check(model.failure(404, "no such thing"))
        self.assert_line(done, "note +server: .* has no list of models", 0)

    def test_garbage(self):
        for body in b"\xff\xfe{", b"[]", b'{"data": 7}', b"{" * 5000, b"x" * (5 << 20):
            _server, done = self.check(Reply([body], 200, None, "length", "application/json"))
            self.assert_line(done, "problem +server: .*list of models", 1)
        _server, done = self.check(listing(7, None, {"id": 3}, {"id": "a b"}, {"id": "fake"}))
        self.assert_line(done, "ok +model: fake is among the 1 models", 0)

    def test_nobody_there(self):
        server, _done = self.check(listing({"id": "fake"}))
        server.close()
        self.assert_line(self.run_check(), "problem +server: ", 1)

    def test_only_when_asked(self):
        server, done = self.check(argument="--check")
        self.assertEqual((done.returncode, len(server.others)), (0, 0))
        self.assertEqual(self.run_check("--check=onlin").returncode, 64)


if __name__ == "__main__":
    import unittest
    unittest.main()
