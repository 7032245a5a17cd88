"""The commands under which clients may know the agent: `hermes acp` and `python -m acp_adapter`.

Most tests put small scripts in place of the programs, which say how they were called; the last ones
speak the protocol through the alias to the real one.
"""
import json
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
from acp import AcpTest, BUILD, TOP

ALIAS = os.path.join(TOP, "contrib", "hermes-alias", "hermes")
PYTHON_FOLDER = os.path.join(TOP, "contrib", "python")
TOOLS = ("dd", "dirname", "grep", "readlink")  # what the alias needs of the system
ODD = ["two words", "", "line\nbreak", "$HOME", "'q\"", "*", "--", "ü"]


class AliasTest(AcpTest):
    def folder_with(self, name, *programs):
        """A folder with programs that print their own name and arguments as JSON, exit status 7."""
        folder = os.path.join(self.folder, name)
        os.makedirs(folder, exist_ok=True)
        for program in programs:
            self.write_program(os.path.join(folder, program), f"{name}/{program}")
        return folder

    def write_program(self, path, shown):
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"#!{sys.executable}\nimport json, sys\n"
                       f"print(json.dumps([{shown!r}, sys.argv[1:], sys.stdin.read()]))\n"
                       "sys.exit(7)\n")
        os.chmod(path, 0o755)

    def alias_in(self, name, *programs):
        """A folder of programs with a copy of the alias beside them, as an installation has it."""
        folder = self.folder_with(name, *programs)
        shutil.copy(ALIAS, os.path.join(folder, "hermes"))
        return folder

    def tools(self):
        """A folder with nothing but the system's tools: there may be a real hermes in /usr/bin."""
        folder = os.path.join(self.folder, "tools")
        if not os.path.isdir(folder):
            os.mkdir(folder)
            for name in TOOLS:
                os.symlink(shutil.which(name), os.path.join(folder, name))
        return folder

    def run_program(self, command, folders, stdin="", **environment):
        path = ":".join([*folders, self.tools()])
        return subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=20,
                              cwd=self.work, env={"PATH": path, "HOME": self.folder, **environment})

    def assert_called(self, done, program, arguments, stdin=""):
        self.assertEqual(done.stderr, "")
        self.assertEqual(json.loads(done.stdout), [program, list(arguments), stdin])
        self.assertEqual(done.returncode, 7)

    def assert_not_found(self, done, *words):
        self.assertEqual(done.returncode, 127, done)
        self.assertEqual(done.stdout, "")
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)


class Acp(AliasTest):
    """hermes acp: hermes-acp with the arguments."""

    def test_beside(self):
        """The one beside the script, whatever stands on PATH; arguments and input as they are"""
        own = self.alias_in("own", "hermes-acp")
        other = self.folder_with("other", "hermes-acp")
        done = self.run_program([f"{own}/hermes", "acp", *ODD], [other], stdin="input\n")
        self.assert_called(done, "own/hermes-acp", ODD, "input\n")

    def test_no_arguments(self):
        own = self.alias_in("own", "hermes-acp")
        self.assert_called(self.run_program(["hermes", "acp"], [own]), "own/hermes-acp", [])

    def test_through_links(self):
        """A link to a link to the script: what counts is where the script is"""
        own = self.alias_in("own", "hermes-acp")
        links = self.folder_with("links")
        os.symlink(f"{own}/hermes", f"{links}/first")
        os.symlink("first", f"{links}/hermes")
        done = self.run_program(["hermes", "acp", "-v"], [links])
        self.assert_called(done, "own/hermes-acp", ["-v"])

    def test_on_path(self):
        """None beside the script: the first on PATH that can be started"""
        own = self.alias_in("own")
        useless = self.folder_with("useless", "hermes-acp")
        os.chmod(f"{useless}/hermes-acp", 0o644)
        os.mkdir(os.path.join(self.folder_with("folder"), "hermes-acp"))
        other = self.folder_with("other", "hermes-acp")
        done = self.run_program([f"{own}/hermes", "acp", "--check"],
                                [useless, os.path.join(self.folder, "folder"), other])
        self.assert_called(done, "other/hermes-acp", ["--check"])

    def test_called_with_a_relative_path(self):
        own = self.alias_in("work/own", "hermes-acp")
        self.assertTrue(os.path.exists(f"{own}/hermes"))
        self.assert_called(self.run_program(["own/hermes", "acp"], []), "work/own/hermes-acp", [])

    def test_none(self):
        done = self.run_program([f"{self.alias_in('own')}/hermes", "acp"], [])
        self.assert_not_found(done, "hermes-acp", "PATH")


