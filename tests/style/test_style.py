"""What the source tree promises about itself: sizes, headers, floors, no circles, the link line of the
supervisor, no traces of a machine, and manual pages that know every option and variable.

The medians of file and function length are printed; `tests/run -v` shows them with the result.
"""
import os
import re
import statistics
import subprocess
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("HERMES_TEST_BUILD", os.path.join(TOP, "build"))
FILE_LIMIT = 800
FUNCTION_LIMIT = 120
SOURCE_FOLDERS = ("common", "supervisor", "worker")
# Folders of the worker from the bottom up; a file includes only from its own floor or from below.
FLOORS = {"worker/config": 1, "worker/store": 2, "worker/providers": 2, "worker/mcp": 2,
          "worker/guard": 2, "worker/tools": 3, "worker/agent": 4, "worker/acp": 5,
          "worker/sessions": 5, "worker": 6}
# Below everything that sends: it knows frames and no session.
GROUND = {"worker/supervisor_link.h"}
SKIPPED = re.compile(r"^(\.git|build.*|autom4te\.cache|node_modules|__pycache__)$|\.tmp$")
GENERATED = {".git",  # a file where the checkout is a linked work tree
             "configure", "aclocal.m4", "Makefile.in", "config.h.in", "configure~",
             "config.h.in~", "compile", "install-sh", "missing", "depcomp", "ar-lib", "test-driver",
             "tap-driver.sh", "config.guess", "config.sub"}


def tree():
    """Paths of all files of the project, relative to its top."""
    found = []
    for folder, folders, files in os.walk(TOP):
        folders[:] = [name for name in folders if not SKIPPED.search(name)]
        for name in files:
            if name not in GENERATED:
                found.append(os.path.relpath(os.path.join(folder, name), TOP))
    return sorted(found)


def read(path):
    with open(os.path.join(TOP, path), encoding="utf-8", errors="replace") as file:
        return file.read()


def sources(*suffixes):
    return [path for path in tree()
            if path.endswith(suffixes) and path.split("/")[0] in SOURCE_FOLDERS + ("contrib",)]


def functions(path):
    """(first line, number of lines) of each function: from its return type to the closing brace."""
    lines, found, start = read(path).split("\n"), [], None
    for number, line in enumerate(lines):
        if line == "{":
            start = number
        elif line == "}" and start is not None:
            head = start
            while head > 0 and lines[head - 1].strip() and not lines[head - 1].startswith(("#", "}")) \
                    and not lines[head - 1].rstrip().endswith(("*/", ";")):
                head -= 1
            found.append((head + 1, number - head + 1))
            start = None
    return found


def without_comments(text):
    return re.sub(r"/\*.*?\*/", "", text, flags=re.S)


def includes(path):
    return re.findall(r'^#include "([^"]+)"', read(path), flags=re.M)


def module(path):
    """A source file and its header are one."""
    return os.path.splitext(path)[0]


class Sizes(unittest.TestCase):
    def test_files(self):
        """No file above 800 lines; prints the median."""
        sizes = {path: read(path).count("\n") for path in sources(".c", ".h")}
        sizes.update({path: read(path).count("\n") for path in tree()
                      if path.startswith("tests/") and path.endswith((".c", ".py"))})
        self.assertTrue(sizes)
        print("median of file length:", statistics.median(sizes.values()))
        self.assertEqual({path: size for path, size in sizes.items() if size > FILE_LIMIT}, {})

    def test_functions(self):
        """No function above 120 lines; prints the median."""
        sizes = {f"{path}:{line}": size for path in sources(".c")
                 for line, size in functions(path)}
        self.assertTrue(sizes)
        print("median of function length:", statistics.median(sizes.values()))
        self.assertEqual({place: size for place, size in sizes.items() if size > FUNCTION_LIMIT}, {})

    def test_contract(self):
        """The whole contract between the processes stays readable."""
        self.assertLessEqual(read("common/message.h").count("\n"), 200)


