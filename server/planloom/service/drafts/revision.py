"""Compares a new version of a plan with the one before: steps that stay keep their ids, and lost edits are named."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planloom.domain.plans.outputs import renamed, unused_id
from planloom.domain.plans.plan import Plan, Step
from planloom.domain.values import StepId


def with_kept_ids(before: Plan, drafted: Sequence[Step]) -> tuple[Step, ...]:
    """The drafted steps, with the ids that they had in the plan before.

    A step is the same if its description and its tool are; one that says the same in full is taken from the plan
    before, with all that a planner cannot say of it. A new step never gets the id of another one that stays.
    """
    open_steps = {step.step_id: step for step in before.steps if step.status != "completed"}
    same = dict(_same(tuple(open_steps.values()), drafted))
    used = {*same.values(), *(step.step_id for step in before.steps if step.status == "completed")}
    ids: dict[str, StepId] = {}
    for step in drafted:
        step_id = same.get(step.step_id)
        if step_id is None:
            step_id = step.step_id if step.step_id not in used else unused_id({*used, *open_steps})
        used.add(step_id)
        ids[step.step_id] = step_id
    return tuple(_kept(open_steps.get(ids[step.step_id]), _renamed(step, ids)) for step in drafted)


def changed_by_hand(before: Plan, steps: Sequence[Step]) -> Iterator[str]:
    """A sentence for each step that the user had edited and that the new version changes or leaves out."""
    now = {step.step_id: step for step in steps}
    for step in before.steps:
        if step.step_id not in before.edited or step.status == "completed":
            continue
        if step.step_id not in now:
            yield f"The new version leaves out a step that you had edited: {step.title}"
        elif not _says_the_same(step, now[step.step_id]):
            yield f"The new version changes a step that you had edited: {step.title}"


def _same(open_steps: Sequence[Step], drafted: Sequence[Step]) -> Iterator[tuple[StepId, StepId]]:
    """The id of each drafted step that was in the plan before, with its id there."""
    left = list(open_steps)
    for step in drafted:
        alike = [each for each in left if _key(each) == _key(step)]
        if alike:
            # Of several steps with the same words, the one with the same id is meant.
            found = next((each for each in alike if each.step_id == step.step_id), alike[0])
            left.remove(found)
            yield step.step_id, found.step_id


def _key(step: Step) -> tuple[str, str | None]:
    return " ".join(step.description.casefold().split()), step.tool


def _renamed(step: Step, ids: dict[str, StepId]) -> Step:
    """The step with the new ids in everything that names a step."""
    return step.model_copy(
        update={
            "step_id": ids[step.step_id],
            "depends_on": tuple(ids.get(each, each) for each in step.depends_on),
            "args": renamed(step.args, ids),
        }
    )


def _kept(before: Step | None, drafted: Step) -> Step:
    """The step of the plan before if the drafted one says the same, with the dependencies of the new version."""
    if before is None or not _says_the_same(before, drafted):
        return drafted
    return before.as_written().model_copy(update={"depends_on": drafted.depends_on})


def _says_the_same(one: Step, other: Step) -> bool:
    return _words(one) == _words(other) and (one.kind, one.args) == (other.kind, other.args)


def _words(step: Step) -> tuple[object, ...]:
    work = step.question or step.instruction
    return *_key(step), None if step.tool is not None else " ".join(work.split())