class Others(AliasTest):
    """Every other call: the next hermes on PATH."""

    def test_next_on_path(self):
        own = self.alias_in("own", "hermes-acp")
        other = self.folder_with("other", "hermes")
        for arguments in (["chat", *ODD], [], ["--version"], ["acpx"], ["", "acp"], ["chat", "acp"]):
            with self.subTest(arguments):
                done = self.run_program(["hermes", *arguments], [own, other], stdin="text")
                self.assert_called(done, "other/hermes", arguments, "text")

    def test_one_in_front(self):
        """Called by its path while the other one stands in front of it or alone on PATH"""
        own = self.alias_in("own")
        other = self.folder_with("other", "hermes")
        for folders in ([other, own], [other]):
            done = self.run_program([f"{own}/hermes", "chat"], folders)
            self.assert_called(done, "other/hermes", ["chat"])

    def test_never_itself(self):
        """Copies, links and repeated folders on PATH: no loop, and the real one is found"""
        own, copy = self.alias_in("own"), self.alias_in("copy")
        links = self.folder_with("links")
        os.symlink(f"{own}/hermes", f"{links}/hermes")
        aliases = [own, copy, links, own, copy]
        self.assert_not_found(self.run_program(["hermes", "chat"], aliases), "hermes acp")
        other = self.folder_with("other", "hermes")
        done = self.run_program(["hermes", "chat"], [*aliases, other, own])
        self.assert_called(done, "other/hermes", ["chat"])

    def test_none(self):
        """A clear error, exit status 127"""
        own = self.alias_in("own", "hermes-acp")
        for arguments in ([], ["chat"]):
            done = self.run_program(["hermes", *arguments], [own])
            self.assert_not_found(done, "no other", "hermes acp")

    def test_relative_folders_of_path(self):
        """The folder of the call may be hostile: neither "." nor "" nor a relative name counts"""
        own = self.alias_in("own")
        for name in ("hermes", "hermes-acp"):
            self.write_program(self.path(name), "work")
            os.makedirs(self.path("bin"), exist_ok=True)
            self.write_program(self.path(f"bin/{name}"), "work/bin")
        for arguments in (["chat"], ["acp"]):
            done = self.run_program([f"{own}/hermes", *arguments], [".", "", "bin"])
            self.assert_not_found(done)

    def test_odd_names_of_folders(self):
        own = self.alias_in("own dir *")
        other = self.folder_with("other $dir ü", "hermes")
        done = self.run_program([f"{own}/hermes", "chat"], [own, other])
        self.assert_called(done, "other $dir ü/hermes", ["chat"])


class Python(AliasTest):
    """python -m acp_adapter"""

    def run_module(self, arguments, folders, **options):
        return self.run_program([sys.executable, "-m", "acp_adapter", *arguments], folders,
                                PYTHONPATH=PYTHON_FOLDER, PYTHONDONTWRITEBYTECODE="1", **options)

    def test_on_path(self):
        other = self.folder_with("other", "hermes-acp")
        done = self.run_module(ODD, [other], stdin="input\n")
        self.assert_called(done, "other/hermes-acp", ODD, "input\n")

    def test_relative_folders_of_path(self):
        self.write_program(self.path("hermes-acp"), "work")
        self.assert_not_found(self.run_module([], [".", ""]))

    def test_none(self):
        self.assert_not_found(self.run_module([], []), "hermes-acp", "PATH")

    def test_not_a_program(self):
        """What cannot be executed is an error, not a traceback"""
        other = self.folder_with("other")
        path = os.path.join(other, "hermes-acp")
        with open(path, "w", encoding="utf-8") as file:
            file.write("#!/no/such/interpreter\n")
        os.chmod(path, 0o755)
        self.assert_not_found(self.run_module([], [other]), path)


class Protocol(AliasTest):
    """A client that is configured for one of the names gets the real agent."""

    def talk(self, program, *arguments, **environment):
        path = f"{BUILD}:{os.environ['PATH']}"
        agent = self.agent(*arguments, "--rehearsal", program=program,
                           environment={"PATH": path, **environment})
        session = agent.new_session(self.work)
        self.assertEqual(agent.turn(session, "hello"), "end_turn")
        self.assertIn("rehearsal", agent.text(session))
        return agent

    def test_hermes_acp(self):
        """The process that the client started is the agent: its signals reach it"""
        agent = self.talk(ALIAS, "acp")
        with open(f"/proc/{agent.pid}/comm", encoding="utf-8") as file:
            self.assertEqual(file.read().strip(), "hermes-acp")

    def test_python(self):
        self.talk(sys.executable, "-m", "acp_adapter", PYTHONPATH=PYTHON_FOLDER,
                  PYTHONDONTWRITEBYTECODE="1")

    def test_version(self):
        """Options go through"""
        done = self.run_program([ALIAS, "acp", "--version"], [BUILD])
        real = self.run_program([os.path.join(BUILD, "hermes-acp"), "--version"], [])
        self.assertEqual((done.returncode, done.stdout), (0, real.stdout))
