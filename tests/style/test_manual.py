"""The documents and the code say the same: messages, keys of the configuration, options, exit statuses, links
between pages, and the files that a document names."""
import os
import re
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DOCUMENTS = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "NEWS")


def read(path):
    with open(os.path.join(TOP, path), encoding="utf-8") as file:
        return file.read()


def pages():
    """file name -> text of the manual pages."""
    return {name: read(f"man/{name}") for name in sorted(os.listdir(os.path.join(TOP, "man")))
            if re.fullmatch(r"[a-z-]+\.\d", name)}


def sources(*folders):
    for folder in folders:
        for path, _folders, names in os.walk(os.path.join(TOP, folder)):
            for name in names:
                if name.endswith(".c"):
                    yield read(os.path.relpath(os.path.join(path, name), TOP))


def messages():
    """name -> number, from the enum."""
    found, number = {}, 0
    for name, value in re.findall(r"^\t(TO_(?:WORKER|SUPERVISOR)_\w+)(?: = (\d+))?,",
                                  read("common/message.h"), flags=re.M):
        number = int(value) if value else number + 1
        found[name] = number
    return found


class Messages(unittest.TestCase):
    def test_catalogue(self):
        """The page has every message with its number, and no other one."""
        listed = re.findall(r"^\.It Dv (TO_\w+) Pq (\d+)$", read("man/hermes-acp-messages.7"), re.M)
        self.assertEqual({name: int(number) for name, number in listed}, messages())
        self.assertEqual(len(listed), len(messages()))

    def test_sizes(self):
        """The sizes on the page are those of the rows."""
        words = {"0": "0", "MESSAGE_LINE_MAX": "64 MiB", "MESSAGE_UPDATE_MAX": "8 MiB",
                 "STATE_MAX": "256 KiB", "ID_MAX": "512 bytes", "8192": "8 KiB", "8": "8 bytes"}
        page, wrong = read("man/hermes-acp-messages.7"), []
        rows = re.findall(r"\b(TO_[WS]\w+_\w+),[^;]*?,\s*(\d+),\s*(\w+)\),",
                          read("common/message.c"))
        self.assertEqual({row[0] for row in rows}, set(messages()))
        for name, least, most in rows:
            text = re.search(rf"^\.It Dv {name} Pq.*?(?=^\.It Dv|^\.El)", page, re.M | re.S)[0]
            expected = "Empty" if most == "0" else words[most]
            if expected not in text or (least not in ("0", most) and
                                        not re.search(rf"\b{least} (bytes? )?to ", text)):
                wrong.append((name, least, most))
        self.assertEqual(wrong, [])


class Configuration(unittest.TestCase):
    def test_keys(self):
        """Every key that is read by its path stands in hermes-acp-config(5)."""
        page, keys = read("man/hermes-acp-config.5"), set()
        for text in sources("worker"):
            keys.update(re.findall(r'configuration_(?:integer|boolean|string|value)\(\s*[^,()]+,'
                                   r'\s*"([a-z_.]+)"', text))
        self.assertGreater(len(keys), 5)
        self.assertEqual(sorted(key for key in keys if not re.search(
            rf"^\.(It )?Ic (.*[ ,])?{re.escape(key)}\b", page, re.M)), [])

    def test_providers(self):
        """Every provider of the table stands there too."""
        page = read("man/hermes-acp-config.5")
        names = re.findall(r'\.id = "([\w.-]+)"', read("worker/config/provider_table.c"))
        self.assertEqual([name for name in names if not re.search(
            rf"(^\.It {name} Ta|^\.Ql ({name}|.*\b{name})\b)", page, re.M)], [])


class Options(unittest.TestCase):
    TABLES = {"hermes-acp": ("supervisor/main.c", "worker/sessions/sessions_options.c"),
              "acp-chat": ("contrib/acp-chat/acp_chat.c",)}

    def options(self, sources):
        names = []
        for source in sources:
            found = re.findall(r'^\s*\{\s*"([a-z-]+)",\s*(?:no|required|optional)_argument',
                               read(source), flags=re.M)
            self.assertTrue(found)
            names += found
        return names

    def test_pages_and_completions(self):
        """Every long option stands in the program's page and in both completions."""
        for program, sources in self.TABLES.items():
            places = {f"man/{program}.1": "Fl (.* )?-{}\\b|, -{}\\b",
                      f"contrib/completions/bash/{program}": "--{}\\b",
                      f"contrib/completions/zsh/_{program}": "--{}\\b"}
            for place, pattern in places.items():
                text = read(place)
                missing = [name for name in self.options(sources)
                           if not re.search(pattern.replace("{}", name), text)]
                self.assertEqual(missing, [], place)

    def test_exit_statuses(self):
        """Every status of the header stands in hermes-acp-worker(8)."""
        page = read("man/hermes-acp-worker.8")
        page = page[page.index(".Sh EXIT STATUS"):]
        numbers = re.findall(r"^\tEXIT_\w+ = (\d+)", read("common/exit_cause.h"), flags=re.M)
        self.assertEqual([number for number in numbers
                          if not re.search(rf"(^\.It {number}$|\b{number}, )", page, re.M)], [])


class Links(unittest.TestCase):
    def test_between_pages(self):
        """What a page refers to is there, and every page is referred to."""
        foreign = {"regex.7", "curl.1"}
        found, names = set(), set(pages())
        for text in pages().values():
            found.update(f"{name}.{section}"
                         for name, section in re.findall(r"\.Xr ([\w-]+) (\d)", text))
        self.assertEqual(sorted(found - foreign - names), [])
        self.assertEqual(sorted(names - found), [])

    def test_pages_are_installed(self):
        """Every page stands in Makefile.am, and in the list of README.md."""
        makefile, readme = read("Makefile.am"), read("README.md")
        for name in pages():
            self.assertIn(f"man/{name}", makefile)
            self.assertIn("`" + re.sub(r"\.(\d)$", r"(\1)", name) + "`", readme)

    def test_files_in_documents(self):
        """Files of the repository that a document names are there."""
        missing = []
        for document in DOCUMENTS:
            for path in re.findall(r"`((?:common|supervisor|worker|contrib|tests|man|\.ci)/[\w./-]*)`",
                                   read(document)):
                if not os.path.exists(os.path.join(TOP, path)):
                    missing.append(f"{document}: {path}")
        self.assertEqual(missing, [])

    def test_the_two_commands(self):
        """README.md has a block for each of the two commands, with nothing else in it."""
        blocks = re.findall(r"```sh\n(.*?)```", read("README.md"), flags=re.S)
        for command in ("contrib/quickstart", "contrib/check"):
            self.assertIn(command + "\n", blocks)
            self.assertTrue(os.access(os.path.join(TOP, command), os.X_OK))


if __name__ == "__main__":
    unittest.main()
