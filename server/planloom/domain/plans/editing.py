"""What a person changes in a plan under review: typed edits, taken all together or not at all."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Literal, assert_never

from pydantic import Field

from planloom.domain.plans.graph import cycle, dependency_graph, execution_order
from planloom.domain.plans.perspectives import Agent
from planloom.domain.plans.plan import Check, Priority, Step, StepKind
from planloom.domain.plans.validation import Problem, structure
from planloom.domain.values import Args, AttachmentId, StepId, Value

Clearable = Literal["tool", "args", "question", "when", "for_each"]


class StepChanges(Value):
    """New values for fields of a step. None leaves a field as it is; `cleared` names those to be emptied."""

    description: str | None = None
    instruction: str | None = None
    active_form: str | None = None
    tool: str | None = None
    args: Args | None = None
    depends_on: tuple[StepId, ...] | None = None
    agent: Agent | None = None
    priority: Priority | None = None
    critical: bool | None = None
    kind: StepKind | None = None
    question: str | None = None
    checks: tuple[Check, ...] | None = None
    expected_files: tuple[str, ...] | None = None
    attachments: tuple[AttachmentId, ...] | None = None
    when: str | None = None
    for_each: str | None = None
    cleared: tuple[Clearable, ...] = ()


class UpdateStep(Value):
    """Change fields of one step."""

    op: Literal["update"] = "update"
    step_id: StepId
    set: StepChanges


class AddStep(Value):
    """Put a new step after another, first, or last. Without an id it gets the next free `step_n`."""

    op: Literal["add"] = "add"
    place: Literal["first", "after", "last"] = "last"
    after: StepId | None = None
    step_id: StepId | None = None
    step: StepChanges


class RemoveStep(Value):
    """Take a step out."""

    op: Literal["remove"] = "remove"
    step_id: StepId


class MoveStep(Value):
    """Put a step after another one, or first if `after` is None."""

    op: Literal["move"] = "move"
    step_id: StepId
    after: StepId | None


class SkipStep(Value):
    """Let a step be skipped when its turn comes."""

    op: Literal["skip"] = "skip"
    step_id: StepId


class UnskipStep(Value):
    """Let a skipped step run after all."""

    op: Literal["unskip"] = "unskip"
    step_id: StepId


StepEdit = Annotated[
    UpdateStep | AddStep | RemoveStep | MoveStep | SkipStep | UnskipStep, Field(discriminator="op")
]


class EditRefused(Value):
    """Why edits cannot be made; none of them was."""

    problems: tuple[Problem, ...]


_NUMBERED = re.compile(r"step_([0-9]{1,9})")
_CHANGED = tuple(name for name in StepChanges.model_fields if name != "cleared")
_UNTOUCHABLE = {"completed": "is completed", "failed": "has failed", "running": "is running"}


def edit_plan(steps: Sequence[Step], edits: Sequence[StepEdit]) -> tuple[Step, ...] | EditRefused:
    """The steps with all edits made in their order, or why that cannot be.

    Completed, failed and running steps stay as they are. A step may be moved anywhere but before one it
    waits for. A step that an update makes wait for a later one goes behind that one. What tools say of
    arguments is not looked at here: `validation.problems` does.
    """
    page = _Page(steps)
    for edit in edits:
        problem = _make(page, edit)
        if problem is not None:
            return EditRefused(problems=(problem,))
    edited = page.steps
    wrong = [*_left_alone(page, edited), *_out_of_order(page, edited)]
    known = set(structure(steps))
    lost = {problem.step_id for problem in wrong}
    wrong += [p for p in structure(edited) if p not in known and not (p.step_id in lost and page.removed)]
    if wrong:
        return EditRefused(problems=tuple(wrong))
    return tuple(edited) if cycle(edited) is not None else execution_order(edited)


class _Page:
    """The steps while edits are made to them."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self.steps = list(steps)
        self.moved: list[StepId] = []
        self.removed: dict[StepId, Step] = {}
        numbers = [int(found[1]) for step in steps if (found := _NUMBERED.fullmatch(step.step_id))]
        self.next_number = max([len(steps), *numbers]) + 1

    def place(self, step_id: StepId, field: str = "stepId") -> int | Problem:
        for index, step in enumerate(self.steps):
            if step.step_id == step_id:
                return index
        return _refused(step_id, field, f"There is no step {step_id!r}.")

    def editable(self, step_id: StepId) -> int | Problem:
        index = self.place(step_id)
        if isinstance(index, Problem):
            return index
        status = self.steps[index].status
        if status in _UNTOUCHABLE:
            text = f"{step_id} {_UNTOUCHABLE[status]} and can no longer be changed."
            return _refused(step_id, "status", text)
        return index

    def fresh_id(self) -> StepId:
        number = self.next_number
        self.next_number += 1
        return StepId(f"step_{number}")


def _refused(step_id: StepId | None, field: str, text: str) -> Problem:
    return Problem(step_id=step_id, field=field, problem=text)


