"""What a tool is: a name, a description for models, an argument model, an effect and one async function."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from planloom.domain.safety.approvals import Effect
from planloom.domain.values import Json, Value

SUMMARY_LIMIT = 500
"""Characters a summary may have."""


class ToolResult(Value):
    """What a call came to: a summary for people, a text for the model, a value for later steps.

    A failed call is a value too: `ok` is False and `text` tells the model what to do instead. `ended` tells that
    a command ran to its end, with any exit code; `refused` that a person or the policy did not allow it.
    """

    ok: bool
    summary: str
    text: str
    value: Json = None
    ended: bool = False
    refused: bool = False


def succeeded(summary: str, text: str | None = None, value: Json = None) -> ToolResult:
    """A call that did what it should."""
    return ToolResult(
        ok=True, summary=shortened(summary), text=summary if text is None else text, value=value
    )


def failed(sentence: str) -> ToolResult:
    """A call that could not; the sentence says what to do instead."""
    return ToolResult(ok=False, summary=shortened(sentence), text=sentence)


def refused(sentence: str) -> ToolResult:
    """A call that was not allowed; the sentence says why."""
    return failed(sentence).model_copy(update={"refused": True})


def shortened(text: str, limit: int = SUMMARY_LIMIT) -> str:
    """The text, cut at a word and marked with an ellipsis if it is longer than `limit` characters."""
    if len(text) <= limit:
        return text
    cut = text[: limit - 1]
    head, space, _ = cut.rpartition(" ")
    return (head if space else cut).rstrip() + "…"


@dataclass(frozen=True)
class Tool:
    """A tool that a step or a model can call. `run` gets a parsed `arguments` model and the context.

    `paths` names the arguments that are workspace paths, `writes` those of them that the call changes,
    `removes` those that are gone after it, `replaces` those whose whole content it sets.
    """

    name: str
    description: str
    arguments: type[BaseModel]
    effect: Effect
    run: Callable[[Any, Any], Awaitable[ToolResult]]
    paths: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    removes: tuple[str, ...] = ()
    replaces: tuple[str, ...] = ()
