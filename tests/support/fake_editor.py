"""An editor in memory over a real folder: it keeps buffers, checks versions, and misbehaves as it is told."""

from __future__ import annotations

import asyncio
import codecs
import re
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Literal

from planloom.domain.text.positions import ContentChange, Encoding, Position, Range, TextEdit
from planloom.domain.values import Args, Json, Uri
from planloom.workspace.documents import DocumentStore
from planloom.workspace.editor import (
    CreateOperation,
    DeleteOperation,
    EditAnswer,
    EditorCapabilities,
    EditorEdit,
    EditorSilent,
    FileDiagnostics,
    FolderAnswer,
    LanguageMethod,
    Operation,
    RenameOperation,
    SaveAnswer,
    SaveFailure,
    TextOperation,
)
from planloom.workspace.paths.uris import from_path, normalized, to_path

EVERYTHING = EditorCapabilities(
    apply_edit=True,
    document_changes=True,
    create_files=True,
    rename_files=True,
    delete_files=True,
    change_annotations=True,
    failure_handling="textOnlyTransactional",
    save=True,
    diagnostics=True,
    language=True,
)

Closed = Literal["open", "hidden", "disk"]
"""What becomes of an edit for a closed file: it is opened, kept in a buffer never told of, or written."""


@dataclass(frozen=True)
class Refuse:
    """Say no, with or without a reason, and do nothing."""

    reason: str | None = None


@dataclass(frozen=True)
class Silent:
    """Give no answer, having applied the first `after` operations (None: all of them)."""

    after: int | None = 0


@dataclass(frozen=True)
class Hang:
    """Give no answer in time. `wake` works off the edits that were sent meanwhile, in their order.

    `waited` is how long the caller has waited, and so how long it will wait for the answer once more.
    """

    waited: float = 0.0


@dataclass(frozen=True)
class ApplyOnly:
    """Apply the first `count` operations and say what `says`."""

    count: int
    says: bool
    failed_change: int | None = None


@dataclass(frozen=True)
class Lie:
    """Say yes and do nothing."""


@dataclass(frozen=True)
class FormatAfter:
    """Apply everything, then change every edited buffer, as formatting on save does."""

    change: Callable[[str], str]


@dataclass(frozen=True)
class Instead:
    """Say yes, and change every buffer that was to be edited in another way."""

    change: Callable[[str], str]


@dataclass(frozen=True)
class Before:
    """Let something happen in the editor just before the edit arrives there, then behave."""

    act: Callable[[], object]


@dataclass(frozen=True)
class After:
    """Behave, and let something happen before the answer is given."""

    act: Callable[[], object]


@dataclass(frozen=True)
class Wait:
    """Behave, but answer only when the event is set."""

    event: asyncio.Event


Behaviour = Refuse | Silent | Hang | ApplyOnly | Lie | FormatAfter | Instead | Before | After | Wait


@dataclass
class Buffer:
    """One open buffer; `told` is False for one that the server has not heard of.

    It is saved in the encoding `codec`, after the byte-order mark `mark`.
    """

    uri: Uri
    text: str
    saved: str
    version: int = 1
    told: bool = True
    mark: bytes = b""
    codec: str = "utf-8"