class Headers(unittest.TestCase):
    def test_guards(self):
        """Each header has a guard that is made from its path."""
        bad = []
        for path in sources(".h"):
            expected = "HERMES_" + re.sub(r"\W", "_", path).upper()
            if not re.search(rf"^#ifndef {expected}\n#define {expected}$", read(path), re.M):
                bad.append(f"{path}: {expected}")
        self.assertEqual(bad, [])

    def test_config_first(self):
        """Each .c file includes <config.h> before anything else."""
        bad = [path for path in sources(".c")
               if re.findall(r"^#include (.+)$", read(path), flags=re.M)[:1] != ["<config.h>"]]
        self.assertEqual(bad, [])

    def test_paragraph_on_top(self):
        """Each file says at the top what it is for."""
        bad = [path for path in sources(".c", ".h") if not read(path).startswith("/*\n * ")]
        self.assertEqual(bad, [])

    def test_comment_form(self):
        """One form of comments."""
        bad = [path for path in sources(".c", ".h")
               if re.search(r"^\s*//", without_comments(read(path)), re.M)]
        self.assertEqual(bad, [])


class Structure(unittest.TestCase):
    def test_common_is_below_everything(self):
        """common/ includes nothing of supervisor/ and worker/."""
        bad = [f"{path}: {name}" for path in sources(".c", ".h") if path.startswith("common/")
               for name in includes(path) if not name.startswith("common/")]
        self.assertEqual(bad, [])

    def test_supervisor_and_worker_are_apart(self):
        """Neither includes the other."""
        bad = [f"{path}: {name}" for path in sources(".c", ".h") for name in includes(path)
               if (path.split("/")[0], name.split("/")[0]) in
               (("supervisor", "worker"), ("worker", "supervisor"))]
        self.assertEqual(bad, [])

    def test_floors_of_the_worker(self):
        """A file of the worker includes only from its own floor or from below."""
        bad = []
        for path in sources(".c", ".h"):
            own = FLOORS.get(os.path.dirname(path))
            for name in includes(path) if own else []:
                other = FLOORS.get(os.path.dirname(name), 0)
                if other > own and name not in GROUND:
                    bad.append(f"{path}: {name}")
        self.assertEqual(bad, [])

    def test_no_circles_of_headers(self):
        """No header includes itself in a round-about way."""
        graph = {path: set(includes(path)) for path in sources(".h")}
        self.assertEqual([" -> ".join(circle) for circle in circles(graph)], [])

    def test_no_circles_of_calls(self):
        """No file calls a file that calls it: who uses whose symbols, as the linker sees it."""
        defined, used = {}, {}
        for path, name in objects():
            for line in subprocess.run(["nm", path], capture_output=True, text=True,
                                       check=True).stdout.splitlines():
                kind, symbol = line.split()[-2:]
                if kind == "U":
                    used.setdefault(name, set()).add(symbol)
                elif kind.isupper():
                    defined[symbol] = name
        if not defined:
            self.skipTest("there are no object files")
        graph = {name: {defined[symbol] for symbol in symbols
                        if symbol in defined and defined[symbol] != name}
                 for name, symbols in used.items()}
        self.assertEqual([" -> ".join(circle) for circle in circles(graph)], [])

    def test_supervisor_has_no_fatal_end(self):
        """Nothing that bytes of a client or worker can reach ends the supervisor."""
        allowed = ("supervisor/main.c",)
        bad = [path for path in sources(".c") if path.startswith(("supervisor/", "common/"))
               and path not in allowed
               and re.search(r"\b(exit|abort|_exit|xcalloc|xmalloc|xstrdup)\(",
                             without_comments(read(path)))
               and path not in ("common/alloc.c", "common/child_setup.c")]
        self.assertEqual(bad, [])


