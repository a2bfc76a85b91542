"""Numbers the lines that a model reads, and removes such numbers from what it writes back.

The form is `12<tab>text`, that of `cat -n` and `nl`, so every model has seen it. Other agents show `12→text`,
`L12: text` or `12 | text`; a model that is used to one of these may copy it, so all of them are recognized.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

_SURE: Final = tuple(re.compile(rf"[ ]{{0,8}}(\d{{1,7}}){sign}") for sign in ("\t", "→"))
"""Forms that hardly occur in files: one line is enough to tell them."""
_LIKELY: Final = (
    re.compile(r"L(\d{1,7}): ?"),
    re.compile(r" {0,8}(\d{1,7}) ?\| ?"),
    re.compile(r"(\d{1,7}): ?"),
)
"""Forms that also occur in files: they count only if at least two lines have them."""


def numbered(lines: Sequence[str], first: int) -> str:
    """Each line after its number and a tab; `first` is the number of the first line."""
    return "\n".join(f"{number}\t{line}" for number, line in enumerate(lines, first))


class Unnumbered(NamedTuple):
    """Old and new lines without the line numbers that the model copied."""

    old: tuple[str, ...]
    new: tuple[str, ...]


def unnumbered_edit(old: Sequence[str], new: Sequence[str]) -> Unnumbered | None:
    """Both sides of an edit whose old lines all carry numbers that rise by one; None if they do not.

    New lines may carry numbers or not, since a model has none for the lines that it adds.
    """
    for form in (*_SURE, *_LIKELY):
        plain = _without(old, form, least=1 if form in _SURE else 2)
        if plain is not None:
            return Unnumbered(plain, _added_without(new, form))
    return None


def unnumbered_text(text: str, first: int) -> str | None:
    """A text of at least two lines without the numbers that all of them carry, from `first`; None if they do not."""
    ended = text.endswith("\n")
    lines = text.removesuffix("\n").split("\n")
    for form in _SURE:
        begins = form.match(lines[0])
        plain = _without(lines, form, least=2) if begins is not None and int(begins[1]) == first else None
        if plain is not None:
            return "\n".join(plain) + ("\n" if ended else "")
    return None


def has_numbers(text: str) -> bool:
    """Whether a line of the text begins like a numbered line, as in a table with numbered rows."""
    return any(form.match(line) for line in text.split("\n") for form in _SURE)


def _without(lines: Sequence[str], form: re.Pattern[str], least: int) -> tuple[str, ...] | None:
    """The lines without numbers in this form. A blank line may have lost its number, or the tab after it."""
    plain: list[str] = []
    expected: int | None = None
    found = 0
    for line in lines:
        match = form.match(line)
        if match is not None and expected in (None, int(match[1])):
            expected = int(match[1])
            plain.append(line[match.end() :])
            found += 1
        elif expected is not None and line.strip() in ("", str(expected)):
            plain.append("")
        elif expected is None and not line.strip():
            plain.append(line)
            continue
        else:
            return None
        expected += 1
    return tuple(plain) if found >= least else None


def _added_without(lines: Sequence[str], form: re.Pattern[str]) -> tuple[str, ...]:
    """New lines without numbers: all of them if all are numbered, else where the form cannot be the line's text."""
    plain = _without(lines, form, least=1)
    if plain is not None:
        return plain
    matches = [form.match(line) for line in lines]
    everywhere = all(match or not line.strip() for match, line in zip(matches, lines, strict=True))
    if not everywhere and form not in _SURE:
        return tuple(lines)
    return tuple(line[match.end() :] if match else line for match, line in zip(matches, lines, strict=True))
