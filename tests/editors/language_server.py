"""A language server for words, as a user has one beside Planloom; it counts bytes if the editor can."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit


class Words:
    """The texts that the editor has opened, and those beside them on disk."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.encoding = "utf-16"

    def answer(self, method: str, params: Any) -> Any:
        """The result of a request. Raises LookupError for one that is unknown."""
        match method:
            case "initialize":
                offered = params["capabilities"].get("general", {}).get("positionEncodings", [])
                self.encoding = "utf-8" if "utf-8" in offered else "utf-16"
                return {
                    "capabilities": {
                        "positionEncoding": self.encoding,
                        "textDocumentSync": 1,
                        "referencesProvider": True,
                        "renameProvider": True,
                        "hoverProvider": True,
                    }
                }
            case "shutdown":
                return None
            case "textDocument/references":
                return [{"uri": uri, "range": range_} for uri, range_ in self.places(params)]
            case "textDocument/rename":
                changes: dict[str, list[Any]] = {}
                for uri, range_ in self.places(params):
                    changes.setdefault(uri, []).append({"range": range_, "newText": params["newName"]})
                return {"changes": changes}
            case "textDocument/hover":
                raise LookupError("It knows no meaning.")
        raise LookupError(f"{method} is unknown.")

    def told(self, method: str, params: Any) -> None:
        """Take in a notification."""
        document = params.get("textDocument", {}) if params else {}
        if method == "textDocument/didOpen":
            self.texts[document["uri"]] = document["text"]
        elif method == "textDocument/didChange":
            self.texts[document["uri"]] = params["contentChanges"][-1]["text"]

    def places(self, params: Any) -> Iterator[tuple[str, Any]]:
        """Where the word at a position stands, in its file and those beside it."""
        asked, position = params["textDocument"]["uri"], params["position"]
        line = self.text(asked).splitlines()[position["line"]]
        at = next(at for at in range(len(line) + 1) if self.width(line[:at]) == position["character"])
        word = next(found[0] for found in re.finditer(r"\w+", line) if found.start() <= at <= found.end())
        folder = Path(unquote(urlsplit(asked).path)).parent
        for path in sorted(folder.glob("*.py")):
            for number, each in enumerate(self.text(path.as_uri()).splitlines()):
                for found in re.finditer(rf"\b{word}\b", each):
                    start, end = (self.width(each[:place]) for place in found.span())
                    yield (
                        path.as_uri(),
                        {
                            "start": {"line": number, "character": start},
                            "end": {"line": number, "character": end},
                        },
                    )

    def text(self, uri: str) -> str:
        """The text of a file, as the editor has it if it is open."""
        return self.texts.get(uri) or Path(unquote(urlsplit(uri).path)).read_text()

    def width(self, text: str) -> int:
        """The length of a text in the units of the encoding."""
        return len(text.encode()) if self.encoding == "utf-8" else len(text.encode("utf-16-le")) // 2


def serve() -> None:
    """Answer until the editor says that it ends."""
    words, ends = Words(), False
    while not ends:
        size = 0
        while line := sys.stdin.buffer.readline().strip():
            size = int(line.split()[1]) if line.lower().startswith(b"content-length") else size
        message = json.loads(sys.stdin.buffer.read(size)) if size else {"method": "exit"}
        method, ends = message.get("method"), message.get("method") == "exit"
        if method and "id" in message:
            try:
                answer = {"result": words.answer(method, message.get("params"))}
            except LookupError as error:
                answer = {"error": {"code": -32803, "message": str(error.args[0])}}
            body = json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}).encode()
            sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
            sys.stdout.buffer.flush()
        elif method:
            words.told(method, message.get("params"))


if __name__ == "__main__":
    serve()
