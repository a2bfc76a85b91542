"""Changes the rest of a running plan as the model of one of its steps wants it, where that widens no effect."""

from __future__ import annotations

from pydantic import TypeAdapter, ValidationError

from planloom.domain.events import catalog as ev
from planloom.domain.plans.editing import EditRefused, edit_plan
from planloom.domain.plans.revision import Revision, WantedStep, revision
from planloom.domain.plans.validation import Problem
from planloom.domain.values import Args
from planloom.execution.step_run import StepRun

_STEPS = TypeAdapter(tuple[WantedStep, ...])
_GO_ON = "Do the CURRENT TASK, then call task_completed."
_SAME = "The rest of the plan is as you wrote it already."
_RECORDED = "The rest of the plan is now as you wrote it."
_WIDENS = (
    "The plan stays as it is, since the user has not approved this: {what} Ask by ask_user, or leave it out."
)
_DONE = "The plan stays as it is: a step ends only in its own turn, by its own calls. Leave `done` out."


def narrowed(run: StepRun, wanted: Args) -> str:
    """Record the rest of the plan as wanted if it only narrows. Returns what became of it, for the model."""
    plan = run.plan
    try:
        steps = _STEPS.validate_python(wanted.get("steps"))
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        return _unusable((Problem(step_id=None, field=f"steps.{where}", problem=first["msg"]),))
    found = revision(plan.steps, steps)
    if not isinstance(found, Revision):
        return _unusable(found)
    if found.done:
        return f"{_DONE} {_GO_ON}"
    if found.widens:
        return f"{_WIDENS.format(what=' '.join(found.widens))} {_GO_ON}"
    if not found.edits:
        return f"{_SAME} {_GO_ON}"
    edited = edit_plan(plan.steps, found.edits)
    if isinstance(edited, EditRefused):
        return _unusable(edited.problems)
    version = plan.version + 1
    run.record(
        ev.PlanEdited(version=version, edits=found.edits, steps=edited, by="model", task_id=run.step_id)
    )
    return f"{_RECORDED} {_GO_ON}"


def _unusable(problems: tuple[Problem, ...]) -> str:
    listed = " ".join(f"{each.step_id or each.field}: {each.problem}" for each in problems)
    return f"The plan stays as it is. {listed} {_GO_ON}"
