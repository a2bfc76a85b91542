"""How an argument names the result of another step: `$id`, `$id.field[0]`, and `$$` for a real dollar."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from planloom.domain.values import Args, Json, StepId, Value

STEP_ID = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
"""What a step id looks like, whole."""

_REFERENCE = re.compile(r"\$([A-Za-z][A-Za-z0-9_]*)((?:\.[A-Za-z_][A-Za-z0-9_-]*|\[[0-9]{1,9}\])*)")
_PART = re.compile(r"\.([A-Za-z_][A-Za-z0-9_-]*)|\[([0-9]+)\]")


class OutputReference(Value):
    """The result of `step_id`, or the part of it that `path` leads to: field names and list positions."""

    step_id: StepId
    path: tuple[str | int, ...] = ()


def output_reference(argument: Json) -> OutputReference | None:
    """The reference that an argument is as a whole; whether such a step exists is for the caller to know."""
    if not isinstance(argument, str) or not argument.startswith("$"):
        return None
    found = _REFERENCE.fullmatch(argument)
    if found is None:
        return None
    path = tuple(part[1] or int(part[2]) for part in _PART.finditer(found[2]))
    return OutputReference(step_id=StepId(found[1]), path=path)


def output_references(args: Args | None) -> Iterator[tuple[str, OutputReference]]:
    """Each argument of a call that reads as a reference, by its name."""
    for name, argument in (args or {}).items():
        reference = output_reference(argument)
        if reference is not None:
            yield name, reference


def literal(argument: Json) -> Json:
    """The argument with an escaped dollar in front (`$$…`) turned into a real one."""
    if isinstance(argument, str) and argument.startswith("$$"):
        return argument[1:]
    return argument


def renamed(args: Args | None, ids: Mapping[str, StepId]) -> Args | None:
    """The arguments with every reference to an id among `ids` pointing to its new name.

    A model's own ids need not be legal ones (`$step-1.text`), so old ids are looked for as they were written.
    """
    if args is None:
        return None
    return {name: _renamed(argument, ids) for name, argument in args.items()}


def _renamed(argument: Json, ids: Mapping[str, StepId]) -> Json:
    if not isinstance(argument, str) or not argument.startswith("$") or argument.startswith("$$"):
        return argument
    body = argument[1:]
    # The tail is found first: everything before it is the id, however odd.
    ends = [len(body), *(at for at, sign in enumerate(body[:200]) if sign in ".[")]
    for end in ends:
        target = ids.get(body[:end])
        if target is not None and _REFERENCE.fullmatch(f"${target}{body[end:]}"):
            return f"${target}{body[end:]}"
    return argument
