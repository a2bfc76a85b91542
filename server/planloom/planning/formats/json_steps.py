"""Which part of a JSON value is a plan, and the steps in it (docs/model-text.md, P7)."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import UnionType
from typing import Any

from planloom.domain.model_text.lenient_json import is_cut
from planloom.domain.plans.plan import ExpectedTool
from planloom.domain.values import Json
from planloom.planning.formats.draft import DraftStep, draft, without_box
from planloom.planning.formats.durations import seconds_in

_DESCRIPTION = ("description", "title", "task", "summary", "step", "name")
_INSTRUCTION = ("instruction", "instructions", "do", "action", "details", "prompt")
_LISTS = ("steps", "plan", "tasks")
_ARGS = ("args", "arguments", "parameters")
_DEPENDENCIES = ("dependson", "depends", "blockedby", "dependencies")
_IDS = ("id", "stepid", "taskid")
_FILES = ("expectedfiles", "files")
_TEXTS = {
    "agent": ("agent", "assignedagent"),
    "kind": ("kind", "type"),
    "priority": ("priority",),
    "question": ("question",),
    "active_form": ("activeform",),
    "when": ("when",),
    "for_each": ("foreach",),
    "repeat_until": ("repeatuntil",),
    "template": ("templateid", "template"),
}
"""Fields of a step that are texts, with the keys that models use for them."""
_EXPECTED = ("toolstoexecute", "expectedtools")
_DURATION = ("estimatedduration",)
_ROUNDS = ("repeatmost",)
_CALL = ("call", "toolcall")
_OTHERS = (
    *("tool", "critical", "checks", "status", "order", "subject", "blocks"),
    *(*_EXPECTED, *_DURATION, *_ROUNDS, *_CALL),
)
_ALL = frozenset((*_DESCRIPTION, *_INSTRUCTION, *_ARGS, *_DEPENDENCIES, *_IDS, *_FILES, *_OTHERS)).union(
    *_TEXTS.values()
)
_STEP_KEY = re.compile(r"(?:step|task)?[ _-]?[0-9]{1,6}", re.IGNORECASE)
_NUMBER_IN_FRONT = re.compile(r"^\s*(?:step\s*)?[0-9]{1,3}\s*[.):-]\s+", re.IGNORECASE)
_DEPTH = 12


@dataclass(slots=True)
class JsonSteps:
    """The steps of a JSON value.

    `weak`: the objects have only a name, so this may not be a plan. `bare`: no key calls their array a plan.
    `strings`: the steps are strings.
    """

    steps: list[DraftStep] = field(default_factory=list)
    weak: bool = True
    strings: bool = False
    bare: bool = False

    def add(self, steps: Iterable[DraftStep], weak: bool) -> None:
        self.steps += steps
        self.weak = self.weak and weak


def steps_in(value: Any, tools: Collection[str]) -> JsonSteps | None:
    """The steps of a plan: an array, or the value of a key such as `steps`, nested too."""
    if isinstance(value, list):
        found = _from_list(value, tools, named=False)
        if found is not None:
            return found
        return next((inner for entry in value if (inner := _under_key(entry, tools, 1)) is not None), None)
    return _under_key(value, tools, 0)


def _under_key(value: Any, tools: Collection[str], depth: int) -> JsonSteps | None:
    if not isinstance(value, dict) or depth > _DEPTH:
        return None
    keyed = _keyed(value)
    for name in _LISTS:
        inner = keyed.get(name)
        found = None
        if isinstance(inner, dict):
            found = _under_key(inner, tools, depth + 1) or _from_mapping(inner, tools)
        elif isinstance(inner, list):
            found = _from_list(inner, tools, named=True)
        if found is not None:
            return found
    found = _from_mapping(value, tools) if depth == 0 else None
    return found or _below(value, tools, depth)


def _below(value: Mapping[str, Any], tools: Collection[str], depth: int) -> JsonSteps | None:
    """A plan further inside. Where a plan is parted in phases, their steps follow each other."""
    for inner in value.values():
        if isinstance(inner, dict):
            found = _under_key(inner, tools, depth + 1)
            if found is not None:
                return found
        elif isinstance(inner, list):
            parts = [part for phase in inner if (part := _under_key(phase, tools, depth + 1)) is not None]
            if parts:
                joined = JsonSteps(strings=all(part.strings for part in parts))
                for part in parts:
                    joined.add(part.steps, part.weak)
                return joined
    return None


def _from_mapping(value: Mapping[str, Any], tools: Collection[str]) -> JsonSteps | None:
    """Steps under keys such as "1" or "step_2"."""
    if not value or not all(_STEP_KEY.fullmatch(key.strip()) for key in value):
        return None
    return _from_list(list(value.values()), tools, named=True)


def _from_list(entries: Sequence[Any], tools: Collection[str], *, named: bool) -> JsonSteps | None:
    found = JsonSteps(bare=not named)
    strings = [entry for entry in entries if isinstance(entry, str)]
    if strings and all(isinstance(entry, str) or is_cut(entry) for entry in entries):
        steps = [step for text in strings if (step := _from_string(text)) is not None]
        return JsonSteps(steps=steps, weak=False, strings=True, bare=not named) if steps else None
    for entry in entries:
        if isinstance(entry, dict):
            phase = _phase(entry, tools)
            if phase is not None:
                found.add(phase.steps, phase.weak)
            elif not is_cut(entry):
                step, weak = _from_object(entry, tools, named)
                found.add([step] if step is not None else [], weak)
        elif isinstance(entry, str) and named and (whole := _from_string(entry)) is not None:
            found.steps.append(whole)
    return found if found.steps else None


def _phase(entry: Mapping[str, Any], tools: Collection[str]) -> JsonSteps | None:
    """The steps of a phase: an object that lists steps and has no instruction of its own."""
    keyed = _keyed(entry)
    if any(isinstance(keyed.get(name), str) for name in _INSTRUCTION):
        return None
    inner = _first(keyed, (*_LISTS, "subtasks", "substeps"), list)
    return None if inner is None else _from_list(inner, tools, named=True)


def _from_string(text: str) -> DraftStep | None:
    words = without_box(_NUMBER_IN_FRONT.sub("", text))
    return draft(words, words)


def _keyed(value: Mapping[str, Any]) -> dict[str, Any]:
    """The members by their keys in lower case, without the marks between words."""
    return {
        key.replace("_", "").replace("-", "").replace(" ", "").lower(): entry for key, entry in value.items()
    }


def _first(keyed: Mapping[str, Any], names: Iterable[str], kind: type | UnionType) -> Any:
    """The first value of a kind under one of the names, or None."""
    return next((value for name in names if isinstance(value := keyed.get(name), kind)), None)


def _from_object(
    entry: Mapping[str, Json], tools: Collection[str], named: bool
) -> tuple[DraftStep | None, bool]:
    """The step that an object is, and whether it is `weak`."""
    keyed = _opened(_keyed(entry))
    tool = _tool(keyed, tools)
    args = _first(keyed, _ARGS, dict)
    if args is not None and args.get("type") == "object" and "properties" in args:
        return None, True
    strings = {name: value for name, value in keyed.items() if isinstance(value, str) and value.strip()}
    described = [name for name in _DESCRIPTION if name in strings]
    instructions = [
        strings[name]
        for name in _INSTRUCTION
        if name in strings and not (name == "action" and strings[name] == tool)
    ]
    subject = strings.get("subject", "")
    weak = not instructions and described in ([], ["name"]) and tool is None and not subject
    if weak and not (named and described) and not (described and _ALL.issuperset(keyed)):
        return None, True
    instruction = instructions[0] if instructions else ""
    description = strings[described[0]] if described else ""
    if subject:
        description, instruction = subject, "\n".join(filter(None, (description, instruction)))
    if not description and not instruction and tool is not None:
        description = tool.replace("_", " ").capitalize()
    plain = draft(description, instruction)
    if plain is None:
        return None, True
    return plain.model_copy(update={"tool": tool, "args": args, **_other_fields(keyed)}), weak


def _opened(keyed: dict[str, Any]) -> dict[str, Any]:
    """The members with those of a call that is an object of its own: its name, and its arguments or those beside it."""
    call = _first(keyed, (*_CALL, "tool"), dict)
    name = None if call is None else call.get("name", call.get("tool"))
    if not isinstance(name, str):
        return keyed
    beside = {key: value for key, value in call.items() if key not in ("name", "tool")}
    inner = _first(_keyed(beside), _ARGS, dict)
    return {"args": beside if inner is None else inner, **keyed, "tool": name}


def _tool(keyed: Mapping[str, Json], tools: Collection[str]) -> str | None:
    tool = keyed.get("tool", keyed.get("toolname"))
    if isinstance(tool, str) and tool.strip():
        return tool.strip()
    return next(
        (name for key in ("action", "name") if isinstance(name := keyed.get(key), str) and name in tools),
        None,
    )


def _other_fields(keyed: Mapping[str, Json]) -> dict[str, object]:
    """The other fields of a step, each only if its value has the right type."""
    fields: dict[str, object] = {"critical": keyed.get("critical") is True}
    ident = _first(keyed, _IDS, str | int)
    if ident is None:
        ident = _first(keyed, ("step",), int)
    if (name := _id(ident)) is not None:
        fields["raw_id"] = name
    dependencies = next((keyed[name] for name in _DEPENDENCIES if name in keyed), None)
    if dependencies is not None:
        fields["depends_on"] = tuple(_ids(dependencies))
    fields["blocks"] = tuple(_ids(keyed.get("blocks") or []))
    fields["expected_tools"] = tuple(_expected_tools(_first(keyed, _EXPECTED, list) or ()))
    fields["stated_seconds"] = seconds_in(_first(keyed, _DURATION, str | int | float))
    for field_name, names in _TEXTS.items():
        text = _first(keyed, names, str)
        if text is not None:
            fields[field_name] = text.strip()
    if isinstance(when := keyed.get("when"), bool):
        fields["when"] = str(when).lower()
    if isinstance(items := keyed.get("foreach"), list):
        fields["for_each"] = json.dumps(items, ensure_ascii=False)
    rounds = _first(keyed, _ROUNDS, int)
    fields["repeat_most"] = None if isinstance(rounds, bool) else rounds
    fields["checks"] = tuple(_first(keyed, ("checks",), list) or ())
    files = _first(keyed, _FILES, list) or ()
    fields["expected_files"] = tuple(path for path in files if isinstance(path, str) and path.strip())
    return fields


def _expected_tools(expected: Iterable[Json]) -> Iterator[ExpectedTool]:
    """The calls in a list of calls, or of names of tools."""
    for entry in expected:
        named = (_tool(_keyed(entry), ()) or entry.get("name")) if isinstance(entry, dict) else entry
        if isinstance(named, str) and named.strip():
            args = _first(_keyed(entry), _ARGS, dict) if isinstance(entry, dict) else None
            yield ExpectedTool(tool=named.strip(), args=args)


def _id(value: object) -> str | None:
    """An id or number as a text."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    return str(value).strip() or None


def _ids(dependencies: Json) -> Iterator[str]:
    """The ids or numbers of dependencies, whether written as a list, a text or a number."""
    if isinstance(dependencies, str):
        dependencies = [
            part
            for part in re.split(r"[\s,;]+", dependencies)
            if part and part.lower() not in ("none", "null", "-")
        ]
    for dependency in dependencies if isinstance(dependencies, list) else [dependencies]:
        name = _id(
            dependency.get("id", dependency.get("stepId")) if isinstance(dependency, dict) else dependency
        )
        if name is not None:
            yield name
