"""Recognizes an answer printed as one object: calls, the end of a task, the answer (docs/model-text.md, T17)."""

from __future__ import annotations

from typing import NamedTuple

from planloom.agent.toolcalls.offered_tools import OfferedTools, RawCall, decoded
from planloom.domain.values import Args, Json

CONTROL = ("task_completed", "final_answer", "ask_user", "report", "submit_plan")
"""Names of the control tools, which steer the loop and change nothing themselves."""
THOUGHT = "(reasoning)"
"""In place of a tool's name: the model's reasoning, as a string."""
BESIDE = {"task_completed": ("unchanged", "unchecked"), "final_answer": ("confidence",)}
"""Arguments of control tools that stand beside them in an answer, where each of these tools is one text."""
ANSWER_KEYS = frozenset({"reasoning", "tool_calls", "answer", *CONTROL}.union(*BESIDE.values()))
"""The fields of an answer."""


class ControlCall(NamedTuple):
    """A control field of an answer as a call."""

    name: str
    arguments: Args


def is_answer(value: dict[str, Json], offered: OfferedTools) -> bool:
    """Whether an object is an answer: it has the fields of one, and none that only data would have."""
    if any(offered.knows(name) and name in value for name in CONTROL):
        return True
    if "answer" in value and offered.knows("final_answer"):
        return "confidence" in value or "reasoning" in value
    listed = listed_calls(value)
    return isinstance(listed, list) and (
        "reasoning" in value or listed is not value["tool_calls"] or not listed
    )


def listed_calls(value: dict[str, Json]) -> Json:
    """The calls of an answer as they stand in it, also in a string."""
    listed = value.get("tool_calls")
    return decoded(listed) if isinstance(listed, str) else listed


def control_calls(value: dict[str, Json]) -> tuple[ControlCall, ...]:
    """The control fields of an answer that are filled, each as the call of its tool."""
    filled = {name: value[name] for name in CONTROL if value.get(name) not in (None, "", [], {})}
    answer = value.get("answer")
    if "final_answer" not in filled and answer not in (None, "", [], {}):
        filled["final_answer"] = answer
    return tuple(
        ControlCall(name, _arguments(name, filled[name], value)) for name in CONTROL if name in filled
    )


def _arguments(name: str, field: Json, answer: dict[str, Json]) -> Args:
    if isinstance(field, list):
        return {"steps": field}
    is_number = isinstance(field, int | float) and not isinstance(field, bool)
    arguments: Args = dict(field) if isinstance(field, dict) else {"text": str(field) if is_number else field}
    return {each: answer[each] for each in BESIDE.get(name, ()) if each in answer} | arguments


def thought(value: dict[str, Json]) -> RawCall:
    """The reasoning of an answer, empty if it has none."""
    reasoning = value.get("reasoning")
    return RawCall(THOUGHT, reasoning if isinstance(reasoning, str) else "")
