import tempfile
import unittest
from pathlib import Path

from jot.store import Store


class StoreTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "notes.json"
        self.store = Store(self.path)

    def test_notes_are_kept(self) -> None:
        self.store.add("order paper", ["office"])
        self.assertEqual([note.text for note in Store(self.path).notes()], ["order paper"])

    def test_a_number_is_never_given_twice(self) -> None:
        self.store.remove(self.store.add("a", []).number)
        self.assertEqual(Store(self.path).add("b", []).number, 2)

    def test_done_notes_are_hidden(self) -> None:
        self.store.add("a", [])
        self.store.finish(1)
        self.assertEqual(self.store.notes(), [])
        self.assertEqual(len(self.store.notes(done=True)), 1)

    def test_an_unknown_note(self) -> None:
        for change in (self.store.finish, self.store.remove):
            with self.assertRaises(KeyError):
                change(7)


if __name__ == "__main__":
    unittest.main()
