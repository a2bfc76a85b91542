"""An editor in memory: open buffers with versions, and edits applied as an editor applies them."""

from __future__ import annotations

import asyncio
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

Tell = Callable[[str, Any], None]
_LINE_END = re.compile(r"\r\n|\n|\r")


class Refused(Exception):
    """An edit that the editor will not apply, with its reason."""


@dataclass
class Buffer:
    """An open document; `saved` is what the disk held when it was opened, reloaded or saved, `told` the version that
    the server has been told of.
    """

    text: str
    version: int = 1
    language_id: str = "plaintext"
    saved: str = ""
    past: list[str] = field(default_factory=list)
    told: int = 1

    @property
    def dirty(self) -> bool:
        """Whether it holds what is not saved."""
        return self.text != self.saved


def path_of(uri: str) -> Path:
    """The path that a file URI names."""
    return Path(unquote(urlsplit(uri).path))


def offset_of(text: str, position: dict[str, int], encoding: str = "utf-16") -> int:
    """Where a position is in a text, clamped to its line, counted independently of the server's own code."""
    starts = [0, *(match.end() for match in _LINE_END.finditer(text))]
    if position["line"] >= len(starts):
        return len(text)
    start = starts[position["line"]]
    line_end = _LINE_END.search(text, start)
    end = line_end.start() if line_end else len(text)
    units = 0
    for place in range(start, end):
        if units >= position["character"]:
            return place
        units += {
            "utf-8": len(text[place].encode("utf-8", "surrogatepass")),
            "utf-16": 1 + (ord(text[place]) > 0xFFFF),
            "utf-32": 1,
        }[encoding]
    return end


def edited(text: str, edits: list[dict[str, Any]], encoding: str = "utf-16") -> str:
    """The text with LSP text edits made, all against the same state."""
    spans = sorted(
        (
            (
                offset_of(text, edit["range"]["start"], encoding),
                offset_of(text, edit["range"]["end"], encoding),
                place,
                edit["newText"],
            )
            for place, edit in enumerate(edits)
        ),
    )
    pieces, done = [], 0
    for start, end, _, new in spans:
        if start < done:
            raise Refused("Overlapping ranges are not allowed!")
        pieces += [text[done:start], new]
        done = end
    return "".join([*pieces, text[done:]])


