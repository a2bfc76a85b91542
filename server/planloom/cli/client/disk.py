"""Workspace edits applied to files that no editor holds open: all of an edit, or nothing of it."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

from planloom.cli.client.messages import Json
from planloom.domain.text.positions import Encoding, Position, Range, TextEdit, apply_edits, encode
from planloom.workspace import disk_changes
from planloom.workspace.disk import ConfinedPath, DiskRefused, fingerprint_at, read
from planloom.workspace.paths.uris import to_path

T = TypeVar("T")
TEXT_LIMIT = 256 * 1024 * 1024
"""Bytes up to which a file is edited: the server asks for no edit of a file that it has not read."""

ChangeKind = Literal["create", "edit", "delete", "rename"]


class Change(NamedTuple):
    """One file or folder as an edit left it; `path` is its name now, or was its last."""

    kind: ChangeKind
    path: Path


class Applied(NamedTuple):
    """The edit is on the disk."""

    changes: tuple[Change, ...]


class Refused(NamedTuple):
    """Nothing of the edit is on the disk; `failed` is the number of the change that could not be made."""

    reason: str
    failed: int


class _Refusal(Exception):
    """Why one change cannot be made."""


def apply_workspace_edit(edit: Json, roots: Sequence[Path], encoding: Encoding) -> Applied | Refused:
    """Apply an LSP WorkspaceEdit to the files below `roots`.

    Changes are made in order; when one cannot be made, those before it are taken back. Nothing is overwritten,
    whatever the options say, and a text edit for a version is refused: no document is open here.
    """
    operations = _operations(edit)
    changes: list[Change] = []
    finished: list[Callable[[], None]] = []
    with ExitStack() as undo:
        for number, operation in enumerate(operations):
            try:
                changes += _apply(operation, _Place(tuple(roots), encoding, undo, finished))
            except (_Refusal, OSError, ValueError, LookupError, TypeError, AttributeError) as error:
                return Refused(f"Not applied: {_reason(error)}.{_taken_back(undo)}", number)
        undo.pop_all()
    for clear in finished:
        clear()
    return Applied(tuple(changes))


class _Place(NamedTuple):
    """Where changes are made, how to take them back, and what to clear away once they stand."""

    roots: tuple[Path, ...]
    encoding: Encoding
    undo: ExitStack
    finished: list[Callable[[], None]]


def _operations(edit: Json) -> list[Json]:
    listed = edit.get("documentChanges")
    if listed is not None:
        return list(listed)
    return [
        {"textDocument": {"uri": uri, "version": None}, "edits": edits}
        for uri, edits in (edit.get("changes") or {}).items()
    ]


def _apply(operation: Json, place: _Place) -> list[Change]:
    options = operation.get("options") or {}
    if options.get("overwrite"):
        raise _Refusal("it asks to overwrite a file, which is never done")
    match operation.get("kind"):
        case None:
            return _edit(operation, place)
        case "create":
            return _create(operation["uri"], bool(options.get("ignoreIfExists")), place)
        case "rename":
            return _rename(operation, bool(options.get("ignoreIfExists")), place)
        case "delete":
            return _delete(operation["uri"], options, place)
        case other:
            raise _Refusal(f"it holds a change of an unknown kind, {other!r}")


def _edit(operation: Json, place: _Place) -> list[Change]:
    document = operation["textDocument"]
    if document.get("version") is not None:
        raise _Refusal(f"{document['uri']} is not open here, so it has no version {document['version']}")
    spot = _confined(document["uri"], place, follow=True)
    file = read(spot, TEXT_LIMIT)
    if file.decoded is None or file.fingerprint is None:
        raise _Refusal(f"{spot.path} is {file.kind.replace('_', ' ')}, not text {file.detail}".rstrip())
    before = encode(file.decoded, file.decoded.text)
    edits = [_text_edit(edit) for edit in operation["edits"]]
    after = encode(file.decoded, apply_edits(file.decoded.text, edits, place.encoding))
    if after != before:
        _done(disk_changes.write(spot, after, over=file.fingerprint))
        place.undo.callback(_write_back, spot, before)
    return [Change("edit", spot.path)]


def _create(uri: str, ignore_existing: bool, place: _Place) -> list[Change]:
    spot = _confined(uri, place, follow=True)
    if ignore_existing and spot.path.is_file():
        return []
    _make_parents(spot, place)
    _done(disk_changes.write(spot, b"", over=None))
    place.undo.callback(_remove, spot)
    return [Change("create", spot.path)]


def _rename(operation: Json, ignore_existing: bool, place: _Place) -> list[Change]:
    old, new = _confined(operation["oldUri"], place), _confined(operation["newUri"], place)
    if ignore_existing and os.path.lexists(new.path):
        return []
    if not os.path.lexists(old.path):
        raise _Refusal(f"{old.path} does not exist")
    _make_parents(new, place)
    _done(disk_changes.rename(old, new))
    place.undo.callback(lambda: _done(disk_changes.rename(new, old)))
    return [Change("rename", new.path)]


def _delete(uri: str, options: Json, place: _Place) -> list[Change]:
    spot = _confined(uri, place)
    if not os.path.lexists(spot.path):
        if options.get("ignoreIfNotExists"):
            return []
        raise _Refusal(f"{spot.path} does not exist")
    folder = spot.path.is_dir() and not spot.path.is_symlink()
    if folder and not options.get("recursive") and any(spot.path.iterdir()):
        raise _Refusal(f"the folder {spot.path} is not empty")
    # Moved aside, it can come back as it was, with its links, times and modes.
    aside = ConfinedPath(spot.root, (*spot.names[:-1], f".{secrets.token_hex(8)}.tmp"))
    _done(disk_changes.rename(spot, aside))
    place.undo.callback(lambda: _done(disk_changes.rename(aside, spot)))
    place.finished.append(lambda: _clear(aside.path, folder=folder))
    return [Change("delete", spot.path)]


def _make_parents(spot: ConfinedPath, place: _Place) -> None:
    for made in _done(disk_changes.create_folders(ConfinedPath(spot.root, spot.names[:-1]))) or ():
        place.undo.callback(_remove_folder, made)


def _write_back(spot: ConfinedPath, data: bytes) -> None:
    _done(disk_changes.write(spot, data, over=fingerprint_at(spot)))


def _remove(spot: ConfinedPath) -> None:
    fingerprint = fingerprint_at(spot)
    if fingerprint is not None:
        _done(disk_changes.delete_file(spot, was=fingerprint))


def _remove_folder(spot: ConfinedPath) -> None:
    _done(disk_changes.delete_folder(spot))


def _clear(aside: Path, *, folder: bool) -> None:
    """Remove what was deleted; what cannot be removed stays hidden, the edit stands."""
    if folder:
        shutil.rmtree(aside, ignore_errors=True)
    else:
        aside.unlink(missing_ok=True)


def _done(outcome: T | DiskRefused) -> T:
    if isinstance(outcome, DiskRefused):
        raise _Refusal(outcome.reason.rstrip("."))
    return outcome


def _confined(uri: str, place: _Place, *, follow: bool = False) -> ConfinedPath:
    """The place behind a URI, links of its parents resolved, if it lies below one of the roots.

    `follow` asks the same of what the name itself links to: a link is deleted or renamed as it is, while
    writing goes through it.
    """
    path = to_path(uri)
    if path is None:
        raise _Refusal(f"{uri} is not a file of this machine")
    target = path.resolve() if follow else path.parent.resolve() / path.name
    for root in (root.resolve() for root in place.roots):
        if target != root and target.is_relative_to(root):
            return ConfinedPath(root, target.relative_to(root).parts)
    raise _Refusal(f"{target} is outside the workspace")


def _text_edit(edit: Json) -> TextEdit:
    if "newText" not in edit:
        raise _Refusal("it holds a snippet, and only plain text can be applied")
    span: Any = edit["range"]
    return TextEdit(
        range=Range(start=Position(**span["start"]), end=Position(**span["end"])), new_text=edit["newText"]
    )


def _reason(error: Exception) -> str:
    if isinstance(error, _Refusal):
        return str(error)
    if isinstance(error, OSError):
        return f"{error.filename or 'the disk'}: {error.strerror or error}"
    return f"the edit is malformed ({type(error).__name__}: {error})"


def _taken_back(undo: ExitStack) -> str:
    try:
        undo.close()
    except (OSError, _Refusal) as error:
        return f" What was done before could not all be taken back: {_reason(error)}."
    return ""
