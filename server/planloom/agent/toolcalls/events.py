"""The events that the call reader emits, in the order of the text."""

from __future__ import annotations

from typing import Literal, NamedTuple

from planloom.domain.values import Args, Value


class VisibleText(NamedTuple):
    """Text for the user."""

    text: str
    kind: Literal["text"] = "text"


class ReasoningText(NamedTuple):
    """Text in reasoning tags."""

    text: str
    kind: Literal["reasoning"] = "reasoning"


class Retracted(NamedTuple):
    """A closing tag without an opening one: all events so far, calls and problems included, were reasoning."""

    kind: Literal["retracted"] = "retracted"


class CallRead(NamedTuple):
    """A complete call of an offered tool, with its arguments converted to the types of the tool's schema."""

    name: str
    arguments: Args
    kind: Literal["call"] = "call"


class CallProblem(Value):
    """A call that cannot be run; `text` is what the model wrote, shortened, `problem` a phrase."""

    kind: Literal["problem"] = "problem"
    cause: Literal["unknown_tool", "cut", "malformed"]
    name: str
    text: str
    problem: str


ReaderEvent = VisibleText | ReasoningText | Retracted | CallRead | CallProblem


class CallsRead(NamedTuple):
    """The result of reading a whole text."""

    calls: tuple[CallRead, ...] = ()
    visible_text: str = ""
    reasoning: str = ""
    problems: tuple[CallProblem, ...] = ()
