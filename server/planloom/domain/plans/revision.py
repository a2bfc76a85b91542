"""What a model proposes for the rest of a running plan, as edits of its steps, and what widens the plan's effects."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import ConfigDict
from pydantic.alias_generators import to_camel

from planloom.domain.plans.agents import EFFECTS
from planloom.domain.plans.editing import (
    AddStep,
    MoveStep,
    RemoveStep,
    StepChanges,
    StepEdit,
    UpdateStep,
)
from planloom.domain.plans.perspectives import Agent
from planloom.domain.plans.plan import Step
from planloom.domain.plans.validation import Problem
from planloom.domain.values import Args, StepId, Value


class WantedStep(Value):
    """One step of the rest as the model wants it. A field that is None stays as it is; `done` says why it is done."""

    model_config = ConfigDict(frozen=True, extra="ignore", alias_generator=to_camel, populate_by_name=True)

    id: StepId | None = None
    description: str | None = None
    instruction: str | None = None
    tool: str | None = None
    args: Args | None = None
    question: str | None = None
    agent: Agent | None = None
    depends_on: tuple[StepId, ...] | None = None
    expected_files: tuple[str, ...] | None = None
    done: str | None = None


class Revision(Value):
    """The edits of a revision. `widens` says in a sentence each what the user has not approved yet.

    `done` are the steps that the work so far has completed, as the model claims, with its sentence.
    """

    edits: tuple[StepEdit, ...] = ()
    widens: tuple[str, ...] = ()
    done: tuple[tuple[StepId, str], ...] = ()


def is_to_come(step: Step) -> bool:
    """Whether a step has not begun: nothing was done or asked for it."""
    return step.status == "pending" and step.attempts == 0


def revision(steps: Sequence[Step], wanted: Sequence[WantedStep]) -> Revision | tuple[Problem, ...]:
    """The edits that turn the steps still to come into the wanted ones, in their order, or what is wrong with them.

    A step still to come that is not wanted is dropped. All others stay as they are and cannot be named. The edits are
    validated by `editing.edit_plan`.
    """
    known = {step.step_id: step for step in steps}
    problems = tuple(filter(None, (_problem(each, known) for each in wanted)))
    twice = {each.id for each in wanted if each.id and sum(other.id == each.id for other in wanted) > 1}
    problems += tuple(_wrong(step_id, "It is named twice.") for step_id in sorted(twice))
    if problems:
        return problems
    named = {each.id for each in wanted}
    edits: list[StepEdit] = [
        RemoveStep(step_id=step.step_id) for step in steps if is_to_come(step) and step.step_id not in named
    ]
    widens: list[str] = []
    order = [step.step_id for step in steps if is_to_come(step) and step.step_id in named]
    last = next((step.step_id for step in reversed(steps) if not is_to_come(step)), None)
    for number, each in enumerate(wanted):
        step = known.get(each.id) if each.id is not None else None
        if step is None:
            step_id = each.id or _unused(known, named, number)
            edits.append(_added(each, step_id, last))
            widens.append(f"{each.description} is new.")
            last = step_id
            continue
        changes = _changes(step, each)
        if changes is not None:
            edits.append(UpdateStep(step_id=step.step_id, set=changes))
            widens += _widening(step, changes)
        if order and order[0] != step.step_id:
            edits.append(MoveStep(step_id=step.step_id, after=last))
        order.remove(step.step_id)
        last = step.step_id
    done = tuple((each.id, each.done.strip()) for each in wanted if each.id and each.done)
    return Revision(edits=tuple(edits), widens=tuple(widens), done=done)


def _problem(wanted: WantedStep, known: dict[StepId, Step]) -> Problem | None:
    step = known.get(wanted.id) if wanted.id is not None else None
    if step is not None:
        if is_to_come(step):
            return None
        state = "begun" if step.status == "pending" else step.status
        return _wrong(step.step_id, f"It is {state} and stays as it is: give only steps still to come.")
    if wanted.done:
        return _wrong(wanted.id, "Only a step of the plan can be named as done.")
    if not (wanted.description or "").strip():
        return _wrong(wanted.id, "A new step needs a description.")
    return None


def _wrong(step_id: StepId | None, text: str) -> Problem:
    return Problem(step_id=step_id, field="", problem=text)


def _unused(known: dict[StepId, Step], named: set[StepId | None], number: int) -> StepId:
    count = len(known) + number + 1
    while StepId(f"step_{count}") in known or StepId(f"step_{count}") in named:
        count += 1
    return StepId(f"step_{count}")


def _added(wanted: WantedStep, step_id: StepId, after: StepId | None) -> AddStep:
    fields = wanted.model_dump(exclude={"id", "done"}, exclude_none=True)
    fields["instruction"] = wanted.instruction or wanted.description
    if wanted.question:
        fields["kind"] = "clarification"
    return AddStep(
        place="first" if after is None else "after",
        after=after,
        step_id=step_id,
        step=StepChanges.model_validate(fields),
    )


def _changes(step: Step, wanted: WantedStep) -> StepChanges | None:
    """What changes of a step; None if nothing does."""
    given = wanted.model_dump(exclude={"id", "done"}, exclude_none=True)
    changed = {name: value for name, value in given.items() if value != getattr(step, name)}
    return StepChanges.model_validate(changed) if changed else None


def _widening(step: Step, changes: StepChanges) -> list[str]:
    """Why these changes of a step go beyond what was approved; wording, order and fewer effects do not."""
    found = []
    if changes.instruction is not None:
        found.append(f"{step.step_id} has another instruction.")
    if changes.tool is not None or changes.args is not None:
        found.append(f"{step.step_id} makes another call.")
    new_files = set(changes.expected_files or ()) - set(step.expected_files)
    if new_files:
        found.append(f"{step.step_id} writes {', '.join(sorted(new_files))} too.")
    if changes.agent is not None and not EFFECTS[changes.agent] <= EFFECTS[step.agent]:
        found.append(f"{step.step_id} may change files.")
    return found
