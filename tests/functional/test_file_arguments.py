"""Arguments of the file tools that are wrong in type, missing, huge or hostile: each is an error that names the
argument and says how to do it right, and nothing is written."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import model_server as model
from acp import AcpTest, within

HUGE = "x" * 300000
DEEP = "a/" * 3000 + "f"

# (tool, arguments, what the error names)
ROWS = [
    ("read_file", {}, "path"),
    ("read_file", {"path": 5}, "path"),
    ("read_file", {"path": None}, "path"),
    ("read_file", {"path": ["f"]}, "path"),
    ("read_file", {"path": {"a": 1}}, "path"),
    ("read_file", {"path": ""}, "path"),
    ("read_file", {"path": HUGE}, "path"),
    ("read_file", {"path": DEEP}, "path"),
    ("read_file", {"path": "f\0g"}, "path"),
    ("read_file", {"path": "f", "offset": "many"}, "offset"),
    ("read_file", {"path": "f", "offset": [1]}, "offset"),
    ("read_file", {"path": "f", "limit": {}}, "limit"),
    ("read_file", {"path": "f", "limit": "all"}, "limit"),
    ("write_file", {}, "path"),
    ("write_file", {"path": "f"}, "content"),
    ("write_file", {"content": "x"}, "path"),
    ("write_file", {"path": 1, "content": "x"}, "path"),
    ("write_file", {"path": "f", "content": 1}, "content"),
    ("write_file", {"path": "f", "content": None}, "content"),
    ("write_file", {"path": "f", "content": {"a": 1}}, "content"),
    ("write_file", {"path": "", "content": "x"}, "path"),
    ("write_file", {"path": DEEP, "content": "x"}, "path"),
    ("write_file", {"path": HUGE, "content": "x"}, "path"),
    ("patch", {}, "path"),
    ("patch", {"path": "f"}, "old_string"),
    ("patch", {"path": "f", "old_string": "one"}, "new_string"),
    ("patch", {"path": "f", "old_string": 1, "new_string": "x"}, "old_string"),
    ("patch", {"path": "f", "old_string": "one", "new_string": []}, "new_string"),
    ("patch", {"path": "f", "old_string": "", "new_string": "x"}, "old_string"),
    ("patch", {"path": "f", "old_string": "one", "new_string": "x", "replace_all": "perhaps"},
     "replace_all"),
    ("patch", {"mode": "sideways", "path": "f"}, "mode"),
    ("patch", {"mode": 3}, "mode"),
    ("patch", {"mode": "patch"}, "patch"),
    ("patch", {"mode": "patch", "patch": 3}, "patch"),
    ("patch", {"mode": "patch", "patch": ""}, "patch"),
    ("patch", {"mode": "patch", "patch": HUGE}, "patch"),
    ("search_files", {}, "pattern"),
    ("search_files", {"pattern": 3}, "pattern"),
    ("search_files", {"pattern": None}, "pattern"),
    ("search_files", {"pattern": "x", "path": 3}, "path"),
    ("search_files", {"pattern": "x", "target": "stars"}, "target"),
    ("search_files", {"pattern": "x", "output_mode": "song"}, "output_mode"),
    ("search_files", {"pattern": "x", "output_mode": 1}, "output_mode"),
    ("search_files", {"pattern": "x", "limit": "all"}, "limit"),
    ("search_files", {"pattern": "x", "offset": []}, "offset"),
    ("search_files", {"pattern": "x", "context": {}}, "context"),
    ("search_files", {"pattern": "x", "file_glob": 1}, "file_glob"),
]
# Not an object at all.
BODIES = ['[]', '"f"', '5', 'null', 'true', '', '{', '{"path":', 'not json']


class Arguments(AcpTest):
    def answers(self, calls):
        """The result of each call (name, arguments); all of them in one session."""
        server, agent, session = self.start()
        results = []
        for number, (name, arguments) in enumerate(calls):
            server.script[:] = [model.calls((f"c{number}", name, arguments)), model.say("ok")]
            self.assertEqual(agent.turn(session), "end_turn")
            results.append((agent.cards(session)[-1], server.last.result))
        return results

    @within(120)
    def test_each_is_named(self):
        """the error names the argument; the file is as it was"""
        self.put("f", "one\ntwo\n")
        wrong = []
        for (name, arguments, word), (card, result) in zip(
                ROWS, self.answers([row[:2] for row in ROWS])):
            try:
                error = json.loads(result.split("\n[Hint")[0]).get("error") or ""
            except ValueError:
                error = f"no JSON: {result[:200]}"
            if card.status != "failed" or word not in error or len(error) > 4000:
                wrong.append(f"{name} {str(arguments)[:80]}: {card.status} {result[:300]}")
        self.assertEqual("\n".join(wrong), "")
        self.assertEqual(self.get("f"), b"one\ntwo\n")
        self.assertEqual(os.listdir(self.work), ["f"])

    @within(120)
    def test_no_object(self):
        """arguments that are no object, or no JSON, are an error for every tool"""
        self.put("f", "one\n")
        calls = [(name, body) for name in ("read_file", "write_file", "patch", "search_files")
                 for body in BODIES]
        wrong = [f"{call}: {card.status} {result[:200]}"
                 for call, (card, result) in zip(calls, self.answers(calls))
                 if card.status != "failed" or "error" not in result]
        self.assertEqual("\n".join(wrong), "")
        self.assertEqual(os.listdir(self.work), ["f"])


if __name__ == "__main__":
    import unittest
    unittest.main()
