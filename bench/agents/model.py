"""The model's server of a run: it answers by the script, by a recording, or by a real server that it passes on to.

Whatever happens to an agent while its model thinks, happens between a request and its answer.
"""

from __future__ import annotations

import hashlib
import json
import threading
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Protocol

from bench.agents.script import GO_ON, Speaker
from bench.agents.tasks import Task
from bench.agents.wire import Answer, conversation, written

Body = Mapping[str, Any]
_SECONDS: Final = 600


class Model(Protocol):
    """Answers the requests of one run, in their order."""

    drift: int
    """How many requests differed from those of the recording."""

    def answer(self, path: str, body: Body) -> tuple[bytes, str, bool]:
        """The answer, its media type, and whether it edits, as far as that is known."""
        ...


class Scripted:
    """The script in the words of one agent."""

    drift = 0

    def __init__(self, task: Task, speaker: Speaker) -> None:
        self._task = task
        self._speaker = speaker
        self.forgotten = False
        """Whether it was told to go on by an agent that does not show it what with."""

    def answer(self, path: str, body: Body) -> tuple[bytes, str, bool]:
        items = conversation(body)
        said = [item.text.strip() for item in items if item.role != "model"]
        about = any(self._task.request.strip()[:60] in text for text in said)
        self.forgotten |= not about and GO_ON in said
        # What agents ask beside the task: for a title, for example.
        answer = self._speaker.answer(body, items) if about else Answer("There is nothing that I know of.")
        edits = (
            any(each.call.startswith("change") for each in answer.calls) or "<<<<<<< SEARCH" in answer.text
        )
        return *written(path, body, answer), edits


class Upstream:
    """A real server; each request and its answer become a line of a file, which `Recorded` reads."""

    drift = 0

    def __init__(self, url: str, key: str, model: str, file: Path) -> None:
        self._url, self._key, self._model, self._file = url.rstrip("/"), key, model, file
        self._lock = threading.Lock()
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("", encoding="utf-8")

    def answer(self, path: str, body: Body) -> tuple[bytes, str, bool]:
        sent = json.dumps({**body, "model": self._model}).encode()
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self._key}"}
        request = urllib.request.Request(self._url + path.removeprefix("/v1"), sent, headers)
        with urllib.request.urlopen(request, timeout=_SECONDS) as answer:
            content, kind = answer.read(), answer.headers.get("Content-Type", "application/json")
        line = {"digest": digest(body), "type": kind, "answer": content.decode("utf-8")}
        with self._lock, self._file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        return content, kind, False


class Recorded:
    """Answers of a recording in their order; one more request than it has is answered with nothing to do."""

    def __init__(self, file: Path) -> None:
        self._lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        self.drift = 0

    def answer(self, path: str, body: Body) -> tuple[bytes, str, bool]:
        if not self._lines:
            self.drift += 1
            return *written(path, body, Answer("The recording has ended.")), False
        line = self._lines.pop(0)
        self.drift += line["digest"] != digest(body)
        return line["answer"].encode(), line["type"], False


def digest(body: Body) -> str:
    """The hash of the last message, without what differs from run to run: digits."""
    last = next((item.text for item in reversed(conversation(body)) if item.role != "model"), "")
    steady = "".join("0" if letter.isdigit() else letter for letter in last)
    return hashlib.sha256(steady.encode("utf-8", "replace")).hexdigest()[:16]


def new_bytes(prompts: list[bytes]) -> int:
    """The bytes of all requests that no cache of prefixes has seen: of each, what follows its longest known prefix."""
    return sum(
        len(prompt) - max((common(prompt, earlier) for earlier in prompts[:index]), default=0)
        for index, prompt in enumerate(prompts)
    )


def common(one: bytes, other: bytes) -> int:
    """The length of the prefix that both have."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle - 1)
    return low
