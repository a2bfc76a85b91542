"""Summarizes the outcome of a plan for the user."""

from __future__ import annotations

from planloom.domain.events import catalog as ev
from planloom.domain.plans.plan import Plan, PlanError
from planloom.workspace.paths.names import listed
from planloom.workspace.paths.uris import display_name

_LISTED = 20


def execution_summary(plan: Plan) -> str:
    """Begins with "n of m steps done", then lists changed files, failed steps and what was left out."""
    done = sum(step.status == "completed" and not step.staged for step in plan.steps)
    parts = [f"{done} of {len(plan.steps)} steps done"]
    changed = changed_files(plan)
    if changed:
        parts.append(f"{len(changed)} {'file' if len(changed) == 1 else 'files'} changed")
    left_out = [uri for uri in plan.left_out if uri not in changed]
    if left_out:
        parts.append("not allowed: " + listed([display_name(uri) for uri in left_out], _LISTED, "; "))
    staged = [step.description for step in plan.steps if step.staged]
    if staged:
        parts.append("never made, since the plan ended first: " + listed(staged, _LISTED, "; "))
    for status, word in (("failed", "failed"), ("skipped", "skipped")):
        names = [step.description for step in plan.steps if step.status == status]
        if names:
            parts.append(f"{word}: " + listed(names, _LISTED, "; "))
    return ". ".join(parts) + "."


def ending_of(plan: Plan) -> ev.PlanCompleted | ev.PlanFailed | ev.PlanCancelled:
    """How a plan ends whose steps have all ended: completed only if one of them is.

    A plan without a completed step has failed if a step has; else nobody wanted its steps, so it is cancelled.
    """
    summary = execution_summary(plan)
    if not plan.steps or any(step.status == "completed" for step in plan.steps):
        return ev.PlanCompleted(summary=summary)
    for step in plan.steps:
        if step.result is not None and not step.result.ok:
            why = (step.result.error or "").strip().partition("\n")[0]
            message = f"No step was completed. The step “{step.description}” failed: {why}"
            return ev.PlanFailed(summary=summary, error=PlanError(code="step_failed", message=message))
    return ev.PlanCancelled(summary=summary)


def changed_files(plan: Plan) -> tuple[str, ...]:
    """The URIs of files changed by edits that are still applied, in the order of their first change."""
    files: dict[str, None] = {}
    for edit in plan.edits:
        if edit.state == "applied":
            for file in edit.files:
                if file.change != "createFolder":
                    files[file.new_uri or file.uri] = None
    return tuple(files)
