"""Applies LSP workspace edits to files on disk, each edit as a whole or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

from planloom.cli.client.messages import Json
from planloom.domain.text.positions import Encoding, FileForm, Position, Range, TextEdit, apply_edits, encode
from planloom.workspace import disk_changes
from planloom.workspace.disk import ConfinedPath, DiskRefused, fingerprint_at, read
from planloom.workspace.paths.uris import to_path

T = TypeVar("T")
TEXT_LIMIT = 256 * 1024 * 1024
"""The most bytes of a file that is edited."""

ChangeKind = Literal["create", "edit", "delete", "rename"]


class Change(NamedTuple):
    """One changed file or folder; `path` is its new path, or the last one of a deleted file."""

    kind: ChangeKind
    path: Path


class Applied(NamedTuple):
    """The whole edit is on disk."""

    changes: tuple[Change, ...]


class Refused(NamedTuple):
    """Nothing of the edit is on disk; `failed` is the index of the change that could not be made."""

    reason: str
    failed: int


class _Refusal(Exception):
    """One change cannot be made; the message says why."""


def apply_workspace_edit(edit: Json, roots: Sequence[Path], encoding: Encoding) -> Applied | Refused:
    """Apply an LSP WorkspaceEdit to the files below `roots`.

    Changes are made in order; if one fails, those before it are reverted. No file is overwritten, whatever the options
    say. A new file and the text edit that follows it are one creation. A text edit with a document version is refused,
    since no document is open here.
    """
    operations = _operations(edit)
    changes: list[Change] = []
    finished: list[Callable[[], None]] = []
    with ExitStack() as undo:
        for number, operation in operations:
            try:
                changes += _apply(operation, _Context(tuple(roots), encoding, undo, finished))
            except (_Refusal, OSError, ValueError, LookupError, TypeError, AttributeError) as error:
                return Refused(f"Not applied: {_reason(error)}.{_revert(undo)}", number)
        undo.pop_all()
    for clear in finished:
        clear()
    return Applied(tuple(changes))


def create_folder(uri: str, roots: Sequence[Path]) -> str | None:
    """Create an empty folder below one of the `roots`; returns why it could not be created."""
    with ExitStack() as undo:
        try:
            confined = _confined(uri, _Context(tuple(roots), "utf-16", undo, []))
            _done(disk_changes.create_folders(confined))
        except (_Refusal, OSError, ValueError) as error:
            return _reason(error)
    return None


class _Context(NamedTuple):
    """The roots and encoding of an edit, how to revert its changes, and what to delete once all are made."""

    roots: tuple[Path, ...]
    encoding: Encoding
    undo: ExitStack
    finished: list[Callable[[], None]]


def _operations(edit: Json) -> list[tuple[int, Json]]:
    """The changes with their indices; the creation of a file has the `edits` of the text edit that follows it."""
    listed = edit.get("documentChanges")
    if listed is None:
        changes = (edit.get("changes") or {}).items()
        listed = [{"textDocument": {"uri": uri, "version": None}, "edits": edits} for uri, edits in changes]
    found: list[tuple[int, Json]] = []
    for number, operation in enumerate(listed):
        _, last = found[-1] if found else (0, {})
        made = last.get("kind") == "create" and "edits" not in last and "textDocument" in operation
        if made and operation["textDocument"].get("uri") == last.get("uri"):
            found[-1] = (found[-1][0], {**last, "edits": operation.get("edits", [])})
        else:
            found.append((number, operation))
    return found


def _apply(operation: Json, context: _Context) -> list[Change]:
    options = operation.get("options") or {}
    if options.get("overwrite"):
        raise _Refusal("it asks to overwrite a file, which is never done")
    match operation.get("kind"):
        case None:
            return _edit(operation, context)
        case "create":
            return _create(operation, bool(options.get("ignoreIfExists")), context)
        case "rename":
            return _rename(operation, bool(options.get("ignoreIfExists")), context)
        case "delete":
            return _delete(operation["uri"], options, context)
        case other:
            raise _Refusal(f"it holds a change of an unknown kind, {other!r}")


def _edit(operation: Json, context: _Context) -> list[Change]:
    document = operation["textDocument"]
    if document.get("version") is not None:
        raise _Refusal(f"{document['uri']} is not open here, so it has no version {document['version']}")
    confined = _confined(document["uri"], context, follow=True)
    file = read(confined, TEXT_LIMIT)
    if file.decoded is None or file.fingerprint is None:
        raise _Refusal(f"{confined.path} is {file.kind.replace('_', ' ')}, not text {file.detail}".rstrip())
    before = encode(file.decoded, file.decoded.text)
    edits = [_text_edit(edit) for edit in operation["edits"]]
    after = encode(file.decoded, apply_edits(file.decoded.text, edits, context.encoding))
    if after != before:
        _done(disk_changes.write(confined, after, over=file.fingerprint))
        context.undo.callback(_write_back, confined, before)
    return [Change("edit", confined.path)]


def _create(operation: Json, ignore_existing: bool, context: _Context) -> list[Change]:
    confined = _confined(operation["uri"], context, follow=True)
    if ignore_existing and confined.path.is_file():
        return _edit({"textDocument": operation, **operation}, context) if "edits" in operation else []
    edits = [_text_edit(edit) for edit in operation.get("edits", ())]
    _make_parents(confined, context)
    text = apply_edits("", edits, context.encoding)
    _done(disk_changes.write(confined, encode(FileForm(), text), over=None))
    context.undo.callback(_remove, confined)
    return [Change("create", confined.path)]


def _rename(operation: Json, ignore_existing: bool, context: _Context) -> list[Change]:
    old, new = _confined(operation["oldUri"], context), _confined(operation["newUri"], context)
    if ignore_existing and os.path.lexists(new.path):
        return []
    if not os.path.lexists(old.path):
        raise _Refusal(f"{old.path} does not exist")
    _make_parents(new, context)
    _done(disk_changes.rename(old, new))
    context.undo.callback(lambda: _done(disk_changes.rename(new, old)))
    return [Change("rename", new.path)]


def _delete(uri: str, options: Json, context: _Context) -> list[Change]:
    confined = _confined(uri, context)
    if not os.path.lexists(confined.path):
        if options.get("ignoreIfNotExists"):
            return []
        raise _Refusal(f"{confined.path} does not exist")
    folder = confined.path.is_dir() and not confined.path.is_symlink()
    if folder and not options.get("recursive") and any(confined.path.iterdir()):
        raise _Refusal(f"the folder {confined.path} is not empty")
    # Moved aside first, it can be restored with its links, times and modes.
    aside = ConfinedPath(confined.root, (*confined.names[:-1], f".{secrets.token_hex(8)}.tmp"))
    _done(disk_changes.rename(confined, aside))
    context.undo.callback(lambda: _done(disk_changes.rename(aside, confined)))
    context.finished.append(lambda: _clear(aside.path, folder=folder))
    return [Change("delete", confined.path)]


def _make_parents(confined: ConfinedPath, context: _Context) -> None:
    for made in _done(disk_changes.create_folders(ConfinedPath(confined.root, confined.names[:-1]))) or ():
        context.undo.callback(_remove_folder, made)


def _write_back(confined: ConfinedPath, data: bytes) -> None:
    _done(disk_changes.write(confined, data, over=fingerprint_at(confined)))


def _remove(confined: ConfinedPath) -> None:
    fingerprint = fingerprint_at(confined)
    if fingerprint is not None:
        _done(disk_changes.delete_file(confined, was=fingerprint))


def _remove_folder(confined: ConfinedPath) -> None:
    _done(disk_changes.delete_folder(confined))


def _clear(aside: Path, *, folder: bool) -> None:
    """Remove a deleted file that was moved aside; if that fails, it stays under its hidden name."""
    if folder:
        shutil.rmtree(aside, ignore_errors=True)
    else:
        aside.unlink(missing_ok=True)


def _done(outcome: T | DiskRefused) -> T:
    if isinstance(outcome, DiskRefused):
        raise _Refusal(outcome.reason.rstrip("."))
    return outcome


def _confined(uri: str, context: _Context, *, follow: bool = False) -> ConfinedPath:
    """The path of a URI with the links of its parents resolved; it must lie below one of the roots.

    `follow` resolves the last name too, for writes, which go through a link; a delete or rename acts on the link.
    """
    path = to_path(uri)
    if path is None:
        raise _Refusal(f"{uri} is not a file on this machine")
    target = path.resolve() if follow else path.parent.resolve() / path.name
    for root in (root.resolve() for root in context.roots):
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


def _revert(undo: ExitStack) -> str:
    try:
        undo.close()
    except (OSError, _Refusal) as error:
        return f" The changes before it could not all be reverted: {_reason(error)}."
    return ""
