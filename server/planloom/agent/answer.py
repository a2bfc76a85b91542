"""The parsed turn of a model, the same for every tool call mode, and the control tools that steer the loop."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from typing import Literal, NamedTuple, get_args

from planloom.agent.toolcalls.answers import CONTROL
from planloom.domain.values import Args, CallId, Json
from planloom.models.port import Reasoning, ToolCall, ToolSpec

REPORTS = ("report", "submit_plan")
"""The control tools that end an investigation; their arguments are its result."""
Confidence = Literal["high", "medium", "low"]
CONFIDENCE: tuple[Confidence, ...] = get_args(Confidence)


class Malformed(NamedTuple):
    """A call that cannot be run as written. The model is shown `problem`, a phrase without a full stop.

    `call_id` is empty for a call that the model has printed as text.
    """

    name: str
    text: str
    problem: str
    call_id: CallId = CallId("")


class Turn(NamedTuple):
    """One answer of a model. `cut`: it was cut off at its length limit. `refused`: the model declined to answer.

    `made` are all calls as the model wrote them, control calls too, and `reasoning` is what its provider wants back.
    `report` has the arguments of the call that ends an investigation, or submits a plan.
    """

    text: str = ""
    made: tuple[ToolCall, ...] = ()
    reasoning: tuple[Reasoning, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    malformed: tuple[Malformed, ...] = ()
    task_completed: str | None = None
    final_answer: str | None = None
    confidence: Confidence | None = None
    question: str | None = None
    options: tuple[str, ...] = ()
    report: Args | None = None
    cut: bool = False
    refused: bool = False


@cache
def control_specs(*, with_confidence: bool = False) -> tuple[ToolSpec, ...]:
    """The control tools as models see them; `with_confidence` a final answer has the model's confidence."""
    confidence: dict[str, Json] = (
        {"confidence": {"type": "string", "enum": [*CONFIDENCE]}} if with_confidence else {}
    )
    return (
        _spec(
            "task_completed",
            "The task is done. Beside other calls it counts only if they succeed.",
            {"summary": {"type": "string"}},
        ),
        _spec(
            "final_answer",
            "The answer to the whole request, once all of it is done.",
            {"text": {"type": "string"}, **confidence},
            required=("text",),
        ),
        _spec(
            "ask_user",
            "Ask the user what you cannot go on without.",
            {
                "question": {"type": "string"},
                "options": {"type": "array", "items": {"type": "string"}},
            },
            required=("question",),
        ),
    )


def _spec(
    name: str, description: str, properties: dict[str, Json], required: Sequence[str] | None = None
) -> ToolSpec:
    needed: list[Json] = list(properties if required is None else required)
    return ToolSpec(
        name=name,
        description=description,
        parameters={"type": "object", "properties": properties, "required": needed},
    )


def turn_of(
    text: str, calls: Sequence[ToolCall], malformed: Sequence[Malformed] = (), *, cut: bool = False
) -> Turn:
    """Build a turn from its text and calls, taking the control calls apart from the tool calls."""
    turn = Turn(text=text, made=tuple(calls), cut=cut)
    tools: list[ToolCall] = []
    wrong = list(malformed)
    for call in calls:
        if call.name not in CONTROL:
            tools.append(call)
            continue
        read = _with_control(turn, call.name, call.arguments)
        if isinstance(read, Turn):
            turn = read
        else:
            written = str(call.arguments)
            wrong.append(Malformed(call_id=call.call_id, name=call.name, text=written, problem=read))
    return turn._replace(calls=tuple(tools), malformed=tuple(wrong))


def parted(turn: Turn) -> tuple[Turn, Turn | None]:
    """The answer up to the end of a task, and the rest if calls are in it: they are for the next task."""
    ends = (index for index, call in enumerate(turn.made, start=1) if call.name == "task_completed")
    end = next(ends, len(turn.made))
    before = sum(call.name not in CONTROL for call in turn.made[:end])
    if turn.malformed or not turn.calls[before:]:
        return turn, None
    first = turn_of(turn.text, turn.made[:end])._replace(calls=turn.calls[:before], reasoning=turn.reasoning)
    rest = turn_of("", turn.made[end:], cut=turn.cut)._replace(calls=turn.calls[before:])
    return first, rest


def _with_control(turn: Turn, name: str, args: Args) -> Turn | str:
    """The turn with the arguments of a control call. Returns the problem if they are wrong."""
    match name:
        case "task_completed":
            summary = args.get("summary", args.get("text", ""))
            if not isinstance(summary, str):
                return "summary must be a string"
            return turn._replace(task_completed=summary.strip() or "Done.")
        case "final_answer":
            answer = args.get("text", args.get("answer"))
            if not isinstance(answer, str) or not answer.strip():
                return "text must be the answer, a string that is not empty"
            confidence = next(
                (each for each in CONFIDENCE if each == args.get("confidence")), turn.confidence
            )
            return turn._replace(final_answer=answer, confidence=confidence)
        case "ask_user":
            question = args.get("question", args.get("text"))
            if not isinstance(question, str) or not question.strip():
                return "question must be a string that is not empty"
            given = args.get("options")
            if not isinstance(given, list):
                return turn._replace(question=question.strip())
            options = [str(option) for option in given if isinstance(option, str | int | float)]
            return turn._replace(question=question.strip(), options=tuple(options[:6]))
        case _:
            return turn._replace(report=args)


def call_key(call: ToolCall) -> str:
    """A key that is equal for calls of one tool with equal arguments, in any order."""
    return f"{call.name} {json.dumps(call.arguments, sort_keys=True, ensure_ascii=False)}"
