"""Joins native tool calls that arrive in fragments, repairs their ids, and detects truncated calls."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from planloom.domain.model_text.surrogates import mend
from planloom.domain.values import CallId, Json
from planloom.models.http.json_text import Unreadable, count_of, object_of, read_arguments, text_of
from planloom.models.port import CallBroken, CallMade, CallWritten, ModelEvent, ModelRequest, ToolCall

STRUCTURE = re.compile(r'\\.?|["{}\[\]]', re.DOTALL)
MAX_CALLS = 256
"""Most calls of one answer; a model that makes more is in a loop."""


@dataclass
class _Call:
    """A call that is still incomplete. `value` are arguments that came as an object instead of text."""

    call_id: str = ""
    name: str = ""
    parts: list[str] = field(default_factory=list)
    value: Json = None
    depth: int = 0
    in_string: bool = False
    escaped: bool = False
    closed: bool = False
    """Whether the JSON object in `parts` is closed; tracked incrementally, to take linear time."""

    def write(self, part: str) -> None:
        """Add text of the arguments."""
        self.parts.append(part)
        if self.escaped and part:
            part = part[1:]
            self.escaped = False
        for found in STRUCTURE.finditer(part):
            mark = found[0]
            if mark[0] == "\\":
                self.escaped = self.in_string and len(mark) == 1
            elif mark == '"':
                self.in_string = not self.in_string
            elif not self.in_string:
                self.depth += 1 if mark in "{[" else -1
                self.closed = self.closed or self.depth == 0


class CallFragments:
    """Joins the fragments of one answer's calls. Ids are unique within the answer and its conversation."""

    def __init__(self, request: ModelRequest) -> None:
        self._calls: list[_Call] = []
        # By index and by id, to avoid a search for each fragment of a hostile answer.
        self._latest: dict[int | str | None, _Call] = {}
        self._used = {call.call_id for message in request.messages for call in message.tool_calls}
        self._turn = len(request.messages)

    def __len__(self) -> int:
        return len(self._calls)

    def add(self, fragment: Mapping[str, Json]) -> CallWritten | None:
        """Add one fragment in OpenAI's format; None if it is empty or exceeds `MAX_CALLS`."""
        function = object_of(fragment.get("function"))
        name = text_of(function.get("name")).strip()
        arguments = function.get("arguments")
        call_id = text_of(fragment.get("id"))
        if not name and not call_id and not arguments:
            return None
        call = self._call_of(count_of(fragment.get("index")), call_id, name, arguments)
        if call is None:
            return None
        call.call_id = call.call_id or call_id
        call.name = call.name or name
        if isinstance(arguments, str):
            call.write(arguments)
        elif arguments is not None:
            call.value = arguments
        return CallWritten(name=call.name, text=text_of(arguments))

    def events(self, *, cut: bool) -> tuple[ModelEvent, ...]:
        """The calls in order. `cut`: the answer was truncated."""
        return tuple(self._event(number, call, cut) for number, call in enumerate(self._calls, start=1))

    def _call_of(self, index: int | None, call_id: str, name: str, arguments: Json) -> _Call | None:
        """The call that a fragment belongs to, or a new call; None beyond `MAX_CALLS`.

        Servers omit the index, give all calls the index 0, or repeat id and name in every fragment.
        """
        call = self._latest.get(index) or (self._latest.get(call_id) if index is None and call_id else None)
        if call is None and index is None and self._calls:
            call = self._calls[-1]
        if call is not None:
            other_id = bool(call_id and call.call_id and call_id != call.call_id)
            # The index decides, unless that call is complete already and this fragment begins another.
            begins = (
                bool(name)
                and (name != call.name or bool(arguments))
                and (call.closed or call.value is not None)
            )
            if not (other_id and (name or index is None)) and not begins:
                return call
        if len(self._calls) >= MAX_CALLS:
            return None
        call = _Call()
        self._calls.append(call)
        self._latest.update(dict.fromkeys((key for key in (index, call_id) if key not in {None, ""}), call))
        return call

    def _event(self, number: int, call: _Call, cut: bool) -> ModelEvent:
        text = mend("".join(call.parts))
        call_id = self._id(call.call_id, number)
        arguments = read_arguments(call.value if call.value is not None else text)
        if isinstance(arguments, Unreadable) or not call.name:
            problem = arguments.problem if isinstance(arguments, Unreadable) else "the call names no tool"
            if cut:
                problem = f"the answer was cut: {problem}"
            return CallBroken(call_id=call_id, name=call.name, arguments_text=text, problem=problem)
        if cut and not text.strip() and call.value is None:
            problem = "the answer was cut before them"
            return CallBroken(call_id=call_id, name=call.name, arguments_text="", problem=problem)
        return CallMade(call=ToolCall(call_id=call_id, name=call.name, arguments=arguments))

    def _id(self, call_id: str, number: int) -> CallId:
        """The server's id, or a new one if it is missing or already used."""
        candidate = CallId(call_id)
        while not candidate or candidate in self._used:
            candidate = CallId(f"call_{self._turn}_{number}")
            number += 1000
        self._used.add(candidate)
        return candidate
