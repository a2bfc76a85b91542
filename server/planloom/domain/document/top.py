"""Writes and reads what stands above the steps of a document: values, title, request and summary.

The title is the first line of the request. A request of more lines stands whole in a quotation right below it, and
what follows until the steps is the summary.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from planloom.domain.plans.graph import waits_in_words
from planloom.domain.plans.plan import Plan, ending

STEPS: Final = "## Steps"
"""The line below which the steps stand."""
LINE_END: Final = re.compile(r"\r\n|\n|\r")
_UNTITLED: Final = "Plan"
_READ_ELSE: Final = re.compile(rf"\\*{STEPS}\s*")
_FIRST_READ_ELSE: Final = re.compile(rf"{_READ_ELSE.pattern}|\\*>.*")
"""A line of a summary, and its first, that would be read as something else; a backslash before it keeps it."""


class Place(NamedTuple):
    """A part of one line: its number from 0, and its first and last offset in characters, the last excluded."""

    line: int
    start: int
    end: int


class Top(NamedTuple):
    """The text above the steps as it is written. `quoted` is the quotation below the title, "" if there is none.

    `places` has the first lines of "title", "request" (the quotation) and "summary" that are there; that of the title
    is the first line with text where there is none. `first` is the number of the title's line, or of the first that
    could be it.
    """

    title: str = ""
    quoted: str = ""
    summary: str = ""
    places: Mapping[str, Place] = {}
    first: int = 0

    @property
    def request(self) -> str:
        """The request in its whole length."""
        return self.quoted or self.title

    def says(self, other: Top) -> bool:
        """Whether both say the same, wherever it stands."""
        return (self.title, self.request, self.summary) == (other.title, other.request, other.summary)


_ENDINGS = {
    "undone": "undone",
    "partly_undone": "undone in part",
    "partly": "not all of it",
    "command_failed": "but a command failed",
}


def head_values(plan: Plan) -> dict[str, str]:
    """The text at the top of the document."""
    but = _ENDINGS[how] if (how := ending(plan)) is not None else None
    status = ", ".join(filter(None, (plan.status.replace("_", " "), but, waits_in_words(plan))))
    return {"plan": plan.plan_id, "version": str(plan.version), "status": status}


def head_lines(plan: Plan) -> Iterator[str]:
    """The values at the top."""
    yield "---"
    yield from (f"{name}: {value}" for name, value in head_values(plan).items())
    yield "---"


def top_lines(plan: Plan) -> Iterator[str]:
    """The title, the request and the summary of a plan."""
    request = LINE_END.split(plan.request.strip())
    yield f"# {request[0].strip() or _UNTITLED}"
    if any(line.strip() for line in request[1:]):
        yield from ("", *(f"> {line}".rstrip() for line in request))
    if summary := plan.summary.strip():
        first, *more = LINE_END.split(summary)
        yield from ("", _escaped(first, _FIRST_READ_ELSE), *(_escaped(line, _READ_ELSE) for line in more))


def top_of(plan: Plan) -> Top:
    """The text above the steps in the document of a plan."""
    return read_top([*top_lines(plan)], 0, None)


def read_top(lines: Sequence[str], first: int, end: int | None) -> Top:
    """The text from line `first` up to `end`, which is that of the steps."""
    last = len(lines) if end is None else end
    at = next((number for number in range(first, last) if lines[number].startswith("# ")), None)
    places: dict[str, Place] = {}
    title = ""
    if at is not None:
        title = lines[at][2:].strip()
        places["title"] = Place(at, 0, len(lines[at]))
        first = at
    elif (
        other := next((number for number in range(first, last) if lines[number].strip()), None)
    ) is not None:
        places["title"] = Place(other, 0, len(lines[other]))
    below = first if at is None else at + 1
    while below < last and not lines[below].strip():
        below += 1
    quoted: list[str] = []
    while at is not None and below < last and lines[below].startswith(">"):
        places.setdefault("request", Place(below, 0, len(lines[below])))
        quoted.append(lines[below][1:].removeprefix(" "))
        below += 1
    while below < last and not lines[below].strip():
        below += 1
    summary = ""
    if below < last:
        places["summary"] = Place(below, 0, len(lines[below]))
        more = (_unescaped(line, _READ_ELSE) for line in lines[below + 1 : last])
        summary = "\n".join((_unescaped(lines[below], _FIRST_READ_ELSE), *more)).strip()
    return Top(title, "\n".join(quoted).strip(), summary, places, first)


def _escaped(line: str, read_else: re.Pattern[str]) -> str:
    return "\\" + line if read_else.fullmatch(line) else line


def _unescaped(line: str, read_else: re.Pattern[str]) -> str:
    return line[1:] if line.startswith("\\") and read_else.fullmatch(line) else line
