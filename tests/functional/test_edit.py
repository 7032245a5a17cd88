"""Editing text: line ends, indentation, byte order marks, places, patches over several files."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import model_server as model
from acp import AcpTest


def replace(path, old, new, **more):
    return model.call("patch", mode="replace", path=path, old_string=old, new_string=new, **more)


def v4a(text):
    return model.call("patch", mode="patch", patch="*** Begin Patch\n" + text + "*** End Patch\n")


class EditTest(AcpTest):
    """One agent per test; each edit is a turn of its own."""

    def setUp(self):
        super().setUp()
        self.server, self.client, self.session = self.start()

    def edit(self, *replies):
        """Runs calls in one turn; (last card, last result as the model reads it)."""
        before = self.client.mark()
        self.server.script[:] = [*replies, model.say("ok")]
        self.assertEqual(self.client.turn(self.session), "end_turn")
        return self.client.cards(self.session, before)[-1], self.server.last.result

    def check(self, name, content, reply, expected):
        """The file has `expected` after the edit; None: it was refused and is as it was."""
        content = content.encode() if isinstance(content, str) else content
        expected = expected.encode() if isinstance(expected, str) else expected
        self.put(name, content)
        card, result = self.edit(model.call("read_file", path=name), reply)
        if expected is None:
            self.assertEqual(self.get(name), content, result)
            self.assertEqual(card.status, "failed", result)
        else:
            self.assertEqual(self.get(name), expected, result)
            self.assertEqual(card.status, "completed", result)
        return result


class LineEnds(EditTest):
    """B55, B60."""

    CRLF = "a = 1\r\nb = 2\r\nc = 3\r\n"

    def test_replace_in_a_crlf_file(self):
        """B55"""
        self.check("f", self.CRLF, replace("f", "a = 1\nb = 2", "a = 1\nb = 22"),
                   "a = 1\r\nb = 22\r\nc = 3\r\n")

    def test_patch_of_a_crlf_file(self):
        """B55"""
        self.check("f", self.CRLF, v4a("*** Update File: f\n@@\n a = 1\n-b = 2\n+b = 22\n c = 3\n"),
                   "a = 1\r\nb = 22\r\nc = 3\r\n")

    def test_write_over_a_crlf_file(self):
        """B55: the file's own style is kept"""
        self.check("f", self.CRLF, model.call("write_file", path="f", content="x\ny\n"),
                   "x\r\ny\r\n")

    def test_read_shows_no_cr(self):
        """B55"""
        self.put("f", self.CRLF)
        _card, result = self.edit(model.call("read_file", path="f"))
        self.assertNotIn("\\r", result)

    def test_stray_crlf_and_lone_cr(self):
        """B55: untouched lines keep their own end"""
        body = "".join(f"line {number}\n" for number in range(1000))
        mixed = body.replace("line 500\n", "line 500\r\n")
        self.check("f", mixed, replace("f", "line 700\n", "line seven\n"),
                   mixed.replace("line 700\n", "line seven\n"))
        self.check("g", "a\rb\rc\n", replace("g", "c\n", "d\n"), "a\rb\rd\n")

    def test_no_newline_at_the_end(self):
        """B60"""
        text = "line1\nline2\nline3"
        self.check("a", text, replace("a", "line1", "LINE1"), "LINE1\nline2\nline3")
        self.check("b", text, v4a("*** Update File: b\n@@\n-line1\n+LINE1\n line2\n"),
                   "LINE1\nline2\nline3")
        self.check("c", text, model.call("write_file", path="c", content="LINE1\nline2\nline3"),
                   "LINE1\nline2\nline3")
        self.check("d", "alpha\n", replace("d", "alpha", "beta"), "beta\n")
        self.check("e", "alpha\n", v4a("*** Update File: e\n@@\n-alpha\n+beta\n"), "beta\n")

    def test_empty_and_newline_only(self):
        """B60: write_file writes exactly the given bytes"""
        self.check("a", "", model.call("write_file", path="a", content="x"), "x")
        self.check("b", "\n", model.call("write_file", path="b", content="\n\n"), "\n\n")
        self.check("c", "x\n", model.call("write_file", path="c", content=""), "")

    def test_many_edits_keep_the_last_newline(self):
        """B60: each edit used to eat one newline"""
        self.put("f", "0\nend\n")
        for number in range(5):
            self.edit(model.call("read_file", path="f"),
                      replace("f", f"{number}\n", f"{number + 1}\n"))
        self.assertEqual(self.get("f"), b"5\nend\n")


