"""Verifies what an edit did to its files, independently of the editor's answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, assert_never

from planloom.domain.changes import EditOutcome
from planloom.domain.text.positions import with_eol
from planloom.domain.values import Uri
from planloom.workspace.edits.misplaced import TextHistory
from planloom.workspace.edits.outcomes import JournalFile, recorded
from planloom.workspace.edits.prepare import PlannedEffect
from planloom.workspace.paths.uris import is_at_or_below
from planloom.workspace.snapshots import BOM, Snapshot
from planloom.workspace.staged.rebase import hunks, three_way
from planloom.workspace.view import WorkspaceView

FileOutcome = EditOutcome | Literal["not_applied", "unexpected"]


class ResultWatcher:
    """Watches open documents during an edit: a result that was observed counts as made, even if the user types on.

    `history` are the texts that they have had meanwhile.
    """

    def __init__(self, view: WorkspaceView, effects: Sequence[PlannedEffect]) -> None:
        self._wanted = {
            effect.change.uri: effect.change.after
            for effect in effects
            if effect.change.kind in ("create", "edit")
        }
        self._documents = view.documents
        self.history = TextHistory(view.documents, self._wanted)
        self._observed: set[Uri] = set()
        self._unsubscribe = view.documents.listen(self._on_change)

    def observed(self, uri: Uri) -> bool:
        """Whether the document had exactly the resulting text at some moment."""
        return uri in self._observed

    def stop(self) -> None:
        """Stop watching."""
        self.history.stop()
        self._unsubscribe()

    def _on_change(self, changed: Uri) -> None:
        for uri, after in self._wanted.items():
            document = self._documents.get(uri)
            if document is None or document.uri != changed or document.content.length != len(after):
                continue
            if document.text == after:
                self._observed.add(uri)


async def wait_for_buffers(view: WorkspaceView, effects: Sequence[PlannedEffect], patience: float) -> bool:
    """Wait at most `patience` seconds until all open buffers show the change, since some editors report late.

    Returns whether they did. For a file that the edit itself creates or opens, the editor sends two messages:
    first the old text, then the change.
    """
    return await view.documents.wait_until(
        lambda: not any(is_awaited(view, effect) for effect in effects), patience
    )


async def verified(
    view: WorkspaceView, effects: Sequence[PlannedEffect], *, acknowledged: bool
) -> tuple[FileOutcome, ...]:
    """The outcome of every change of an edit; `acknowledged`: the editor reported it as applied.

    A closed file that is unchanged on disk is then believed to be changed, since its text may be in a buffer that
    the editor has not reported; the view assumes that text.
    """
    files = tuple(recorded(effect.change) for effect in effects)
    findings = list(await compare(view, files))
    for index, (file, finding) in enumerate(zip(files, findings, strict=True)):
        if not acknowledged:
            # The editor refused: a text that is neither the old nor the new one was typed by the user.
            if finding == "unexpected" and file.change in ("create", "edit"):
                findings[index] = "not_applied"
        elif finding == "not_applied" and file.change == "edit" and view.documents.get(file.uri) is None:
            await view.acknowledge(file.uri, file.after or "")
            findings[index] = "unverified"
    return tuple(findings)


async def is_seen(view: WorkspaceView, uri: Uri, before: str, after: str) -> bool:
    """Whether the open document, or else the disk, shows a change of a text: not what the editor alone reported."""
    document = view.buffer(uri)
    text = await view.saved_text(uri) if document is None else document.text.removeprefix(BOM)
    found = _text(Snapshot(uri=uri, exists=text is not None, text=text), before, after)
    return found in ("verified", "normalized")


async def compare(view: WorkspaceView, files: Sequence[JournalFile]) -> tuple[FileOutcome, ...]:
    """Compare each file of an edit with its texts before and after."""
    resolved = await view.resolve_all([uri for file in files for uri in (file.uri, file.new_uri or file.uri)])
    snapshots = [found.snapshot for found in resolved]
    return tuple(
        _finding(file, snapshots[2 * index], snapshots[2 * index + 1]) for index, file in enumerate(files)
    )


def _finding(file: JournalFile, live: Snapshot, target: Snapshot) -> FileOutcome:
    match file.change:
        case "create" | "edit":
            if file.before == file.after and file.form == live.form:
                # Only the encoding was to change, and it has not.
                return "not_applied"
            return _text(live, file.before, file.after or "")
        case "delete":
            return "not_applied" if live.exists else "verified"
        case "rename":
            # Nothing was at the new name when the rename was planned; the old name may be in use again by now.
            if target.exists:
                return "verified"
            return "not_applied" if live.exists else "unexpected"
        case "createFolder":
            return "verified" if live.problem == "folder" else "not_applied"
        case _:
            assert_never(file.change)


def _text(live: Snapshot, before: str | None, after: str) -> FileOutcome:
    if live.text is None:
        return "not_applied" if before is None and not live.exists else "unexpected"
    if live.text == after:
        return "verified"
    if live.text == before:
        return "not_applied"
    if _plain(live.text) == _plain(after):
        return "normalized"
    if _is_kept(after, live.text) if before is None else _contains(live.text, before, after):
        # The user has typed elsewhere in the file since.
        return "verified"
    return "unexpected"


def _is_kept(created: str, text: str) -> bool:
    """Whether a text is that of a new file with lines added."""
    return bool(created) and not any(removed for removed, _ in hunks(created, text))


def _contains(text: str, before: str, after: str) -> bool:
    """Whether a text contains the change from `before` to `after`: merging it again changes nothing."""
    merged = three_way(before, text, after)
    return merged.kind == "merged" and merged.text == text


def is_awaited(view: WorkspaceView, effect: PlannedEffect) -> bool:
    """Whether the file is open and does not show the change yet: a deleted or renamed one shows it by being closed."""
    change = effect.change
    now = view.documents.get(change.uri)
    if change.kind == "rename":
        return any(is_at_or_below(document.uri, change.uri) for document in view.documents.all())
    if now is None or change.kind == "delete":
        # The editor may report its closing after the answer.
        return now is not None
    if change.kind not in ("create", "edit"):
        return False
    asked = effect.document
    if asked is not None and (now.version, now.text) == (asked.version, asked.text):
        return True
    file = recorded(change)
    finding = _text(Snapshot(uri=change.uri, exists=True, text=now.text), file.before, file.after or "")
    return finding in ("not_applied", "unexpected")


def _plain(text: str) -> str:
    """The text without what editors change on save: line ends, trailing white space, final newlines."""
    return "\n".join(line.rstrip() for line in with_eol(text, "\n").split("\n")).rstrip("\n")
