"""Workspace edits applied to files that no editor holds open: all of an edit, or nothing of it."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal, NamedTuple

from planloom.cli.wire import Json
from planloom.domain.text import (
    Decoded,
    Encoding,
    Position,
    Range,
    TextEdit,
    apply_edits,
    decode,
    encode,
)
from planloom.workspace.uris import to_path

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
            return _create(
                _confined(operation["uri"], place, follow=True), bool(options.get("ignoreIfExists")), place
            )
        case "rename":
            old, new = _confined(operation["oldUri"], place), _confined(operation["newUri"], place)
            return _rename(old, new, bool(options.get("ignoreIfExists")), place)
        case "delete":
            return _delete(_confined(operation["uri"], place), options, place)
        case other:
            raise _Refusal(f"it holds a change of an unknown kind, {other!r}")


def _edit(operation: Json, place: _Place) -> list[Change]:
    document = operation["textDocument"]
    if document.get("version") is not None:
        raise _Refusal(f"{document['uri']} is not open here, so it has no version {document['version']}")
    path = _confined(document["uri"], place, follow=True).resolve()
    if not path.is_file():
        raise _Refusal(f"{path} is not a file" if path.exists() else f"{path} does not exist")
    before = path.read_bytes()
    decoded = decode(before)
    if not isinstance(decoded, Decoded):
        raise _Refusal(f"{path} cannot be edited as text: {decoded.detail}")
    text = apply_edits(decoded.text, [_text_edit(edit) for edit in operation["edits"]], place.encoding)
    after = encode(decoded, text)
    if after != before:
        write_atomically(path, after)
        place.undo.callback(write_atomically, path, before)
    return [Change("edit", path)]


def _create(path: Path, ignore_existing: bool, place: _Place) -> list[Change]:
    if os.path.lexists(path):
        if ignore_existing and path.is_file():
            return []
        raise _Refusal(f"{path} exists already")
    _make_parents(path, place)
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    place.undo.callback(path.unlink)
    return [Change("create", path)]


def _rename(old: Path, new: Path, ignore_existing: bool, place: _Place) -> list[Change]:
    # Where names that differ only in case are one file, the target "exists" and is the file itself.
    if os.path.lexists(new) and not (os.path.lexists(old) and old.samefile(new)):
        if ignore_existing:
            return []
        raise _Refusal(f"{new} exists already")
    _make_parents(new, place)
    old.rename(new)
    place.undo.callback(new.rename, old)
    return [Change("rename", new)]


def _delete(path: Path, options: Json, place: _Place) -> list[Change]:
    if not os.path.lexists(path):
        if options.get("ignoreIfNotExists"):
            return []
        raise _Refusal(f"{path} does not exist")
    folder = path.is_dir() and not path.is_symlink()
    if folder and not options.get("recursive") and any(path.iterdir()):
        raise _Refusal(f"the folder {path} is not empty")
    # Moved aside, it can come back as it was, with its links, times and modes.
    aside = path.with_name(f".planloom-{secrets.token_hex(8)}")
    path.rename(aside)
    place.undo.callback(aside.rename, path)
    place.finished.append(
        lambda: shutil.rmtree(aside, ignore_errors=True) if folder else aside.unlink(missing_ok=True)
    )
    return [Change("delete", path)]


def _make_parents(path: Path, place: _Place) -> None:
    missing = [parent for parent in path.parents if not parent.exists()]
    for parent in reversed(missing):
        parent.mkdir()
        place.undo.callback(parent.rmdir)


def write_atomically(path: Path, data: bytes) -> None:
    """Replace the content of a file: whoever reads it sees all of the old or all of the new.

    The file keeps its mode. Raises OSError when it cannot be written, and then is as before.
    """
    temporary = path.with_name(f".planloom-{secrets.token_hex(8)}")
    descriptor = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        shutil.copymode(path, temporary)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _confined(uri: str, place: _Place, *, follow: bool = False) -> Path:
    """The path behind a URI, links of its parents resolved, if it lies below one of the roots.

    `follow` asks the same of what the name itself links to: a link is deleted or renamed as it is, while
    writing goes through it.
    """
    path = to_path(uri)
    if path is None:
        raise _Refusal(f"{uri} is not a file of this machine")
    named = path.parent.resolve() / path.name
    target = named.resolve() if follow else named
    for root in (root.resolve() for root in place.roots):
        if named != root and named.is_relative_to(root) and target.is_relative_to(root):
            return named
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
    except OSError as error:
        return f" What was done before could not all be taken back: {_reason(error)}."
    return ""