class Matching(EditTest):
    """B57, B59, B62: the place that is meant, and nothing else."""

    PYTHON = "def f():\n    if x:\n        y = 2\n        print(y)\n"

    def test_exact_match_is_not_indented_again(self):
        """B57"""
        for end in ("\n", "\r\n"):
            self.check("f.py", self.PYTHON.replace("\n", end),
                       replace("f.py", "if x:\n        y = 2\n        print(y)",
                               "if x:\n        y = 999\n        print(y)"),
                       self.PYTHON.replace("y = 2", "y = 999").replace("\n", end))

    def test_tabs_stay_tabs(self):
        """B57"""
        self.check("Makefile", "all:\n\tcc a.c\n\tcc b.c\n",
                   replace("Makefile", "\tcc a.c\n", "\tcc -O2 a.c\n"),
                   "all:\n\tcc -O2 a.c\n\tcc b.c\n")

    def test_spaces_against_tabs(self):
        """B57: shifted by one common amount, or refused; never 12 spaces"""
        self.put("f.c", "void f()\n{\n\tint a;\n\tint b;\n}\n")
        _card, _result = self.edit(model.call("read_file", path="f.c"),
                                   replace("f.c", "    int a;\n    int b;",
                                           "    int a;\n    int c;"))
        self.assertIn(self.get("f.c"), (b"void f()\n{\n\tint a;\n\tint b;\n}\n",
                                        b"void f()\n{\n\tint a;\n\tint c;\n}\n"))

    def test_trailing_blanks_in_the_file(self):
        """B57: found with them, or refused; other lines untouched"""
        self.put("f", "a  \nb\t\nc \n")
        self.edit(model.call("read_file", path="f"), replace("f", "a\nb\n", "a\nB\n"))
        self.assertTrue(self.get("f").endswith(b"c \n"))

    def test_typographic_characters(self):
        """B59: only the asked change, or refused"""
        line = "“Hello” — it’s 5\u202f000 … n\u00a0°\n"
        self.put("f", line)
        self.edit(model.call("read_file", path="f"),
                  replace("f", "\"Hello\" - it's 5 000 ... n °", "\"Hello\" - it's 6 000 ... n °"))
        self.assertIn(self.get("f").decode(), (line, line.replace("5", "6")))

    def test_composed_against_decomposed(self):
        """B59: NFC against NFD"""
        line = "cafe\u0301 5\n"
        self.put("f", line)
        self.edit(model.call("read_file", path="f"), replace("f", "caf\u00e9 5", "caf\u00e9 6"))
        self.assertIn(self.get("f").decode(), (line, "cafe\u0301 6\n"))

    def test_near_to_two_equal_to_none(self):
        """B62: refused, with the lines of the candidates"""
        body = ("def one():\n    total = left\n    return total\n\n"
                "def two():\n    total = right\n    return total\n")
        self.check("f.py", body, replace("f.py", "    total = middle\n    return total",
                                         "    total = 0\n    return total"), None)

    def test_twice(self):
        """B62: refused with line numbers"""
        result = self.check("f", "x = 1\ny\nx = 1\n", replace("f", "x = 1", "x = 2"), None)
        self.assertRegex(result, r"1\D.*3")

    def test_replace_all(self):
        """B62: all of them, and overlapping matches once each"""
        self.check("f", "x = 1\ny\nx = 1\n", replace("f", "x = 1", "x = 2", replace_all=True),
                   "x = 2\ny\nx = 2\n")
        self.check("g", "aaaaa\n", replace("g", "aa", "b", replace_all=True), "bba\n")

    def test_empty_and_equal(self):
        """B62: no success without a change"""
        self.check("f", "abc\n", replace("f", "", "x"), None)
        self.check("f", "abc\n", replace("f", "abc", "abc"), None)

    def test_backslash_n(self):
        """B62: the two characters \\n against real lines are refused; as text they are edited"""
        self.check("f", "line1\nline2\n", replace("f", "line1\\nline2", "x\\ny"), None)
        self.check("g.c", 'puts("a\\nb");\n', replace("g.c", '"a\\nb"', '"a\\nc"'),
                   'puts("a\\nc");\n')

    def test_line_number_prefixes(self):
        """B62: text with the prefixes of read_file is refused"""
        self.check("f", "alpha\nbeta\n", replace("f", "1|alpha\n2|beta", "1|alpha\n2|gamma"), None)

    def test_long_line(self):
        """B62: 10 MB in one line, in linear time"""
        body = b"x" * 5_000_000 + b"NEEDLE" + b"y" * 5_000_000
        self.put("f", body)
        self.edit(replace("f", "NEEDLE", "THREAD"))
        self.assertIn(self.get("f"), (body, body.replace(b"NEEDLE", b"THREAD")))


