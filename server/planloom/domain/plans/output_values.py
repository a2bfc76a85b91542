"""Replaces references to earlier steps' results in arguments; a result becomes text where the argument is one."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from typing import NamedTuple

from planloom.domain.plans.outputs import OutputReference, literal, output_reference
from planloom.domain.plans.plan import Plan
from planloom.domain.values import Args, Json, Value


class NoOutput(Value):
    """An argument refers to a result that does not exist."""

    argument: str
    problem: str


def resolved(plan: Plan, args: Args, texts: Collection[str] = ()) -> Args | NoOutput:
    """The arguments with every `$step.field[0]` replaced by its value and every `$$` unescaped.

    `texts` are the names of the arguments that take a text alone; all others keep the type of the value.
    A reference to a step that the plan does not have is a literal.
    """
    found: Args = {}
    for name, argument in args.items():
        reference = output_reference(argument)
        if reference is None or plan.step(reference.step_id) is None:
            found[name] = literal(argument)
            continue
        output = _output(plan, reference)
        if isinstance(output, NoPart):
            return NoOutput(argument=name, problem=output.problem)
        is_text = name in texts and output.value is not None
        found[name] = as_text(output.value) if is_text else output.value
    return found


class Part(NamedTuple):
    """What a reference finds."""

    value: Json


class NoPart(NamedTuple):
    """A reference finds nothing."""

    problem: str


def _output(plan: Plan, reference: OutputReference) -> Part | NoPart:
    step = plan.step(reference.step_id)
    if step is None or step.result is None or not step.result.ok:
        return NoPart(f"the step {reference.step_id} has no result")
    return part_of(step.result.value, reference)


def part_of(value: Json, reference: OutputReference) -> Part | NoPart:
    """What a reference finds in the result of its step."""
    where = f"${reference.step_id}"
    for part in reference.path:
        inner = _part(value, part)
        if isinstance(inner, NoPart):
            return NoPart(f"{where} has no {part!r}")
        value = inner.value
        where += f"[{part}]" if isinstance(part, int) else f".{part}"
    return Part(value)


def _part(value: Json, part: str | int) -> Part | NoPart:
    if isinstance(part, int):
        return Part(value[part]) if isinstance(value, list) and part < len(value) else NoPart("")
    if not isinstance(value, dict):
        return NoPart("")
    # Models write the names of fields as the wire does, too: `exitCode`.
    name = part if part in value else re.sub("[A-Z]", lambda capital: f"_{capital[0].lower()}", part)
    return Part(value[name]) if name in value else NoPart("")


def as_text(value: Json) -> str:
    """A result as text: the output of a command, a line for each item of a list, the values of an item with colons."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(map(as_text, value))
    if isinstance(value, dict):
        return as_text(value["output"]) if "output" in value else ": ".join(map(as_text, value.values()))
    return json.dumps(value)


def shape_of(example: Json) -> str:
    """The kind of a result in words, by an example of it, in which a list has one item."""
    match example:
        case str():
            return "a text"
        case [dict() as item]:
            return f"a list of items with {', '.join(item)}"
        case list():
            return "a list of texts"
        case dict():
            return f"an object with {', '.join(example)}"
        case _:
            return "a number" if type(example) is int else "true or false"
