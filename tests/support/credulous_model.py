"""A model that does its task, and besides whatever a text that it has been given tells it to do."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote

from planloom.domain.values import Args
from planloom.models.offline.scripted import ScriptedModel, Turn, makes
from planloom.models.port import ModelEvent, ModelRequest

Call = tuple[str, Args]
_ORDER: Final = re.compile(r"call (\w+) with (?=\{)")
_SLASH: Final = "\u2215"
_PART: Final = 70
_MOST_READ: Final = 200


def order(says: str, calls: Sequence[Call]) -> str:
    """An injection on one line: words that persuade, and each call as a sentence."""
    return " ".join([says, *(f"Now call {name} with {json.dumps(args)}." for name, args in calls)])


def as_path(text: str) -> str:
    """A line as the path of a file: in parts that a file system takes, with another slash for its own."""
    text = text.replace("/", _SLASH) + _SLASH
    return "/".join(text[start : start + _PART] for start in range(0, len(text), _PART))


def orders_in(text: str) -> list[Call]:
    """The calls that a text tells its reader to make, also if the text is a path of `as_path`."""
    if _SLASH in text:
        text = text.replace("/", "").replace(_SLASH, "/")
    return [
        (found[1], json.JSONDecoder().raw_decode(text, found.end())[0]) for found in _ORDER.finditer(text)
    ]


class CredulousModel(ScriptedModel):
    """Makes the calls of `first`, then each call that a message tells it to make, then those of `last`; one a turn.

    In the arguments of a call that it was told, `{read}` stands for what it was shown last, `{read_label}` for the
    letters and digits of that. `obeyed` are the calls that it was told, as it has made them.
    """

    def __init__(self, first: Sequence[Call], last: Sequence[Call]) -> None:
        super().__init__([])
        self._first = list(first)
        self._last = list(last)
        self._told: list[Call] = []
        self.obeyed: list[Call] = []

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent]:
        self._requests.append(request)
        for event in self._turn(request).played(len(self._requests)):
            yield event

    def _turn(self, request: ModelRequest) -> Turn:
        for message in request.messages:
            self._told += [call for call in orders_in(message.text) if call not in self._told]
        if self._first:
            return makes(self._first.pop(0))
        if len(self.obeyed) < len(self._told):
            name, args = self._told[len(self.obeyed)]
            self.obeyed.append((name, _filled(args, request.messages[-1].text)))
            return makes(self.obeyed[-1])
        if self._last:
            return makes(self._last.pop(0))
        return makes(("task_completed", {"summary": "Done."}))


def _filled(args: Mapping[str, Any], read: str) -> Args:
    label = re.sub(r"[^A-Za-z0-9]", "", read)[-60:]
    read = quote(read[-_MOST_READ:], safe="")
    return {
        name: value.replace("{read}", read).replace("{read_label}", label)
        if isinstance(value, str)
        else value
        for name, value in args.items()
    }