def _make(page: _Page, edit: StepEdit) -> Problem | None:
    """Make one edit, or say why it cannot be made."""
    if isinstance(edit, AddStep):
        return _add(page, edit)
    index = page.editable(edit.step_id)
    if isinstance(index, Problem):
        return index
    step = page.steps[index]
    match edit:
        case UpdateStep():
            changed = _changed(step, edit.set)
            if isinstance(changed, Problem):
                return changed
            page.steps[index] = changed
        case RemoveStep():
            page.removed[edit.step_id] = page.steps.pop(index)
        case MoveStep():
            return _move(page, edit, index)
        case SkipStep():
            page.steps[index] = step.model_copy(update={"status": "skipped"})
        case UnskipStep():
            if step.status != "skipped":
                return _refused(edit.step_id, "status", f"{edit.step_id} is not skipped.")
            page.steps[index] = step.model_copy(update={"status": "pending", "result": None})
        case _:
            assert_never(edit)
    return None


def _move(page: _Page, edit: MoveStep, index: int) -> Problem | None:
    if edit.after == edit.step_id:
        return _refused(edit.step_id, "after", "A step cannot be put after itself.")
    step = page.steps.pop(index)
    target = -1 if edit.after is None else page.place(edit.after, "after")
    if isinstance(target, Problem):
        return target
    page.steps.insert(target + 1, step)
    page.moved.append(edit.step_id)
    return None


def _changed(step: Step, changes: StepChanges) -> Step | Problem:
    """The step with its new values; kind follows the tool, and a stale active form is dropped."""
    update: dict[str, object] = {
        name: value for name in _CHANGED if (value := getattr(changes, name)) is not None
    }
    update.update(dict.fromkeys(changes.cleared))
    if "description" in update:
        if not str(update["description"]).strip():
            return _refused(step.step_id, "description", "It is empty: say what the step does.")
        if update["description"] != step.description:
            update.setdefault("active_form", "")
    if "kind" not in update and "tool" in update:
        update["kind"] = "tool_call" if update["tool"] else "processing"
    if update.get("kind", "tool_call") != "tool_call" and "tool" not in update:
        update |= {"tool": None, "args": None}
    return step.model_copy(update=update)


def _add(page: _Page, edit: AddStep) -> Problem | None:
    description = (edit.step.description or "").strip()
    if not description:
        return _refused(edit.step_id, "description", "A new step needs a description.")
    step_id = edit.step_id if edit.step_id is not None else page.fresh_id()
    if any(step.step_id == step_id for step in page.steps):
        return _refused(step_id, "stepId", f"There is a step {step_id!r} already.")
    bare = Step(step_id=step_id, description=description, instruction=description)
    step = _changed(bare, edit.step.model_copy(update={"description": description}))
    if isinstance(step, Problem):
        return step
    place = len(page.steps)
    if edit.place == "first":
        place = 0
    elif edit.place == "after":
        if edit.after is None:
            return _refused(step_id, "after", "The step to put it after is not named.")
        before = page.place(edit.after, "after")
        if isinstance(before, Problem):
            return before
        place = before + 1
    page.steps.insert(place, step)
    return None


def _left_alone(page: _Page, edited: Sequence[Step]) -> list[Problem]:
    """Removed steps that others still wait for."""
    there = {step.step_id for step in edited}
    gone = {step_id: step for step_id, step in page.removed.items() if step_id not in there}
    if not gone:
        return []
    # Taken together with the removed ones, the links show which steps still wait for removed ones.
    together = [*edited, *gone.values()]
    links = dependency_graph(together)
    found = []
    for step_id in gone:
        waiting = [
            together[dependent].step_id
            for dependent in links.dependents[links.index[step_id]]
            if together[dependent].step_id in there
        ]
        if waiting:
            verb = "waits" if len(waiting) == 1 else "wait"
            text = f"{step_id} cannot be removed: {_listed(waiting)} {verb} for it."
            found.append(Problem(step_id=step_id, field="stepId", problem=text))
    return found


def _out_of_order(page: _Page, edited: Sequence[Step]) -> list[Problem]:
    """Moved steps that stand before one they wait for, or behind one that waits for them."""
    links = dependency_graph(edited)
    found = []
    for step_id in dict.fromkeys(page.moved):
        if step_id not in links.index:
            continue
        index = links.index[step_id]
        early = [edited[dependency].step_id for dependency in links.dependencies[index] if dependency > index]
        late = [edited[dependent].step_id for dependent in links.dependents[index] if dependent < index]
        if early:
            text = f"{step_id} cannot stand before {_listed(early)}, which it waits for."
            found.append(Problem(step_id=step_id, field="after", problem=text))
        if late:
            verb = "waits" if len(late) == 1 else "wait"
            text = f"{step_id} cannot stand after {_listed(late)}, which {verb} for it."
            found.append(Problem(step_id=step_id, field="after", problem=text))
    return found


def _listed(names: Sequence[StepId]) -> str:
    if len(names) == 1:
        return names[0]
    return f"{', '.join(names[:-1])} and {names[-1]}"
