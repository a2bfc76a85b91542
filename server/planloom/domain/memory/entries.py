"""The entry of an ended plan that later plans can find, and how a few entries are written for a model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Final

from planloom.domain.memory.terms import file_terms, terms_of
from planloom.domain.patterns import pattern
from planloom.domain.plans.plan import PlanStatus
from planloom.domain.text.counted import cut
from planloom.domain.text.hidden_characters import visible
from planloom.domain.values import Instant, PlanId, Value

MOST_BYTES: Final = 600
"""The longest text of entries in a prompt, in UTF-8."""
_REQUEST, _SENTENCE, _FILES = 90, 160, 4
_SHARE: Final = 290
"""Bytes of one entry in a prompt, if there is more than one."""
_END: Final = pattern(r"(?<=[.!?])\s+|\n+")


class MemoryEntry(Value):
    """The findings and changes of a plan. `files` are paths in the workspace; `decisions` are the user's words.

    `findings` are sentences of models, of steps that took nothing from the web. `folders` identifies the workspace
    folders beyond their names, empty if that is not known.
    """

    plan_id: PlanId
    at: Instant
    status: PlanStatus
    request: str
    outcome: str = ""
    files: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    folders: str = ""

    @property
    def says_something(self) -> bool:
        """Whether it has more than the request."""
        return bool(self.files or self.findings or self.decisions)


def entry_terms(entry: MemoryEntry) -> Counter[str]:
    """The terms by which an entry is found. Those of the request count twice."""
    found = terms_of("\n".join((entry.request, *entry.decisions, *entry.findings, *entry.files)))
    found.update(terms_of(entry.request))
    found.update(file_terms(entry.files))
    return found


def shown(entries: Sequence[MemoryEntry], about: Collection[str]) -> str:
    """Entries in at most `MOST_BYTES`, each on one line; of their findings the sentences with the most terms of
    `about`. Empty without entries.
    """
    share = MOST_BYTES if len(entries) == 1 else _SHARE
    lines: list[str] = []
    left = MOST_BYTES
    for entry in entries:
        line = _within(_line(entry, about), min(share, left))
        if not line:
            break
        lines.append(line)
        left -= len(line.encode("utf-8", "replace")) + 1
    return "\n".join(lines)


def _line(entry: MemoryEntry, about: Collection[str]) -> str:
    said = [*entry.decisions[:2], *_nearest(entry.findings, about)]
    parts = [f"- {entry.at:%Y-%m-%d}, {entry.status}: “{cut(_plain(entry.request), _REQUEST)}”"]
    if said:
        parts.append(" ".join(cut(_plain(each), _SENTENCE) for each in said))
    if entry.files:
        more = len(entry.files) - _FILES
        names = ", ".join(map(_plain, entry.files[:_FILES]))
        parts.append(f"Files: {names}{f' and {more} more' if more > 0 else ''}")
    return " | ".join(parts)


def _nearest(findings: Iterable[str], about: Collection[str]) -> list[str]:
    """The three sentences that share the most terms with `about`, in their order."""
    wanted = frozenset(about)
    sentences = [each.strip() for finding in findings for each in _END.split(finding) if each.strip()]
    ranked = sorted(range(len(sentences)), key=lambda at: (-len(wanted & terms_of(sentences[at]).keys()), at))
    return [sentences[at] for at in sorted(ranked[:3])]


def _plain(text: str) -> str:
    return visible(" ".join(text.split()))


def _within(line: str, most: int) -> str:
    """At most so many bytes of a line; empty if that is too few to say something."""
    data = line.encode("utf-8", "replace")
    if len(data) <= most:
        return line
    if most < 120:
        return ""
    return data[: most - 3].decode("utf-8", "ignore").rstrip() + "…"