class FakeEditor:
    """Implements the `Editor` port. The user's own acts (`open`, `type`, `save` …) are plain calls."""

    def __init__(
        self,
        documents: DocumentStore,
        capabilities: EditorCapabilities = EVERYTHING,
        *,
        closed: Closed = "open",
        tells: Literal["before", "after", "late"] = "before",
        script: Sequence[Behaviour] = (),
    ) -> None:
        self.documents = documents
        self.capabilities = capabilities
        self.closed = closed
        self.tells = tells
        self.clamps = False
        self.script = deque(script)
        self.received: list[EditorEdit] = []
        self.reached = asyncio.Event()
        self.buffers: dict[Uri, Buffer] = {}
        self.known: dict[LanguageMethod, Json | Callable[[Args], Json]] = {}
        self.asked: list[tuple[LanguageMethod, Args]] = []
        self.findings: dict[Uri, FileDiagnostics] = {}
        self.folders: list[Uri] = []
        self._new: set[Uri] = set()
        self._untold: list[Callable[[], object]] = []
        self._hung: list[tuple[EditorEdit, asyncio.Future[EditAnswer | None]]] = []

    # What a user does.

    def open(self, path: Path, text: str | None = None) -> Buffer:
        """Open a file; `text` is unsaved text that the editor has kept for it."""
        saved = _decoded(path)[0] if path.exists() else ""
        return self._open(from_path(path), saved if text is None else text, saved)

    def type(self, path: Path, start: int, end: int, text: str) -> None:
        """Replace the characters from offset `start` to `end`."""
        buffer = self.buffers[from_path(path)]
        self._change(buffer, buffer.text[:start] + text + buffer.text[end:], (start, end, text))

    def replace(self, path: Path, old: str, new: str) -> None:
        """Replace the one occurrence of a text."""
        text = self.buffers[from_path(path)].text
        assert text.count(old) == 1
        start = text.index(old)
        self.type(path, start, start + len(old), new)

    def save_file(self, path: Path) -> None:
        """Write a buffer to disk."""
        self._save(self.buffers[from_path(path)])

    def reload(self) -> None:
        """Let buffers without unsaved text follow the disk, as editors do when they hear of a change there."""
        for buffer in [each for each in self.buffers.values() if each.text == each.saved]:
            if not _path(buffer.uri).exists():
                self.close(_path(buffer.uri))
                continue
            on_disk, buffer.mark, buffer.codec = _decoded(_path(buffer.uri))
            if on_disk != buffer.text:
                buffer.saved = on_disk
                self._change(buffer, on_disk, None)

    def close(self, path: Path) -> None:
        """Close a buffer; unsaved text is thrown away."""
        buffer = self.buffers.pop(from_path(path))
        if buffer.told:
            self.documents.did_close(buffer.uri)

    def text(self, path: Path) -> str:
        """What the user sees of a file."""
        buffer = self.buffers.get(from_path(path))
        return buffer.text if buffer is not None else path.read_bytes().decode()

    # The port.

    async def apply(self, edit: EditorEdit) -> EditAnswer:
        self.received.append(edit)
        self.reached.set()
        behaviour = self.script.popleft() if self.script else None
        while isinstance(behaviour, Before):
            behaviour.act()
            behaviour = self.script.popleft() if self.script else None
        match behaviour:
            case Refuse(reason):
                await asyncio.sleep(0)
                return EditAnswer(applied=False, reason=reason)
            case Silent(after):
                self._apply(edit.operations[:after])
                raise EditorSilent("no answer")
            case Hang(waited):
                late: asyncio.Future[EditAnswer | None] = asyncio.get_running_loop().create_future()
                self._hung.append((edit, late))
                raise EditorSilent("no answer in time", late=late, seconds=waited)
            case ApplyOnly(count, says, failed):
                self._apply(edit.operations[:count])
                await asyncio.sleep(0)
                return EditAnswer(applied=says, failed_change=failed)
            case Lie():
                return EditAnswer(applied=True)
            case Instead(change):
                for operation in edit.operations:
                    if (buffer := self.buffers.get(normalized(operation.uri))) is not None:
                        self._change(buffer, change(buffer.text), None)
                return EditAnswer(applied=True)
            case After(act):
                answer = self._checked(edit)
                act()
                return answer
            case Wait(event):
                answer = self._checked(edit)
                await event.wait()
                return answer
            case FormatAfter(change):
                answer = self._checked(edit)
                for operation in edit.operations:
                    buffer = self.buffers.get(normalized(operation.uri))
                    if buffer is not None:
                        self._change(buffer, change(buffer.text), None)
                return answer
            case None:
                answer = self._checked(edit)
                if self.tells != "late":
                    await asyncio.sleep(0)
                return answer

    def wake(self, *, makes: bool = True, answers: bool = True, says: bool | None = None) -> None:
        """Work off what was sent while the editor hung: make the edits, and answer them or say what `says`."""
        hung, self._hung = self._hung, []
        for edit, late in hung:
            answer = self._checked(edit) if makes else EditAnswer(applied=False, reason="cancelled")
            if answers:
                late.set_result(answer if says is None else EditAnswer(applied=says))

    async def save(self, uris: tuple[Uri, ...]) -> SaveAnswer:
        saved, failed = [], []
        for uri in uris:
            buffer = self.buffers.get(normalized(uri))
            if buffer is None:
                failed.append(SaveFailure(uri=uri, reason="not open"))
            else:
                self._save(buffer)
                saved.append(uri)
        return SaveAnswer(saved=tuple(saved), failed=tuple(failed))

    async def create_folder(self, uri: Uri) -> FolderAnswer:
        self.folders.append(uri)
        try:
            _path(uri).mkdir(parents=True)
        except OSError as error:
            return FolderAnswer(created=False, reason=error.strerror)
        return FolderAnswer(created=True)

    async def diagnostics(self, uris: tuple[Uri, ...]) -> tuple[FileDiagnostics, ...]:
        return tuple(self.findings.get(uri, FileDiagnostics(uri=uri, items=())) for uri in uris)

    async def language(self, method: LanguageMethod, params: Args) -> Json:
        self.asked.append((method, params))
        if method not in self.known:
            raise EditorSilent(f"No language server here answers {method}.")
        answer = self.known[method]
        return answer(params) if callable(answer) else answer

    # How it applies.

    def _checked(self, edit: EditorEdit) -> EditAnswer:
        texts = [operation for operation in edit.operations if isinstance(operation, TextOperation)]
        if any(self._problem(operation) for operation in texts):
            return EditAnswer(applied=False)
        for index, operation in enumerate(edit.operations):
            problem = self._missing(operation) if operation in texts else self._problem(operation)
            if problem:
                return EditAnswer(applied=False, reason=problem, failed_change=index)
            try:
                self._apply((operation,))
            except OSError as error:
                return EditAnswer(applied=False, reason=error.strerror, failed_change=index)
        return EditAnswer(applied=True)

    def _missing(self, operation: Operation) -> str | None:
        is_there = normalized(operation.uri) in self.buffers or _path(operation.uri).exists()
        return None if is_there else "There is no such file."

    def _problem(self, operation: Operation) -> str | None:
        able = self.capabilities
        assert able.apply_edit, "The editor cannot take edits."
        if isinstance(operation, TextOperation):
            if operation.version is None:
                return None
            assert able.document_changes, "The editor knows no versions."
            buffer = self.buffers.get(normalized(operation.uri))
            return None if buffer is not None and buffer.version == operation.version else "version"
        assert able.document_changes, "The editor knows no operations on files."
        if isinstance(operation, CreateOperation):
            assert able.create_files
            return "exists" if _path(operation.uri).exists() else None
        if isinstance(operation, RenameOperation):
            assert able.rename_files
            return "exists" if _path(operation.new_uri).exists() else None
        assert able.delete_files
        return None if _path(operation.uri).exists() else "missing"

    def _apply(self, operations: Sequence[Operation]) -> None:
        for operation in operations:
            match operation:
                case TextOperation():
                    self._edit(operation)
                case CreateOperation(uri=uri):
                    _path(uri).parent.mkdir(parents=True, exist_ok=True)
                    _path(uri).touch()
                    self._new.add(normalized(uri))
                case RenameOperation(uri=uri, new_uri=new_uri):
                    self._rename(uri, new_uri)
                case DeleteOperation(uri=uri):
                    buffer = self.buffers.pop(normalized(uri), None)
                    _path(uri).unlink()
                    if buffer is not None and buffer.told:
                        self._tell_closed(buffer.uri)
        if self.tells == "late":
            untold, self._untold = self._untold, []
            asyncio.get_running_loop().call_later(0.02, lambda: [tell() for tell in untold])

    def _tell_closed(self, uri: Uri) -> None:
        if self.tells == "late":
            self._untold.append(lambda: self.documents.did_close(uri))
        else:
            self.documents.did_close(uri)

    def _edit(self, operation: TextOperation) -> None:
        path = _path(operation.uri)
        buffer = self.buffers.get(normalized(operation.uri))
        if buffer is None:
            saved, mark, codec = _decoded(path)
            text = applied(saved, operation.edits, self.capabilities.encoding)
            contents = self.capabilities.create_contents and normalized(operation.uri) in self._new
            if self.closed == "disk" or contents:
                path.write_bytes(mark + text.encode(codec))
            elif self.closed == "hidden":
                self.buffers[normalized(operation.uri)] = Buffer(operation.uri, text, saved, told=False)
            else:
                buffer = self._open(operation.uri, saved, saved)
                self._change(buffer, text, None)
            return
        self._change(
            buffer,
            applied(buffer.text, operation.edits, self.capabilities.encoding, clamps=self.clamps),
            None,
        )

    def _rename(self, uri: Uri, new_uri: Uri) -> None:
        _path(new_uri).parent.mkdir(parents=True, exist_ok=True)
        _path(uri).rename(_path(new_uri))
        for key in [key for key in self.buffers if key == uri or key.startswith(uri + "/")]:
            buffer = self.buffers.pop(key)
            self.documents.did_close(key)
            self._open(Uri(new_uri + key.removeprefix(uri)), buffer.text, buffer.saved)

    def _open(self, uri: Uri, text: str, saved: str) -> Buffer:
        buffer = Buffer(normalized(uri), text, saved)
        if _path(uri).exists():
            _, buffer.mark, buffer.codec = _decoded(_path(uri))
        self.buffers[buffer.uri] = buffer
        self.documents.did_open(uri, "plaintext", 1, text, on_disk=saved)
        return buffer

    def _change(self, buffer: Buffer, text: str, typed: tuple[int, int, str] | None) -> None:
        before, buffer.text = buffer.text, text
        if text == before or not buffer.told:
            return
        buffer.version += 1
        if typed is None:
            change = ContentChange(text=text)
        else:
            start, end, new = typed
            encoding = self.documents.encoding
            change = ContentChange(
                range=Range(start=position(before, start, encoding), end=position(before, end, encoding)),
                text=new,
            )
        version = buffer.version

        def tell() -> None:
            self.documents.did_change(buffer.uri, version, (change,))

        if self.tells == "late" and typed is None:
            self._untold.append(tell)
        else:
            tell()

    def _save(self, buffer: Buffer) -> None:
        data = buffer.text.encode(buffer.codec)
        # Some editors keep the mark in their buffer.
        _path(buffer.uri).write_bytes(data if data.startswith(buffer.mark) else buffer.mark + data)
        buffer.saved = buffer.text
        if buffer.told:
            self.documents.did_save(buffer.uri, buffer.text)


