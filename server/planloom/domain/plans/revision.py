"""Revisions of the rest of a running plan that a model proposes, as edits of its steps, and what they widen."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from typing import Literal

from pydantic import ConfigDict
from pydantic.alias_generators import to_camel

from planloom.domain.plans.agents import EFFECTS, Agent
from planloom.domain.plans.editing import (
    AddStep,
    MoveStep,
    RemoveStep,
    StepChanges,
    StepEdit,
    UpdateStep,
)
from planloom.domain.plans.graph import ancestor_masks, dependency_graph
from planloom.domain.plans.outputs import unused_id
from planloom.domain.plans.plan import SETTLED, Check, Step
from planloom.domain.plans.validation import Problem
from planloom.domain.safety.approvals import PlanChange
from planloom.domain.text.counted import counted
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
    kind: Literal["check", "approval"] | None = None
    when: str | None = None
    for_each: str | None = None
    repeat_until: str | None = None
    repeat_most: int | None = None
    checks: tuple[Check, ...] | None = None
    done: str | None = None


class Revision(Value):
    """The edits of a revision.

    `done` are the steps that the work so far has completed, as the model claims, with its sentence.
    """

    edits: tuple[StepEdit, ...] = ()
    done: tuple[tuple[StepId, str], ...] = ()


def is_to_come(step: Step) -> bool:
    """Whether a step has not begun: nothing was done or asked for it."""
    return step.status == "pending" and step.attempts == 0


def revision(
    steps: Sequence[Step], wanted: Sequence[WantedStep], by: StepId
) -> Revision | tuple[Problem, ...]:
    """The edits that turn the steps still to come into the wanted ones, in their order, or what is wrong with them.

    A step still to come that is not wanted is dropped, unless the step that revises the plan (`by`) is all that is
    named. Of that one the checks alone may change. All others stay as they are and cannot be named. The edits are
    validated by `editing.edit_plan`.
    """
    known = {step.step_id: step for step in steps}
    problems = tuple(filter(None, (_problem(each, known, by) for each in wanted)))
    twice = {each.id for each in wanted if each.id and sum(other.id == each.id for other in wanted) > 1}
    problems += tuple(_wrong(step_id, "It is named twice.") for step_id in sorted(twice))
    if problems:
        return problems
    own = tuple(each for each in wanted if each.id == by)
    changed = (_changes(known[by].as_written(), each) for each in own)
    edits: list[StepEdit] = [
        UpdateStep(step_id=by, set=changes) for changes in changed if changes is not None
    ]
    wanted = tuple(each for each in wanted if each.id != by)
    if own and not wanted:
        return Revision(edits=tuple(edits))
    named = {each.id for each in wanted}
    edits += (
        RemoveStep(step_id=step.step_id) for step in steps if is_to_come(step) and step.step_id not in named
    )
    order = [step.step_id for step in steps if is_to_come(step) and step.step_id in named]
    last = next((step.step_id for step in reversed(steps) if not is_to_come(step)), None)
    for number, each in enumerate(wanted):
        step = known.get(each.id) if each.id is not None else None
        if step is None:
            step_id = each.id or unused_id({*known, *named}, len(known) + number + 1)
            edits.append(_added(each, step_id, last))
            last = step_id
            continue
        changes = _changes(step, each)
        if changes is not None:
            edits.append(UpdateStep(step_id=step.step_id, set=changes))
        if order and order[0] != step.step_id:
            edits.append(MoveStep(step_id=step.step_id, after=last))
        order.remove(step.step_id)
        last = step.step_id
    done = tuple((each.id, each.done.strip()) for each in wanted if each.id and each.done)
    return Revision(edits=tuple(edits), done=done)


def widening(before: Sequence[Step], after: Sequence[Step], *, sequential: bool = False) -> tuple[str, ...]:
    """The effects of the steps after a revision that go beyond those before it, in a sentence each.

    Wording and order do not count, except that a step goes beyond if it no longer waits for a gate or a check.
    """
    known = {step.step_id: step for step in before}
    found: list[str] = []
    for step in after:
        old = known.get(step.step_id)
        if old is None:
            found.append(f"{step.title} is new.")
        elif old != step:
            found += _widening(old, step)
    return (*found, *_unguarded(before, after, sequential=sequential))


def _unguarded(before: Sequence[Step], after: Sequence[Step], *, sequential: bool) -> Iterator[str]:
    """Sentences on steps that no longer wait for one that is there to stop the plan, or on such a step that is gone."""
    guards = [
        step.step_id for step in before if step.kind in ("check", "approval") and step.status not in SETTLED
    ]
    if not guards:
        return
    was, now = (_behind(guards, steps, sequential=sequential) for steps in (before, after))
    for guard in guards:
        if guard not in now:
            yield f"{guard}, which is there to stop the plan, is dropped."
            continue
        freed = [step.step_id for step in after if step.step_id in was[guard] - now[guard]]
        if freed:
            yield f"{', '.join(freed)} no longer waits for {guard}."


def _behind(
    guards: Collection[StepId], steps: Sequence[Step], *, sequential: bool
) -> dict[StepId, set[StepId]]:
    """For each of these steps that is there, the steps that begin only once it has ended."""
    masks = ancestor_masks(dependency_graph(steps), sequential=sequential)
    return {
        guard.step_id: {step.step_id for step, mask in zip(steps, masks, strict=True) if mask >> index & 1}
        for index, guard in enumerate(steps)
        if guard.step_id in guards
    }


def plan_changes(
    before: Sequence[Step], after: Sequence[Step], moved: Collection[StepId]
) -> tuple[PlanChange, ...]:
    """The changes of a revision that a person must see, in the order of the steps after it; dropped steps first."""
    old = {step.step_id: (number, step) for number, step in enumerate(before, start=1)}
    left = {step.step_id for step in after}
    found = [
        PlanChange(kind="dropped", step_id=step_id, before=_headline(number, step))
        for step_id, (number, step) in old.items()
        if step_id not in left
    ]
    for number, step in enumerate(after, start=1):
        was = old.get(step.step_id)
        if was is None:
            found.append(PlanChange(kind="added", step_id=step.step_id, after=_described(number, step)))
        elif _body(was[1]) != _body(step) or was[1].description != step.description:
            texts = {"before": _described(*was), "after": _described(number, step)}
            found.append(PlanChange(kind="changed", step_id=step.step_id, **texts))
        elif step.step_id in moved:
            texts = {"before": _headline(*was), "after": _headline(number, step)}
            found.append(PlanChange(kind="moved", step_id=step.step_id, **texts))
    return tuple(found)


def _problem(wanted: WantedStep, known: dict[StepId, Step], by: StepId) -> Problem | None:
    step = known.get(wanted.id) if wanted.id is not None else None
    if step is not None and step.step_id == by:
        changes = _changes(step.as_written(), wanted)
        only_checks = changes is None or changes.model_fields_set == {"checks"}
        ends = "It is the CURRENT TASK: end it with task_completed." if wanted.done else ""
        return (
            _wrong(by, ends or "It is running: only its checks can change.")
            if ends or not only_checks
            else None
        )
    if step is not None:
        if is_to_come(step):
            is_changed = bool(wanted.done) and _changes(step, wanted) is not None
            return _wrong(step.step_id, "A step that is done cannot be changed.") if is_changed else None
        state = "begun" if step.status == "pending" else step.status
        return _wrong(step.step_id, f"It is {state} and stays as it is: give only steps still to come.")
    if wanted.done:
        return _wrong(wanted.id, "Only a step of the plan can be named as done.")
    if not (wanted.description or "").strip():
        return _wrong(wanted.id, "A new step needs a description.")
    return None


def _wrong(step_id: StepId | None, text: str) -> Problem:
    return Problem(step_id=step_id, field="", problem=text)


def _added(wanted: WantedStep, step_id: StepId, after: StepId | None) -> AddStep:
    fields = wanted.model_dump(exclude={"id", "done"}, exclude_none=True)
    fields["instruction"] = wanted.instruction or wanted.description
    if wanted.question and wanted.kind is None:
        fields["kind"] = "clarification"
    return AddStep(
        place="first" if after is None else "after",
        after=after,
        step_id=step_id,
        step=StepChanges.model_validate(fields),
    )


def _changes(step: Step, wanted: WantedStep) -> StepChanges | None:
    """The changes of a step; None if there are none."""
    given = {name: getattr(wanted, name) for name in WantedStep.model_fields if name not in ("id", "done")}
    changed = {name: value for name, value in given.items() if value not in (None, getattr(step, name))}
    return StepChanges.model_validate(changed) if changed else None


def _widening(old: Step, new: Step) -> list[str]:
    """Why a changed step goes beyond what was approved; wording, order and fewer effects do not."""
    found = []
    if new.instruction != old.instruction:
        found.append(f"{old.step_id} has another instruction.")
    if (new.kind, new.tool, new.args) != (old.kind, old.tool, old.args):
        found.append(f"{old.step_id} makes another call.")
    if _conditions(new) != _conditions(old):
        found.append(f"{old.step_id} has another condition or loop.")
    if new.checks != old.checks:
        found.append(f"{old.step_id} has other checks.")
    new_files = set(new.expected_files) - set(old.expected_files)
    if new_files:
        found.append(f"{old.step_id} writes {', '.join(sorted(new_files))} too.")
    if new.kind == old.kind == "approval" and new.asks != old.asks:
        found.append(f"{old.step_id} asks another question.")
    if not EFFECTS[new.agent] <= EFFECTS[old.agent]:
        found.append(f"{old.step_id} may change files.")
    return found


def _conditions(step: Step) -> tuple[str | int | None, ...]:
    return step.when, step.for_each, step.repeat_until, step.repeat_most


def _headline(number: int, step: Step) -> str:
    return f"{number}. {step.title}"


def _described(number: int, step: Step) -> str:
    return "\n".join([_headline(number, step), *_body(step)])


def _body(step: Step) -> list[str]:
    """The work of a step, in plain lines."""
    lines = []
    if step.tool:
        lines.append(f"Calls {step.tool} {json.dumps(step.args or {}, ensure_ascii=False)}")
    elif step.instruction != step.title:
        lines.append(step.instruction)
    if step.kind == "sub_plan":
        lines.append(f"Template {step.template_id} {json.dumps(step.args or {}, ensure_ascii=False)}")
    if step.question:
        lines.append(f"Asks: {step.question}")
    elif step.kind == "approval":
        lines.append("Asks whether the plan goes on")
    if step.when is not None:
        lines.append(f"Only if {step.when}")
    if step.for_each is not None:
        lines.append(f"For each of {step.for_each}")
    if step.repeat_until is not None:
        rounds = f", at most {counted(step.repeat_most, 'time')}" if step.repeat_most is not None else ""
        lines.append(f"Until {step.repeat_until}{rounds}")
    lines += [f"Checks: {check_line(check)}" for check in step.checks]
    if step.expected_files:
        lines.append(f"Writes {', '.join(step.expected_files)}")
    if step.agent != "koda":
        lines.append(f"Agent: {step.agent}")
    if step.depends_on:
        lines.append(f"After {', '.join(step.depends_on)}")
    return lines


def check_line(check: Check) -> str:
    """The check in words."""
    said = filter(None, (check.command, check.path, check.text))
    return " ".join((check.kind.replace("_", " "), *said))
