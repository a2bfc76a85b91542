"""What a plan came to, in a few words for a person."""

from __future__ import annotations

from planloom.domain.plan import Plan

_LISTED = 20


def execution_summary(plan: Plan) -> str:
    """Begins with "n of m steps done", then what was changed, what failed and what was left out."""
    done = sum(step.status == "completed" for step in plan.steps)
    parts = [f"{done} of {len(plan.steps)} steps done"]
    changed = changed_files(plan)
    if changed:
        parts.append(f"{len(changed)} {'file' if len(changed) == 1 else 'files'} changed")
    for status, word in (("failed", "failed"), ("skipped", "skipped")):
        names = [step.description for step in plan.steps if step.status == status]
        if names:
            more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
            parts.append(f"{word}: " + "; ".join(names[:_LISTED]) + more)
    return ". ".join(parts) + "."


def changed_files(plan: Plan) -> tuple[str, ...]:
    """The URIs of files that applied edits of the plan left changed, in the order of the first change."""
    files: dict[str, None] = {}
    for edit in plan.edits:
        if edit.state == "applied":
            for file in edit.files:
                if file.change != "createFolder":
                    files[file.new_uri or file.uri] = None
    return tuple(files)
