import contextlib
import io
import os
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from jot.cli import main


class CommandLineTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        environment = {"JOT_FILE": str(Path(folder.name) / "notes.json"), "LC_ALL": "en_GB.UTF-8"}
        patch = mock.patch.dict(os.environ, environment)
        patch.start()
        self.addCleanup(patch.stop)

    def run_jot(self, *argv: str) -> tuple[int, str]:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            code = main(argv)
        return code, out.getvalue()

    def test_add_and_list(self) -> None:
        self.assertEqual(self.run_jot("list"), (0, "No notes.\n"))
        self.assertEqual(self.run_jot("add", "order paper", "--tag", "office"), (0, "Added note 1.\n"))
        self.assertEqual(self.run_jot("add", "sleep"), (0, "Added note 2.\n"))
        self.assertEqual(self.run_jot("list"), (0, "1  order paper  #office\n2  sleep\n"))
        self.assertEqual(self.run_jot("list", "--tag", "home"), (0, "No notes.\n"))

    def test_done_and_remove(self) -> None:
        self.run_jot("add", "a")
        self.assertEqual(self.run_jot("done", "1"), (0, "Note 1 is done.\n"))
        self.assertEqual(self.run_jot("list", "--all"), (0, "1  ✓ a\n"))
        self.assertEqual(self.run_jot("remove", "1"), (0, "Removed note 1.\n"))
        self.assertEqual(self.run_jot("remove", "1"), (1, "There is no note 1.\n"))
