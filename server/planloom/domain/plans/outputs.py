"""Step ids, `{{item}}`, and references in arguments to results of steps: `$id.field[0]`; `$$` is a dollar sign."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Container, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from planloom.domain.patterns import pattern
from planloom.domain.values import Args, Json, StepId, Value

if TYPE_CHECKING:
    from planloom.domain.plans.plan import Plan

STEP_ID = pattern(r"[A-Za-z][A-Za-z0-9_]*")
"""The syntax of a step id, for `fullmatch`."""

_REFERENCE = pattern(r"\$([A-Za-z][A-Za-z0-9_]*)((?:\.[A-Za-z_][A-Za-z0-9_-]*|\[[0-9]{1,9}\])*)")
_STEP_IN_EXPRESSION = pattern(r"(?<=\bsteps\.)[A-Za-z_][A-Za-z0-9_]*")
PLACEHOLDER = pattern(r"\{\{[ \t]{0,8}(item|index)((?:\.[A-Za-z_][A-Za-z0-9_-]{0,63}){0,8})[ \t]{0,8}\}\}")
"""The placeholder in the texts of a loop for the item of a round, a part of it, or its index."""
_PLACEHOLDER_WORD = pattern(rf"(?<![^\s\"'“‘(]){PLACEHOLDER.pattern}(?![^\s\"'”’),.;:!?]|\.\S)")
"""A placeholder that stands as a word, not within a path."""
_PART = pattern(r"\.([A-Za-z_][A-Za-z0-9_-]*)|\[([0-9]+)\]")


class OutputReference(Value):
    """The result of `step_id`, or the part of it at `path`, made of field names and list indices."""

    step_id: StepId
    path: tuple[str | int, ...] = ()


def output_reference(argument: Json) -> OutputReference | None:
    """The reference, if the whole argument is one; the step need not exist."""
    if not isinstance(argument, str) or not argument.startswith("$"):
        return None
    found = _REFERENCE.fullmatch(argument)
    if found is None:
        return None
    path = tuple(part[1] or int(part[2]) for part in _PART.finditer(found[2]))
    return OutputReference(step_id=StepId(found[1]), path=path)


def output_references(args: Args | None) -> Iterator[tuple[str, OutputReference]]:
    """The arguments that are references, with their names."""
    for name, argument in (args or {}).items():
        reference = output_reference(argument)
        if reference is not None:
            yield name, reference


def literal(argument: Json) -> Json:
    """The argument with a leading escaped dollar sign (`$$…`) unescaped."""
    if isinstance(argument, str) and argument.startswith("$$"):
        return argument[1:]
    return argument


def escaped(argument: Json) -> Json:
    """The argument such that `literal` gives it back, and no reference is found in it."""
    if isinstance(argument, str) and (argument.startswith("$$") or output_reference(argument)):
        return f"${argument}"
    return argument


def unused_id(used: Container[object], number: int = 1, *, stem: str = "step") -> StepId:
    """The first of `step_1`, `step_2` and so on, counted from `number`, that is not used yet."""
    while (step_id := StepId(f"{stem}_{number}")) in used:
        number += 1
    return step_id


def renamed(args: Args | None, ids: Mapping[str, StepId]) -> Args | None:
    """The arguments with every reference to an id in `ids` changed to its new id.

    The old ids come from a model and need not be valid step ids (`$step-1.text`), so they are matched literally.
    """
    if args is None:
        return None
    return {name: _renamed(argument, ids) for name, argument in args.items()}


def renamed_in_expression(text: str | None, ids: Mapping[str, StepId]) -> str | None:
    """The expression with every step id in `ids` changed to its new id."""
    return text and _STEP_IN_EXPRESSION.sub(lambda found: ids.get(found[0], found[0]), text)


def renamed_in_list(text: str | None, ids: Mapping[str, StepId]) -> str | None:
    """The same for the list of a loop, which may be a reference too."""
    return renamed_in_expression(str(_renamed(text, ids)), ids) if text else None


def _renamed(argument: Json, ids: Mapping[str, StepId]) -> Json:
    if not isinstance(argument, str) or not argument.startswith("$") or argument.startswith("$$"):
        return argument
    body = argument[1:]
    # Try every place where the path after the id may begin.
    ends = [len(body), *(at for at, sign in enumerate(body[:200]) if sign in ".[")]
    for end in ends:
        target = ids.get(body[:end])
        if target is not None and _REFERENCE.fullmatch(f"${target}{body[end:]}"):
            return f"${target}{body[end:]}"
    return argument


def in_words(text: str) -> str:
    """The text of a loop as people read it: "Copy {{item}} to {{item.name}}.txt" is "Copy each item to <name>.txt"."""

    def named(found: re.Match[str]) -> str:
        return found[2].rpartition(".")[2] or found[1]

    words = _PLACEHOLDER_WORD.sub(lambda found: f"each {named(found)}", text)
    return PLACEHOLDER.sub(lambda found: f"<{named(found)}>", words)


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
    """The value that a reference finds."""

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
    """The value that a reference finds in the result of its step."""
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
