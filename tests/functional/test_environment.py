"""The session's folder, and environments as editors on a desktop give them."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import model_server as model
from acp import AcpTest, reject_once


class Folder(AcpTest):
    """B79: the session's folder counts, nothing else."""

    ODD = "a b/ü $HOME 'q\" ;x/-d"

    def test_folder_with_an_odd_name(self):
        """B79: no quoting anywhere"""
        folder = os.path.join(self.folder, self.ODD)
        os.makedirs(folder)
        with open(os.path.join(folder, "AGENTS.md"), "w") as file:
            file.write("notes of the odd folder 8811\n")
        server = self.model(model.run("pwd; mkdir sub; cd sub"), model.run("pwd"),
                            model.call("write_file", path="new.txt", content="hi\n"),
                            model.call("search_files", pattern="8811"), model.say("ok"))
        agent = self.agent(cwd="/")
        session = agent.new_session(folder)
        self.assertEqual(agent.turn(session), "end_turn")
        outputs = [json.loads(request.result).get("output", "") for request in server.requests[1:3]]
        self.assertEqual(outputs[0].strip(), folder)
        self.assertEqual(outputs[1].strip(), os.path.join(folder, "sub"))
        self.assertTrue(os.path.exists(os.path.join(folder, "new.txt"))
                        or os.path.exists(os.path.join(folder, "sub", "new.txt")))
        self.assertIn("8811", server.last.result)
        self.assertIn("notes of the odd folder 8811", "\n".join(server.requests[0].texts("system")))

    def test_two_sessions_two_folders(self):
        """B79: in parallel, each with its own"""
        folders = [os.path.join(self.folder, name) for name in ("one", "two")]
        server = self.model()
        agent = self.agent()
        for folder in folders:
            os.mkdir(folder)
        sessions = [agent.new_session(folder) for folder in folders]
        server.when("first", model.run("sleep 0.2; pwd"))
        server.when("second", model.run("sleep 0.2; pwd"))
        requests = [agent.prompt_start(session, word)
                    for session, word in zip(sessions, ("first", "second"))]
        for request, session, folder in zip(requests, sessions, folders):
            agent.wait(request)
            self.assertIn(folder, agent.cards(session)[0].text)

    def test_bad_folders(self):
        """B79, acp 49: -32602 that names it"""
        self.model()
        agent = self.agent()
        self.put("file", "x")
        rows = ["relative/x", "~", "~/x", "", self.path("file"), self.path("absent")]
        for folder in rows:
            error = agent.error("session/new", {"cwd": folder, "mcpServers": []})
            self.assert_code(error, -32602)
            if folder:
                self.assertIn(folder, str(error))
        for params in ({"mcpServers": []}, {"cwd": None, "mcpServers": []},
                       {"cwd": 5, "mcpServers": []},
                       {"cwd": self.work, "mcpServers": [], "additionalDirectories": ["rel"]}):
            self.assert_code(agent.error("session/new", params), -32602)
        agent.new_session(self.work)

    def test_lenient_parameters(self):
        """acp 52: null and missing lists are empty"""
        self.model()
        agent = self.agent()
        for params in ({"cwd": self.work}, {"cwd": self.work, "mcpServers": None},
                       {"cwd": self.work, "mcpServers": [], "additionalDirectories": None,
                        "_meta": None, "more": 1}):
            agent.call("session/new", params)

    def test_folder_removed_later(self):
        """B79: a tool error, not a crash"""
        folder = os.path.join(self.folder, "going")
        os.mkdir(folder)
        server = self.model(model.run("pwd"), model.call("write_file", path="x", content="y"),
                            model.say("ok"))
        agent = self.agent()
        agent.on_permission = reject_once
        session = agent.new_session(folder)
        os.rmdir(folder)
        self.assertEqual(agent.turn(session), "end_turn")
        self.assertTrue(server.last.result)

    def test_the_process_stays_where_it_was(self):
        """B79: the supervisor never changes its folder"""
        _server, agent, session = self.start()
        agent.turn(session)
        try:
            self.assertEqual(os.readlink(f"/proc/{agent.pid}/cwd"), self.folder)
        except PermissionError:
            self.skipTest("not readable here")


