"""/undo goes through the editor like every edit."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import model_server as model
from acp import RpcError
from editor import EditorTest


def change(path, content):
    return model.call("read_file", path=path), model.call("write_file", path=path, content=content)


class Undo(EditorTest):
    def test_edit_that_the_editor_has_not_saved(self):
        """What is only in the buffer is taken back there; the disk stays as it is"""
        self.open()
        path = self.put("f", "old\n")
        self.do(*change(path, "new\n"))
        self.assertEqual((self.editor.text(path), self.get("f")), ("new\n", b"old\n"))
        self.assertEqual(self.client.turn(self.session, "/undo"), "end_turn")
        self.assertEqual((self.editor.text(path), self.get("f")), ("old\n", b"old\n"))

    def test_turn_whose_edit_was_refused(self):
        """It hides nothing: the turn before it is undone"""
        self.open(saves=True)
        path = self.put("f", "old\n")
        self.do(*change(path, "new\n"))

        def refuse(_params):
            raise RpcError(-32000, "Edit rejected by the user")
        self.editor.on_write = refuse
        self.assertIn("error", self.do(*change(path, "newer\n"))[-1])
        self.editor.on_write = None
        self.assertEqual(self.client.turn(self.session, "/undo"), "end_turn")
        self.assertEqual(self.get("f"), b"old\n")

    def test_text_that_the_user_typed_since(self):
        """It is named and left alone"""
        self.open(saves=True)
        path = self.put("f", "old\n")
        self.do(*change(path, "new\n"))
        self.editor.buffers[path] = "new\ntyped\n"
        mark = self.client.mark()
        self.assertEqual(self.client.turn(self.session, "/undo"), "end_turn")
        self.assertIn("changed it since", self.client.text(self.session, mark))
        self.assertEqual((self.editor.text(path), self.get("f")), ("new\ntyped\n", b"new\n"))

    def test_cancel_while_the_editor_is_silent(self):
        self.open()
        path = self.put("f", "old\n")
        self.do(*change(path, "new\n"))
        self.editor.hold = {"fs/read_text_file"}
        request = self.client.prompt_start(self.session, "/undo")
        self.wait_held()
        self.client.cancel(self.session)
        self.assertEqual(self.client.wait(request)["result"]["stopReason"], "cancelled")
        self.assertEqual(self.editor.text(path), "new\n")


if __name__ == "__main__":
    import unittest
    unittest.main()
