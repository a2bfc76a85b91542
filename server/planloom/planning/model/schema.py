"""The JSON schema that constrains a model's plan: a kind of step for each way to do something."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from planloom.agent.call_schema import call_variants, closed, definitions
from planloom.domain.plans.templates import Template
from planloom.domain.plans.unrolling import MOST_ROUNDS
from planloom.domain.values import Json
from planloom.tools.registry import Registry

MAX_STEPS = 24
"""The most steps of a constrained plan; without a bound weak models do not stop."""

_ID: Final[Json] = {"$ref": "#/$defs/id"}
_LINE: Final[Json] = {"$ref": "#/$defs/line"}
_TEXT: Final[Json] = {"$ref": "#/$defs/text"}
_LONGEST_LINE = 300
_LONGEST_TEXT = 2_000
"""The most characters of a text; servers refuse grammars that grow too large with the bound."""
_MOST_IDS = 8
_MOST_CHECKS = 4
_CHECKS: Final[dict[str, Json]] = {"checks": {"$ref": "#/$defs/checks"}}
_CONDITIONS: Final[dict[str, Json]] = {"when": _LINE, "forEach": _LINE}
_ROUNDS: Final[dict[str, Json]] = {
    "repeatUntil": _LINE,
    "repeatMost": {"type": "integer", "minimum": 1, "maximum": MOST_ROUNDS},
}


def plan_schema(
    tools: Registry, *, brief: bool = False, templates: Sequence[Template] = ()
) -> dict[str, Json]:
    """The schema of an answer: a summary, and steps. If `brief`, without conditions, loops, checks and approvals.
    A step can stand for one of the `templates`.

    It says names and types alone, since the prompt says what each is for.
    """
    agent: Json = {"enum": ["koda", "devo", "chapo"]}
    kinds: list[Json] = [
        _step({"instruction": _TEXT, "agent": agent}, {} if brief else {**_CONDITIONS, **_ROUNDS, **_CHECKS}),
        _step({"call": {"$ref": "#/$defs/call"}}, {} if brief else _CONDITIONS),
        _step({"question": _TEXT}, {} if brief else {"kind": {"const": "approval"}}),
    ]
    if not brief:
        kinds.append(_step({"kind": {"const": "check"}, **_CHECKS}))
        kinds += map(_sub_plan, templates)
    steps: Json = {"type": "array", "minItems": 1, "maxItems": MAX_STEPS, "items": {"anyOf": kinds}}
    return {**closed({"summary": _LINE, "steps": steps}), "$defs": _definitions(tools, brief=brief)}


def _step(own: dict[str, Json], optional: Mapping[str, Json] = MappingProxyType({})) -> Json:
    needed: dict[str, Json] = {"id": _ID, "description": _LINE, **own, "dependsOn": {"$ref": "#/$defs/ids"}}
    return closed({**needed, **optional}, needed)


def _sub_plan(template: Template) -> Json:
    values: dict[str, Json] = {each.name: _LINE for each in template.parameters}
    needed = [each.name for each in template.parameters if each.default is None]
    return _step({"template": {"const": template.name}, "args": closed(values, needed)})


def _definitions(tools: Registry, *, brief: bool) -> dict[str, Json]:
    checks: Json = {"type": "array", "minItems": 1, "maxItems": _MOST_CHECKS, "items": _LINE}
    return {
        **({} if brief else {"checks": checks}),
        "id": {"type": "string", "pattern": "^[a-z][a-z0-9_]{0,23}$"},
        "ids": {"type": "array", "maxItems": _MOST_IDS, "items": _ID},
        "line": {"type": "string", "minLength": 1, "maxLength": _LONGEST_LINE},
        "text": {"type": "string", "maxLength": _LONGEST_TEXT},
        "call": {"anyOf": call_variants(tools.specs(), _TEXT)},
        **definitions(),
    }
