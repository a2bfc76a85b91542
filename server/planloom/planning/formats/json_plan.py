"""Plans written as JSON: bare, fenced, or in prose (docs/model-text.md, P7)."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from planloom.agent.plan_spec import LONGEST_SUMMARY
from planloom.domain.model_text.fences import JSON_LANGUAGES, TEXT_LANGUAGES, Fence, fences
from planloom.domain.model_text.lenient_json import Unreadable, read_container
from planloom.domain.plans.plan import Risk
from planloom.planning.estimates import named_risk
from planloom.planning.formats.draft import DraftStep, PlanText
from planloom.planning.formats.durations import seconds_in
from planloom.planning.formats.json_steps import JsonSteps, steps_in

_CANDIDATE = re.compile(r"\[\s*(?:\[\s*)?(?:[{\"'“]|//|/\*)|\{\s*(?:[\"'“A-Za-z_$]|//|/\*)")
_NO_PROGRAM = TEXT_LANGUAGES | JSON_LANGUAGES | {"plan", "javascript", "js", "markdown", "md"}
"""The languages of fences in which a plan may stand."""
_EFFORT = 15
"""Characters that are tried for each character of the text before the search for JSON ends."""


@dataclass(frozen=True, slots=True)
class JsonPlan:
    """The steps, the position where their JSON begins, and whether it was cut. `weak`: see `JsonSteps`."""

    steps: tuple[DraftStep, ...]
    start: int
    cut: bool
    weak: bool
    summary: str = ""
    stated_risk: Risk | None = None
    stated_seconds: int | None = None


def plan_of(value: object, tools: Collection[str] = ()) -> PlanText | None:
    """The plan in a decoded JSON value that is meant as one, such as the arguments of a call; None without steps."""
    found = steps_in(value, tools)
    if found is None or not found.steps:
        return None
    risk, seconds = stated_in(value)
    return PlanText(
        steps=tuple(found.steps),
        format="json",
        summary=summary_in(value),
        stated_risk=risk,
        stated_seconds=seconds,
    )


def read_json(text: str, tools: Collection[str] = ()) -> JsonPlan | None:
    """The first plan written as JSON in a text. Programs in fences are not searched."""
    lines = text.split("\n")
    programs = _programs(lines)
    effort = _EFFORT * len(text) + 10_000
    offset = 0
    alone: list[tuple[int, JsonSteps]] = []
    while effort > 0 and (candidate := _CANDIDATE.search(text, offset)) is not None:
        start = candidate.start()
        end_of_program = next((end for first, end in programs if first <= start < end), None)
        if end_of_program is not None:
            offset = end_of_program
            programs = [program for program in programs if program[1] > end_of_program]
            continue
        parsed = read_container(text, start)
        effort -= parsed.effort + 1
        if isinstance(parsed, Unreadable):
            offset = start + 1
            continue
        found = steps_in(parsed.value, tools)
        if found is not None and _is_meant(text, start, parsed.end, found, parsed.cut):
            stated = stated_in(parsed.value)
            return JsonPlan(
                tuple(found.steps), start, parsed.cut, found.weak, summary_in(parsed.value), *stated
            )
        if isinstance(parsed.value, dict) and not parsed.cut:
            alone += _single(start, parsed.value, tools)
        offset = start + 1 if parsed.cut else parsed.end
    return _lines_of_json(alone)


def _of_plan(value: object) -> Mapping[str, Any]:
    """The fields of a plan, which may stand in an object of its own; none of a bare list of steps."""
    if not isinstance(value, dict):
        return {}
    inner = value.get("plan")
    return {**inner, **value} if isinstance(inner, dict) else value


def stated_in(value: object) -> tuple[Risk | None, int | None]:
    """The risk and the seconds that the author states for the whole plan."""
    plan = _of_plan(value)
    word = plan.get("overallRisk", plan.get("overall_risk"))
    risk = named_risk(word) if isinstance(word, str) else None
    stated = plan.get("estimatedDuration", plan.get("estimated_duration"))
    return risk, seconds_in(stated)


def summary_in(value: object) -> str:
    """The author's own description of the plan, if the JSON is an object that has one."""
    plan = _of_plan(value)
    text = plan.get("summary", plan.get("goal"))
    return " ".join(text.split())[:LONGEST_SUMMARY] if isinstance(text, str) else ""


def _programs(lines: Sequence[str]) -> list[tuple[int, int]]:
    """The offsets of the fences that contain programs."""
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    return [
        (starts[fence.first], starts[fence.last + 1])
        for fence in fences(lines)
        if fence.closed and _language(fence) not in _NO_PROGRAM
    ]


def _language(fence: Fence) -> str:
    return fence.info.split(" ", 1)[0].strip("{}.")


def _is_meant(text: str, start: int, end: int, found: JsonSteps, cut: bool) -> bool:
    """Whether an array without a key stands alone, as a plan does, and not inside a sentence."""
    if not found.bare:
        return True
    before = text[text.rfind("\n", 0, start) + 1 : start]
    line_end = text.find("\n", end)
    after = text[end : len(text) if line_end < 0 else line_end]
    sentence = bool(before.strip("` \t")) and bool(after.strip("`;,. \t")) and not cut
    if not found.strings:
        return not sentence or any(step.instruction != step.description for step in found.steps)
    if sentence or before.strip("` \t") or (after.strip("`;,. \t") and not cut):
        return False
    phrases = sum(" " in step.description or not step.description.isascii() for step in found.steps)
    return text.strip()[:1] == "[" or 2 * phrases >= len(found.steps)


def _single(start: int, value: object, tools: Collection[str]) -> Iterator[tuple[int, JsonSteps]]:
    """A lone object that is a step by itself, with both a description and an instruction."""
    found = steps_in([value], tools)
    if found is not None and not found.weak and len(found.steps) == 1:
        step = found.steps[0]
        if step.instruction != step.description or step.tool is not None:
            yield start, found


def _lines_of_json(alone: Sequence[tuple[int, JsonSteps]]) -> JsonPlan | None:
    """Steps written one object after the other, without an array around them."""
    if len(alone) < 2:
        return None
    steps = tuple(found.steps[0] for _, found in alone)
    return JsonPlan(steps, alone[0][0], False, False)
