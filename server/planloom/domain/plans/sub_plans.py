"""Sub-plans: a step that stands for the steps of a template, which belong to the plan once they are unrolled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from planloom.domain.plans.outputs import renamed, renamed_in_expression, renamed_in_list, unused_id
from planloom.domain.plans.plan import Check, Plan, Step
from planloom.domain.values import StepId


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
    return step.as_written().model_copy(
        update={
            "step_id": ids[step.step_id],
            "parent": parent.step_id,
            "depends_on": tuple(dict.fromkeys(after)),
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


def _written(step_id: StepId, steps: Sequence[Step]) -> list[str]:
    return [
        each.as_written()
        .model_copy(update={"depends_on": (), "requires_approval": False})
        .model_dump_json()
        .replace(step_id, "")
        for each in steps
    ]
