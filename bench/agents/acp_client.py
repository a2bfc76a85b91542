"""An editor that speaks the Agent Client Protocol: it holds files as live buffers, and answers what it is asked."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from bench.agents.roster import Given
from bench.agents.script import DOUBT
from bench.agents.tasks import published

_ABILITIES: Final = {"fs": {"readTextFile": True, "writeTextFile": True}, "terminal": False}


class Editor:
    """The files as a person sees them: those that are open are buffers, which are saved at the end; others the disk."""

    def __init__(self, folder: Path, open_files: Iterable[str]) -> None:
        self._lock = threading.RLock()
        self._buffers = {folder / path: (folder / path).read_text(encoding="utf-8") for path in open_files}
        self._disk = dict(self._buffers)
        self.session = ""

    def read(self, path: Path) -> str:
        """The text of a file; of a buffer without unsaved text, that of the disk where it has changed."""
        with self._lock:
            if path not in self._buffers:
                return path.read_text(encoding="utf-8")
            on_disk = path.read_text(encoding="utf-8")
            if on_disk != self._disk[path] and self._buffers[path] == self._disk[path]:
                self._buffers[path] = self._disk[path] = on_disk
            return self._buffers[path]

    def type(self, path: Path, text: str) -> None:
        """A person types: into the buffer, which is not saved; where the file is not open, into the file."""
        with self._lock:
            if path in self._buffers:
                self._buffers[path] = text
            else:
                path.write_text(text, encoding="utf-8")

    def write(self, path: Path, text: str) -> None:
        """The agent writes: what it sends becomes the text of the buffer, and is saved."""
        with self._lock:
            path.write_text(text, encoding="utf-8")
            if path in self._buffers:
                self._buffers[path] = self._disk[path] = text

    def save(self) -> None:
        """The person saves all that is unsaved."""
        with self._lock:
            for path in self._buffers:
                text = self.read(path)
                if text != self._disk[path]:
                    path.write_text(text, encoding="utf-8")


def converse(process: subprocess.Popen[bytes], editor: Editor, given: Given, go_on: str = "") -> bytes:
    """Ask the agent for the task, or with `go_on` to go on with it, until its turn has ended; what it has said."""
    wire = _Wire(process, editor, given)
    try:
        wire.ask("initialize", {"protocolVersion": 1, "clientCapabilities": _ABILITIES})
        where = {"cwd": str(given.folder), "mcpServers": []}
        if go_on:
            wire.ask("session/load", {"sessionId": editor.session, **where})
        else:
            editor.session = wire.ask("session/new", where)["sessionId"]
        prompt = [{"type": "text", "text": go_on or given.prompt}]
        wire.ask("session/prompt", {"sessionId": editor.session, "prompt": prompt})
    except (EOFError, BrokenPipeError, RuntimeError) as error:
        wire.said.append(repr(error).encode())
    if process.stdin is not None:
        try:
            process.stdin.close()
        except BrokenPipeError:
            wire.said.append(b"the pipe was broken")
    return b"\n".join(wire.said)


class _Wire:
    """Messages of JSON-RPC, a line each."""

    def __init__(self, process: subprocess.Popen[bytes], editor: Editor, given: Given) -> None:
        self._process = process
        self._editor = editor
        self._given = given
        self._number = 0
        self.said: list[bytes] = []

    def ask(self, method: str, params: Any) -> Any:
        """The result of a request; what the agent asks meanwhile is answered.

        Raises RuntimeError where it answers with an error, EOFError where it ends.
        """
        self._number += 1
        self._send({"id": self._number, "method": method, "params": params})
        assert self._process.stdout is not None
        while line := self._process.stdout.readline():
            self.said.append(line.rstrip())
            message = json.loads(line)
            if "method" in message:
                self._hear(message)
            elif message["id"] == self._number:
                if "error" in message:
                    raise RuntimeError(message["error"])
                return message["result"]
        raise EOFError(method)

    def _hear(self, message: dict[str, Any]) -> None:
        if "id" not in message:
            return
        params = message["params"]
        result: Any = None
        match message["method"]:
            case "fs/read_text_file":
                result = {"content": _lines(self._editor.read(Path(params["path"])), params)}
            case "fs/write_text_file":
                self._editor.write(Path(params["path"]), params["content"])
            case "session/request_permission":
                answer = "reject" if self._is_a_repeat(params["toolCall"]) else "allow"
                fitting = [each["optionId"] for each in params["options"] if each["kind"].startswith(answer)]
                outcome = (
                    {"outcome": "selected", "optionId": fitting[0]} if fitting else {"outcome": "cancelled"}
                )
                result = {"outcome": outcome}
        self._send({"id": message["id"], "result": result})

    def _is_a_repeat(self, call: Any) -> bool:
        """Whether a question warns of a repeat, and there would be one: a person looks, as the script does."""
        return DOUBT in json.dumps(call) and published(self._given.folder) > 0

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self._process.stdin.flush()


def _lines(text: str, params: dict[str, Any]) -> str:
    """The lines that are asked for, or all."""
    if params.get("line") is None and params.get("limit") is None:
        return text
    first = (params.get("line") or 1) - 1
    lines = text.splitlines(keepends=True)
    return "".join(lines[first : first + params["limit"] if params.get("limit") is not None else None])