def objects():
    """(path of an object file, path of its source without suffix) of the programs."""
    for path in sources(".c"):
        folder, name = os.path.split(module(path))
        place = os.path.join(BUILD, folder)
        for found in os.listdir(place) if os.path.isdir(place) else []:
            if re.fullmatch(rf"(\w+-)?{re.escape(name)}\.o", found):
                yield os.path.join(place, found), module(path)
                break


def circles(graph):
    """Strongly connected parts with more than one member (Tarjan)."""
    index, low, stack, found = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in graph.get(node, ()):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            part = []
            while True:
                part.append(stack.pop())
                if part[-1] == node:
                    break
            if len(part) > 1:
                found.append(sorted(part))
    for node in sorted(graph):
        if node not in index:
            visit(node)
    return found


class Linking(unittest.TestCase):
    def needed(self, program):
        path = os.path.join(BUILD, program)
        if not os.path.exists(path):
            self.skipTest(f"{program} is not built")
        text = subprocess.run(["readelf", "-d", path], capture_output=True, text=True,
                              check=True).stdout
        names = re.findall(r"\(NEEDED\).*\[(.*?)\]", text)
        return {re.sub(r"[-.]\d.*|\.so.*", "", name) for name in names} - {
            "libasan", "libubsan", "libgcc_s", "libm", "libpthread", "libdl", "ld-linux-x86-64",
            "ld-linux-aarch64"}

    def test_supervisor(self):
        """The supervisor links libevent_core and json-c and nothing else."""
        self.assertLessEqual(self.needed("hermes-acp"), {"libevent_core", "libjson-c", "libc"})

    def test_guard(self):
        """The guard links the C library only."""
        self.assertLessEqual(self.needed("hermes-acp-guard"), {"libc"})


class Traces(unittest.TestCase):
    def test_no_machine_and_no_unfinished_work(self):
        """No path of a machine, no marker of unfinished work."""
        pattern = re.compile(r"/wo" r"rk/|/fa" r"rm/|\bTO" r"DO\b|\bFIX" r"ME\b|\bX" r"XX\b")
        bad = []
        for path in tree():
            if path.startswith(("tests/fuzz/corpus", "build-aux/", "m4/")):
                continue
            for number, line in enumerate(read(path).split("\n"), 1):
                if pattern.search(line):
                    bad.append(f"{path}:{number}: {line.strip()[:80]}")
        self.assertEqual(bad, [])


class Manual(unittest.TestCase):
    def pages(self):
        found = "".join(read(path) for path in tree() if re.match(r"man/.*\.\d$", path))
        # mdoc: "Fl -check" is --check, "\-" is a hyphen
        return found.replace("\\-", "-")

    def test_options(self):
        """Every long option of hermes-acp stands in its manual page."""
        page = read("man/hermes-acp.1").replace("\\-", "-")
        options = re.findall(r'^\s*\{\s*"([a-z-]+)",\s*(?:no|required|optional)_argument',
                             read("supervisor/main.c"), flags=re.M)
        self.assertTrue(options)
        self.assertEqual([name for name in options if f"-{name}" not in page], [])

    def test_variables(self):
        """Every environment variable of ours that the programs read stands in a manual page."""
        names = set()
        for path in sources(".c"):
            names.update(re.findall(r'getenv\("(HERMES_\w+)"\)', read(path)))
        text = self.pages()
        self.assertEqual(sorted(name for name in names if name not in text), [])

    def test_signals(self):
        """Every signal that the supervisor reacts to stands in its manual page."""
        page = read("man/hermes-acp.1")
        signals = set()
        for path in sources(".c"):
            if path.startswith("supervisor/"):
                signals.update(re.findall(r"evsignal_new\([^,]+,\s*(SIG[A-Z]+)", read(path)))
        self.assertEqual(sorted(name for name in signals - {"SIGCHLD", "SIGPIPE"}
                                if name not in page and name[3:] not in page), [])


if __name__ == "__main__":
    unittest.main()
