"""Prepared changes as an edit for the editor, and as effects on disk where the editor cannot make them."""

from __future__ import annotations

from collections.abc import Sequence

from planloom.domain.text.diff import text_edits
from planloom.domain.text.positions import FileForm, encode, with_eol
from planloom.workspace.disk import ConfinedPath, DiskRefused, FileOnDisk, fingerprint_at, read
from planloom.workspace.disk_changes import create_folders, delete_file, delete_folder, rename, write
from planloom.workspace.editor import (
    DeleteOperation,
    EditorCapabilities,
    EditorEdit,
    Operation,
    RenameOperation,
    TextOperation,
)
from planloom.workspace.edits.prepare import Carried, PlannedEffect
from planloom.workspace.paths.names import shown
from planloom.workspace.snapshots import BOM


def editor_edit(label: str, works: Sequence[PlannedEffect], capabilities: EditorCapabilities) -> EditorEdit:
    """One edit for all the works, in their order; positions in the negotiated encoding.

    Takes time in proportion to the texts: call it from a thread if they are large.
    """
    operations = tuple(operation for work in works for operation in _operations(work, capabilities))
    asked = capabilities.change_annotations and any(
        work.change.kind == "delete" or work.dangers for work in works
    )
    return EditorEdit(label=label, operations=operations, needs_confirmation=asked)


def _operations(work: PlannedEffect, capabilities: EditorCapabilities) -> tuple[Operation, ...]:
    change = work.change
    match change.kind:
        case "edit":
            document = work.document
            raw = document.text if document is not None else change.before
            mark = BOM if raw.startswith(BOM) else ""
            versioned = document is not None and capabilities.document_changes and work.source == change.uri
            return (
                TextOperation(
                    uri=change.uri,
                    version=document.version if document is not None and versioned else None,
                    edits=text_edits(raw, mark + change.after, capabilities.encoding),
                ),
            )
        case "rename":
            return (RenameOperation(uri=change.uri, new_uri=change.new_uri),)
        case "delete":
            return (DeleteOperation(uri=change.uri),)
        case "create" | "createFolder":
            return ()


def perform(work: PlannedEffect) -> DiskRefused | None:
    """Make one change on disk if the file is still what the change was made for; call it from a thread."""
    change = work.change
    match change.kind:
        case "create":
            return _above(work.confined) or _written(work.confined, change.form, change.after, None)
        case "edit":
            found = read(work.confined)
            changed = _differs(work.confined, found, change.before)
            return changed or _written(work.confined, change.form or found.decoded, change.after, found)
        case "delete":
            if change.before is None:
                return delete_folder(work.confined)
            found = read(work.confined)
            changed = _differs(work.confined, found, change.before if work.on_disk is None else work.on_disk)
            if changed is not None or found.fingerprint is None:
                return changed
            return delete_file(work.confined, was=found.fingerprint)
        case "rename":
            target = work.new_confined
            assert target is not None
            return _carried(work.carried) or _above(target) or rename(work.confined, target)
        case "createFolder":
            made = create_folders(work.confined)
            return made if isinstance(made, DiskRefused) else None


def is_untouched(works: Sequence[PlannedEffect]) -> bool:
    """Whether the closed files are on disk as they were compared; call it from a thread."""
    return all(
        fingerprint_at(work.confined) == work.live.fingerprint
        for work in works
        if work.document is None and work.change.kind in ("edit", "delete") and work.source == work.change.uri
    )


def _carried(files: Sequence[Carried]) -> DiskRefused | None:
    """Give files that are about to be renamed the texts that they are to have under their new names."""
    for place, on_disk, text in files:
        found = read(place)
        if found.decoded is not None and found.decoded.text == text:
            continue
        refused = _differs(place, found, on_disk) or _written(place, found.decoded, text, found)
        if refused is not None:
            return refused
    return None


def _above(confined: ConfinedPath) -> DiskRefused | None:
    made = create_folders(ConfinedPath(confined.root, confined.names[:-1]))
    return made if isinstance(made, DiskRefused) else None


def _written(
    confined: ConfinedPath, form: FileForm | None, text: str, over: FileOnDisk | None
) -> DiskRefused | None:
    try:
        data = encode(form or FileForm(), text)
    except UnicodeEncodeError:
        reason = (
            f"{shown(str(confined.path))} cannot hold half of a surrogate pair: leave that character out."
        )
        return DiskRefused(cause="failed", reason=reason)
    return write(confined, data, over=over.fingerprint if over is not None else None)


def _differs(confined: ConfinedPath, found: FileOnDisk, before: str) -> DiskRefused | None:
    text = found.decoded.text if found.decoded is not None else None
    if text is not None and (text == before or with_eol(text, "\n") == with_eol(before, "\n")):
        return None
    return DiskRefused(cause="changed", reason=f"{shown(str(confined.path))} has changed on disk meanwhile.")