class Changed(EditTest):
    """Somebody else changed the file since the model has seen it, or the model has another one in mind."""

    def change_between(self, name, now, reply):
        """The model reads the file, it becomes `now`, the model edits it: (card, result)."""
        self.put(name, "one\ntwo\nthree\n")
        self.edit(model.call("read_file", path=name))
        os.unlink(self.path(name))
        self.put(name, now)
        return self.edit(reply)

    def test_write_is_refused_with_the_difference(self):
        card, result = self.change_between("f", "one\nmine\nthree\n", model.call(
            "write_file", path="f", content="one\nTWO\nthree\n"))
        self.assertEqual(card.status, "failed")
        self.assertEqual(self.get("f"), b"one\nmine\nthree\n")
        for part in "changed by something else", "-mine", "+TWO", "read_file":
            self.assertIn(part, result)

    def test_no_secret_in_the_difference(self):
        card, result = self.change_between(".env", "KEY=found-me-1\n", model.call(
            "write_file", path=".env", content="KEY=\n"))
        self.assertEqual(card.status, "failed")
        self.assertNotIn("found-me-1", result)

    def test_long_difference(self):
        card, result = self.change_between("f", "line\n" * 9000, model.call(
            "write_file", path="f", content="other\n" * 9000))
        self.assertEqual(card.status, "failed")
        self.assertLess(len(result), 5000)
        self.assertIn("[cut]", result)

    def test_patch_that_fits_warns(self):
        card, result = self.change_between("f", "one\ntwo\nmine\n", replace("f", "two", "2"))
        self.assertEqual(card.status, "completed", result)
        self.assertEqual(self.get("f"), b"one\n2\nmine\n")
        self.assertIn("changed by something else", result)

    def test_advice_with_the_third_misfit(self):
        """and none before, or after the file was read again"""
        self.put("f", "x\n")
        self.edit(model.call("read_file", path="f"))
        wrong = replace("f", "nowhere to be found", "y")
        told = ["read the file again" in self.edit(wrong)[1] for _ in range(3)]
        self.assertEqual(told, [False, False, True])
        self.edit(model.call("read_file", path="f", offset=1, limit=1))
        self.assertNotIn("read the file again", self.edit(wrong)[1])


class Encodings(EditTest):
    """B58."""

    def test_byte_order_mark(self):
        """B58: kept once, the first line matches"""
        body = b"\xef\xbb\xbfhello\n\xe4\xb8\xad\xe6\x96\x87\n"
        self.check("f", body, replace("f", "hello\n", "bye\n"), body.replace(b"hello", b"bye"))
        self.check("g", body, model.call("write_file", path="g", content="new\n"),
                   b"\xef\xbb\xbfnew\n")
        self.put("h", body)
        _card, result = self.edit(model.call("read_file", path="h"))
        self.assertNotIn("\ufeff", result)
        self.assertNotIn("\\ufeff", result)

    def test_mark_in_the_middle(self):
        """B58"""
        self.check("f", "a\ufeffb\nc\n", replace("f", "c\n", "d\n"), "a\ufeffb\nd\n")

    def test_other_encodings(self):
        """B58: refused untouched, or the untouched bytes exactly kept"""
        wide = "\ufeffhello\nworld\n".encode("utf-16-le")
        self.put("w", wide)
        self.edit(replace("w", "hello", "bye"))
        self.assertIn(self.get("w"), (wide, "\ufeffbye\nworld\n".encode("utf-16-le")))
        latin = b"caf\xe9\nhello\n"
        self.put("l", latin)
        self.edit(replace("l", "hello", "bye"))
        self.assertIn(self.get("l"), (latin, b"caf\xe9\nbye\n"))


