"""Evaluates the condition of a step that is about to begin, once, and records the result as an event."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Final

from planloom.domain.events import catalog as ev
from planloom.domain.expressions import (
    ENVIRONMENT,
    EVERYWHERE,
    Expression,
    Facts,
    Malformed,
    Unanswerable,
    holds,
    read,
)
from planloom.domain.plans.outputs import output_references
from planloom.domain.plans.plan import Plan, Step
from planloom.domain.text.counted import counted
from planloom.domain.values import Json
from planloom.execution.step_outcomes import Failed, Outcome, Skipped
from planloom.execution.step_run import StepRun
from planloom.tools.catalog import FIND_FILES
from planloom.tools.context import ToolContext
from planloom.tools.registry import Registry
from planloom.tools.search.find_files import files_matching

_MOST_FILES: Final = 10_000
"""The most files of a glob, which bounds how long an expression takes."""
_PLATFORMS: Mapping[str, str] = {"darwin": "macos", "win32": "windows"}


async def condition(run: StepRun, context: ToolContext, tools: Registry) -> Outcome | None:
    """Why the step does not run: its condition does not hold, or cannot be evaluated; None if it runs.

    A condition that was found to hold is not evaluated again, so that a step which is resumed goes on whatever it has
    changed itself.
    """
    step = run.step
    missing = _missing_result(run.plan, step)
    if missing is not None:
        return missing
    if step.when is None or step.condition_held is True:
        return None
    try:
        expression = read(step.when, EVERYWHERE | ({"item", "index"} if step.for_each is not None else set()))
        if expression.names & {"item", "index"}:
            # It is evaluated for each item, when the loop is unrolled.
            return None
        held = holds(expression, await facts(run.plan, expression, context, tools))
    except (Malformed, Unanswerable) as error:
        return Failed(error=f"The condition of the step cannot be evaluated: {error}", code="invalid_plan")
    run.record(ev.ConditionEvaluated(step_id=step.step_id, holds=held))
    return None if held else Skipped(reason="condition")


async def facts(plan: Plan, expression: Expression, context: ToolContext, tools: Registry) -> Facts:
    """The facts that an expression is evaluated over, but for names that only some expressions can use (`with_values`).

    Raises Unanswerable if the workspace cannot be asked.
    """
    steps: dict[str, Json] = {}
    for step_id in expression.steps:
        step = plan.step(step_id)
        steps[step_id] = None if step is None else outcome_of(step)
    values: dict[str, Json] = {
        "steps": steps,
        "env": {name: os.environ.get(name) for name in ENVIRONMENT},
        "platform": _PLATFORMS.get(sys.platform, sys.platform),
    }
    globs = {glob: await _files(glob, context, tools) for glob in expression.globs}
    paths = {path: await _exists(path, context) for path in expression.paths}
    return Facts(values, globs, paths)


def outcome_of(step: Step) -> dict[str, Json]:
    """The outcome of a step, as expressions see it."""
    result = step.result
    return {
        "status": step.status,
        "ok": step.status == "completed" and result is not None and result.ok,
        "value": None if result is None else result.value,
        "summary": None if result is None else result.summary,
        "error": None if result is None else result.error,
    }


def _missing_result(plan: Plan, step: Step) -> Skipped | None:
    """A step that uses the result of one whose condition did not hold cannot run."""
    for _, reference in output_references(step.args):
        target = plan.step(reference.step_id)
        if target is not None and target.status == "skipped" and target.skip_reason == "condition":
            return Skipped(reason="dependency_failed")
    return None


async def _files(glob: str, context: ToolContext, tools: Registry) -> tuple[str, ...]:
    if tools.get(FIND_FILES.name) is None:
        raise Unanswerable("The setting planloom.approvals.read denies reading.")
    try:
        found = await files_matching(glob, context)
    except OSError as error:
        found = f"{error.strerror or error}."
    if isinstance(found, str):
        raise Unanswerable(f"glob('{glob}'): {found}")
    if len(found) > _MOST_FILES:
        raise Unanswerable(
            f"glob('{glob}') matches {counted(len(found), 'file')}; an expression takes at most {_MOST_FILES}."
        )
    return found


async def _exists(path: str, context: ToolContext) -> bool:
    resolved = await context.resolve(path, "read")
    return resolved.kind != "refused" and (await context.files.peek(resolved.uri)).exists
