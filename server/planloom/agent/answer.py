"""The parsed turn of a model, the same for every tool call mode, and the control tools that steer the loop."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from typing import Literal, NamedTuple, get_args

from planloom.agent.toolcalls.shapes import CONTROL
from planloom.domain.values import Args, CallId, Json
from planloom.models.port import Reasoning, ToolCall, ToolSpec

REPORTS = ("report", "submit_plan")
"""The control tools that end an investigation; their arguments are its result."""
Confidence = Literal["high", "medium", "low"]
UNCHANGED = "only if the task needed no change: why"
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

    `made` are all calls as the model wrote them, control calls too, `native` says that the provider gave them, and
    `reasoning` is what its provider wants back.
    `unchanged` is the model's reason why its task needed no change, `unchecked` why its checks say nothing; `report`
    has the arguments of the call that ends an investigation, or submits a plan.
    """

    text: str = ""
    made: tuple[ToolCall, ...] = ()
    native: bool = False
    reasoning: tuple[Reasoning, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    malformed: tuple[Malformed, ...] = ()
    task_completed: str | None = None
    unchanged: str = ""
    unchecked: str = ""
    final_answer: str | None = None
    confidence: Confidence | None = None
    question: str | None = None
    options: tuple[str, ...] = ()
    report: Args | None = None
    cut: bool = False
    refused: bool = False


@cache
def control_specs(
    *, native: bool = False, with_confidence: bool = False, with_reasons: bool = True
) -> tuple[ToolSpec, ...]:
    """The control tools as models see them; `with_confidence` the answer has the model's confidence, `with_reasons` the
    end of a task says why nothing was to change, or why its checks say nothing.

    In a `native` conversation `task_completed` is the only end, and the summary of the last task the answer; elsewhere
    that is `final_answer`.
    """
    confidence: dict[str, Json] = (
        {"confidence": {"type": "string", "enum": [*CONFIDENCE]}} if with_confidence else {}
    )
    reasons: dict[str, Json] = {
        "unchanged": {"type": "string", "description": UNCHANGED},
        "unchecked": {"type": "string"},
    }
    return (
        _spec(
            "task_completed",
            "The task is done. Beside other calls it counts only if they succeed.",
            {
                "summary": {"type": "string"},
                **(reasons if with_reasons else {}),
                **(confidence if native else {}),
            },
            required=("summary",),
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
        *(() if native else (_final_answer(confidence),)),
    )


def _final_answer(confidence: dict[str, Json]) -> ToolSpec:
    about = "The answer to the whole request, once all of it is done."
    return _spec("final_answer", about, {"text": {"type": "string"}, **confidence}, required=("text",))


def readable(tools: Sequence[ToolSpec]) -> tuple[ToolSpec, ...]:
    """The tools whose calls are read: with `task_completed` also `final_answer`, which models print unasked."""
    names = {tool.name for tool in tools}
    is_read = "task_completed" in names and "final_answer" not in names
    return (*tools, _final_answer({})) if is_read else tuple(tools)


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
    """The answer up to the end of a task, and the rest if it has calls or another end: they are for the next task."""
    ends = (index for index, call in enumerate(turn.made, start=1) if call.name == "task_completed")
    end = next(ends, len(turn.made))
    before = sum(call.name not in CONTROL for call in turn.made[:end])
    goes_on = any(call.name == "task_completed" for call in turn.made[end:]) or turn.calls[before:]
    if turn.malformed or not goes_on:
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
            reasons = (args.get("unchanged"), args.get("unchecked"))
            unchanged, unchecked = (why.strip() if isinstance(why, str) else "" for why in reasons)
            done = turn._replace(task_completed=summary.strip() or unchanged or unchecked or "Done.")
            done = done._replace(unchanged=unchanged, unchecked=unchecked)
            return done._replace(confidence=_confidence(args) or turn.confidence)
        case "final_answer":
            answer = args.get("text", args.get("answer"))
            if not isinstance(answer, str) or not answer.strip():
                return "text must be the answer, a string that is not empty"
            return turn._replace(final_answer=answer, confidence=_confidence(args) or turn.confidence)
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


def _confidence(args: Args) -> Confidence | None:
    return next((each for each in CONFIDENCE if each == args.get("confidence")), None)


def call_key(call: ToolCall) -> str:
    """A key that is equal for calls of one tool with equal arguments, in any order."""
    return f"{call.name} {json.dumps(call.arguments, sort_keys=True, ensure_ascii=False)}"
