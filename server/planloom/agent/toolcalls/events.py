"""The events that the call reader emits, in the order of the text."""

from __future__ import annotations

from typing import Literal

from planloom.domain.values import Args, Value


class VisibleText(Value):
    """Text for the user."""

    kind: Literal["text"] = "text"
    text: str


class ReasoningText(Value):
    """Text in reasoning tags."""

    kind: Literal["reasoning"] = "reasoning"
    text: str


class Retracted(Value):
    """A closing tag without an opening one: all events so far, calls and problems included, were reasoning."""

    kind: Literal["retracted"] = "retracted"


class CallRead(Value):
    """A complete call of an offered tool, with its arguments converted to the types of the tool's schema."""

    kind: Literal["call"] = "call"
    name: str
    arguments: Args


class CallProblem(Value):
    """A call that cannot be run; `text` is what the model wrote, shortened, `problem` a phrase."""

    kind: Literal["problem"] = "problem"
    cause: Literal["unknown_tool", "cut", "malformed"]
    name: str
    text: str
    problem: str


ReaderEvent = VisibleText | ReasoningText | Retracted | CallRead | CallProblem


class CallsRead(Value):
    """The result of reading a whole text."""

    calls: tuple[CallRead, ...] = ()
    visible_text: str = ""
    reasoning: str = ""
    problems: tuple[CallProblem, ...] = ()
