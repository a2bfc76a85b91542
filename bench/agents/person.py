"""A person who types while an agent works: comments with unique words, beside the agent's edits or across one."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

from bench.agents.tasks import Task, quiet_lines

Read = Callable[[Path], str]
Write = Callable[[Path, str], None]


class Person:
    """Types while the model thinks. `read` and `write` are those of an editor: of the disk, or of live buffers."""

    def __init__(self, task: Task, folder: Path, seed: str, read: Read, write: Write) -> None:
        self._task = task
        self._folder = folder
        self._chance = random.Random(seed)
        self._read = read
        self._write = write
        self._places = {path: quiet_lines(task, folder, path) for path in task.paths}
        self._anchors = {
            path: [(folder / path).read_text(encoding="utf-8").splitlines()[line] for line in lines]
            for path, lines in self._places.items()
        }
        self.typed: list[tuple[str, str]] = []

    def beside(self) -> None:
        """A line of its own, above a statement that no edit touches."""
        path = self._chance.choice(self._task.paths)
        anchor = self._chance.choice(self._anchors[path])
        words = self._words()
        lines = self._read(self._folder / path).splitlines(keepends=True)
        at = next(number for number, line in enumerate(lines) if line.rstrip("\n") == anchor)
        lines.insert(at, f"{words}\n")
        self._type(path, "".join(lines), words)

    def across(self) -> None:
        """At the end of the first line that the first edit replaces."""
        edit = self._task.edits[0]
        words = self._words()
        text = self._read(self._folder / edit.path)
        first = edit.old.partition("\n")[0]
        if edit.old in text:
            start = text.index(edit.old) + len(first)
            self._type(edit.path, f"{text[:start]}  {words}{text[start:]}", words)

    def _words(self) -> str:
        return f"# typed {self._chance.randrange(16**8):08x}"

    def _type(self, path: str, text: str, words: str) -> None:
        self._write(self._folder / path, text)
        self.typed.append((path, words))

    def keys(self) -> int:
        """How many keys were pressed."""
        return sum(len(words) for _, words in self.typed)

    def lost(self) -> int:
        """How many of them are not in their file any more."""
        return sum(
            len(words)
            for path, words in self.typed
            if words not in (self._folder / path).read_text(encoding="utf-8", errors="replace")
        )
