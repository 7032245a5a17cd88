"""search_files gives the same answers with ripgrep and without it, on a tree that is made to tell them apart."""
import json
import os
import shutil
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import model_server as model
from acp import AcpTest, within

FILES = {
    ".gitignore": "*.log\n/build/\n!keep.log\nsub/secret*\n# comment\n\\#odd\n",
    ".ignore": "ignored.txt\n",
    "sub/.gitignore": "*.tmp\n!important.tmp\ndeep/**/x.c\n",
    "a.c": "int needle;\n", "b.h": "Needle\n", "ignored.txt": "needle\n", "note.log": "needle\n",
    "keep.log": "needle kept\n", "build/out.c": "needle\n", "sub/build/in.c": "needle in\n",
    "sub/secret.txt": "needle\n", "sub/a.tmp": "needle\n", "sub/important.tmp": "needle\n",
    "sub/deep/y/x.c": "needle\n", "sub/deep/z.c": "needle\nother\nneedle again\n",
    ".hidden/file.c": "needle\n", ".dot.c": "needle\n", "#odd": "needle\n", "-dash": "needle -77\n",
    "with space.c": "needle\n", "new\nline.c": "needle\n", "quote\"'.c": "needle\n",
    "[bracket].c": "needle\n", "star*.c": "needle\n", "caf\u00e9.c": "needle \u4e2d\u6587 caf\u00e9\n",
    "crlf.txt": "needle\r\nsecond needle\r\n", "open.txt": "needle without end",
    "empty.txt": "", "blank.txt": "\n\n\n", "tabs.txt": "\tneedle\t\n", "many.txt": "needle\n" * 60,
    "long.txt": "x" * 5000 + "needle" + "y" * 5000 + "\n",
    "binary.bin": b"\0\1needle\0\n", "words.txt": "needles needle_x needle-y (needle) foo(1) a->b\n",
}
ROWS = [{"pattern": pattern} for pattern in (
    "needle", r"\bneedle\b", "needle$", "^needle", "^$", "^needle$", "-77", "->", r"foo\(", "(?i)NEEDLE",
    "needle|Needle", "n[aeiou]+dle", r"\d+", "[[:alpha:]]+_x", "caf.", "\u4e2d", "needle again",
    "zzz-none", "x{10}needle", r"needle\.", "needle.*end", r"(n)eedle")]
ROWS += [{"pattern": "needle", **more} for more in (
    {"file_glob": "*.c"}, {"file_glob": "*.{c,h}"}, {"file_glob": "sub/**/*.c"}, {"file_glob": "[b-z]*"},
    {"path": "sub"}, {"path": "build"}, {"path": ".hidden"}, {"path": "a.c"}, {"path": "note.log"},
    {"context": 1}, {"context": 2, "path": "sub"}, {"limit": 3}, {"limit": 3, "offset": 3},
    {"output_mode": "count"}, {"output_mode": "files_only"}, {"output_mode": "files_only", "offset": 5},
    {"path": "absent"})]
ROWS += [{"pattern": pattern, "target": "files"} for pattern in (
    "*.c", "**/*.c", "sub/*", "*", "[", "*.log", "a?c", "*.{c,h}", "z.c", "caf*", "none*")]


class SameAnswers(AcpTest):
    def setUp(self):
        super().setUp()
        moment = 1_700_000_000
        os.mkdir(self.path(".git"))
        for number, (name, content) in enumerate(FILES.items()):
            self.put(name, content)
            os.utime(self.path(name), (moment + number, moment + number))
        os.symlink("a.c", self.path("link.c"))
        os.symlink("sub", self.path("linked"))
        os.symlink("loop", self.path("loop"))
        os.mkfifo(self.path("pipe"))

    def answers(self, environment):
        server = self.model()
        agent = self.agent(environment=environment)
        session = agent.new_session(self.work)
        found = []
        for row in ROWS:
            server.script[:] = [model.call("search_files", **row), model.say("ok")]
            self.assertEqual(agent.turn(session), "end_turn")
            found.append(server.last.result)
        self.sweep(agent)
        return found

    def without_ripgrep(self):
        folder = os.path.join(self.folder, "bin")
        os.mkdir(folder)
        for source in ("/usr/bin", "/bin"):
            for name in os.listdir(source):
                if name != "rg" and not os.path.lexists(os.path.join(folder, name)):
                    os.symlink(os.path.join(source, name), os.path.join(folder, name))
        return {"PATH": folder}

    @within(180)
    def test_each_row(self):
        """the same text for the model, row by row"""
        if shutil.which("rg") is None:
            self.skipTest("ripgrep is not installed")
        differ = [f"{row}\n   with: {one[:700]}\nwithout: {other[:700]}" for row, one, other in
                  zip(ROWS, self.answers({}), self.answers(self.without_ripgrep())) if one != other]
        if differ:
            self.fail("\n".join(differ))


if __name__ == "__main__":
    unittest.main()
