"""The fields of a step as they stand in a document: their names, and how each is written and read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, get_args

from pydantic import ValidationError

from planloom.domain.document.scalars import is_written_plainly
from planloom.domain.patterns import pattern
from planloom.domain.plans.agents import Agent
from planloom.domain.plans.editing import implied_kind
from planloom.domain.plans.plan import Check, ExpectedTool, Priority, Step, StepKind
from planloom.domain.values import Args, Json

NAME: Final = pattern(r"[A-Za-z_][A-Za-z0-9_.]*")
"""An argument's name that can begin a line."""
_NO_ARGUMENTS: Final = "none"
_LINE: Final = pattern(r"[^\x00-\x1f\x7f-\x9f\u2028\u2029]*")
_AGENTS: Final[Mapping[Agent, str]] = {"koda": "code", "chapo": "strategy", "devo": "operations"}
_CHECKS: Final = {
    "file_exists": ("file exists", "path"),
    "command": ("command", "command"),
    "condition": ("condition", "text"),
}
_NO_ERRORS: Final = "no new errors"


class Unreadable(ValueError):
    """Raised for a value that a field cannot have; says what it may be."""


class Field(NamedTuple):
    """How one field is written and read.

    `write` returns its value, None if the step need not say it. `read` returns what a `Step` holds, and raises
    Unreadable. `attribute` is its name in `Step`. A field that `repeats` stands once for each of its values.
    """

    attribute: str
    write: Callable[[Step], Json]
    read: Callable[[Json, str], Any]
    repeats: bool = False


def _text(value: Json, raw: str) -> str:
    return value if isinstance(value, str) else raw


def _ids(value: Json, raw: str) -> tuple[str, ...]:
    return tuple(name.strip().removeprefix("^") for name in _text(value, raw).split(",") if name.strip())


def _names(value: Json, raw: str) -> tuple[str, ...]:
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return tuple(str(each) for each in value)
    return tuple(name.strip() for name in _text(value, raw).split(",") if name.strip())


def _joined(names: tuple[str, ...]) -> Json:
    if not names:
        return None
    line = ", ".join(names)
    return line if is_written_plainly(line) and _names(line, line) == names else list(names)


def _expected_tools(step: Step) -> Json:
    """The names of the expected tools, as JSON where they have arguments too."""
    expected = step.tools_to_execute
    if any(each.args is not None for each in expected):
        return [each.model_dump(exclude_none=True) for each in expected]
    return _joined(tuple(each.tool for each in expected))


def _read_tools(value: Json, raw: str) -> tuple[ExpectedTool, ...]:
    listed = value if isinstance(value, list) else [*_names(value, raw)]
    try:
        return tuple(
            ExpectedTool.model_validate({"tool": each} if isinstance(each, str) else each) for each in listed
        )
    except ValidationError as error:
        raise Unreadable("The expected tools are names with commas between them.") from error


def _agent(value: Json, raw: str) -> Agent:
    word = _text(value, raw).strip().lower()
    for agent, name in _AGENTS.items():
        if word in (agent, name):
            return agent
    raise Unreadable(f"An agent is {' or '.join(_AGENTS.values())}.")


def _priority(value: Json, raw: str) -> Priority:
    word = _text(value, raw).strip().lower()
    for priority in get_args(Priority):
        if word == priority:
            return priority  # type: ignore[no-any-return]
    raise Unreadable(f"A priority is {' or '.join(get_args(Priority))}.")


def _yes(value: Json, _raw: str) -> bool:
    word = str(value).strip().lower()
    if word in ("yes", "true"):
        return True
    if word in ("no", "false"):
        return False
    raise Unreadable("It is yes or no.")


def _count(value: Json, _raw: str) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise Unreadable("It is a number.")


def _kind(value: Json, raw: str) -> str:
    word = _text(value, raw).strip().lower().replace(" ", "_")
    if word in get_args(StepKind):
        return word
    raise Unreadable("A kind is tool call, processing, clarification, check, approval or sub plan.")


def _arguments(value: Json, _raw: str) -> Args | None:
    if value == _NO_ARGUMENTS:
        return None
    if isinstance(value, dict):
        return value
    raise Unreadable("Arguments are a JSON object with each name once, or lines below the tool.")


