"""The notes in their file."""

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path


@dataclass
class Note:
    """A note; its number is never given to another."""

    number: int
    text: str
    tags: list[str] = field(default_factory=list)
    done: bool = False


class Store:
    """The notes of one file. Every change is written at once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._next = 1
        self._notes: dict[int, Note] = {}
        if path.exists():
            data = json.loads(path.read_text(encoding="utf-8"))
            self._next = data["next"]
            self._notes = {note["number"]: Note(**note) for note in data["notes"]}

    def add(self, text: str, tags: list[str]) -> Note:
        """Add a note."""
        note = Note(self._next, text, tags)
        self._next += 1
        self._notes[note.number] = note
        self._write()
        return note

    def notes(self, tag: str | None = None, *, done: bool = False) -> list[Note]:
        """The open notes in the order of their numbers; with `done` also those that are done."""
        return [
            note
            for note in self._notes.values()
            if (done or not note.done) and (tag is None or tag in note.tags)
        ]

    def finish(self, number: int) -> None:
        """Mark a note as done. Raises KeyError if there is none."""
        self._notes[number].done = True
        self._write()

    def remove(self, number: int) -> None:
        """Remove a note. Raises KeyError if there is none."""
        del self._notes[number]
        self._write()

    def _write(self) -> None:
        data = {"next": self._next, "notes": [asdict(note) for note in self._notes.values()]}
        temporary = self._path.with_suffix(".tmp")
        temporary.write_text(json.dumps(data, ensure_ascii=False, indent=1), encoding="utf-8")
        os.replace(temporary, self._path)