@dataclass
class MemoryEditor:
    """Buffers by URI. What happens to them is told by `tell` as an editor would: didOpen, didChange …

    A closed file that an edit touches is opened and left unsaved, as VS Code does; with `open_on_edit` False it
    is written to disk. `applied` keeps the params of every edit that was asked for, `overwritten` what was on disk
    and never in a buffer when its file was saved. With `late`, changes are told so many seconds after they were made,
    and until then an edit of the version that was told before is applied, as Neovim does; `misplaced` names the
    documents to which that has happened. With `contents` a new file is written with its text, as our extension does.
    """

    tell: Tell
    encoding: str = "utf-16"
    open_on_edit: bool = True
    late: float = 0.0
    contents: bool = False
    buffers: dict[str, Buffer] = field(default_factory=dict)
    applied: list[dict[str, Any]] = field(default_factory=list)
    overwritten: list[str] = field(default_factory=list)
    misplaced: list[str] = field(default_factory=list)
    new: set[str] = field(default_factory=set)

    def open(self, uri: str, text: str | None = None, language_id: str = "plaintext") -> Buffer:
        """Open a document, with the text on disk unless another is given."""
        on_disk = path_of(uri)
        known = on_disk.read_bytes().decode("utf-8") if on_disk.is_file() else ""
        buffer = Buffer(known if text is None else text, 1, language_id, known)
        self.buffers[uri] = buffer
        self._tell_open(uri, buffer)
        return buffer

    def reopen_all(self) -> None:
        """Tell a new server of every buffer."""
        for uri, buffer in self.buffers.items():
            self._tell_open(uri, buffer)

    def _tell_open(self, uri: str, buffer: Buffer) -> None:
        item = {
            "uri": uri,
            "languageId": buffer.language_id,
            "version": buffer.version,
            "text": buffer.text,
        }
        self.tell("textDocument/didOpen", {"textDocument": item})

    def type(self, uri: str, range_: dict[str, Any] | None, text: str) -> Buffer:
        """Replace a range, or the whole text if there is none."""
        buffer = self.buffers[uri]
        if range_ is None:
            changed, change = text, {"text": text}
        else:
            change = {"range": range_, "text": text}
            changed = edited(buffer.text, [{"range": range_, "newText": text}], self.encoding)
        return self._changed(uri, buffer, changed, [change])

    def save(self, uri: str) -> None:
        """Write a buffer to disk."""
        buffer = self.buffers[uri]
        target = path_of(uri)
        target.parent.mkdir(parents=True, exist_ok=True)
        on_disk = target.read_bytes().decode("utf-8") if target.is_file() else ""
        if on_disk not in (buffer.saved, buffer.text):
            self.overwritten.append(on_disk)
        target.write_bytes(buffer.text.encode("utf-8"))
        buffer.saved = buffer.text
        self.tell("textDocument/didSave", {"textDocument": {"uri": uri}})

    def undo(self, uri: str) -> bool:
        """Take back the last change of a buffer, whoever made it; False if there is none."""
        buffer = self.buffers[uri]
        if not buffer.past:
            return False
        text = buffer.past.pop()
        self._changed(uri, buffer, text, [{"text": text}])
        buffer.past.pop()
        return True

    def refresh(self) -> None:
        """Follow the disk as editors do: clean buffers are reloaded, those of files that are gone closed."""
        for uri, buffer in list(self.buffers.items()):
            if buffer.dirty:
                continue
            try:
                on_disk = path_of(uri).read_bytes().decode("utf-8")
            except (FileNotFoundError, NotADirectoryError):
                self.close(uri)
                continue
            if on_disk != buffer.saved:
                buffer.saved = on_disk
                self._changed(uri, buffer, on_disk, [{"text": on_disk}])
                buffer.past.clear()

    def text(self, uri: str) -> str | None:
        """What the user sees of a file; None if there is none."""
        if (buffer := self.buffers.get(uri)) is not None:
            return buffer.text
        on_disk = path_of(uri)
        return on_disk.read_bytes().decode("utf-8") if on_disk.is_file() else None

    def create_folder(self, params: dict[str, Any]) -> dict[str, Any]:
        """Answer `planloom/editor/createFolder`."""
        try:
            path_of(params["uri"]).mkdir(parents=True)
        except OSError as error:
            return {"created": False, "reason": error.strerror}
        return {"created": True}

    def close(self, uri: str) -> None:
        """Close a document; what is unsaved is lost."""
        del self.buffers[uri]
        self.tell("textDocument/didClose", {"textDocument": {"uri": uri}})

    def apply(self, params: dict[str, Any]) -> dict[str, Any]:
        """Answer `workspace/applyEdit`: all or nothing, versions checked, no reason given for a stale one."""
        self.applied.append(params)
        edit = params["edit"]
        changes = edit.get("documentChanges")
        if changes is None:
            changes = [
                {"textDocument": {"uri": uri, "version": None}, "edits": edits}
                for uri, edits in edit.get("changes", {}).items()
            ]
        for change in changes:
            if "kind" not in change and not self._fresh(change["textDocument"]):
                return {"applied": False}
        for place, change in enumerate(changes):
            try:
                self._apply(change)
            except Refused as reason:
                return {"applied": False, "failureReason": str(reason), "failedChange": place}
        return {"applied": True}

    def _fresh(self, document: dict[str, Any]) -> bool:
        wanted, buffer = document.get("version"), self.buffers.get(document["uri"])
        return wanted is None or (buffer is not None and buffer.told == wanted)

    def _apply(self, change: dict[str, Any]) -> None:
        match change.get("kind"):
            case None:
                self._edit(change["textDocument"]["uri"], change["edits"])
            case "create":
                target = path_of(change["uri"])
                if target.exists():
                    if change.get("options", {}).get("ignoreIfExists"):
                        return
                    raise Refused(f"{target.name} exists")
                target.parent.mkdir(parents=True, exist_ok=True)
                target.touch()
                self.new.add(change["uri"])
            case "rename":
                self._rename(change["oldUri"], change["newUri"])
            case "delete":
                self._delete(change["uri"], recursive=change.get("options", {}).get("recursive", False))

    def _edit(self, uri: str, edits: list[dict[str, Any]]) -> None:
        if uri not in self.buffers:
            if not path_of(uri).is_file():
                raise Refused(f"{path_of(uri).name} does not exist")
            if not self.open_on_edit or (self.contents and uri in self.new):
                target = path_of(uri)
                text = edited(target.read_bytes().decode("utf-8"), edits, self.encoding)
                target.write_bytes(text.encode("utf-8"))
                return
            self.open(uri)
        buffer = self.buffers[uri]
        if buffer.told != buffer.version:
            self.misplaced.append(uri)
        # An editor reports the edits from the end, so that each range fits the text it is told for.
        ordered = sorted(
            edits,
            key=lambda edit: offset_of(buffer.text, edit["range"]["start"], self.encoding),
            reverse=True,
        )
        changes = [{"range": edit["range"], "text": edit["newText"]} for edit in ordered]
        self._changed(uri, buffer, edited(buffer.text, edits, self.encoding), changes)

    def _changed(self, uri: str, buffer: Buffer, text: str, changes: list[dict[str, Any]]) -> Buffer:
        buffer.past.append(buffer.text)
        buffer.text, buffer.version = text, buffer.version + 1
        if self.late:
            asyncio.get_running_loop().call_later(self.late, self._tell_change, uri, buffer.version, changes)
        else:
            self._tell_change(uri, buffer.version, changes)
        return buffer

    def _tell_change(self, uri: str, version: int, changes: list[dict[str, Any]]) -> None:
        self.buffers[uri].told = version
        document = {"uri": uri, "version": version}
        self.tell("textDocument/didChange", {"textDocument": document, "contentChanges": changes})

    def _rename(self, old: str, new: str) -> None:
        source, target = path_of(old), path_of(new)
        if not source.exists():
            raise Refused(f"{source.name} does not exist")
        if target.exists():
            raise Refused(f"{target.name} exists")
        target.parent.mkdir(parents=True, exist_ok=True)
        source.rename(target)
        for uri in self._at_or_below(old):
            buffer = self.buffers[uri]
            self.close(uri)
            self.open(new + uri.removeprefix(old), buffer.text, buffer.language_id)

    def _delete(self, uri: str, *, recursive: bool) -> None:
        target = path_of(uri)
        if target.is_dir() and any(target.iterdir()) and not recursive:
            raise Refused(f"{target.name} is not empty")
        for each in self._at_or_below(uri):
            self.close(each)
        if target.is_dir():
            shutil.rmtree(target)
        elif target.exists():
            target.unlink()
        else:
            raise Refused(f"{target.name} does not exist")

    def _at_or_below(self, uri: str) -> list[str]:
        return [each for each in self.buffers if each == uri or each.startswith(f"{uri}/")]
