"""Which calls the approval of a plan covers: those that stood whole in the approved version, each made once, and
checks.

The gate adds what only the moment shows: that the call only adds, and what it touches.
"""

from __future__ import annotations

from typing import Final

from planloom.domain.plans.outputs import literal, output_references
from planloom.domain.plans.plan import Fate, Plan, Step
from planloom.domain.safety.known_keys import without_forms
from planloom.domain.text.counted import counted
from planloom.domain.text.hidden_characters import far_text, hides
from planloom.domain.values import Args, Json, StepId

_WITHOUT_EFFECT: Final[frozenset[Fate]] = frozenset({"same", "lost"})


def stands_whole(step: Step) -> bool:
    """Whether whoever reads a step has read its call: nothing is filled in later, hidden from a reader, or a key."""
    return (
        step.kind == "tool_call"
        and (step.for_each, step.repeat_until, step.parent) == (None, None, None)
        and not any(output_references(step.args))
        and all(map(_is_readable, _texts(step.args)))
    )


def covered_args(plan: Plan, step_id: StepId | None) -> Args | None:
    """The arguments of the call that a step makes now, if the approval of the plan may cover it; None if it does not.

    The call has to be the step's own, alone, and the first of its calls that has an effect.
    """
    step = _approved_step(plan, step_id)
    if step is None:
        return None
    now = [(call.tool, call.args) for call in plan.open_calls if call.step_id == step_id]
    held = [call for call in step.tools_executed if "held" in call.fates]
    earlier = [call for call in step.tools_executed if call not in held]
    args = {name: literal(value) for name, value in (step.args or {}).items()}
    if [*now, *((call.tool, call.args) for call in held)] != [(step.tool, args)]:
        return None
    if any(call.command not in (None, "not_run") or call.fates - _WITHOUT_EFFECT for call in earlier):
        return None
    return args if stands_whole(step) else None


def is_covered_check(plan: Plan, step_id: StepId | None) -> bool:
    """Whether the call that a step makes now is a check of it that stands whole in the approved version.

    A check proves each attempt, so it is covered however often it runs.
    """
    step = _approved_step(plan, step_id)
    if step is None or step.checks_changed or (step.for_each, step.repeat_until, step.parent) != (None,) * 3:
        return False
    now = [(call.tool, call.args) for call in plan.open_calls if call.step_id == step_id]
    commands = [check.command for check in step.checks if check.kind == "command" and check.command]
    return any(now == [("run_command", {"command": each})] and _is_readable(each) for each in commands)


def _approved_step(plan: Plan, step_id: StepId | None) -> Step | None:
    """A step of a version of which the approval covers calls."""
    is_covering = plan.version == plan.approved_version == plan.covering_version
    return plan.step(step_id) if is_covering and step_id is not None else None


def asking(plan: Plan) -> int:
    """How many steps of a plan ask again once it is approved."""
    return sum(
        step.requires_approval or (step.kind == "processing" and step.agent != "chapo") for step in plan.steps
    )


def asks_again(plan: Plan) -> str:
    """The sentence of the review about the questions that follow it."""
    return f"Asks again for {asking(plan) or 'none'} of {counted(len(plan.steps), 'step')}."


def _is_readable(text: str) -> bool:
    return not hides(text) and far_text(text) is None and without_forms(text) == text


def _texts(value: Args | Json) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for name, each in value.items() for text in (name, *_texts(each))]
    return [text for each in value for text in _texts(each)] if isinstance(value, list | tuple) else []
