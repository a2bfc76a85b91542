"""Edits of a plan under review: typed operations on steps, applied all together or not at all."""

import re
from collections.abc import Sequence
from typing import Annotated, Literal, assert_never

from pydantic import Field

from planloom.domain.plans.agents import Agent
from planloom.domain.plans.graph import cycle, dependency_graph, execution_order
from planloom.domain.plans.plan import Check, ExpectedTool, Priority, Step, StepKind
from planloom.domain.plans.validation import Problem, located, structure
from planloom.domain.values import Args, AttachmentId, StepId, TemplateId, Value

Clearable = Literal[
    "tool", "args", "question", "when", "for_each", "repeat_until", "repeat_most", "template_id"
]


class StepChanges(Value):
    """New values for fields of a step. None leaves a field unchanged; `cleared` names fields to set to None."""

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
    tools_to_execute: tuple[ExpectedTool, ...] | None = None
    attachments: tuple[AttachmentId, ...] | None = None
    when: str | None = None
    for_each: str | None = None
    repeat_until: str | None = None
    repeat_most: int | None = None
    template_id: TemplateId | None = None
    cleared: tuple[Clearable, ...] = ()


class UpdateStep(Value):
    """Change fields of one step."""

    op: Literal["update"] = "update"
    step_id: StepId
    set: StepChanges


class AddStep(Value):
    """Insert a new step after another, first, or last. Without an id it gets the next free `step_n`."""

    op: Literal["add"] = "add"
    place: Literal["first", "after", "last"] = "last"
    after: StepId | None = None
    step_id: StepId | None = None
    step: StepChanges


class RemoveStep(Value):
    """Remove a step."""

    op: Literal["remove"] = "remove"
    step_id: StepId


class MoveStep(Value):
    """Move a step after another one, or first if `after` is None."""

    op: Literal["move"] = "move"
    step_id: StepId
    after: StepId | None


class SkipStep(Value):
    """Mark a step as skipped."""

    op: Literal["skip"] = "skip"
    step_id: StepId


class UnskipStep(Value):
    """Make a skipped step pending again."""

    op: Literal["unskip"] = "unskip"
    step_id: StepId


StepEdit = Annotated[
    UpdateStep | AddStep | RemoveStep | MoveStep | SkipStep | UnskipStep, Field(discriminator="op")
]


class PlanWords(Value):
    """New words of a plan as a whole. None leaves them unchanged."""

    request: str | None = None
    summary: str | None = None

    def __bool__(self) -> bool:
        return self.request is not None or self.summary is not None


class EditRefused(Value):
    """Why edits cannot be made. None of them has been made."""

    problems: tuple[Problem, ...]


_NUMBERED = re.compile(r"step_([0-9]{1,9})")
_CHANGED = tuple(name for name in StepChanges.model_fields if name != "cleared")
_UNEDITABLE = {"completed": "is completed", "failed": "has failed", "running": "is running"}


def edit_plan(
    steps: Sequence[Step], edits: Sequence[StepEdit], by: StepId | None = None
) -> tuple[Step, ...] | EditRefused:
    """The steps after all edits in order, or the reasons why they cannot be made.

    Completed, failed and running steps cannot be edited, except by the step `by` itself. A step cannot be moved before
    one it waits for; a step that an update makes wait for a later one moves behind it. Arguments are not checked
    against the tools here: `validation.problems` does that.
    """
    draft = _Draft(steps)
    of_others = [edit for edit in edits if by is None or isinstance(edit, AddStep) or edit.step_id != by]
    if refused := _of_begun_steps(steps, of_others):
        return EditRefused(problems=refused)
    for edit in edits:
        problem = _make(draft, edit)
        if problem is not None:
            return EditRefused(problems=located((problem,), draft.steps))
    edited = draft.steps
    found = [*_still_needed(draft, edited), *_out_of_order(draft, edited)]
    earlier = set(structure(steps))
    reported = {problem.step_id for problem in found}
    found += [
        p for p in structure(edited) if p not in earlier and not (p.step_id in reported and draft.removed)
    ]
    if found:
        return EditRefused(problems=located(found, edited))
    return tuple(edited) if cycle(edited) is not None else execution_order(edited)


