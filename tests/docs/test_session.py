"""The session that docs/protocol.md prints is one: its client speaks to the real server, which says the rest.

`…` stands for what the page leaves out, `<name>` for an id, which is the same wherever it stands.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from codegen.targets import ROOT
from tests.support.memory_editor import path_of
from tests.support.wire_schema import problems

SESSION = (ROOT / "docs" / "clients" / "session.txt").read_text(encoding="utf-8")
MESSAGES = [line for line in SESSION.splitlines() if line.startswith(("→ ", "← "))]
LEFT_OUT = "…"
SECONDS = 30
"""How long the whole session may take on a busy machine."""
NAME = re.compile(r"<[a-z]+(?: \d+)?>")


def parsed(text: str) -> Any:
    """A printed message as JSON: an object or a list that is not whole has a member `…`."""
    text = re.sub(r"…(?=\})", '"…": 0', text)
    return json.loads(re.sub(r"(?<=[\[ ])…(?=[\],])", '"…"', text))


def client_messages() -> Iterator[Any]:
    """The messages of the client, which are printed whole."""
    yield from (json.loads(line[2:]) for line in MESSAGES if line.startswith("→"))


class Playing:
    """The process of a server, and the ids that have been learnt."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.folder = folder
        self.names: dict[str, str] = {}
        self.heard: list[Any] = []
        self._unmatched: list[Any] = []
        self.process = subprocess.Popen(
            [sys.executable, "-m", "planloom", "serve", "--stdio"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
        )

    def say(self, text: str) -> None:
        """Send a message of the client."""
        for name, value in self.names.items():
            text = text.replace(name, value)
        body = json.dumps({"jsonrpc": "2.0", **json.loads(self._here(text))}).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        self.process.stdin.flush()

    def hear(self, text: str) -> Any:
        """Wait for this message of the server. Others may come before it."""
        shown = parsed(self._here(text))
        for message in self._unmatched:
            if self._is(shown, message):
                self._unmatched.remove(message)
                return message
        while message := self._next():
            if self._is(shown, message):
                return message
            self._unmatched.append(message)
        came = "\n".join(json.dumps(message, ensure_ascii=False) for message in self._unmatched[-5:])
        raise AssertionError(f"the server never said\n{text}\nbut at last\n{came}")

    def left(self) -> list[Any]:
        """The answers and requests of the server that the session does not show."""
        return [message for message in self._unmatched if "id" in message]

    def _here(self, text: str) -> str:
        return text.replace("file:///work", self.folder.as_uri())

    def _next(self) -> Any:
        assert self.process.stdout is not None
        length = 0
        while line := self.process.stdout.readline().strip():
            length = int(line.partition(b":")[2])
        if not length:
            return None
        self.heard.append(json.loads(self.process.stdout.read(length)))
        return self.heard[-1]

    def _is(self, shown: Any, message: Any) -> bool:
        """Whether a message is the one that is shown; if so, its ids are learnt."""
        learnt = dict(self.names)
        found = matches(shown, message, learnt)
        if found:
            self.names = learnt
        return found


def matches(shown: Any, value: Any, names: dict[str, str]) -> bool:
    """Whether a value is what is shown; `names` are the ids that are known, and get the new ones."""
    match shown, value:
        case "…", _:
            return True
        case dict(), dict():
            keys = [key for key in shown if key != LEFT_OUT]
            fits = LEFT_OUT in shown or len(keys) == len(value.keys() - {"jsonrpc"})
            return fits and all(key in value and matches(shown[key], value[key], names) for key in keys)
        case list(), list():
            items = [each for each in shown if each != LEFT_OUT]
            fits = len(items) <= len(value) if LEFT_OUT in shown else len(items) == len(value)
            pairs = zip(items, value, strict=False)
            return fits and all(matches(item, each, names) for item, each in pairs)
        case str(), str():
            if NAME.fullmatch(shown):
                names.setdefault(shown, value)
            return value == NAME.sub(lambda name: names.get(name[0], name[0]), shown)
    return type(shown) is type(value) and shown == value


def make(edit: dict[str, Any]) -> None:
    """Make the new files of an edit, and delete those that it deletes."""
    for change in edit["documentChanges"]:
        match change:
            case {"kind": "delete"}:
                path_of(change["uri"]).unlink()
            case {"textDocument": {"version": None}}:
                path_of(change["textDocument"]["uri"]).write_text(change["edits"][0]["newText"])


@pytest.mark.parametrize(
    "message",
    [
        '{"id": 1, "result": {"text": "a", "steps": [1, 2]}}',
        '{"id": 1, "result": {"text": "b", "steps": [1], "number": 3}}',
        '{"id": 1, "result": {"text": "b", "steps": [2, 3]}}',
        '{"id": 1, "result": {"steps": [1, 2]}}',
        '{"id": 1, "result": {"text": "b", "steps": [1, 2]}, "more": true}',
    ],
)
def test_another_message_than_the_printed_one_is_noticed(message: str) -> None:
    shown = parsed('{"id": 1, "result": {"text": "b", "steps": [1, 2, …], …}}')
    assert matches(
        shown, json.loads('{"id": 1, "result": {"text": "b", "steps": [1, 2, 3], "number": 3}}'), {}
    )
    assert not matches(shown, json.loads(message), {})


def test_an_id_is_the_same_wherever_it_stands() -> None:
    names: dict[str, str] = {}
    assert matches(
        {"planId": "<plan>", "causes": ["review <plan> 1"]}, {"planId": "p", "causes": ["review p 1"]}, names
    )
    assert names == {"<plan>": "p"}
    assert not matches({"planId": "<plan>"}, {"planId": "q"}, names)


@pytest.mark.process
def test_the_session_of_the_page_is_what_is_said(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "notes.txt").write_bytes(b"the old text\n")
    state = {"PLANLOOM_CONFIG": str(tmp_path / "none.json"), "XDG_STATE_HOME": str(tmp_path / "state")}
    playing = Playing(folder, {**os.environ, **state})
    end = threading.Timer(SECONDS, playing.process.kill)
    end.start()
    try:
        for side, text in ((line[0], line[2:]) for line in MESSAGES):
            if side == "→":
                playing.say(text)
            elif (message := playing.hear(text)).get("method") == "workspace/applyEdit":
                make(message["params"]["edit"])
        assert playing.process.wait(SECONDS) == 0
    finally:
        end.cancel()
        playing.process.kill()
    assert playing.left() == []
    sent = {
        each["id"]: each["method"]
        for each in client_messages()
        if each.get("method", "").startswith("planloom/")
    }
    for message in playing.heard:
        if message.get("method", "").startswith("planloom/"):
            assert problems(serverNotifications={message["method"]: message["params"]}) == []
        elif message["id"] in sent:
            assert problems(requests={sent[message["id"]]: {"result": message["result"]}}) == []
    assert sorted(path.name for path in folder.iterdir()) == ["notes.txt"]
