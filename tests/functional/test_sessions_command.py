"""hermes-acp sessions: list, show, export, delete and prune, with the real program on the database of real turns."""
import json
import os
import pty
import re
import select
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
import time
import unicodedata

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import model_server as model
from acp import AcpTest, BUILD, SCALE

UNKNOWN = "7b2a1f6e-0000-4000-8000-000000000000"
USAGE = 64
DAY = 86400
# Nothing of this may reach a terminal: escape sequences, C0, C1, characters that reorder text.
ACTS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
HOSTILE = "evil\x1b]0;owned\x07 \x1b[2J\rtitle\nline two\t\u202egnp.exe \u009b31m\x7f end"


def width(text):
    """Columns that a terminal gives the text."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF"
               else 1 for c in text)


class CommandTest(AcpTest):
    def setUp(self):
        super().setUp()
        self.home = os.path.join(self.folder, "home")
        self.hermes_home = os.path.join(self.home, ".hermes")
        self.file = os.path.join(self.hermes_home, "state.db")

    def environment(self):
        kept = {key: value for key, value in os.environ.items()
                if key in ("PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS")}
        return dict(kept, HOME=self.home, LANG="C.UTF-8", TZ="UTC")

    def command(self, *arguments):
        return [os.path.join(BUILD, "hermes-acp"), "sessions", *arguments]

    def run_command(self, *arguments, status=0, **options):
        """The standard output, as text; the rest is kept in self.errors."""
        done = subprocess.run(self.command(*arguments), env=self.environment(),
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, cwd=self.folder, timeout=50, **options)
        self.errors = done.stderr.decode()
        self.assertEqual(done.returncode, status, (arguments, self.errors))
        self.assertNotIn("Sanitizer", self.errors)
        return done.stdout.decode()

    def refused(self, *arguments, status=1):
        """What it says when it fails; then it says nothing else."""
        self.assertEqual(self.run_command(*arguments, status=status), "")
        self.assertTrue(self.errors.startswith("hermes-acp"), self.errors)
        return self.errors

    def rows(self, *arguments):
        lines = self.run_command("list", "--json", *arguments).splitlines()
        return [json.loads(line) for line in lines]

    def listed(self, *arguments):
        return [row["sessionId"] for row in self.rows(*arguments)]

    def database(self):
        connection = sqlite3.connect(self.file, isolation_level=None)
        self.addCleanup(connection.close)
        return connection

    def sql(self, statement, *values):
        return self.database().execute(statement, values).fetchall()

    def sessions(self, *prompts, script=None):
        """Ids of sessions with one turn each; every process has ended."""
        server, agent, first = self.start(*(script or [model.say("an answer")] * len(prompts)))
        found = []
        for prompt in prompts:
            session = first if not found else agent.new_session(self.work)
            self.assertEqual(agent.turn(session, prompt), "end_turn")
            found.append(session)
        self.sweep(agent)
        return found

    def add_foreign(self, session="20260102_030405_abcdef", source="telegram", title="of another",
                    age=0.0):
        """A session as another program of the family writes it."""
        connection, now = self.database(), time.time() - age
        connection.execute("INSERT INTO sessions(id, source, started_at, last_activity_at, title) "
                           "VALUES (?, ?, ?, ?, ?)", (session, source, now, now, title))
        connection.execute("INSERT INTO messages(session_id, role, content, timestamp) "
                           "VALUES (?, 'user', 'a question from elsewhere', ?)", (session, now))
        return session

    def make_old(self, session, days):
        then = time.time() - days * DAY
        self.sql("UPDATE sessions SET started_at = ?, last_activity_at = ? WHERE id = ?",
                 then, then, session)
        self.sql("UPDATE messages SET timestamp = ? WHERE session_id = ?", then, session)

    def count(self):
        return self.sql("SELECT count(*) FROM sessions")[0][0]

    def on_terminal(self, *arguments, answer=None, columns=80):
        """(exit status, what a terminal got); `answer` is typed when the question stands there."""
        pid, fd = pty.fork()
        if pid == 0:
            try:
                os.chdir(self.folder)
                subprocess.run(["stty", "cols", str(columns), "rows", "24"], check=True)
                os.execve(self.command()[0], self.command(*arguments), self.environment())
            finally:
                os._exit(127)
        AcpTest.own_children.add(pid)
        text, deadline = b"", time.monotonic() + 20 * SCALE
        while time.monotonic() < deadline:
            if not select.select([fd], [], [], 0.1)[0]:
                continue
            try:
                piece = os.read(fd, 65536)
            except OSError:
                break
            if not piece:
                break
            text += piece
            if answer is not None and b"[y/N] " in text:
                os.write(fd, answer)
                answer = None
        os.close(fd)
        _pid, status = os.waitpid(pid, 0)
        return os.waitstatus_to_exitcode(status), text.decode()


class List(CommandTest):
    def test_table_and_json(self):
        """The last one first; ids, times, counts, folder and title; the same for programs"""
        first, second = self.sessions("the first title", "the second title")
        lines = self.run_command("list").splitlines()
        self.assertEqual(lines[0].split(), ["ID", "UPDATED", "MESSAGES", "FOLDER", "TITLE"])
        self.assertRegex(lines[1], rf"^{second}  20\d\d-\d\d-\d\d \d\d:\d\d +2  {self.work}  "
                                   r"the second title$")
        self.assertRegex(lines[2], rf"^{first} .* the first title$")
        self.assertEqual(len(lines), 3)
        self.assertEqual(self.errors, "")
        row = self.rows()[1]
        self.assertRegex(row.pop("createdAt"), r"^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
        self.assertRegex(row.pop("updatedAt"), r"^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
        self.assertEqual(row, {"sessionId": first, "title": "the first title", "cwd": self.work,
                               "source": "acp", "model": "fake", "messages": 2})

    def test_choice(self):
        """--limit, --cwd (relative and through a link), --all-sources"""
        first, second = self.sessions("one", "two")
        foreign = self.add_foreign(age=60)
        self.assertEqual(self.listed(), [second, first])
        self.assertEqual(self.listed("--limit", "1"), [second])
        self.assertEqual(self.listed("--all-sources"), [second, first, foreign])
        os.symlink(self.work, os.path.join(self.folder, "link"))
        for folder in "work", os.path.join(".", "work", ""), "link", self.work:
            self.assertEqual(self.listed("--cwd", folder), [second, first], folder)
        self.assertEqual(self.listed("--cwd", self.folder), [])
        self.assertIn("no sessions of this folder", self.errors)
        self.assertIn("  telegram  ", self.run_command("list", "--all-sources"))
        self.assertNotIn("telegram", self.run_command("list"))

    def test_nothing_stored(self):
        """Nothing on standard output, a line on the other, status 0, and nothing is made"""
        for arguments in ("list",), ("list", "--json"):
            self.assertEqual(self.run_command(*arguments), "")
            self.assertIn(self.file, self.errors)
        self.assertEqual(self.run_command("prune", "--older-than", "1d"), "0 sessions deleted\n")
        self.assertIn(UNKNOWN, self.refused("show", UNKNOWN))
        self.assertIn(UNKNOWN, self.refused("export", UNKNOWN))
        self.assertIn(UNKNOWN, self.refused("delete", UNKNOWN, "--yes"))
        self.assertFalse(os.path.exists(self.home))

    def test_hostile_texts(self):
        """No title, folder, id or text can act on a terminal, break its line, or forge another"""
        (session,) = self.sessions("go", script=[model.say("text \x1b[31mred\x07\u202e")])
        self.sql("UPDATE sessions SET title = ?, cwd = ? WHERE id = ?", HOSTILE,
                 "/tmp/" + HOSTILE, session)
        self.add_foreign("20260102\x1b[2J\n_evil", HOSTILE, HOSTILE + " too")
        outputs = [self.run_command("list", "--all-sources"), self.run_command("show", session),
                   self.run_command("export", session),
                   self.run_command("prune", "--older-than", "1h", "--dry-run"),
                   self.run_command("list", "--json", "--all-sources"),
                   self.run_command("show", session, "--json"),
                   self.run_command("export", session, "--format=jsonl")]
        for text in outputs:
            self.assertIsNone(ACTS.search(text), text)
        self.assertEqual(len(outputs[0].splitlines()), 3)
        self.assertEqual(self.rows()[0]["title"], HOSTILE)
        self.assertEqual(self.rows()[0]["cwd"], "/tmp/" + HOSTILE)
        self.assertIsNone(ACTS.search(self.refused("show", "20260102")))
        self.assertIsNone(ACTS.search(self.refused("show", HOSTILE)))
        text = self.run_command("delete", "20260102", "--all-sources", "--yes")
        self.assertIsNone(ACTS.search(text.replace("\n", "")))

    def test_fits_a_terminal(self):
        """No line is wider than the terminal, whatever the characters are"""
        (session,) = self.sessions("日本語のとても長い題名がここにあります、そしてまだ続きます 終わり")
        self.sql("UPDATE sessions SET cwd = ? WHERE id = ?", "/srv/" + "längerer/" * 20 + "ende",
                 session)
        self.add_foreign(title="e\u0301" * 100)
        for columns in 60, 80, 120:
            status, text = self.on_terminal("list", columns=columns)
            self.assertEqual(status, 0)
            lines = text.splitlines()
            self.assertEqual(len(lines), 2, text)
            self.assertLessEqual(max(map(width, lines)), columns, text)
            self.assertTrue(lines[1].startswith(session[:8] + "  "), text)
            self.assertIn("ende", lines[1])
            status, text = self.on_terminal("list", "--all-sources", columns=columns + 20)
            self.assertLessEqual(max(map(width, text.splitlines())), columns + 20, text)

    def test_short_ids_tell_sessions_apart(self):
        """What a terminal shows of an id is enough to name it"""
        (session,) = self.sessions("one")
        twin = session[:12] + "x"
        self.add_foreign(twin, "acp")
        _status, text = self.on_terminal("list", columns=100)
        shown = {line.split()[0] for line in text.splitlines()[1:]}
        self.assertEqual(shown, {session[:13], twin})
        for name in shown:
            self.run_command("show", name)


class Show(CommandTest):
    def test_text(self):
        """What it is, and the conversation: prompts, answers, calls with shortened results"""
        self.put("note.txt", "the note\n")
        (session,) = self.sessions("what is in the note?", script=[
            model.call("read_file", text="I look. ", path=self.path("note.txt")),
            model.run("seq 5000; exit 3"), model.say("User, 2026-01-01 00:00:00\nnothing")])
        text = self.run_command("show", session)
        for line in (f"Session   {session}", f"Folder    {self.work}", "Model     fake (custom)",
                     "Messages  6 (prompts: 1, tool calls: 2)", "  what is in the note?",
                     "  I look.", "Tool read_file: Read note.txt", "  | content: 1|the note",
                     "Tool terminal: seq 5000; exit 3 (failed)", "  nothing"):
            self.assertIn(line + "\n", text)
        self.assertRegex(text, r"\nUpdated   20\d\d-\d\d-\d\d \d\d:\d\d:\d\d\n")
        self.assertRegex(text, r"  \| \.\.\. \(\d+ more lines\)\n")
        self.assertNotIn("4000", text)
        # A text cannot look like a heading.
        self.assertEqual(len(re.findall(r"^User, ", text, re.M)), 1)

    def test_json(self):
        (session,) = self.sessions("hello", script=[model.run("echo one"), model.say("done")])
        (line,) = self.run_command("show", "--json", session).splitlines()
        value = json.loads(line)
        self.assertEqual((value["sessionId"], value["prompts"], value["toolCalls"]),
                         (session, 1, 1))
        self.assertEqual(set(value["tokens"]),
                         {"input", "output", "cacheRead", "cacheWrite", "reasoning"})
        self.assertEqual([row["role"] for row in value["conversation"]],
                         ["user", "assistant", "tool", "assistant"])
        self.assertEqual(value["conversation"][0]["content"], "hello")
        self.assertNotIn("_", "".join(key[0] for row in value["conversation"] for key in row))

    def test_ids(self):
        """A beginning of 8 characters will do when it is the only one; nothing is guessed"""
        first, second = self.sessions("one", "two")
        self.assertIn("  one\n", self.run_command("show", first[:8]))
        self.assertIn(first[:7], self.refused("show", first[:7]))
        self.assertIn("8 characters", self.errors)
        self.assertIn("no session", self.refused("show", "x"))
        self.refused("show", "")
        for name in "twin-session-a", "twin-session-b", "short", "twin-session":
            self.add_foreign(name, "acp", name)
        text = self.refused("show", "twin-session-")
        self.assertIn("twin-session-a, twin-session-b", text)
        self.assertIn("short", self.run_command("show", "short"))
        self.assertIn("Session   twin-session\n", self.run_command("show", "twin-session"))
        self.assertIn("%", self.refused("show", "%%%%%%%%%%"))
        foreign = self.add_foreign()
        text = self.refused("show", foreign)
        self.assertIn("telegram", text)
        self.assertIn("--all-sources", text)
        self.assertIn("from elsewhere", self.run_command("show", foreign, "--all-sources"))
        self.assertEqual(self.count(), 7)

    def test_what_was_summed_up(self):
        """Rows that a summary has taken out of use are shown, each once; hidden ones are not"""
        (session,) = self.sessions("the old prompt")
        connection = self.database()
        connection.execute("UPDATE messages SET active = 0, compacted = 1")
        order = connection.execute("SELECT max(id) FROM messages").fetchone()[0]
        for content, summary, kind, place in (("a summary of it", 1, None, None),
                                              ("an answer", 0, None, order),
                                              ("for nobody", 0, "hidden", None)):
            connection.execute(
                "INSERT INTO messages(session_id, role, content, timestamp, _compressed_summary, "
                "display_kind, display_order) VALUES (?, ?, ?, ?, ?, ?, ?)",
                (session, "assistant" if place else "user", content, time.time(), summary, kind,
                 place))
        text = self.run_command("show", session)
        self.assertIn("  the old prompt\n", text)
        self.assertEqual(text.count("  an answer\n"), 1)
        self.assertIn("Summary for the model, ", text)
        self.assertNotIn("for nobody", text)
        self.assertIn("prompts: 1,", text)
        self.assertIn("for nobody", self.run_command("export", session, "--format", "jsonl"))


class Export(CommandTest):
    def told(self):
        (session,) = self.sessions("tell me", script=[
            model.run("seq 3000; echo '```'"), model.say("# all\n\n", "`told`")])
        return session

    def test_markdown(self):
        """Whole, with results in fences that they cannot close"""
        text = self.run_command("export", self.told())
        self.assertTrue(text.startswith("# tell me\n\n- Session: "), text[:100])
        self.assertRegex(text, r"\n## User, 20.*\n\ntell me\n\n## Assistant, 20")
        self.assertIn("\n1\n2\n3\n", text)
        self.assertIn("\n2999\n3000\n```\n", text)
        self.assertEqual(re.findall("^````.*$", text, re.M), ["````json", "````", "````", "````"])
        self.assertTrue(text.endswith("\n# all\n\n`told`\n"))

    def test_jsonl(self):
        """The session, then each message as it is stored"""
        lines = self.run_command("export", self.told(), "--format", "jsonl").splitlines()
        values = [json.loads(line) for line in lines]
        self.assertEqual([value["type"] for value in values], ["session"] + 4 * ["message"])
        self.assertEqual([value["role"] for value in values[1:]],
                         ["user", "assistant", "tool", "assistant"])
        self.assertEqual(values[2]["tool_calls"][0]["id"], values[3]["tool_call_id"])
        self.assertIn("\n3000\n", json.loads(values[3]["content"])["output"])
        self.assertEqual(values[4]["content"], "# all\n\n`told`")

    def test_file(self):
        """0600 whatever the umask is, whole or not at all, never over another without --force"""
        session, path = self.told(), self.path("out.md")
        before = os.umask(0)
        try:
            self.assertEqual(self.run_command("export", session, "-o", path), "")
        finally:
            os.umask(before)
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
        whole = self.get("out.md")
        self.assertEqual(whole.decode(), self.run_command("export", session))
        self.put("out.md", "mine", 0o644)
        self.assertIn(path, self.refused("export", session, "-o", path))
        self.assertEqual(self.get("out.md"), b"mine")
        self.run_command("export", session, "--output", path, "--force")
        self.assertEqual(self.get("out.md"), whole)
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
        os.symlink("nowhere", self.path("link"))
        for name in self.work, "/dev/null", self.path("missing/out"):
            self.assertIn(name, self.refused("export", session, "-o", name, "--force"))
        self.refused("export", session, "-o", self.path("link"))
        self.assertEqual(sorted(os.listdir(self.work)), ["link", "out.md"])
        self.assertEqual(self.run_command("export", session, "-o", "-"), whole.decode())

    def test_full_disk(self):
        """What cannot be written is named"""
        session = self.told()
        for arguments in ("export", session), ("show", session), ("list",), ("list", "--json"):
            with open("/dev/full", "wb") as full:
                done = subprocess.run(self.command(*arguments), env=self.environment(),
                                      stdout=full, stderr=subprocess.PIPE, timeout=20)
            self.assertEqual(done.returncode, 1, arguments)
            self.assertIn(b"standard output: No space left", done.stderr)


class Delete(CommandTest):
    def test_delete(self):
        """By id or its beginning, each once; messages go with it; others stay"""
        first, second, third = self.sessions("one", "two", "three")
        text = self.run_command("delete", "--yes", first, second[:8], first)
        self.assertEqual(text, f"deleted {first}\ndeleted {second}\n")
        self.assertEqual(self.listed(), [third])
        self.assertEqual(self.sql("SELECT DISTINCT session_id FROM messages"), [(third,)])

    def test_nothing_without_every_one(self):
        """One id that means no session: it is named, and nothing is deleted"""
        (session,) = self.sessions("one")
        self.assertIn(UNKNOWN, self.refused("delete", "--yes", session, UNKNOWN))
        self.assertEqual(self.listed(), [session])

    def test_asks(self):
        """On a terminal it asks, and only yes is yes; without one --yes is needed"""
        first, second = self.sessions("one", "two")
        self.assertIn("--yes", self.refused("delete", first))
        for answer in b"\n", b"n\n", b"yesterday\n", b"\x04":
            status, text = self.on_terminal("delete", first, answer=answer)
            self.assertEqual(status, 1, text)
            self.assertIn("Delete 1 session for good?", text)
            self.assertIn("nothing was deleted", text)
        self.assertEqual(self.count(), 2)
        status, text = self.on_terminal("delete", first, second[:8], answer=b"y\n")
        self.assertEqual(status, 0, text)
        self.assertIn("Delete 2 sessions for good?", text)
        self.assertEqual(self.count(), 0)

    def test_other_sources(self):
        (session,) = self.sessions("one")
        foreign = self.add_foreign()
        self.assertIn(foreign, self.refused("delete", foreign, "--yes"))
        self.assertEqual(self.count(), 2)
        self.run_command("delete", foreign, "--yes", "--all-sources")
        self.assertEqual(self.listed("--all-sources"), [session])

    def test_in_a_turn(self):
        """A session that works in another process is refused; afterwards it can go"""
        server, agent, session = self.start([model.delta("half"), 30])
        request = agent.prompt_start(session, "write")
        agent.wait_text(session, "half")
        text = self.refused("delete", session, "--yes")
        self.assertIn(session, text)
        self.assertIn("in use", text)
        self.assertIn("\nTurn of   pid=", self.run_command("show", session))
        self.make_old(session, 50)
        self.run_command("prune", "--older-than", "1d", "--yes", status=1)
        self.assertIn("in use", self.errors)
        self.assertEqual(self.count(), 1)
        agent.cancel(session)
        self.assertEqual(agent.wait(request)["result"]["stopReason"], "cancelled")
        self.run_command("delete", session, "--yes")
        self.assertEqual(self.count(), 0)


class Prune(CommandTest):
    def test_by_age(self):
        """Those not used since; it says how many, and --dry-run which"""
        old, older, new = self.sessions("old", "older", "new")
        self.make_old(old, 10)
        self.make_old(older, 100)
        foreign = self.add_foreign(age=200 * DAY)
        text = self.run_command("prune", "--older-than", "90d", "--dry-run")
        self.assertIn(older, text)
        self.assertTrue(text.endswith("\n1 session would be deleted\n"), text)
        self.assertIn("--yes", self.refused("prune", "--older-than", "90d"))
        self.assertEqual(self.count(), 4)
        self.assertEqual(self.run_command("prune", "--older-than", "90d", "--yes"),
                         "1 session deleted\n")
        self.assertEqual(self.listed("--all-sources"), [new, old, foreign])
        self.assertEqual(self.run_command("prune", "--older-than", "90d"), "0 sessions deleted\n")
        self.assertEqual(
            self.run_command("prune", "--older-than", "12h", "--yes", "--all-sources"),
            "2 sessions deleted\n")
        self.assertEqual(self.listed("--all-sources"), [new])

    def test_what_is_kept(self):
        """Pinned, archived and hidden ones, other folders; those never prompted go"""
        sessions = self.sessions("pinned", "archived", "hidden", "elsewhere", "plain", "empty")
        for session, change in zip(sessions, ("pinned = 1", "archived = 1", "hidden = 1",
                                              "cwd = '/srv'", "pinned = 0", "pinned = 0")):
            self.make_old(session, 30)
            self.sql(f"UPDATE sessions SET {change} WHERE id = ?", session)
        self.sql("DELETE FROM messages WHERE session_id = ?", sessions[-1])
        self.assertEqual(
            self.run_command("prune", "--older-than", "4w", "--yes", "--cwd", self.work),
            "2 sessions deleted\n")
        self.assertEqual({row[0] for row in self.sql("SELECT id FROM sessions")},
                         set(sessions[:4]))

    def test_used_while_it_asks(self):
        """What was used between the question and the answer stays"""
        old, used = self.sessions("old", "used")
        for session in old, used:
            self.make_old(session, 30)
        first = self.on_terminal("prune", "--older-than", "1w", answer=b"n\n")
        self.assertEqual(first[0], 1)
        self.assertEqual(self.count(), 2)
        pid, fd = pty.fork()
        if pid == 0:
            os.execve(self.command()[0], self.command("prune", "--older-than", "1w"),
                      self.environment())
        AcpTest.own_children.add(pid)
        text = b""
        while b"[y/N] " not in text:
            text += os.read(fd, 4096)
        self.sql("UPDATE sessions SET last_activity_at = ? WHERE id = ?", time.time(), used)
        os.write(fd, b"yes\n")
        try:
            while b"deleted" not in text:
                text += os.read(fd, 4096)
        except OSError:
            pass
        _pid, status = os.waitpid(pid, 0)
        os.close(fd)
        self.assertEqual((status, self.listed()), (0, [used]), text)


class Database(CommandTest):
    def test_damaged(self):
        """The file and the reason are named; nothing is moved away or made"""
        (session,) = self.sessions("one")
        with open(self.file, "rb") as file:
            whole = file.read()
        page = int.from_bytes(whole[16:18], "big")
        damages = {
            "garbage": b"this is no database at all\n" * 500,
            "empty": b"",
            "torn": whole[:page] + b"\xa5" * (len(whole) - page),
            "cut": whole[:page * 2],
        }
        for name, content in damages.items():
            with open(self.file, "wb") as file:
                file.write(content)
            os.utime(self.file, (time.time() - 60,) * 2)
            for arguments in (("list",), ("show", session), ("export", session),
                              ("delete", session, "--yes"),
                              ("prune", "--older-than", "1h", "--yes")):
                text = self.refused(*arguments)
                self.assertIn(self.file + ": ", text, (name, arguments))
            with open(self.file, "rb") as file:
                self.assertEqual(file.read(), content, name)
            self.assertEqual([entry for entry in os.listdir(self.hermes_home)
                              if entry.startswith("state.db.")], [], name)

    def test_of_something_else(self):
        """A database without tables of ours, and a folder in its place"""
        os.makedirs(self.hermes_home)
        self.sql("CREATE TABLE recipes(name)")
        self.assertIn("not a database of sessions", self.refused("list"))
        self.assertEqual(self.sql("SELECT name FROM sqlite_master"), [("recipes",)])
        os.unlink(self.file)
        os.mkdir(self.file)
        self.assertIn(self.file, self.refused("list"))

    def test_damaged_message(self):
        """It is named and left out; the others are there"""
        (session,) = self.sessions("one")
        self.sql("UPDATE messages SET tool_calls = '[{broken' WHERE role = 'assistant'")
        self.assertIn("  one\n", self.run_command("show", session))
        self.assertIn("left out", self.errors)

    def test_locked(self):
        """A lock of another process is waited for, by readers and by writers"""
        first, second = self.sessions("one", "two")
        for arguments in ("list",), ("show", first), ("delete", first, "--yes"), (
                "prune", "--older-than", "1h", "--dry-run"):
            lock = sqlite3.connect(self.file, isolation_level=None, check_same_thread=False)
            lock.execute("BEGIN EXCLUSIVE")
            timer = threading.Timer(1.0, lambda held=lock: held.execute("COMMIT"))
            timer.start()
            self.run_command(*arguments)
            timer.join()
            lock.close()
        self.assertEqual(self.listed(), [second])

    def test_locked_for_long(self):
        """It says that it waits, gives up after a while, and names the file"""
        self.sessions("one")
        lock = self.database()
        lock.execute("BEGIN EXCLUSIVE")
        text = self.refused("list")
        self.assertIn(f"{self.file}: waiting for another process", text)
        self.assertIn(f"{self.file}: another process has kept it locked for too long", text)

    def test_newer_layout(self):
        """A table with a column that we cannot fill is read, and not written"""
        (session,) = self.sessions("one")
        self.sql("ALTER TABLE sessions RENAME TO former")
        columns = self.sql("SELECT name FROM pragma_table_info('former')")
        names = ", ".join(name for (name,) in columns)
        self.sql(f"CREATE TABLE sessions({names}, novelty TEXT NOT NULL)")
        self.sql(f"INSERT INTO sessions SELECT {names}, 'new' FROM former")
        self.assertEqual(self.listed(), [session])
        self.assertIn("novelty", self.refused("delete", session, "--yes"))

    def test_permissions(self):
        """Rights of others are taken from the file, as at every opening"""
        self.sessions("one")
        os.chmod(self.file, 0o644)
        self.run_command("list")
        self.assertEqual(stat.S_IMODE(os.stat(self.file).st_mode), 0o600)


class Big(CommandTest):
    MESSAGES = 3000

    def setUp(self):
        super().setUp()
        (self.session,) = self.sessions("one")
        connection = self.database()
        connection.execute("BEGIN")
        for number in range(self.MESSAGES):
            role = "assistant" if number % 2 else "user"
            connection.execute(
                "INSERT INTO messages(session_id, role, content, timestamp) VALUES (?, ?, ?, ?)",
                (self.session, role, f"message {number} " + "x" * 2000, time.time()))
        connection.execute("COMMIT")
        connection.close()

    def test_whole(self):
        text = self.run_command("export", self.session, "--format", "jsonl")
        self.assertEqual(len(text.splitlines()), 1 + 2 + self.MESSAGES)
        text = self.run_command("export", self.session)
        self.assertIn(f"message {self.MESSAGES - 1} xxx", text)
        self.assertGreater(len(text), 2000 * self.MESSAGES)

    def test_reader_that_has_enough(self):
        """| head: no message and no failure, for every kind of output"""
        for arguments in (("show", self.session), ("show", self.session, "--json"),
                          ("export", self.session), ("export", self.session, "--format=jsonl")):
            process = subprocess.Popen(self.command(*arguments), env=self.environment(),
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            AcpTest.own_children.add(process.pid)
            self.assertTrue(process.stdout.read(20))
            process.stdout.close()
            self.assertEqual(process.wait(20 * SCALE), 0, arguments)
            self.assertEqual(process.stderr.read(), b"")
            process.stderr.close()

    def test_slow_reader_holds_no_lock(self):
        """While a pager waits, others write"""
        process = subprocess.Popen(self.command("show", self.session), env=self.environment(),
                                   stdout=subprocess.PIPE)
        AcpTest.own_children.add(process.pid)
        self.assertTrue(process.stdout.read(20))
        connection = sqlite3.connect(self.file, isolation_level=None, timeout=0)
        connection.execute("BEGIN EXCLUSIVE")
        connection.execute("COMMIT")
        connection.close()
        self.assertEqual(process.poll(), None)
        process.stdout.close()
        self.assertEqual(process.wait(20 * SCALE), 0)


class Usage(CommandTest):
    def test_wrong(self):
        """Status 64, the reason and how it is called; nothing is opened"""
        for arguments, word in (
                ((), "usage"), (("frob",), "frob"), (("list", "--frob"), "frob"),
                (("list", "--yes"), "--yes"), (("list", "extra"), "extra"),
                (("list", "--limit", "0"), "--limit"), (("list", "--limit", "ten"), "ten"),
                (("list", "--limit=99999999999999999999"), "--limit"), (("show",), "which"),
                (("show", "one", "two"), "two"), (("export", "one", "--format", "pdf"), "pdf"),
                (("delete", "--yes"), "which"), (("prune",), "--older-than"),
                (("prune", "--older-than", "0d"), "0d"), (("prune", "--older-than", "90"), "90"),
                (("prune", "--older-than", "-1d"), "-1d"),
                (("prune", "--older-than", "1x"), "1x"),
                (("prune", "--older-than", "9999999w"), "9999999w")):
            self.assertEqual(self.run_command(*arguments, status=USAGE), "")
            self.assertIn(word, self.errors)
            self.assertIn("usage: hermes-acp sessions ", self.errors)

    def test_help(self):
        for arguments in ("--help",), ("-h",), ("list", "--help"):
            text = self.run_command(*arguments)
            for verb in "list", "show", "export", "delete", "prune":
                self.assertIn(f"hermes-acp sessions {verb} ", text)

    def test_no_worker(self):
        """The program that does it is named when it is not there"""
        done = subprocess.run(self.command("list"), capture_output=True,
                              env=dict(self.environment(), HERMES_ACP_WORKER="/nowhere/worker"))
        self.assertEqual((done.returncode, done.stdout), (69, b""))
        self.assertIn(b"/nowhere/worker", done.stderr)


if __name__ == "__main__":
    import unittest
    unittest.main()
