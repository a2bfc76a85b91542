"""What earlier runs of a step have really done: a write that was staged when the run was cut off never happened."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from planloom.domain.path_text import normal_path
from planloom.domain.plan import ExecutedTool, Plan, Step
from planloom.tools.registry import Registry


class Earlier(NamedTuple):
    """The calls that succeeded: those that hold, and the writes that were lost with their run."""

    done: tuple[ExecutedTool, ...]
    lost: tuple[ExecutedTool, ...]


def earlier_calls(plan: Plan, step: Step, tools: Registry) -> Earlier:
    """Tell them apart by the edits that the ledger knows as applied."""
    now = plan.step(step.step_id) or step
    made = [
        file.new_uri or file.uri
        for edit in plan.edits_of(step.step_id)
        if edit.step_id == step.step_id and edit.state == "applied"
        for file in edit.files
    ]
    done: list[ExecutedTool] = []
    lost: list[ExecutedTool] = []
    for call in now.tools_executed:
        if call.ok:
            (done if _holds(call, tools, made) else lost).append(call)
    return Earlier(tuple(done), tuple(lost))


def written_paths(call: ExecutedTool, tools: Registry) -> tuple[str, ...]:
    """The paths that a call changes, in one spelling."""
    tool = tools.get(call.tool)
    values = [call.args.get(name) for name in tool.writes] if tool is not None else []
    return tuple(normal_path(value) for value in values if isinstance(value, str))


def _holds(call: ExecutedTool, tools: Registry, made: Sequence[str]) -> bool:
    tool = tools.get(call.tool)
    if (
        tool is None
        or tool.effect in ("read", "execute")
        or call.summary.endswith(("this content", "already so"))
    ):
        return True
    return all(
        any(f"{uri}/".endswith(f"/{path.lstrip('/')}/") for uri in made)
        for path in written_paths(call, tools)
    )


def told_earlier(earlier: Earlier) -> tuple[str, ...]:
    """What the model is told of earlier runs, so that nothing is done twice and nothing taken for done."""
    notes = []
    if earlier.done:
        shown = "; ".join(f"{call.tool}: {call.summary}" for call in earlier.done[-20:])
        notes.append(f"Already done in an earlier run of this task: {shown}")
    if earlier.lost:
        shown = "; ".join(f"{call.tool} {call.args.get('path', '')}".strip() for call in earlier.lost[-20:])
        notes.append(f"An earlier run was cut off before these were made, so they were not: {shown}")
    return tuple(notes)
