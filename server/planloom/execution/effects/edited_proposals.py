"""Proposals for files as the person who approves has changed them: this person's text is approved, not the step's."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from planloom.domain.changes import Changeset, CreateFile, EditFile, FileChange, sha256
from planloom.domain.errors import InvalidParams
from planloom.domain.safety.approvals import EditedProposal
from planloom.domain.values import Uri
from planloom.workspace.paths.uris import display_name, shown_in

_MOST_LINES: Final = 60


class ProposalEdit(NamedTuple):
    """The text that a file is to get instead of the proposed one.

    `before` is the text of the file that the user compared it with, None for the base of the proposal.
    """

    uri: Uri
    text: str
    before: str | None = None


def with_edits(changeset: Changeset, edits: Sequence[ProposalEdit]) -> Changeset:
    """The changes with the user's texts. A file whose text stays as it is has no change any more.

    Raises InvalidParams for a file of which no text is proposed.
    """
    texts = {edit.uri: edit for edit in edits}
    proposed = {change.uri for change in changeset.changes if isinstance(change, CreateFile | EditFile)}
    other = next((uri for uri in texts if uri not in proposed), None)
    if other is not None:
        raise InvalidParams(
            "Only a proposed text can be changed.",
            details=[
                {"field": "edits", "problem": f"the approval proposes no text of {display_name(other)}"}
            ],
        )
    # Where a name is used again, the first text on it is the one that was shown.
    changes = [
        _edited(change, texts.pop(change.uri, None)) if isinstance(change, CreateFile | EditFile) else change
        for change in changeset.changes
    ]
    return Changeset(changes=tuple(change for change in changes if change is not None))


def _edited(change: CreateFile | EditFile, edit: ProposalEdit | None) -> FileChange | None:
    if edit is None:
        return change
    if isinstance(change, CreateFile):
        return change.model_copy(update={"after": edit.text})
    before = change.before if edit.before is None else edit.before
    if edit.text == before:
        return None
    return change.model_copy(update={"before": before, "after": edit.text, "notes": ()})


def edited_proposals(proposed: Changeset, approved: Changeset) -> tuple[EditedProposal, ...]:
    """The files of which another text was approved than the proposed one."""
    return tuple(
        EditedProposal(uri=uri, proposed_sha256=sha256(text), approved_sha256=sha256(instead))
        for uri, text, instead in _replaced(proposed, approved)
    )


def edit_notes(proposed: Changeset, approved: Changeset, folders: Iterable[str]) -> tuple[str, ...]:
    """For the model: what of each file was approved instead of what it had proposed, as a unified diff."""
    found: list[str] = []
    for uri, text, instead in _replaced(proposed, approved):
        lines = [*difflib.unified_diff(text.splitlines(), instead.splitlines(), n=1, lineterm="")][2:]
        shown = "\n".join(lines[:_MOST_LINES])
        more = (
            "" if len(lines) <= _MOST_LINES else f"\n({len(lines) - _MOST_LINES} more lines: read the file.)"
        )
        found.append(
            f"The user changed your proposal for {shown_in(uri, folders)} before it was made;"
            f" from yours (-) to what was made (+):\n{shown}{more}"
        )
    return tuple(found)


def _replaced(proposed: Changeset, approved: Changeset) -> Iterator[tuple[Uri, str, str]]:
    """URI, proposed text and approved text of each file in which they differ."""
    texts: dict[Uri, str] = {}
    for change in proposed.changes:
        if isinstance(change, CreateFile | EditFile):
            texts.setdefault(change.uri, change.after)
    for change in approved.changes:
        if isinstance(change, CreateFile | EditFile):
            text = texts.pop(change.uri, change.after)
            if text != change.after:
                yield change.uri, text, change.after
