"""Files on disk: mode bits, what must not be read whole, lost updates; and the search tool."""
import json
import os
import stat
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import model_server as model
from acp import AcpTest, reject_once, within


class FileTest(AcpTest):
    def setUp(self):
        super().setUp()
        self.server = self.model()
        self.client = self.agent(environment=self.client_environment())
        self.session = self.client.new_session(self.work)

    def client_environment(self):
        return {}

    def use(self, *replies, seconds=20):
        """Runs calls in one turn; (last card, last result as text)."""
        before = self.client.mark()
        self.server.script[:] = [*replies, model.say("ok")]
        self.assertEqual(self.client.turn(self.session, seconds=seconds), "end_turn")
        return self.client.cards(self.session, before)[-1], self.server.last.result

    def read(self, path, **more):
        return self.use(model.call("read_file", path=path, **more))

    def mode(self, name):
        return stat.S_IMODE(os.stat(self.path(name)).st_mode)


class Modes(FileTest):
    """B64."""

    def test_mode_bits_are_kept(self):
        """B64: scripts stay scripts, secrets stay secret, by write_file and patch"""
        for name, mode in (("script", 0o755), ("secret", 0o600), ("plain", 0o664)):
            self.put(name, "old\n", mode)
            card, result = self.use(model.call("read_file", path=name),
                                    model.call("write_file", path=name, content="new\n"))
            self.assertEqual((card.status, self.mode(name)), ("completed", mode), result)
            card, result = self.use(model.call("patch", mode="replace", path=name,
                                               old_string="new", new_string="newer"))
            self.assertEqual((card.status, self.mode(name)), ("completed", mode), result)
            self.assertEqual(self.get(name), b"newer\n")

    def test_read_only_file(self):
        """B64: refused or asked, not slipped past by a rename"""
        self.put("f", "old\n", 0o444)
        self.client.on_permission = reject_once
        self.use(model.call("read_file", path="f"),
                 model.call("write_file", path="f", content="new\n"))
        self.assertEqual((self.get("f"), self.mode("f")), (b"old\n", 0o444))

    def test_new_file(self):
        """B64: 0666 less the umask; parents are made"""
        card, result = self.use(model.call("write_file", path="deep/er/f", content="x\n"))
        self.assertEqual(card.status, "completed", result)
        mask = os.umask(0)
        os.umask(mask)
        self.assertEqual(self.mode("deep/er/f"), 0o666 & ~mask)

    def test_no_temporary_files_are_left(self):
        """B64"""
        for number in range(5):
            self.use(model.call("write_file", path=f"f{number}", content="x\n"))
        self.assertEqual(sorted(os.listdir(self.work)), [f"f{number}" for number in range(5)])

    def test_folder_not_writable(self):
        """B64: a writable file in a folder that is not"""
        if os.getuid() == 0:
            self.skipTest("root writes everywhere")
        self.put("d/f", "old\n")
        os.chmod(self.path("d"), 0o555)
        card, result = self.use(model.call("read_file", path="d/f"),
                                model.call("write_file", path="d/f", content="new\n"))
        self.assertEqual(self.get("d/f"), b"new\n" if card.status == "completed" else b"old\n", result)

    def test_link_is_followed_and_kept(self):
        """B64: the target changes, the link stays a link"""
        self.put("target", "old\n")
        os.symlink("target", self.path("link"))
        card, result = self.use(model.call("read_file", path="link"),
                                model.call("write_file", path="link", content="new\n"))
        self.assertEqual(card.status, "completed", result)
        self.assertTrue(os.path.islink(self.path("link")))
        self.assertEqual(self.get("target"), b"new\n")


