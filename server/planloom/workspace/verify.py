"""What really happened to the files of an edit, whatever the editor said of it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Literal

from planloom.domain.changes import EditOutcome
from planloom.domain.text import with_eol
from planloom.workspace.outcomes import JournalFile, recorded
from planloom.workspace.prepare import Work
from planloom.workspace.rebase import three_way
from planloom.workspace.view import Snapshot, WorkspaceView

Finding = EditOutcome | Literal["not_applied", "unexpected"]


async def arrived(view: WorkspaceView, works: Sequence[Work], patience: float) -> None:
    """Wait until the buffers that were edited say so, at most `patience` seconds: some editors tell late."""
    changed = asyncio.Event()
    stop = view.documents.listen(lambda _: changed.set())
    try:
        async with asyncio.timeout(patience):
            while any(_is_awaited(view, work) for work in works):
                await changed.wait()
                changed.clear()
    except TimeoutError:
        return
    finally:
        stop()


async def verified(view: WorkspaceView, work: Work, *, told: bool) -> Finding:
    """How one change of an edit ended; `told` says that the editor calls it applied.

    The editor's word is taken for a closed file that is unchanged on disk: its text may be in a buffer of
    which the editor has not told. The view then takes that text as acknowledged.
    """
    change = work.change
    finding = await compared(view, recorded(work.change))
    if not told:
        # Where the editor says no, another text than either of ours is what the user has typed meanwhile.
        return "not_applied" if finding == "unexpected" and change.kind == "edit" else finding
    if view.documents.get(change.uri) is not None or finding not in ("not_applied", "unexpected"):
        return finding
    if change.kind == "edit":
        believed = finding == "not_applied"
    else:
        believed = change.kind == "create" and (await view.snapshot(change.uri)).text in (None, "")
    if not believed:
        return finding
    await view.acknowledge(change.uri, recorded(work.change).after)
    return "unverified"


async def compared(view: WorkspaceView, file: JournalFile) -> Finding:
    """One file of an edit compared with both of its texts, which also settles one that a crash cut short."""
    live = await view.snapshot(file.uri)
    match file.change:
        case "create" | "edit":
            return _text(live, file.before, file.after or "")
        case "delete":
            if not live.exists:
                return "verified"
            return "not_applied"
        case "rename":
            assert file.new_uri is not None
            # Nothing was at the new name when this was intended; something new may be at the old one by now.
            if (await view.snapshot(file.new_uri)).exists:
                return "verified"
            return "not_applied" if live.exists else "unexpected"
        case "createFolder":
            return "verified" if live.problem == "folder" else "not_applied"


def _text(live: Snapshot, before: str | None, after: str) -> Finding:
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


def _is_awaited(view: WorkspaceView, work: Work) -> bool:
    change = work.change
    if work.document is None or change.kind != "edit":
        return False
    now = view.documents.get(change.uri)
    if now is None or (now.version == work.document.version and now.text == work.document.text):
        return now is not None
    finding = _text(Snapshot(uri=change.uri, exists=True, text=now.text), change.before, change.after)
    return finding in ("not_applied", "unexpected")


def _plain(text: str) -> str:
    """A text without what editors change when they save: line ends and white space at the end of lines."""
    return "\n".join(line.rstrip() for line in with_eol(text, "\n").split("\n")).rstrip("\n")
