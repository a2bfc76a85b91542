"""Which part of some JSON is a plan, and the steps in it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from planloom.domain.values import Json
from planloom.planning.formats.draft import DraftStep, draft
from planloom.planning.formats.lenient_json import Cut

_DESCRIPTION = ("description", "title", "task", "summary", "step", "name")
_INSTRUCTION = ("instruction", "instructions", "do", "action", "details", "prompt")
_LISTS = ("steps", "plan", "tasks")
_ARGS = ("args", "arguments", "parameters")
_DEPENDENCIES = ("dependson", "depends", "blockedby", "dependencies")
_AGENTS = ("agent", "assignedagent")
_IDS = ("id", "stepid", "taskid")
_FILES = ("expectedfiles", "files")
_OTHERS = "tool kind type priority critical checks estimatedduration question status order"
_ALL = frozenset(
    (*_DESCRIPTION, *_INSTRUCTION, *_ARGS, *_DEPENDENCIES, *_AGENTS, *_IDS, *_FILES, *_OTHERS.split())
)
_STEP_KEY = re.compile(r"(?:step|task)?[ _-]?[0-9]{1,6}", re.IGNORECASE)
_DEPTH = 12


@dataclass(slots=True)
class Found:
    """The steps of some JSON.

    `weak`: they have nothing but names, as many things that are no plan do. `bare`: no key calls their array
    a plan. `strings`: they are mere texts.
    """

    steps: list[DraftStep] = field(default_factory=list)
    weak: bool = True
    strings: bool = False
    bare: bool = False


def steps_in(value: Any, tools: Collection[str]) -> Found | None:
    """The steps of a plan (P7): an array, or what stands under steps, plan or tasks, nested too."""
    bare = _plain(value)
    if isinstance(bare, list):
        found = _from_list(bare, tools, named=False)
        if found is not None:
            return found
        return next((inner for entry in bare if (inner := _under_key(entry, tools, 1)) is not None), None)
    return _under_key(bare, tools, 0)


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, Cut) else value


def _under_key(value: Any, tools: Collection[str], depth: int) -> Found | None:
    bare = _plain(value)
    if not isinstance(bare, dict) or depth > _DEPTH:
        return None
    keyed = {_key(key): entry for key, entry in bare.items()}
    for name in _LISTS:
        inner = _plain(keyed.get(name))
        if isinstance(inner, dict):
            found = _under_key(inner, tools, depth + 1) or _from_mapping(inner, tools)
        elif isinstance(inner, list):
            found = _from_list(inner, tools, named=True)
        else:
            found = None
        if found is not None:
            return found
    found = _from_mapping(bare, tools) if depth == 0 else None
    if found is not None:
        return found
    return _below(bare, tools, depth)


def _below(bare: Mapping[str, Any], tools: Collection[str], depth: int) -> Found | None:
    """A plan further inside; the parts of one that is told in phases come one after the other."""
    for entry in bare.values():
        inner = _plain(entry)
        if isinstance(inner, dict):
            found = _under_key(inner, tools, depth + 1)
            if found is not None:
                return found
        elif isinstance(inner, list):
            parts = [part for phase in inner if (part := _under_key(phase, tools, depth + 1)) is not None]
            if parts:
                return _joined(parts)
    return None


def _joined(parts: Sequence[Found]) -> Found:
    return Found(
        steps=[step for part in parts for step in part.steps],
        weak=all(part.weak for part in parts),
        strings=all(part.strings for part in parts),
    )


def _from_mapping(bare: Mapping[str, Any], tools: Collection[str]) -> Found | None:
    """Steps under keys such as "1" or "step_2"."""
    if not bare or not all(_STEP_KEY.fullmatch(key.strip()) for key in bare):
        return None
    return _from_list(list(bare.values()), tools, named=True)


def _from_list(entries: Sequence[Any], tools: Collection[str], *, named: bool) -> Found | None:
    found = Found(bare=not named)
    strings = [entry for entry in entries if isinstance(entry, str)]
    if strings and len(strings) == len([entry for entry in entries if not isinstance(entry, Cut)]):
        steps = [step for text in strings if (step := _from_string(text)) is not None]
        return Found(steps=steps, weak=False, strings=True, bare=not named) if steps else None
    for entry in entries:
        if isinstance(entry, dict):
            inner = _phase(entry, tools)
            if inner is not None:
                found.steps += inner.steps
                found.weak = found.weak and inner.weak
                continue
            step, weak = _from_object(entry, tools, named)
            if step is not None:
                found.steps.append(step)
                found.weak = found.weak and weak
        elif isinstance(entry, str) and named and (whole := _from_string(entry)) is not None:
            found.steps.append(whole)
        elif isinstance(entry, Cut) and (inner := _phase(entry.value, tools)) is not None:
            found.steps += inner.steps
            found.weak = found.weak and inner.weak
    return found if found.steps else None


def _phase(entry: Any, tools: Collection[str]) -> Found | None:
    """The steps of a phase: an object that lists steps and gives no instruction of its own."""
    if not isinstance(entry, dict):
        return None
    keyed = {_key(key): value for key, value in entry.items()}
    if any(isinstance(keyed.get(name), str) for name in _INSTRUCTION):
        return None
    for name in (*_LISTS, "subtasks", "substeps"):
        inner = _plain(keyed.get(name))
        if isinstance(inner, list):
            return _from_list(inner, tools, named=True)
    return None


def _from_string(text: str) -> DraftStep | None:
    words = re.sub(r"^\s*(?:step\s*)?[0-9]{1,3}\s*[.):-]\s+", "", text, flags=re.IGNORECASE)
    return draft(words, words)


def _key(key: str) -> str:
    return key.replace("_", "").replace("-", "").replace(" ", "").lower()


def _from_object(
    entry: Mapping[str, Json], tools: Collection[str], named: bool
) -> tuple[DraftStep | None, bool]:
    """The step that an object is, and whether nothing but a name makes it one."""
    keyed = {_key(key): value for key, value in entry.items()}
    tool = _tool(keyed, tools)
    args = next((value for name in _ARGS if isinstance(value := keyed.get(name), dict)), None)
    if args is not None and args.get("type") == "object" and "properties" in args:
        return None, True
    strings = {name: value for name, value in keyed.items() if isinstance(value, str) and value.strip()}
    described = [name for name in _DESCRIPTION if name in strings]
    told = [
        name for name in _INSTRUCTION if name in strings and not (name == "action" and strings[name] == tool)
    ]
    weak = not told and described in ([], ["name"]) and tool is None
    if weak and not (named and described) and not (described and _ALL.issuperset(keyed)):
        return None, True
    instruction = strings[told[0]] if told else ""
    description = strings[described[0]] if described else ""
    if not description and not instruction and tool is not None:
        description = tool.replace("_", " ").capitalize()
    plain = draft(description, instruction)
    if plain is None:
        return None, True
    return plain.model_copy(update=_kept(keyed, tool, args)), weak


def _tool(keyed: Mapping[str, Json], tools: Collection[str]) -> str | None:
    tool = keyed.get("tool", keyed.get("toolname"))
    if isinstance(tool, dict):
        tool = tool.get("name")
    if isinstance(tool, str) and tool.strip():
        return tool.strip()
    action = keyed.get("action")
    if isinstance(action, str) and action in tools:
        return action
    name = keyed.get("name")
    return name if isinstance(name, str) and name in tools else None


def _kept(keyed: Mapping[str, Json], tool: str | None, args: Mapping[str, Json] | None) -> dict[str, object]:
    """The other fields of a step, each only if its value makes sense."""
    kept: dict[str, object] = {"tool": tool, "args": dict(args) if args is not None else None}
    ids = [keyed.get(name) for name in (*_IDS, "step")]
    ident = next((value for value in ids[:-1] if isinstance(value, str | int)), None)
    if ident is None and isinstance(ids[-1], int):
        ident = ids[-1]
    if ident is not None and not isinstance(ident, bool) and str(ident).strip():
        kept["raw_id"] = str(ident).strip()
    needs = next((keyed[name] for name in _DEPENDENCIES if name in keyed), None)
    if needs is not None:
        kept["depends_on"] = tuple(_names(needs))
    for field_name, names in (
        ("agent", _AGENTS),
        ("kind", ("kind", "type")),
        ("priority", ("priority",)),
        ("question", ("question",)),
    ):
        text = next((value for name in names if isinstance(value := keyed.get(name), str)), None)
        if text is not None:
            kept[field_name] = text.strip()
    kept["critical"] = keyed.get("critical") is True
    checks = keyed.get("checks")
    if isinstance(checks, list):
        kept["checks"] = tuple(check for check in checks if not isinstance(check, Cut))
    files = next((value for name in _FILES if isinstance(value := keyed.get(name), list)), [])
    kept["expected_files"] = tuple(path for path in files if isinstance(path, str) and path.strip())
    duration = keyed.get("estimatedduration")
    if isinstance(duration, int | float) and not isinstance(duration, bool) and 0 <= duration < 10**7:
        kept["estimated_duration"] = round(duration)
    return kept


def _names(needs: Json) -> Iterator[str]:
    """The ids or numbers of dependencies, whether given as a list, a text or a number."""
    if isinstance(needs, str):
        yield from (
            part for part in re.split(r"[\s,;]+", needs) if part and part.lower() not in ("none", "null", "-")
        )
    elif isinstance(needs, int) and not isinstance(needs, bool):
        yield str(needs)
    elif isinstance(needs, list):
        for need in needs:
            name = need.get("id", need.get("stepId")) if isinstance(need, dict) else need
            if isinstance(name, str | int) and not isinstance(name, bool) and str(name).strip():
                yield str(name).strip()
