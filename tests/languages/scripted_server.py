"""A language server that behaves as its first argument says. It runs by itself, so it imports nothing of ours.

It knows few rules: a line with `bad` is an error, one with `odd` a warning, and `lacks NAME` an error of that name.
"""

from __future__ import annotations

import json
import os
import re
import socket
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

HOW = sys.argv[1]
PULLS = HOW not in ("pushes", "pushes without versions", "pushes nothing")
TEXTS: dict[str, str] = {}
ONCE = Path(tempfile.gettempdir(), "once")
"""Is there from the second start on, of what it does only once."""


def send(message: dict[str, Any]) -> None:
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    sys.stdout.buffer.flush()


def read() -> dict[str, Any] | None:
    length = 0
    while True:
        line = sys.stdin.buffer.readline()
        if not line:
            return None
        if line.strip() == b"":
            break
        if line.lower().startswith(b"content-length:"):
            length = int(line.split(b":")[1])
    found: dict[str, Any] = json.loads(sys.stdin.buffer.read(length))
    return found


def where(line: int, start: int, end: int) -> dict[str, Any]:
    return {"start": {"line": line, "character": start}, "end": {"line": line, "character": end}}


def problems(text: str) -> list[Any]:
    rules = (("bad", 1), ("odd", 2))
    found = [
        {
            "range": where(number, 0, len(line)),
            "severity": severity,
            "source": "scripted",
            "message": f"{word} thing",
        }
        for number, line in enumerate(text.split("\n"))
        for word, severity in rules
        if word in line
    ]
    found += [
        {"range": where(number, 0, len(line)), "severity": 1, "message": f"`{name}` is missing"}
        for number, line in enumerate(text.split("\n"))
        for name in re.findall(r"lacks (\w+)", line)
    ]
    if HOW == "reads the home":
        # A secret that it could read is in what it says.
        with suppress(OSError):
            secret = Path(os.environ["HOME"], ".ssh", "id").read_text()
            return [{"range": where(0, 0, 1), "severity": 1, "message": secret}]
    if HOW == "answers nonsense":
        return [{"range": "here", "message": 7}, None, {"message": "no range"}, *found]
    if HOW == "floods with problems":
        return found * 50_000
    return found


def publish(uri: str, version: int) -> None:
    if HOW == "pushes":
        send(
            {
                "method": "textDocument/publishDiagnostics",
                "params": {"uri": uri, "version": version, "diagnostics": problems(TEXTS[uri])},
            }
        )
    elif HOW == "pushes without versions":
        for found in ([], problems(TEXTS[uri])):
            send({"method": "textDocument/publishDiagnostics", "params": {"uri": uri, "diagnostics": found}})


def renamed(params: dict[str, Any]) -> Any:
    uri, new = params["textDocument"]["uri"], params["newName"]
    line = params["position"]["line"]
    edit = {"range": where(line, 4, 8), "newText": new}
    match HOW:
        case "renames outside":
            return {"changes": {"file:///etc/passwd": [edit]}}
        case "renames by an old version":
            return {"documentChanges": [{"textDocument": {"uri": uri, "version": -7}, "edits": [edit]}]}
        case "renames overlapping":
            return {"changes": {uri: [edit, {"range": where(line, 5, 9), "newText": "x"}]}}
        case "renames files":
            return {"documentChanges": [{"kind": "rename", "oldUri": uri, "newUri": uri + "x"}]}
        case "renames what nobody can read":
            return {"changes": {uri: [{"range": {"start": {"line": "one"}}, "newText": new}]}}
    return {"changes": {uri: [edit]}}


def answer(method: str, params: Any) -> Any:
    if method == "initialize":
        can: dict[str, Any] = {
            "textDocumentSync": 1,
            "renameProvider": True,
            "documentSymbolProvider": True,
            "referencesProvider": True,
            # The form of ty, ruff and pyrefly, which lsprotocol refuses.
            "notebookDocumentSync": {"notebookSelector": [{"cells": [{"language": "python"}]}]},
        }
        if PULLS:
            can["diagnosticProvider"] = {"interFileDependencies": True, "workspaceDiagnostics": False}
        if HOW == "counts bytes":
            can["positionEncoding"] = "utf-8"
        return {"capabilities": can}
    if method == "textDocument/diagnostic":
        return {"kind": "full", "items": problems(TEXTS[params["textDocument"]["uri"]])}
    if method == "textDocument/documentSymbol":
        text = TEXTS[params["textDocument"]["uri"]]
        return [
            {
                "name": match[1],
                "kind": 12,
                "range": where(number, 0, len(line)),
                "selectionRange": where(number, 4, 4 + len(match[1])),
            }
            for number, line in enumerate(text.split("\n"))
            if (match := re.match(r"def (\w+)", line))
        ]
    if method == "textDocument/references":
        return []
    if method == "textDocument/rename":
        return renamed(params)
    return None


def act(method: str) -> None:
    """Misbehave at a question about problems."""
    if method != "textDocument/diagnostic":
        return
    is_first = not ONCE.exists()
    ONCE.touch()
    if HOW == "hangs" or (HOW == "hangs once" and is_first):
        time.sleep(600)
    if HOW == "dies" or (HOW == "dies once" and is_first):
        sys.stderr.write("out of ideas\n")
        sys.exit(3)
    if HOW == "floods":
        while True:
            send({"method": "window/logMessage", "params": {"type": 4, "message": "x" * 1_000_000}})
    if HOW == "sends a giant":
        sys.stdout.buffer.write(b"Content-Length: 99999999999\r\n\r\n")
        sys.stdout.buffer.flush()
        time.sleep(600)
    if HOW == "speaks no protocol":
        sys.stdout.write("hello" + "x" * 200_000)
        sys.stdout.flush()
        time.sleep(600)
    if HOW == "takes memory":
        kept = [bytearray(os.urandom(1 << 20)) for _ in range(4_000)]
        time.sleep(600)
        del kept
    if HOW == "prints much":
        sys.stderr.write("y" * 5_000_000)
        sys.stderr.flush()
    if HOW == "writes":
        with suppress(OSError):
            Path("written-by-server").touch()
    if HOW == "connects":
        port = int(Path("port").read_text())
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1) as connection:
            connection.send(b"hello")
    if HOW == "asks":
        for number, method in enumerate(
            (
                "workspace/configuration",
                "client/registerCapability",
                "window/workDoneProgress/create",
                "workspace/applyEdit",
                "never/heard",
            )
        ):
            send({"id": number, "method": method, "params": {"items": [{"section": "python"}], "edit": {}}})
            assert read() is not None


def main() -> None:
    if HOW == "does not start":
        sys.exit("no licence")
    while (message := read()) is not None:
        method = message.get("method", "")
        params = message.get("params")
        if method == "initialize" and HOW == "is slow to start":
            time.sleep(600)
        if method == "textDocument/didOpen":
            document = params["textDocument"]
            TEXTS[document["uri"]] = document["text"]
            publish(document["uri"], document["version"])
        elif method == "textDocument/didChange":
            document = params["textDocument"]
            TEXTS[document["uri"]] = params["contentChanges"][0]["text"]
            publish(document["uri"], document["version"])
        elif method == "textDocument/didClose":
            TEXTS.pop(params["textDocument"]["uri"], None)
        elif "id" in message and method:
            act(method)
            send({"id": message["id"], "result": answer(method, params)})


main()
