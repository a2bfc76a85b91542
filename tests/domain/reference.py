"""A second, slow and literal reading of how editors count and edit, to hold the real one against."""

from __future__ import annotations

import random
from collections.abc import Sequence

from planloom.domain.text.positions import Encoding, Position, Range, TextEdit

ENCODINGS: tuple[Encoding, ...] = ("utf-8", "utf-16", "utf-32")

ATOMS = (
    *("a", "b", "if x:", "\t", " ", "é", "ß", "語", "\u05d0"),
    *("😀", "𝒳", "e\u0301", "👩\u200d💻", "🇩🇪", "\ufe0f", "\ufeff"),
    *("\f", "\v", "\x85", "\u2028", "\u2029", "\x1c"),
    *("\n", "\n", "\n\n", "\r\n", "\r\n", "\r"),
)


class Client:
    """An editor that keeps its buffer in units of one encoding and knows nothing else."""

    def __init__(self, text: str, encoding: Encoding) -> None:
        self.encoding = encoding
        self.units = self._to_units(text)

    @property
    def text(self) -> str:
        match self.encoding:
            case "utf-8":
                return bytes(self.units).decode()
            case "utf-16":
                return b"".join(unit.to_bytes(2, "big") for unit in self.units).decode("utf-16-be")
            case "utf-32":
                return "".join(map(chr, self.units))

    def apply(self, edits: Sequence[TextEdit]) -> None:
        """Apply edits that refer to one state, last first, as the protocol asks."""
        spans = [
            (self.place(edit.range.start), self.place(edit.range.end), number, edit.new_text)
            for number, edit in enumerate(edits)
        ]
        for start, end, _, new_text in sorted(spans, reverse=True):
            assert self._between_characters(start)
            assert self._between_characters(end)
            self.units[start:end] = self._to_units(new_text)

    def place(self, position: Position) -> int:
        """The index of the unit at a position, clamped to its line, rounded down to a character."""
        lines = self.lines()
        if position.line >= len(lines):
            return len(self.units)
        start, end = lines[position.line]
        place = min(start + position.character, end)
        while not self._between_characters(place):
            place -= 1
        return place

    def lines(self) -> list[tuple[int, int]]:
        """Where each line begins, and where its content ends."""
        found: list[tuple[int, int]] = []
        start = at = 0
        while at < len(self.units):
            if self.units[at] in (10, 13):
                found.append((start, at))
                at += 2 if self.units[at : at + 2] == [13, 10] else 1
                start = at
            else:
                at += 1
        return [*found, (start, len(self.units))]

    def positions(self) -> list[Position]:
        """Every position between two characters, not between CR and LF."""
        return [
            Position(line=line, character=place - start)
            for line, (start, end) in enumerate(self.lines())
            for place in range(start, end + 1)
            if self._between_characters(place)
        ]

    def _between_characters(self, place: int) -> bool:
        if place >= len(self.units):
            return True
        unit = self.units[place]
        match self.encoding:
            case "utf-8":
                return unit & 0xC0 != 0x80
            case "utf-16":
                return not 0xDC00 <= unit <= 0xDFFF
            case "utf-32":
                return True

    def _to_units(self, text: str) -> list[int]:
        match self.encoding:
            case "utf-8":
                return list(text.encode())
            case "utf-16":
                data = text.encode("utf-16-be")
                return [int.from_bytes(data[at : at + 2], "big") for at in range(0, len(data), 2)]
            case "utf-32":
                return list(map(ord, text))


def some_text(chance: random.Random, most: int = 30) -> str:
    """A text of characters that are counted differently in each encoding, and of every kind of line end."""
    return "".join(chance.choices(ATOMS, k=chance.randint(0, most)))


def changed(text: str, chance: random.Random) -> str:
    """The text after a few changes at random places."""
    for _ in range(chance.randint(1, 4)):
        start = chance.randint(0, len(text))
        end = min(len(text), start + chance.choice((0, 0, 1, 3, 10)))
        text = text[:start] + some_text(chance, 4) + text[end:]
    return text


def some_range(client: Client, chance: random.Random) -> Range:
    """A range whose ends are places in the client's buffer."""
    positions = client.positions()
    first, second = sorted((chance.randrange(len(positions)), chance.randrange(len(positions))))
    return Range(start=positions[first], end=positions[second])