class Reading(FileTest):
    """B66: what must not be read whole, or at all."""

    def test_things_that_are_no_files(self):
        """B66: a pipe, devices, descriptors: an error within a second each"""
        os.mkfifo(self.path("pipe"))
        os.mkdir(self.path("folder"))
        for path in ("pipe", "folder", "/dev/zero", "/dev/stdin", "/proc/self/fd/0", "/dev/tty"):
            started = time.monotonic()
            card, result = self.read(path)
            self.assertEqual(card.status, "failed", (path, result))
            self.assertLess(time.monotonic() - started, 2, path)

    def test_proc_text(self):
        """B66: st_size is 0"""
        _card, result = self.read("/proc/self/status")
        self.assertIn("Name:", result)

    def test_sparse_file(self):
        """B66: 5 GB, the first ten lines"""
        with open(self.path("big"), "wb") as file:
            file.write(b"".join(b"line %d\n" % number for number in range(20)))
            file.truncate(5 << 30)
        started = time.monotonic()
        self.read("big", offset=1, limit=10)
        self.assertLess(time.monotonic() - started, 5)

    @within(90)
    def test_one_long_line(self):
        """B66: 50 MB in a line is cut with a note"""
        self.put("long", b"x" * (50 << 20))
        card, result = self.read("long")
        self.assertLess(len(result), 1 << 20)
        self.assertTrue(card.status)

    def test_offsets(self):
        """B66: past the end names the number of lines; odd values are answered"""
        self.put("f", "".join(f"line-{number}\n" for number in range(1, 31)))
        _card, result = self.read("f", offset=500)
        self.assertIn("30", result)
        for offset, limit in ((0, 10), (-1, 10), (1, 10 ** 9), (1, 0)):
            _card, result = self.read("f", offset=offset, limit=limit)
            self.assertTrue(result)
        _card, result = self.read("f", offset=10, limit=2)
        self.assertIn("10|line-10", result)
        self.assertIn("11|line-11", result)
        self.assertNotIn("line-12", result)

    def test_picture(self):
        """B66: a PNG is named, not printed"""
        self.put("p.png", b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 20)
        _card, result = self.read("p.png")
        self.assertRegex(result.lower(), "png|image|binary")
        self.assertLess(len(result), 2000)

    def test_bytes_that_are_not_text(self):
        """B74: valid JSON whatever the bytes"""
        self.put("f", b"ok\n\xff\xfe\xff\n")
        _card, result = self.read("f")
        json.loads(result)


class LostUpdates(FileTest):
    """B67: overwriting what somebody else changed."""

    def test_changed_since_it_was_read(self):
        """B67: write_file is refused or asked, with a hint to read again"""
        self.client.on_permission = reject_once
        self.put("x", "mine\n")
        self.read("x")
        self.put("x", "theirs\n")
        _card, result = self.use(model.call("write_file", path="x", content="model\n"))
        self.assertEqual(self.get("x"), b"theirs\n")
        self.assertIn("read", result.lower())

    def test_same_size_same_second(self):
        """B67: the stamp has nanoseconds and the inode"""
        self.client.on_permission = reject_once
        self.put("x", "aaaa\n")
        self.read("x")
        self.put("x", "bbbb\n")
        self.use(model.call("write_file", path="x", content="cccc\n"))
        self.assertEqual(self.get("x"), b"bbbb\n")

    def test_patch_elsewhere_is_allowed(self):
        """B67: a unique match in the changed file"""
        self.put("x", "one\ntwo\n")
        self.read("x")
        self.put("x", "one\ntwo\nthree\n")
        card, result = self.use(model.call("patch", mode="replace", path="x", old_string="one",
                                           new_string="ONE"))
        self.assertEqual((card.status, self.get("x")), ("completed", b"ONE\ntwo\nthree\n"), result)

    def test_own_writes_are_not_foreign(self):
        """B67: three writes in a row; an edit; a write after it"""
        for content in ("1\n", "2\n", "3\n"):
            card, result = self.use(model.call("write_file", path="x", content=content))
            self.assertEqual(card.status, "completed", result)
        self.use(model.call("patch", mode="replace", path="x", old_string="3", new_string="4"))
        card, result = self.use(model.call("write_file", path="x", content="5\n"))
        self.assertEqual((card.status, self.get("x")), ("completed", b"5\n"), result)

    def test_never_read(self):
        """B67: an existing file that the model has not seen"""
        self.client.on_permission = reject_once
        self.put("x", "precious\n")
        self.use(model.call("write_file", path="x", content="model\n"))
        self.assertEqual(self.get("x"), b"precious\n")


