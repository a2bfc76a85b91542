"""Sub-plans: a step that stands for the steps of a template, which belong to the plan once they are unrolled."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from planloom.domain.plans.outputs import renamed, unused_id
from planloom.domain.plans.plan import Check, Plan, Step
from planloom.domain.values import StepId

_STEP_IN_EXPRESSION: Final = re.compile(r"(?<=\bsteps\.)[A-Za-z_][A-Za-z0-9_]*")


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
        made.append(_as_child(each, step, ids, after))
    return tuple(made)


def same_steps(one: tuple[StepId, Sequence[Step]], other: tuple[StepId, Sequence[Step]]) -> bool:
    """Whether two sub-plans, each with the id of its step, do the very same."""
    return _written(*one) == _written(*other)


def _as_child(step: Step, parent: Step, ids: Mapping[str, StepId], after: Sequence[StepId]) -> Step:
    def expression(text: str | None) -> str | None:
        return text and _STEP_IN_EXPRESSION.sub(lambda found: ids.get(found[0], found[0]), text)

    listed = renamed({"list": step.for_each}, ids) if step.for_each else None
    return step.as_written().model_copy(
        update={
            "step_id": ids[step.step_id],
            "parent": parent.step_id,
            "depends_on": tuple(dict.fromkeys(after)),
            "args": renamed(step.args, ids),
            "when": expression(step.when),
            "repeat_until": expression(step.repeat_until),
            "for_each": expression(str(listed["list"])) if listed else None,
            "checks": tuple(_with_text(check, expression(check.text)) for check in step.checks),
        }
    )


def _with_text(check: Check, text: str | None) -> Check:
    return check.model_copy(update={"text": text}) if check.kind == "condition" else check


def _written(step_id: StepId, steps: Sequence[Step]) -> list[str]:
    return [
        each.as_written()
        .model_copy(update={"depends_on": (), "requires_approval": False})
        .model_dump_json()
        .replace(step_id, "")
        for each in steps
    ]