def _written_arguments(step: Step) -> Json:
    if step.tool is None and (step.template_id is None or not step.args):
        return step.args
    if step.args is None:
        return _NO_ARGUMENTS
    return None if all(NAME.fullmatch(name) for name in step.args) else step.args


def check_text(check: Check) -> Json:
    """A check in words, or as JSON where the words would not tell it."""
    fields = {
        name: value for name in ("path", "text", "command") if (value := getattr(check, name)) is not None
    }
    words = _CHECKS.get(check.kind)
    if words is not None and [*fields] == [words[1]]:
        line = f"{words[0]}: {fields[words[1]]}"
        if is_written_plainly(line) and _check(line, line) == check.model_copy(update=_NO_OUTCOME):
            return line
    if check.kind == "no_new_errors" and not fields:
        return _NO_ERRORS
    return {"kind": check.kind, **fields}


_NO_OUTCOME: Final[Mapping[str, None]] = {"outcome": None, "detail": None}


def _check(value: Json, raw: str) -> Check:
    if isinstance(value, dict):
        try:
            return Check.model_validate(value)
        except ValidationError as error:
            raise Unreadable(f"This is no check: {error.errors()[0]['msg']}.") from error
    line = _text(value, raw)
    if line == _NO_ERRORS:
        return Check(kind="no_new_errors")
    for kind, (words, name) in _CHECKS.items():
        if line.startswith(f"{words}: "):
            return Check.model_validate({"kind": kind, name: line[len(words) + 2 :]})
    raise Unreadable(
        f"A check is “file exists: PATH”, “command: COMMAND”, “condition: EXPRESSION”, “{_NO_ERRORS}”, or JSON."
    )


def _hidden_instruction(step: Step) -> Json:
    """The instruction where its lines cannot stand in the document as they are."""
    text = step.instruction
    lines = text.split("\n")
    whole = all(_LINE.fullmatch(line.replace("\t", "")) and line == line.rstrip() for line in lines)
    return None if text == step.title or (whole and lines[0] and lines[-1]) else text


FIELDS: Final[Mapping[str, Field]] = {
    "tool": Field("tool", lambda step: step.tool, _text),
    "arguments": Field("args", _written_arguments, _arguments),
    "after": Field("depends_on", lambda step: ", ".join(step.depends_on) or None, _ids),
    "agent": Field("agent", lambda step: None if step.agent == "koda" else _AGENTS[step.agent], _agent),
    "kind": Field(
        "kind",
        lambda step: (
            None if step.kind == implied_kind(step.tool, step.template_id) else step.kind.replace("_", " ")
        ),
        _kind,
    ),
    "priority": Field(
        "priority", lambda step: None if step.priority == "normal" else step.priority, _priority
    ),
    "critical": Field("critical", lambda step: "yes" if step.critical else None, _yes),
    "question": Field("question", lambda step: step.question, _text),
    "check": Field("checks", lambda step: [check_text(check) for check in step.checks], _check, repeats=True),
    "files": Field("expected_files", lambda step: _joined(step.expected_files), _names),
    "tools": Field("tools_to_execute", _expected_tools, _read_tools),
    "attached": Field("attachments", lambda step: _joined(tuple(step.attachments)), _names),
    "when": Field("when", lambda step: step.when, _text),
    "for each": Field("for_each", lambda step: step.for_each, _text),
    "repeat until": Field("repeat_until", lambda step: step.repeat_until, _text),
    "at most": Field("repeat_most", lambda step: step.repeat_most, _count),
    "template": Field("template_id", lambda step: step.template_id, _text),
    "instruction": Field("instruction", _hidden_instruction, _text),
}
"""The fields by the names that they have in a document, in the order in which they are written."""
HOLD_ARGUMENTS: Final = ("tool", "template")
"""The fields below which arguments stand, one a line."""
MARGINAL: Final = pattern(r"(?i:feedback|answer):")
"""Begins a note to the server, which stands at the margin below a step."""
_OWN: Final = pattern(rf"(?:- (?:{'|'.join(FIELDS)}):|→ |\\|{MARGINAL.pattern})")


def escaped(line: str) -> str:
    """A line of an instruction that does not read as a field, a result, an answer or feedback."""
    return "\\" + line if _OWN.match(line) else line


def unescaped(line: str) -> str:
    """The line as it was before `escaped`."""
    return line[1:] if line.startswith("\\") and _OWN.match(line[1:]) else line
