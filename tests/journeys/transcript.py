"""The requests of a journey as text that a person can read, without what differs between runs and machines."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from planloom.domain.values import CallId, Json
from planloom.models.port import Message, ToolCall, ToolSpec
from tests.journeys.journey import Played

_VOLATILE = (
    (r"\b\d+\.\d+ ?s\b", "0.00s"),
    (r"\b20\d\d-\d\d-\d\d\b", "2026-01-05"),
    (
        r"System: .+? Commands run in \S+( with pipefail\.)?",
        "System: Linux (x86_64). Commands run in /bin/sh.",
    ),
    (
        r"Commands (change only|have the) .+? Output",
        "Commands … Output",
    ),
    (r"[^.\n]+ what it serves[^.\n]*\.", " … what it serves …."),
    (r"\bPython 3\.\d+\.\d+", "Python 3.11.0"),
)


def transcript(played: Played) -> str:
    """All requests in order. A message that stands in the request before at the same place is not repeated."""
    parts = [f"# {played.journey.name}: {played.journey.request}\n"]
    seen: tuple[Message, ...] = ()
    for number, request in enumerate(played.requests, start=1):
        same = _same(seen, request.messages)
        parts.append(f"\n{'=' * 20} REQUEST {number} {'=' * 20}")
        if same:
            parts.append(f"(messages 1 to {same} as in request {number - 1})")
        elif request.tools:
            parts.append(f"(tools: {', '.join(tool.name for tool in request.tools)})")
        elif request.response_schema:
            parts.append("(the answer is constrained by the schema of a plan)")
        parts += map(_message, request.messages[same:])
        seen = request.messages
    parts.append(f"\n{'=' * 20} THE LAST ANSWER {'=' * 20}")
    parts.append(_message(_last_answer(played)))
    text = "\n".join(parts).replace(str(played.folder), "/workspace") + "\n"
    for pattern, replacement in _VOLATILE:
        text = re.sub(pattern, replacement, text)
    return "\n".join(line.rstrip() for line in text.split("\n"))


def tools_text(tools: Sequence[ToolSpec]) -> str:
    """The tools as a request describes them."""
    parts = (f"{tool.name}: {tool.description}\n{_json(tool.parameters)}" for tool in tools)
    return "\n\n".join(parts) + "\n"


def _same(before: Sequence[Message], now: Sequence[Message]) -> int:
    return next(
        (n for n, pair in enumerate(zip(before, now, strict=False)) if pair[0] != pair[1]), len(before)
    )


def _last_answer(played: Played) -> Message:
    turn = played.turns[len(played.requests) - 1]
    calls = (
        ToolCall(call_id=CallId("last"), name=call.name, arguments=call.arguments) for call in turn.calls
    )
    return Message(role="assistant", text=turn.text, tool_calls=tuple(calls))


def _message(message: Message) -> str:
    label = f"result of {message.tool_call_id}" if message.role == "tool" else message.role
    return "\n".join([f"\n--- {label}", *_body(message)])


def _body(message: Message) -> Iterator[str]:
    if message.text:
        yield message.text
    for call in message.tool_calls:
        yield f">>> {call.name} ({call.call_id})"
        for name, value in call.arguments.items():
            text = value if isinstance(value, str) else _json(value)
            yield f"{name}:\n{text}" if "\n" in text else f"{name}: {text}"


def _json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)
