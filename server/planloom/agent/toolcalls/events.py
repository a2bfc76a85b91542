"""What the reader of calls says about a model's text, piece by piece."""

from __future__ import annotations

from typing import Literal

from planloom.domain.values import Args, Value


class VisibleText(Value):
    """Text for the user."""

    kind: Literal["text"] = "text"
    text: str


class ReasoningText(Value):
    """Text that the model thought, in tags."""

    kind: Literal["reasoning"] = "reasoning"
    text: str


class Retracted(Value):
    """Everything said so far, calls and problems included, was reasoning: its end tag came without a start tag."""

    kind: Literal["retracted"] = "retracted"


class CallRead(Value):
    """A whole call of an offered tool, its arguments in the types of the tool's schema."""

    kind: Literal["call"] = "call"
    name: str
    arguments: Args


class CallProblem(Value):
    """Something that was meant as a call and cannot run; `text` is what the model wrote, shortened."""

    kind: Literal["problem"] = "problem"
    cause: Literal["unknown_tool", "cut", "malformed"]
    name: str
    text: str
    problem: str


ReaderEvent = VisibleText | ReasoningText | Retracted | CallRead | CallProblem


class CallsRead(Value):
    """Everything that a whole text holds."""

    calls: tuple[CallRead, ...] = ()
    visible_text: str = ""
    reasoning: str = ""
    problems: tuple[CallProblem, ...] = ()
