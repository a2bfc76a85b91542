"""Replaces references to earlier steps' results in arguments, keeping the type of each value."""

from __future__ import annotations

from typing import NamedTuple

from planloom.domain.plans.outputs import OutputReference, literal, output_reference
from planloom.domain.plans.plan import Plan
from planloom.domain.values import Args, Json, Value


class NoOutput(Value):
    """An argument refers to a result that does not exist."""

    argument: str
    problem: str


def resolved(plan: Plan, args: Args) -> Args | NoOutput:
    """The arguments with every `$step.field[0]` replaced by its value and every `$$` unescaped.

    A reference to a step that the plan does not have is a literal.
    """
    found: Args = {}
    for name, argument in args.items():
        reference = output_reference(argument)
        if reference is None or plan.step(reference.step_id) is None:
            found[name] = literal(argument)
            continue
        output = _output(plan, reference)
        if isinstance(output, _Missing):
            return NoOutput(argument=name, problem=output.problem)
        found[name] = output.value
    return found


class _Found(NamedTuple):
    value: Json


class _Missing(NamedTuple):
    problem: str


def _output(plan: Plan, reference: OutputReference) -> _Found | _Missing:
    step = plan.step(reference.step_id)
    if step is None or step.result is None or not step.result.ok:
        return _Missing(f"the step {reference.step_id} has no result")
    value = step.result.value
    where = f"${reference.step_id}"
    for part in reference.path:
        inner = _part(value, part)
        if isinstance(inner, _Missing):
            return _Missing(f"{where} has no {part!r}")
        value = inner.value
        where += f"[{part}]" if isinstance(part, int) else f".{part}"
    return _Found(value)


def _part(value: Json, part: str | int) -> _Found | _Missing:
    if isinstance(part, int):
        return _Found(value[part]) if isinstance(value, list) and part < len(value) else _Missing("")
    return _Found(value[part]) if isinstance(value, dict) and part in value else _Missing("")