class Desktop(AcpTest):
    """B80: started with a poor environment."""

    def serve(self, environment, command="echo PATH=$PATH", **options):
        server = self.model(model.run(command), model.say("ok"))
        agent = self.agent(environment=environment, bare_environment=True, **options)
        session = agent.new_session(self.work)
        self.assertEqual(agent.turn(session), "end_turn")
        return json.loads(server.last.result)["output"]

    @property
    def home(self):
        return os.path.join(self.folder, "home")

    def test_only_home(self):
        """B80: env -i HOME=…"""
        self.assertIn("/usr/bin", self.serve({"HOME": self.home}))

    def test_empty_path(self):
        """B80"""
        self.assertIn("/usr/bin", self.serve({"HOME": self.home, "PATH": ""}))

    def test_odd_environment(self):
        """B80: LANG=C, no USER, TMPDIR missing; UTF-8 all the same"""
        output = self.serve({"HOME": self.home, "LANG": "C", "PATH": "/usr/bin:/bin",
                             "TMPDIR": os.path.join(self.folder, "no-such-tmp")},
                            command="printf 'grün 🌍\\n'")
        self.assertEqual(output.strip(), "grün 🌍")

    def test_no_home(self):
        """B80: HOME unset: it starts and initialises"""
        self.stderr_is_quiet = False
        agent = self.agent(environment={"PATH": "/usr/bin:/bin",
                                        "HERMES_HOME": os.path.join(self.home, ".hermes")},
                           bare_environment=True)
        agent.ping()

    def test_login_shell_that_prints(self):
        """B80: what the shell's files print stays out of the output and of the protocol"""
        os.makedirs(self.home, exist_ok=True)
        for name in (".bashrc", ".profile", ".bash_profile"):
            with open(os.path.join(self.home, name), "w") as file:
                file.write("echo BANNER; read -r x\nexport FROM_RC=yes PATH=$PATH:/opt/mine\n")
        output = self.serve({"HOME": self.home, "PATH": "/usr/bin:/bin", "SHELL": "/bin/bash"})
        self.assertNotIn("BANNER", output)
        self.assertIn("/usr/bin", output)

    def test_no_provider(self):
        """B80, acp 42: starts and initialises without a key; the error says where to put one"""
        agent = self.agent()
        response = agent.request("session/new", {"cwd": self.work, "mcpServers": []})
        if "result" in response:
            response = agent.prompt(response["result"]["sessionId"], "hi")
        self.assert_code(response["error"], -32000)
        self.assertRegex(str(response["error"]), r"\.env|config\.yaml|--setup")

    def test_spellings_of_dotenv(self):
        """B80: quotes, export, CRLF, BOM"""
        server = self.model()
        self.configure(model={**self.configuration["model"], "key_env": "MY_MODEL_KEY"})
        rows = ["MY_MODEL_KEY=key-4711\n", "MY_MODEL_KEY='key-4711'\n", 'MY_MODEL_KEY="key-4711"\r\n',
                "export MY_MODEL_KEY=key-4711\n", "\ufeffMY_MODEL_KEY=key-4711\n",
                "# comment\n\nMY_MODEL_KEY = key-4711 # note\n"]
        path = os.path.join(self.home, ".hermes", ".env")
        for row in rows:
            with self.subTest(row):
                with open(path, "w", newline="") as file:
                    file.write(row)
                os.chmod(path, 0o600)
                agent = self.agent()
                agent.turn(agent.new_session(self.work))
                self.assertEqual(server.last.headers.get("authorization"), "Bearer key-4711")
                self.sweep(agent)

    def test_keys_do_not_reach_commands(self):
        """B80, R32: neither keys of the environment nor of .env"""
        os.makedirs(os.path.join(self.home, ".hermes"), exist_ok=True)
        with open(os.path.join(self.home, ".hermes", ".env"), "w") as file:
            file.write("OPENROUTER_API_KEY=sk-canary-one\n")
        output = self.serve({"HOME": self.home, "PATH": "/usr/bin:/bin",
                             "ANTHROPIC_API_KEY": "sk-canary-two", "MY_SECRET_TOKEN": "canary-three",
                             "BASH_ENV": "/nowhere"}, command="env")
        self.assertNotIn("canary", output)

    def test_dotenv_of_the_folder_is_not_read(self):
        """a hostile repository does not redirect the model"""
        other = model.ModelServer()
        self.servers.append(other)
        self.put(".env", f"OPENAI_BASE_URL={other.base_url}\nHERMES_MODEL=evil\n")
        self.put("config.yaml", json.dumps({"model": {"base_url": other.base_url}}))
        _server, agent, session = self.start()
        agent.turn(session)
        self.assertEqual(other.requests, [])