class _Draft:
    """The steps while edits are made to them."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self.steps = list(steps)
        self.moved: list[StepId] = []
        self.removed: dict[StepId, Step] = {}
        numbers = [int(found[1]) for step in steps if (found := _NUMBERED.fullmatch(step.step_id))]
        self.next_number = max([len(steps), *numbers]) + 1

    def index_of(self, step_id: StepId, field: str = "stepId") -> int | Problem:
        for index, step in enumerate(self.steps):
            if step.step_id == step_id:
                return index
        return _refused(step_id, field, f"There is no step {step_id!r}.")

    def fresh_id(self) -> StepId:
        number = self.next_number
        self.next_number += 1
        return StepId(f"step_{number}")


def _of_begun_steps(steps: Sequence[Step], edits: Sequence[StepEdit]) -> tuple[Problem, ...]:
    """A problem for each step that can no longer be changed."""
    edited = {edit.step_id for edit in edits if not isinstance(edit, AddStep)}
    return tuple(
        _refused(
            step.step_id, "status", f"{step.step_id} {_UNEDITABLE[step.status]} and can no longer be changed."
        )
        for step in steps
        if step.step_id in edited and step.status in _UNEDITABLE
    )


def _refused(step_id: StepId | None, field: str, text: str) -> Problem:
    return Problem(step_id=step_id, field=field, problem=text)


def _make(draft: _Draft, edit: StepEdit) -> Problem | None:
    """Make one edit. Returns the problem if it cannot be made."""
    if isinstance(edit, AddStep):
        return _add(draft, edit)
    index = draft.index_of(edit.step_id)
    if isinstance(index, Problem):
        return index
    step = draft.steps[index]
    match edit:
        case UpdateStep():
            changed = _with_changes(step, edit.set)
            if isinstance(changed, Problem):
                return changed
            draft.steps[index] = changed
        case RemoveStep():
            draft.removed[edit.step_id] = draft.steps.pop(index)
        case MoveStep():
            return _move(draft, edit, index)
        case SkipStep():
            draft.steps[index] = step.model_copy(update={"status": "skipped", "skip_reason": "user"})
        case UnskipStep():
            if not step.is_left:
                return _refused(edit.step_id, "status", f"{edit.step_id} is not skipped.")
            draft.steps[index] = step.model_copy(
                update={"status": "pending", "result": None, "passed_over": False}
            )
        case _:
            assert_never(edit)
    return None


def _move(draft: _Draft, edit: MoveStep, index: int) -> Problem | None:
    if edit.after == edit.step_id:
        return _refused(edit.step_id, "after", "A step cannot be put after itself.")
    step = draft.steps.pop(index)
    target = -1 if edit.after is None else draft.index_of(edit.after, "after")
    if isinstance(target, Problem):
        return target
    draft.steps.insert(target + 1, step)
    draft.moved.append(edit.step_id)
    return None


def implied_kind(tool: str | None, template: str | None) -> StepKind:
    """The kind of a step that does not say it; a tool says more than a template."""
    if tool:
        return "tool_call"
    return "sub_plan" if template else "processing"


def _with_changes(step: Step, changes: StepChanges) -> Step | Problem:
    """The step with its new values. The kind follows tool and template; a new description clears the active form."""
    update: dict[str, object] = {
        name: value for name in _CHANGED if (value := getattr(changes, name)) is not None
    }
    update.update(dict.fromkeys(changes.cleared))
    if "description" in update:
        if not str(update["description"]).strip():
            return _refused(step.step_id, "description", "The description is empty; say what the step does.")
        if update["description"] != step.description:
            update.setdefault("active_form", "")
    becomes_sub_plan = step.kind == "processing" and step.template_id is None and "template_id" in update
    if "kind" not in update and ("tool" in update or becomes_sub_plan):
        update["kind"] = implied_kind(changes.tool, changes.template_id)
    kind = update.get("kind", "tool_call")
    if kind != "tool_call" and "tool" not in update:
        # The arguments of a sub-plan are the parameters of its template.
        update |= {"tool": None} if kind == "sub_plan" else {"tool": None, "args": None}
    return step.model_copy(update=update)


def _add(draft: _Draft, edit: AddStep) -> Problem | None:
    description = (edit.step.description or "").strip()
    if not description:
        return _refused(edit.step_id, "description", "A new step needs a description.")
    step_id = edit.step_id if edit.step_id is not None else draft.fresh_id()
    if any(step.step_id == step_id for step in draft.steps):
        return _refused(step_id, "stepId", f"There is a step {step_id!r} already.")
    bare = Step(step_id=step_id, description=description, instruction=description)
    step = _with_changes(bare, edit.step.model_copy(update={"description": description}))
    if isinstance(step, Problem):
        return step
    index = len(draft.steps)
    if edit.place == "first":
        index = 0
    elif edit.place == "after":
        if edit.after is None:
            return _refused(step_id, "after", "`after` must name the step that it goes after.")
        before = draft.index_of(edit.after, "after")
        if isinstance(before, Problem):
            return before
        index = before + 1
    draft.steps.insert(index, step)
    return None


def _still_needed(draft: _Draft, edited: Sequence[Step]) -> list[Problem]:
    """Problems for the removed steps that others still wait for."""
    left = {step.step_id for step in edited}
    removed = {step_id: step for step_id, step in draft.removed.items() if step_id not in left}
    if not removed:
        return []
    all_steps = [*edited, *removed.values()]
    links = dependency_graph(all_steps)
    found = []
    for step_id in removed:
        waiting = [
            all_steps[dependent].step_id
            for dependent in links.dependents[links.index[step_id]]
            if all_steps[dependent].step_id in left
        ]
        if waiting:
            verb = "waits" if len(waiting) == 1 else "wait"
            text = f"{step_id} cannot be removed: {_listed(waiting)} {verb} for it."
            found.append(Problem(step_id=step_id, field="stepId", problem=text))
    return found


def _out_of_order(draft: _Draft, edited: Sequence[Step]) -> list[Problem]:
    """Problems for the moved steps that come before one they wait for, or after one that waits for them."""
    links = dependency_graph(edited)
    found = []
    for step_id in dict.fromkeys(draft.moved):
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
