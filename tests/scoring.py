"""The readers in the shape that outside scorers of them expect."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from planloom.agent.toolcalls.events import ReaderEvent
from planloom.agent.toolcalls.reader import CallReader, gathered
from planloom.intake.routing.detection import detect
from planloom.models.port import ToolSpec


def planned(message: str) -> bool:
    """Whether the rules want a plan for this message."""
    return detect(message).planned


@cache
def offered_tools() -> tuple[ToolSpec, ...]:
    """The tools that the cases of tool calls are read with."""
    text = (Path(__file__).parent / "data" / "tools.json").read_text(encoding="utf-8")
    return tuple(ToolSpec.model_validate(tool) for tool in json.loads(text))


def tool_calls(text: str) -> list[dict[str, Any]]:
    """The calls in a whole text."""
    return stream_tool_calls([text])[0]


def stream_tool_calls(chunks: Sequence[str]) -> tuple[list[dict[str, Any]], str]:
    """The calls in a text that comes in pieces, and what of it a user sees."""
    reader = CallReader(offered_tools())
    events: list[ReaderEvent] = [event for chunk in chunks for event in reader.feed(chunk)]
    read = gathered((*events, *reader.close()))
    return [{"name": call.name, "arguments": call.arguments} for call in read.calls], read.visible_text
