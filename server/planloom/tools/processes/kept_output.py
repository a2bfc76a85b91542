"""Keeps the whole output of a command in a file once it is long, and folds what repeats itself in what is shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from planloom.domain.patterns import pattern
from planloom.domain.text.counted import counted
from planloom.tools.processes.child_process import Capture
from planloom.tools.terminal_text import plain

MOST_BYTES: Final = 4_000_000
"""The most of one output that is kept."""
_HELD_BYTES: Final = 16_000
"""How much is held in memory before it is written. An output that is not longer needs no file."""
_MOST_FILES: Final = 20
"""Outputs of one plan that are kept, besides those of its background commands."""
_HEADING: Final = pattern(r"_{3,} .+ _{3,}|={3,}.*|\s*Traceback \(most recent call last\):")
"""The beginnings of a report's sections: a test of pytest, a rule, a traceback."""
_ADDRESS: Final = pattern(r"\b0x[0-9a-f]{4,}\b")
_FILE: Final = pattern(r"[\w./-]+\.\w+")
_LEAST_FOLDED: Final = 4
"""A repeated section of fewer lines is left as it is."""
_READ: Final = "read_output with command_id {} and pattern or lines reads all {} lines"


class KeptOutput(Capture):
    """The output of a command. One that is long is in the file `name` of `folder`, up to `MOST_BYTES`.

    Without a `name` it gets the next free one, such as o2, once it is long.
    """

    def __init__(self, folder: Path, name: str = "") -> None:
        super().__init__()
        self._folder = folder
        self._path = folder / name if name else None
        self._unwritten = bytearray()
        self._written = 0

    def add(self, data: bytes) -> None:
        super().add(data)
        self._unwritten += data[: max(0, MOST_BYTES - self._written - len(self._unwritten))]
        if len(self._unwritten) > _HELD_BYTES:
            self._write()

    def kept(self) -> bytes:
        """All that is kept so far."""
        written = b""
        if self._written and self._path is not None:
            with suppress(OSError):
                written = self._path.read_bytes()
        return written + self._unwritten

    def text(self) -> str:
        """The clean text; of a long one the beginning and the end, what repeats itself folded, and how to read on."""
        if not self.left_out:
            return folded(super().text())
        self._write()
        if not self._written or self._path is None or self.total > MOST_BYTES:
            return super().text()
        whole = plain(self.kept().decode("utf-8", "replace"))
        shown = Capture()
        shown.add(folded(whole).encode())
        how = _READ.format(self._path.name, whole.count("\n") + 1)
        head, missing, tail = (
            part if isinstance(part, int) else part.decode("utf-8", "replace") for part in shown.parts()
        )
        gap = f"[… {missing} bytes left out: {how} …]\n{tail}" if missing else f"[{how}]"
        return f"{str(head).rstrip()}\n{gap}"

    def _write(self) -> None:
        """Append what is held to the file. What cannot be written is not kept."""
        with suppress(OSError):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if self._path is None:
                self._path = _free(self._folder)
            with self._path.open("ab") as file:
                file.write(self._unwritten)
            self._written += len(self._unwritten)
        self._unwritten.clear()


def _free(folder: Path) -> Path:
    """A new file of the folder, by the next number. Only the latest are left beside it."""
    numbers = sorted(int(each.name[1:]) for each in folder.iterdir() if each.name[:1] == "o")
    for number in numbers[: 1 - _MOST_FILES]:
        (folder / f"o{number}").unlink()
    path = folder / f"o{max(numbers, default=0) + 1}"
    path.touch(mode=0o600, exist_ok=False)
    return path


def folded(text: str) -> str:
    """The text in which sections with the same lines stand once: of the others only their headings are left."""
    sections = [(*each, _key(*each)) for each in _sections(text.split("\n"))]
    times = Counter(key for _, _, key in sections)
    lines: list[str] = []
    shown: set[str] = set()
    for heading, body, key in sections:
        lines += heading
        if key not in shown:
            lines += body
            if times[key] > 1 and len(body) >= _LEAST_FOLDED:
                shown.add(key)
                again = counted(times[key] - 1, "more time")
                lines.append(f"[these {len(body)} lines come {again}: of those only the heading is left]")
    return "\n".join(lines)


def _sections(lines: list[str]) -> Iterator[tuple[list[str], list[str]]]:
    """The heading and the lines of each section; a traceback ends with the line that names the exception."""
    heading: list[str] = []
    body: list[str] = []
    indent: int | None = None
    for line in lines:
        if _HEADING.fullmatch(line):
            yield heading, body
            heading, body = [line], []
            indent = len(line) - len(line.lstrip()) if "Traceback (" in line else None
            continue
        body.append(line)
        if indent is not None and line.strip() and not line[indent : indent + 1].isspace():
            yield heading, body
            heading, body, indent = [], [], None
    yield heading, body


def _key(heading: list[str], body: list[str]) -> str:
    """The key by which sections are equal: their lines, but for addresses and the file that the heading names."""
    text = _ADDRESS.sub("0x", "\n".join(body))
    for name in _FILE.findall("\n".join(heading)):
        text = text.replace(name, "")
    return text
