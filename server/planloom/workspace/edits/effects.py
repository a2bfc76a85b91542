"""Turns planned changes into an edit for the editor, and makes those on disk that the editor cannot make."""

from __future__ import annotations

from collections.abc import Sequence

from planloom.domain.text.diff import text_edits
from planloom.domain.text.positions import FileForm, differ_only_in_eol, encode
from planloom.workspace.disk import ConfinedPath, DiskRefused, FileOnDisk, fingerprint_at, read
from planloom.workspace.disk_changes import (
    UnflushedFolders,
    create_folders,
    delete_file,
    delete_folder,
    rename,
    write,
)
from planloom.workspace.editor import (
    CreateOperation,
    DeleteOperation,
    EditorCapabilities,
    EditorEdit,
    Operation,
    RenameOperation,
    TextOperation,
)
from planloom.workspace.edits.prepare import Carried, PlannedEffect
from planloom.workspace.paths.names import quoted
from planloom.workspace.snapshots import BOM


def editor_edit(label: str, effects: Sequence[PlannedEffect], capabilities: EditorCapabilities) -> EditorEdit:
    """One edit for all the effects, in order; positions in the negotiated encoding.

    Takes time in proportion to the texts: call it from a thread.
    """
    operations = tuple(operation for effect in effects for operation in _operations(effect, capabilities))
    confirm = capabilities.change_annotations and any(
        effect.change.kind == "delete" or effect.dangers for effect in effects
    )
    return EditorEdit(label=label, operations=operations, needs_confirmation=confirm)


def _operations(effect: PlannedEffect, capabilities: EditorCapabilities) -> tuple[Operation, ...]:
    change = effect.change
    match change.kind:
        case "edit":
            document = effect.document
            raw = document.text if document is not None else change.before
            bom = BOM if raw.startswith(BOM) else ""
            versioned = document is not None and capabilities.document_changes
            return (
                TextOperation(
                    uri=change.uri,
                    version=document.version if document is not None and versioned else None,
                    edits=text_edits(raw, bom + change.after, capabilities.encoding),
                ),
            )
        case "rename":
            return (RenameOperation(uri=change.uri, new_uri=change.new_uri),)
        case "delete":
            return (DeleteOperation(uri=change.uri),)
        case "create":
            whole = text_edits("", change.after, capabilities.encoding)
            text = (TextOperation(uri=change.uri, version=None, edits=whole),) if whole else ()
            return (CreateOperation(uri=change.uri), *text)
        case "createFolder":
            return ()


def perform_all(effects: Sequence[PlannedEffect]) -> tuple[int, DiskRefused | None]:
    """Make changes on disk in order, up to the first that fails; call it from a thread.

    Returns how many were made, and why the next one was not.
    """
    unflushed = UnflushedFolders()
    try:
        for made, effect in enumerate(effects):
            refused = _perform(effect, unflushed)
            if refused is not None:
                return made, refused
    finally:
        unflushed.flush()
    return len(effects), None


def _perform(effect: PlannedEffect, unflushed: UnflushedFolders) -> DiskRefused | None:
    """Make one change on disk if the file is still as it was compared. The caller flushes the folders of new files."""
    change = effect.change
    match change.kind:
        case "create":
            return _create_parents(effect.confined, unflushed) or _write(
                effect.confined, change.form, change.after, None, unflushed
            )
        case "edit":
            found = read(effect.confined)
            changed = _differs(effect.confined, found, change.before)
            return changed or _write(effect.confined, change.form or found.decoded, change.after, found)
        case "delete":
            if change.before is None:
                return delete_folder(effect.confined)
            found = read(effect.confined)
            changed = _differs(
                effect.confined, found, change.before if effect.on_disk is None else effect.on_disk
            )
            if changed is not None or found.fingerprint is None:
                return changed
            return delete_file(effect.confined, was=found.fingerprint)
        case "rename":
            target = effect.new_confined
            assert target is not None
            return (
                _write_carried(effect.carried) or _create_parents(target) or rename(effect.confined, target)
            )
        case "createFolder":
            made = create_folders(effect.confined, unflushed)
            return made if isinstance(made, DiskRefused) else None


def compared_on_disk(effects: Sequence[PlannedEffect]) -> tuple[PlannedEffect, ...]:
    """The changes of closed files, which somebody may have changed on disk since they were compared."""
    return tuple(
        effect for effect in effects if effect.document is None and effect.change.kind in ("edit", "delete")
    )


def are_untouched(effects: Sequence[PlannedEffect]) -> bool:
    """Whether closed files are still as they were compared; call it from a thread."""
    return all(fingerprint_at(effect.confined) == effect.live.fingerprint for effect in effects)


def _write_carried(files: Sequence[Carried]) -> DiskRefused | None:
    """Write the texts that files must have before they are renamed."""
    for place, on_disk, text in files:
        found = read(place)
        if found.decoded is not None and found.decoded.text == text:
            continue
        refused = _differs(place, found, on_disk) or _write(place, found.decoded, text, found)
        if refused is not None:
            return refused
    return None


def _create_parents(confined: ConfinedPath, unflushed: UnflushedFolders | None = None) -> DiskRefused | None:
    made = create_folders(confined._replace(names=confined.names[:-1]), unflushed)
    return made if isinstance(made, DiskRefused) else None


def _write(
    confined: ConfinedPath,
    form: FileForm | None,
    text: str,
    over: FileOnDisk | None,
    unflushed: UnflushedFolders | None = None,
) -> DiskRefused | None:
    try:
        data = encode(form or FileForm(), text)
    except UnicodeEncodeError:
        reason = (
            f"{quoted(str(confined.path))} cannot hold half of a surrogate pair: leave that character out."
        )
        return DiskRefused(cause="failed", reason=reason)
    return write(
        confined,
        data,
        over=over.fingerprint if over is not None else None,
        unflushed=unflushed,
        protection=form.protection if form is not None else None,
    )


def _differs(confined: ConfinedPath, found: FileOnDisk, before: str) -> DiskRefused | None:
    text = found.decoded.text if found.decoded is not None else None
    if text is not None and differ_only_in_eol(text, before):
        return None
    return DiskRefused(cause="changed", reason=f"{quoted(str(confined.path))} has changed on disk meanwhile.")
