"""What really happened to the files of an edit, whatever the editor said of it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Literal, assert_never

from planloom.domain.changes import EditOutcome
from planloom.domain.text.positions import with_eol
from planloom.domain.values import Uri
from planloom.workspace.edits.outcomes import JournalFile, recorded
from planloom.workspace.edits.prepare import PlannedEffect
from planloom.workspace.edits.rebase import hunks, three_way
from planloom.workspace.snapshots import Snapshot
from planloom.workspace.view import WorkspaceView

FileOutcome = EditOutcome | Literal["not_applied", "unexpected"]


class ResultWatcher:
    """Watches open documents while an edit is made: a result that was there is made, whatever is typed next."""

    def __init__(self, view: WorkspaceView, works: Sequence[PlannedEffect]) -> None:
        self._wanted = {
            work.change.uri: work.change.after for work in works if work.change.kind in ("create", "edit")
        }
        self._documents = view.documents
        self._seen: set[Uri] = set()
        self._stop = view.documents.listen(self._look)

    def saw(self, uri: Uri) -> bool:
        """Whether the document held exactly the result at some moment."""
        return uri in self._seen

    def leave(self) -> None:
        """Watch no more."""
        self._stop()

    def _look(self, changed: Uri) -> None:
        for uri, after in self._wanted.items():
            document = self._documents.get(uri)
            if document is not None and document.uri == changed and document.text == after:
                self._seen.add(uri)


async def arrived(view: WorkspaceView, works: Sequence[PlannedEffect], patience: float) -> bool:
    """Wait until the buffers that were edited say so, at most `patience` seconds: some editors tell late.

    True if all of them did. A file that the edit itself makes or opens is told in two messages, first as it
    was, then with the change.
    """
    changed = asyncio.Event()
    stop = view.documents.listen(lambda _: changed.set())
    try:
        async with asyncio.timeout(patience):
            while any(is_awaited(view, work) for work in works):
                await changed.wait()
                changed.clear()
        return True
    except TimeoutError:
        return False
    finally:
        stop()


async def verified(
    view: WorkspaceView, works: Sequence[PlannedEffect], *, told: bool
) -> tuple[FileOutcome, ...]:
    """How every change of an edit ended; `told` says that the editor calls it applied.

    The editor's word is taken for a closed file that is unchanged on disk: its text may be in a buffer of
    which the editor has not told. The view then takes that text as acknowledged.
    """
    files = tuple(recorded(work.change) for work in works)
    findings = list(await compared(view, files))
    for index, (file, finding) in enumerate(zip(files, findings, strict=True)):
        if not told:
            # Where the editor says no, another text than either of ours is what the user has typed meanwhile.
            if finding == "unexpected" and file.change == "edit":
                findings[index] = "not_applied"
        elif finding in ("not_applied", "unexpected") and await _is_believed(view, file, finding):
            await view.acknowledge(file.uri, file.after)
            findings[index] = "unverified"
    return tuple(findings)


async def compared(view: WorkspaceView, files: Sequence[JournalFile]) -> tuple[FileOutcome, ...]:
    """Each file of an edit compared with both of its texts, which also settles one that a crash cut short."""
    looks = await view.resolve_all([uri for file in files for uri in (file.uri, file.new_uri or file.uri)])
    snapshots = [look.snapshot for look in looks]
    return tuple(
        _finding(file, snapshots[2 * index], snapshots[2 * index + 1]) for index, file in enumerate(files)
    )


async def after_crash(view: WorkspaceView, files: Sequence[JournalFile]) -> tuple[FileOutcome, ...]:
    """The same for an edit whose outcome is not known: a text in which none of its changes can be found, while
    all of them could be made, is one in which the user has typed and the edit was never made."""
    found = await compared(view, files)
    looks = await view.resolve_all([file.uri for file in files])
    return tuple(
        "not_applied" if finding == "unexpected" and _lacks(look.snapshot.text, file) else finding
        for file, finding, look in zip(files, found, looks, strict=True)
    )


def _lacks(text: str | None, file: JournalFile) -> bool:
    """Whether every change of an edit is still to be made in a text, each where it was meant to be."""
    if file.change != "edit" or None in (text, file.before, file.after):
        return False
    before, after, live = file.before or "", file.after or "", text or ""
    merged = three_way(before, live, after)
    return merged.kind == "merged" and hunks(live, merged.text) == hunks(before, after)


async def _is_believed(view: WorkspaceView, file: JournalFile, finding: FileOutcome) -> bool:
    if view.documents.get(file.uri) is not None:
        return False
    if file.change == "edit":
        return finding == "not_applied"
    return file.change == "create" and (await view.snapshot(file.uri)).text in (None, "")


def _finding(file: JournalFile, live: Snapshot, target: Snapshot) -> FileOutcome:
    match file.change:
        case "create" | "edit":
            if file.before == file.after and file.form == live.form:
                # Nothing but the form was to change.
                return "not_applied"
            return _text(live, file.before, file.after or "")
        case "delete":
            return "not_applied" if live.exists else "verified"
        case "rename":
            # Nothing was at the new name when this was intended; something new may be at the old one by now.
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
    if before is not None and _contains(live.text, before, after):
        # The user has typed beside the change since: both are there.
        return "verified"
    return "unexpected"


def _contains(text: str, before: str, after: str) -> bool:
    """Whether a text holds the change from `before` to `after`: making it once more changes nothing."""
    merged = three_way(before, text, after)
    return merged.kind == "merged" and merged.text == text


def is_awaited(view: WorkspaceView, work: PlannedEffect) -> bool:
    """Whether a file is open that does not show the change yet."""
    change = work.change
    now = view.documents.get(change.uri)
    if now is None or change.kind not in ("create", "edit"):
        return False
    asked = work.document
    if asked is not None and (now.version, now.text) == (asked.version, asked.text):
        return True
    file = recorded(change)
    finding = _text(Snapshot(uri=change.uri, exists=True, text=now.text), file.before, file.after or "")
    return finding in ("not_applied", "unexpected")


def _plain(text: str) -> str:
    """A text without what editors change when they save: line ends and white space at the end of lines."""
    return "\n".join(line.rstrip() for line in with_eol(text, "\n").split("\n")).rstrip("\n")