class Search(FileTest):
    """B82, with ripgrep where it is installed."""

    def setUp(self):
        super().setUp()
        self.put(".hid/x/opts.txt", "--pdf-engine here\nvalue -77 here\n- [ ] task\na->b\nfoo(1)\n"
                 "a word here\n")
        self.put("crlf.txt", "foo\r\nfoo bar\r\n")
        self.put("long.js", "x" * 3_000_000 + "NEEDLE" + "y" * 3_000_000 + "\n")
        self.put("src/a.c", "int main;\n")
        self.put("src/deep/b.c", "int other;\n")
        self.put("odd\nname.txt", "oddity here\n")
        self.put("bin.dat", b"\0\1\2NEEDLE\0")
        os.symlink("src", self.path("linked"))
        os.symlink("loop", self.path("loop"))

    def search(self, pattern, **more):
        card, result = self.use(model.call("search_files", pattern=pattern, **more))
        self.assertTrue(card.status)
        return result

    def test_patterns_with_odd_beginnings(self):
        """B82: a dash, brackets, an arrow; in a hidden folder that is named"""
        for pattern in ("-77", "--pdf-engine", r"- \[ \]", "->", r"foo\(", r"\bword\b"):
            result = self.search(pattern, path=".hid/x")
            self.assertIn("opts.txt", result, pattern)

    def test_no_match_and_bad_pattern_differ(self):
        """B82"""
        nothing, broken = self.search("zzz-not-there"), self.search("foo(")
        self.assertNotIn("error", json.loads(nothing))
        self.assertTrue("error" in json.loads(broken) or "foo(1)" in broken, broken)

    def test_absent_path(self):
        """B82: an error that names it"""
        self.assertIn("no-such-folder", self.search("x", path="no-such-folder"))

    def test_links(self):
        """B82: a linked folder, a file, a loop"""
        self.assertIn("main", self.search("main", path="linked"))
        self.assertIn("main", self.search("main", path="src/a.c"))
        self.assertTrue(self.search("main", path="loop"))

    def test_long_line_is_cut_around_the_match(self):
        """B82"""
        result = self.search("NEEDLE", file_glob="*.js")
        self.assertIn("NEEDLE", result)
        self.assertLess(len(result), 20000)

    def test_end_of_a_crlf_line(self):
        """B82: foo$ matches"""
        self.assertIn("crlf.txt", self.search("foo$", path="crlf.txt"))

    def test_file_names(self):
        """B82: by glob, at any depth; a broken glob is answered"""
        result = self.search("*.c", target="files")
        self.assertIn("a.c", result)
        self.assertIn("b.c", result)
        self.assertIn("b.c", self.search("**/*.c", target="files"))
        self.assertTrue(self.search("[", target="files"))

    def test_name_with_a_newline(self):
        """B82: valid JSON, the file is found"""
        result = self.search("oddity")
        json.loads(result)
        self.assertIn("name.txt", result)

    def test_huge_pattern(self):
        """B82: 10,000 characters are answered"""
        self.assertTrue(self.search("a" * 10000))

    def test_tree_with_a_pipe(self):
        """B66: a pipe in the tree does not hold up the search"""
        os.mkfifo(self.path("src/pipe"))
        started = time.monotonic()
        self.assertIn("main", self.search("main", path="src"))
        self.assertLess(time.monotonic() - started, 5)


class SearchWithoutRipgrep(Search):
    """B82: the same with a PATH that has no rg."""

    def client_environment(self):
        folder = os.path.join(self.folder, "bin")
        os.mkdir(folder)
        for source in ("/usr/bin", "/bin"):
            for name in os.listdir(source):
                if name != "rg" and not os.path.lexists(os.path.join(folder, name)):
                    os.symlink(os.path.join(source, name), os.path.join(folder, name))
        return {"PATH": folder}
