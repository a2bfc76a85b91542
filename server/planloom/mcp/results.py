"""What a tool answers: a plan as its view shows it, in fields of bounded size, and what the agent can do next."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from planloom.domain.plans.plan import ENDED, Plan
from planloom.domain.scheduling import directives as do
from planloom.domain.text.counted import cut
from planloom.view.changes import ChangedFile
from planloom.view.plan_view import PlanView
from planloom.view.step.steps import StepView
from planloom.workspace.paths.uris import shown_in, to_path

MOST: Final = 24_000
"""Characters of a result, as JSON; of a longer one the last steps, or the parts of steps, are left out."""
_TEXT: Final = 2_000
_LINE: Final = 300
_FILES: Final = 50

Fields = dict[str, Any]


def result(shown: PlanView, *, asks: bool, elsewhere: str | None = None, first: int = 1) -> Fields:
    """The plan, from step `first`. `asks`: the client's person can be asked; `elsewhere` says which server runs it."""
    plan = shown.plan
    changed = [each for each in shown.files if each.change != "createFolder"]
    rest = shown.steps[max(first, 1) - 1 :]
    found = {
        "plan_id": plan.plan_id,
        "version": plan.version,
        "status": plan.status,
        "state": shown.state,
        "request": cut(plan.request, _TEXT),
        "summary": cut(plan.summary, _TEXT),
        "answer": cut(plan.answer or "", _TEXT),
        "problem": cut(shown.problem.words if shown.problem is not None else "", _TEXT),
        "feedback": cut(plan.rejection_reason or "", _TEXT),
        "waits_for": shown.waits or "",
        "next": _next(shown, asks=asks, elsewhere=elsewhere),
        "steps_total": len(shown.steps),
        "changed_files": [_file(each, plan) for each in changed[:_FILES]],
        "changed_files_total": len(changed),
    }
    found = {name: value for name, value in found.items() if value not in ("", [])}
    for each in (_step, _brief):
        steps = [each(step) for step in rest]
        if len(json.dumps(steps)) <= MOST:
            return {**found, "steps": steps}
    while len(json.dumps(steps)) > MOST:
        steps.pop()
    return {**found, "steps": steps, "more_steps": f"call get_plan with from_step {first + len(steps)}"}


def _file(changed: ChangedFile, plan: Plan) -> str:
    name = shown_in(changed.new_uri or changed.uri, plan.workspace_folders)
    return f"{name}: {', '.join(filter(None, (changed.kind, changed.words)))}"


def _brief(shown: StepView) -> Fields:
    step = shown.step
    outcome = step.result.error or step.result.summary if step.result is not None else None
    found = {
        "step_id": step.step_id,
        "number": shown.number,
        "title": cut(step.title, _LINE),
        "state": shown.words,
        "outcome": cut(outcome or "", _LINE),
    }
    return {name: value for name, value in found.items() if value}


def _step(shown: StepView) -> Fields:
    step = shown.step
    more = {
        "instruction": cut(step.instruction, _TEXT) if step.instruction != step.title else "",
        "tool": step.tool,
        "args": cut(json.dumps(step.args, ensure_ascii=False), _TEXT) if step.args else None,
        "depends_on": list(step.depends_on),
    }
    return {**_brief(shown), **{name: value for name, value in more.items() if value}}


def _next(shown: PlanView, *, asks: bool, elsewhere: str | None) -> str:
    plan = shown.plan
    if plan.status in ENDED:
        return "The plan has ended."
    if plan.status == "rejected":
        return "The person has rejected the plan. Call edit_plan with feedback for a new version."
    if elsewhere is not None:
        return f"It is open in another Planloom, which asks the person there. Call wait. ({elsewhere})"
    if not waits(plan):
        return "Call wait."
    return person_words(plan, asks=asks)


def waits(plan: Plan) -> bool:
    """Whether the plan waits for a person."""
    pending = plan.pending
    asked = pending.approvals or pending.questions or pending.recoveries or pending.conflicts
    paused = plan.status == "paused" and not do.is_answered(plan)
    return plan.status == "pending_approval" or paused or bool(asked)


def person_words(plan: Plan, *, asks: bool) -> str:
    """That a plan waits for a person, whom the agent cannot stand in for, and how they go on."""
    where = _folders(plan)
    command = f"`planloom resume {plan.plan_id[:8]}`"
    by_command = f"in a terminal in {where} by {command}, or in an editor with Planloom"
    how = "Call wait: it asks the person in your client. They can also go on" if asks else "They go on"
    if plan.status in ("approved", "executing"):
        by_command = f"after your session has ended, {by_command}" if asks else by_command
    alone = "" if asks else " Tell them so, and call wait when they have."
    return (
        "The plan waits for a person. You cannot approve it or answer for them, and must not run the command "
        f"yourself. {how} {by_command}.{alone}"
    )


def _folders(plan: Plan) -> str:
    paths: Sequence[Path | str] = [to_path(uri) or uri for uri in plan.workspace_folders]
    return str(paths[0]) if paths else "its folder"