def applied(text: str, edits: Sequence[TextEdit], encoding: Encoding, *, clamps: bool = False) -> str:
    """The text after the edits, by an implementation of its own, which checks the product's.

    With `clamps` a position may be beyond its line or the text, as in one that has been typed in since.
    """
    spans = [
        (
            offset(text, edit.range.start, encoding, clamps=clamps),
            offset(text, edit.range.end, encoding, clamps=clamps),
            edit.new_text,
        )
        for edit in edits
    ]
    assert all(a[1] <= b[0] for a, b in pairwise(spans)), "edits overlap"
    for start, end, new_text in reversed(spans):
        text = text[:start] + new_text + text[end:]
    return text


def offset(text: str, at: Position, encoding: Encoding, *, clamps: bool = False) -> int:
    """The offset of a position; it must lie exactly between two characters."""
    starts = [0, *(found.end() for found in re.finditer(r"\r\n|\n|\r", text))]
    if clamps and at.line >= len(starts):
        return len(text)
    start = starts[at.line]
    units = 0
    for place in range(start, len(text) + 1):
        if units == at.character or (clamps and text[place : place + 1] in ("\r", "\n", "")):
            return place
        units += _width(text[place], encoding)
    raise AssertionError(f"{at} is inside a character or beyond the text")


def position(text: str, place: int, encoding: Encoding) -> Position:
    """The position of an offset."""
    starts = [0, *(found.end() for found in re.finditer(r"\r\n|\n|\r", text[:place]))]
    line = len(starts) - 1
    return Position(line=line, character=sum(_width(c, encoding) for c in text[starts[line] : place]))


def _width(character: str, encoding: Encoding) -> int:
    if encoding == "utf-8":
        return len(character.encode())
    return 2 if encoding == "utf-16" and ord(character) > 0xFFFF else 1


_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))


def _decoded(path: Path) -> tuple[str, bytes, str]:
    """The text of a file, its byte-order mark and its encoding."""
    data = path.read_bytes()
    mark, codec = next((each for each in _MARKS if data.startswith(each[0])), (b"", "utf-8"))
    return data[len(mark) :].decode(codec), mark, codec


def _path(uri: Uri) -> Path:
    path = to_path(uri)
    assert path is not None
    return path
