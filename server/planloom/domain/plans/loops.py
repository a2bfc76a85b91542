"""Loops: a step that stands for a copy of itself for each item of a list, or for each round until a condition holds.

The copies are steps of the plan like any others, so that each is shown, asked for, recorded and undone by itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Sequence
from typing import Final

from planloom.domain.json_numbers import loaded
from planloom.domain.plans.outputs import PLACEHOLDER, OutputReference, output_reference, unused_id
from planloom.domain.plans.plan import SETTLED, Plan, Step
from planloom.domain.plans.templates import rewritten
from planloom.domain.text.counted import counted
from planloom.domain.values import Args, Json, StepId

MOST_ITEMS: Final = 100
"""The most items of a list: each becomes a step, and a person can still look through these."""
MOST_ROUNDS: Final = 20
DEFAULT_ROUNDS: Final = 5
_LONGEST_SHOWN: Final = 80


def most_rounds(step: Step) -> int:
    """The most rounds of a step that is repeated."""
    return step.repeat_most or DEFAULT_ROUNDS


def share_done(plan: Plan, step: Step) -> int | None:
    """How far the steps have come that a loop or a sub-plan was unrolled into, in percent; None before that.

    Each counts as much as any other, and one at work as far as it has come. Of a repeated step the most rounds count.
    """
    children = [each for each in map(plan.step, step.children) if each is not None]
    if not children:
        return None
    done = sum(100 if each.status in SETTLED else each.progress or 0 for each in children)
    return min(100, done // (len(children) if step.repeat_until is None else most_rounds(step)))


def under_way(step: Step) -> str | None:
    """Where a loop or a sub-plan stands whose steps are at work, in words; None of any other step."""
    if not step.children or step.status in SETTLED:
        return None
    if step.repeat_until is not None:
        return f"Round {len(step.children)} of at most {most_rounds(step)}"
    return f"{step.progress or 0} % of {counted(len(step.children), 'step')}"


def placeholders(value: Json) -> Iterator[tuple[str, bool]]:
    """The texts of a value that hold `{{item}}`, `{{item.name}}` or `{{index}}`, and whether that is all they hold."""
    if isinstance(value, str):
        if PLACEHOLDER.search(value):
            yield value, PLACEHOLDER.fullmatch(value) is not None
    elif isinstance(value, list):
        for entry in value:
            yield from placeholders(entry)
    elif isinstance(value, dict):
        for entry in value.values():
            yield from placeholders(entry)


def is_written_out(for_each: str) -> bool:
    """Whether the list of a loop is JSON or the result of a step (`$id.files`), and no expression."""
    text = for_each.strip()
    return text.startswith("[") or output_reference(text) is not None


def written_out(for_each: str) -> Json | OutputReference:
    """The list or the reference; None for an expression. Raises ValueError for what is no JSON."""
    text = for_each.strip()
    if text.startswith("["):
        try:
            return loaded(text)
        except RecursionError as error:
            raise ValueError("it is nested too deeply") from error
    return output_reference(text)


def for_items(step: Step, items: Sequence[tuple[int, Json]], taken: Collection[StepId]) -> tuple[Step, ...]:
    """A copy of the step for each item and its index, with new ids."""
    used = set(taken)
    copies = []
    for index, item in items:
        copy = _filled(step, index, item)
        if copy.description == step.description:
            copy = copy.model_copy(update={"description": f"{step.description}: {_shown(item)}"})
        copies.append(_as_child(copy, step, used))
    return tuple(copies)


def for_round(step: Step, taken: Collection[StepId]) -> Step:
    """A copy of the step for the next round."""
    number = len(step.children) + 1
    copy = _filled(step, number - 1, None)
    described = copy.model_copy(
        update={"description": f"{copy.description} (round {number})", "critical": False}
    )
    return _as_child(described, step, set(taken))


def _as_child(copy: Step, parent: Step, used: set[StepId]) -> Step:
    step_id = unused_id(used, stem=parent.step_id)
    used.add(step_id)
    no_loop = {"for_each": None, "when": None, "repeat_until": None, "repeat_most": None}
    return copy.as_written().model_copy(
        update={**no_loop, "step_id": step_id, "parent": parent.step_id, "depends_on": parent.depends_on}
    )


def _filled(step: Step, index: int, item: Json) -> Step:
    """The step with its placeholders filled in; those of unknown parts of the item become null."""

    def value_of(found: re.Match[str]) -> Json:
        if found[1] == "index":
            return index
        value = item
        for name in found[2].split(".")[1:]:
            value = value.get(name) if isinstance(value, dict) else None
        return value

    def text(whole: str) -> str:
        return PLACEHOLDER.sub(lambda found: _text(value_of(found)), whole)

    def argument(value: Json) -> Json:
        if isinstance(value, str):
            found = PLACEHOLDER.fullmatch(value)
            if found is None:
                return text(value)
            filled = value_of(found)
            # A text of an item is never a reference to a result.
            return f"${filled}" if isinstance(filled, str) and filled.startswith("$") else filled
        if isinstance(value, list):
            return [argument(entry) for entry in value]
        if isinstance(value, dict):
            return {name: argument(entry) for name, entry in value.items()}
        return value

    args: Args | None = None
    if step.args is not None:
        args = {name: argument(value) for name, value in step.args.items()}
    return rewritten(step, text, lambda _, whole: whole).model_copy(update={"args": args})


def _text(value: Json) -> str:
    """A value inside a text, in one line: an item can come from a file or a page, and must not look like a line."""
    if isinstance(value, str) and value.isprintable():
        return value
    return json.dumps(value, ensure_ascii=False)


def _shown(item: Json) -> str:
    text = _text(item)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"
