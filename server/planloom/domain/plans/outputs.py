"""Step ids, references in arguments to results of steps (`$id.field[0]`; `$$` is a dollar sign), and `{{item}}`."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping

from planloom.domain.patterns import pattern
from planloom.domain.values import Args, Json, StepId, Value

STEP_ID = pattern(r"[A-Za-z][A-Za-z0-9_]*")
"""The syntax of a step id, for `fullmatch`."""

_REFERENCE = pattern(r"\$([A-Za-z][A-Za-z0-9_]*)((?:\.[A-Za-z_][A-Za-z0-9_-]*|\[[0-9]{1,9}\])*)")
_STEP_IN_EXPRESSION = pattern(r"(?<=\bsteps\.)[A-Za-z_][A-Za-z0-9_]*")
PLACEHOLDER = pattern(r"\{\{[ \t]{0,8}(item|index)((?:\.[A-Za-z_][A-Za-z0-9_-]{0,63}){0,8})[ \t]{0,8}\}\}")
"""What stands in the texts of a loop for the item of a round, a part of it, or its index."""
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
