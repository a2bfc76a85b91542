"""Reads a document that no ledger knows, as the request, the summary and the steps of a new plan."""

from __future__ import annotations

from typing import NamedTuple

from planloom.domain.document.difference import Difference, difference, written_signs
from planloom.domain.document.reader import Trouble, Written, read_document


class Adoption(NamedTuple):
    """A new plan as a document describes it. `found` has the edits that make its steps out of none, `troubles` the
    reasons why it is none, `earlier` the signs and results of its earlier run.
    """

    request: str
    summary: str
    written: Written
    found: Difference
    troubles: tuple[Trouble, ...]
    earlier: frozenset[str]


def adoption(text: str) -> Adoption | None:
    """A new plan with the steps of a document; None for a text without a list of steps."""
    written = read_document(text)
    if not written.steps or written.steps_line is None:
        return None
    earlier = written_signs(written)
    found = difference(None, written, earlier)
    words = found.words
    return Adoption(
        words.request or "",
        words.summary or "",
        written,
        found,
        (*written.troubles, *found.troubles),
        earlier,
    )