class Patches(EditTest):
    """B63: a patch over several files is done as a whole or not at all."""

    def setUp(self):
        super().setUp()
        self.put("a.txt", "one\ntwo\n")
        self.put("b.txt", "bee\n")
        self.put("c.txt", "see\n")

    def snapshot(self):
        found = {}
        for path, _folders, files in os.walk(self.work):
            for name in files:
                full = os.path.join(path, name)
                with open(full, "rb") as file:
                    found[os.path.relpath(full, self.work)] = file.read()
        return found

    def assert_nothing_done(self, text, *words):
        before = self.snapshot()
        card, result = self.edit(v4a(text))
        self.assertEqual(self.snapshot(), before, result)
        self.assertEqual(card.status, "failed", result)
        for word in words:
            self.assertIn(word, result)

    def test_good_one(self):
        """B63: add, update, delete, move in one patch"""
        text = ("*** Add File: new.txt\n+fresh\n*** Update File: a.txt\n@@\n one\n-two\n+TWO\n"
                "*** Delete File: b.txt\n*** Move File: c.txt -> sub/d.txt\n")
        card, result = self.edit(v4a(text))
        self.assertEqual(card.status, "completed", result)
        self.assertEqual(self.snapshot(), {"new.txt": b"fresh\n", "a.txt": b"one\nTWO\n",
                                           "sub/d.txt": b"see\n"})
        shown = str(self.client.permissions[-1]["params"]["toolCall"]) if self.client.permissions \
            else str(card)
        for name in ("new.txt", "a.txt", "b.txt", "d.txt"):
            self.assertIn(name, shown)

    def test_last_file_fails(self):
        """B63: the context of c.txt is absent"""
        self.assert_nothing_done(
            "*** Add File: new.txt\n+fresh\n*** Update File: a.txt\n@@\n one\n-two\n+TWO\n"
            "*** Delete File: b.txt\n*** Update File: c.txt\n@@\n-absent\n+x\n", "c.txt")

    def test_second_hunk_fails(self):
        """B63: file and hunk are named"""
        self.put("long.txt", "".join(f"l{number}\n" for number in range(50)))
        self.assert_nothing_done("*** Update File: long.txt\n@@\n-l3\n+L3\n@@\n-nowhere\n+x\n",
                                 "long.txt", "nowhere")

    def test_targets_that_are_there_or_not(self):
        """B63: move onto a file, add an existing one, update and delete an absent one"""
        self.assert_nothing_done("*** Move File: a.txt -> b.txt\n", "b.txt")
        self.assert_nothing_done("*** Add File: a.txt\n+x\n", "a.txt")
        self.assert_nothing_done("*** Update File: absent.txt\n@@\n-x\n+y\n", "absent.txt")
        self.assert_nothing_done("*** Delete File: absent.txt\n", "absent.txt")

    def test_outside(self):
        """B63: ../x"""
        self.client.on_permission = lambda _agent, _message: {"outcome": "cancelled"}
        self.edit(v4a("*** Add File: ../x\n+x\n"))
        self.assertFalse(os.path.exists(os.path.join(self.folder, "x")))

    def test_read_only_folder(self):
        """B63: a write that fails midway undoes the earlier ones"""
        if os.getuid() == 0:
            self.skipTest("root writes everywhere")
        self.put("sealed/inner.txt", "x\n")
        os.chmod(self.path("sealed"), 0o555)
        self.assert_nothing_done("*** Update File: a.txt\n@@\n-one\n+1\n two\n"
                                 "*** Add File: sealed/new.txt\n+x\n", "sealed")

    def test_malformed(self):
        """B63: broken patches are refused"""
        for text in ("", "*** Update File: a.txt\n", "garbage\n", "*** Frobnicate File: a.txt\n+x\n"):
            self.assert_nothing_done(text)
