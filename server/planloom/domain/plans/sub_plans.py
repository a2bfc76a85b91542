"""Sub-plans: a step that stands for the steps of a template, which belong to the plan once they are unrolled."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

from planloom.domain.plans.outputs import renamed, renamed_in_expression, renamed_in_list, unused_id
from planloom.domain.plans.plan import Check, Plan, Step
from planloom.domain.plans.templates import Template, TemplateRefused, applied
from planloom.domain.values import StepId, TemplateId

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
        made.append(_as_child(each, step, ids, after))
    return tuple(made)


def same_steps(one: Sequence[Step], other: Sequence[Step]) -> bool:
    """Whether the steps of two sub-plans are the very same but for their own ids."""
    ids: dict[str, StepId] = {
        after.step_id: before.step_id for before, after in zip(one, other, strict=False)
    }
    return [_written(each, {}) for each in one] == [_written(each, ids) for each in other]


def _as_child(step: Step, parent: Step, ids: Mapping[str, StepId], after: Sequence[StepId]) -> Step:
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
