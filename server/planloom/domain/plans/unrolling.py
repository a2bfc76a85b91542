"""Steps that stand for others: loops, for a copy for each item of a list or round; sub-plans, for steps of a template.

Once unrolled, these are steps of the plan like any others, so that each is shown, asked for, recorded and undone by
itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Final

from planloom.domain.json_numbers import loaded
from planloom.domain.plans.outputs import (
    PLACEHOLDER,
    OutputReference,
    output_reference,
    renamed,
    renamed_in_expression,
    renamed_in_list,
    unused_id,
)
from planloom.domain.plans.plan import SETTLED, Check, Plan, Step
from planloom.domain.plans.templates import Template, TemplateRefused, applied, rewritten
from planloom.domain.text.counted import counted
from planloom.domain.values import Args, Json, StepId, TemplateId

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


def is_under_way(step: Step) -> bool:
    """Whether a loop or a sub-plan waits for the steps that it was unrolled into."""
    return bool(step.children) and step.status not in SETTLED


def under_way(step: Step) -> str | None:
    """Where a loop or a sub-plan stands whose steps are at work, in words; None of any other step."""
    if not is_under_way(step):
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
        copies.append(_looped(copy, step, used))
    return tuple(copies)


def for_round(step: Step, taken: Collection[StepId]) -> Step:
    """A copy of the step for the next round."""
    number = len(step.children) + 1
    copy = _filled(step, number - 1, None)
    described = copy.model_copy(
        update={"description": f"{copy.description} (round {number})", "critical": False}
    )
    return _looped(described, step, set(taken))


def _looped(copy: Step, parent: Step, used: set[StepId]) -> Step:
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


TemplateOf = Callable[[TemplateId], Template | None]
"""The template with this id or name, if there is one. Raises StorageFailed."""


def filled(step: Step, template: Template) -> tuple[Step, ...] | TemplateRefused:
    """The template's steps with the parameters that the step of a sub-plan gives in its arguments.

    A problem without a parameter's name is one of the template itself.
    """
    values = (step.args or {}).items()
    texts = {name: value if isinstance(value, str) else json.dumps(value) for name, value in values}
    steps = applied(template, texts)
    if isinstance(steps, TemplateRefused):
        return steps
    if any(each.kind == "sub_plan" for each in steps):
        return TemplateRefused(problems=(("", "a template in a sub-plan cannot hold a sub-plan"),))
    return steps or TemplateRefused(problems=(("", "it has no steps"),))


def sub_plan(plan: Plan, step: Step, steps: Sequence[Step], *, sequential: bool) -> tuple[Step, ...]:
    """The steps of a template as those of a sub-plan: with ids of their own, and waiting for what it waits for.

    In a plan that is not sequential those of a `sequential` template wait for each other.
    """
    taken = {each.step_id for each in plan.steps}
    ids: dict[str, StepId] = {}
    for each in steps:
        wanted = StepId(f"{step.step_id}_{each.step_id}")
        ids[each.step_id] = wanted if wanted not in taken else unused_id(taken, stem=wanted)
        taken.add(ids[each.step_id])
    made: list[Step] = []
    for each in steps:
        after = [*step.depends_on, *(ids.get(name, name) for name in each.depends_on)]
        if sequential and not plan.sequential and made:
            after.append(made[-1].step_id)
        made.append(_of_sub_plan(each, step, ids, after))
    return tuple(made)


def same_steps(one: Sequence[Step], other: Sequence[Step]) -> bool:
    """Whether the steps of two sub-plans are the very same but for their own ids."""
    ids: dict[str, StepId] = {
        after.step_id: before.step_id for before, after in zip(one, other, strict=False)
    }
    return [_written(each, {}) for each in one] == [_written(each, ids) for each in other]


def _of_sub_plan(step: Step, parent: Step, ids: Mapping[str, StepId], after: Sequence[StepId]) -> Step:
    child = _with_ids(step.as_written(), ids)
    return child.model_copy(update={"parent": parent.step_id, "depends_on": tuple(dict.fromkeys(after))})


def _written(step: Step, ids: Mapping[str, StepId]) -> Step:
    return _with_ids(step.as_written().model_copy(update={"requires_approval": False}), ids)


def _with_ids(step: Step, ids: Mapping[str, StepId]) -> Step:
    """The step with every step id in `ids` changed to its new id, in it and where it speaks of other steps."""
    return step.model_copy(
        update={
            "step_id": ids.get(step.step_id, step.step_id),
            "depends_on": tuple(ids.get(name, name) for name in step.depends_on),
            "args": renamed(step.args, ids),
            "when": renamed_in_expression(step.when, ids),
            "repeat_until": renamed_in_expression(step.repeat_until, ids),
            "for_each": renamed_in_list(step.for_each, ids),
            "checks": tuple(
                _with_text(check, renamed_in_expression(check.text, ids)) for check in step.checks
            ),
        }
    )


def _with_text(check: Check, text: str | None) -> Check:
    return check.model_copy(update={"text": text}) if check.kind == "condition" else check
