"""Plans written as JSON: bare, fenced, or in prose (docs/model-text.md, P7)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

from planloom.agent.plan_spec import LONGEST_SUMMARY
from planloom.domain.model_text.fences import JSON_LANGUAGES, TEXT_LANGUAGES, fences
from planloom.domain.model_text.lenient_json import DEPTH, Parsed, Unreadable, is_cut, read_container
from planloom.domain.plans.plan import ExpectedTool
from planloom.domain.values import Args, Json
from planloom.planning.estimates import named_risk
from planloom.planning.formats.draft import DraftStep, PlanText, draft, without_box
from planloom.planning.formats.durations import seconds_in

_CANDIDATE = re.compile(r"\[\s*(?:\[\s*)?(?:[{\"'“]|//|/\*)|\{\s*(?:[\"'“A-Za-z_$]|//|/\*)")
_NO_PROGRAM = TEXT_LANGUAGES | JSON_LANGUAGES | {"plan", "javascript", "js", "markdown", "md"}
"""The languages of fences in which a plan may stand."""
_EFFORT = 15
"""Characters that are tried for each character of the text before the search for JSON ends."""
_LINE_ENDS = re.compile(r"[`;,. \t]*$", re.MULTILINE)
_STEP_KEY = re.compile(r"(?:step|task)?[ _-]?[0-9]{1,6}", re.IGNORECASE)
_NUMBER_IN_FRONT = re.compile(r"^\s*(?:step\s*)?[0-9]{1,3}\s*[.):-]\s+", re.IGNORECASE)
_BETWEEN_WORDS = str.maketrans("", "", "_- ")
_LISTS = ("steps", "plan", "tasks")
_DESCRIPTION = ("description", "title", "task", "summary", "step", "name")
_INSTRUCTION = ("instruction", "instructions", "do", "action", "details", "prompt")


class JsonPlan(NamedTuple):
    """A plan and the position where its JSON begins. `weak`: its steps have only a name, so it may be none."""

    plan: PlanText
    start: int
    weak: bool


def fields_of_plan(value: object) -> dict[str, Any]:
    """The summary, the risk and the seconds that the author states for a plan, as fields of PlanText."""
    members = value if isinstance(value, dict) else {}
    inner = members.get("plan")
    return _fields(_PLAN, _keyed({**inner, **members} if isinstance(inner, dict) else members))


def plan_of(value: object, tools: Collection[str] = ()) -> PlanText | None:
    """The plan in a decoded JSON value that is meant as one, such as the arguments of a call; None without steps."""
    read = _plan_in(value, tools)
    return None if read is None else read.plan


def read_json(text: str, tools: Collection[str] = ()) -> JsonPlan | None:
    """The first plan written as JSON in a text. Programs in fences are not searched."""
    searched = _without_programs(text)
    effort = _EFFORT * len(text) + 10_000
    offset = 0
    alone: dict[int, Any] = {}
    while effort > 0 and (candidate := _CANDIDATE.search(searched, offset)) is not None:
        start = candidate.start()
        offset = start + 1
        parsed = read_container(text, start)
        effort -= parsed.effort + 1
        if isinstance(parsed, Unreadable):
            continue
        read = _plan_in(parsed.value, tools, start)
        if read is not None and _is_meant(text, start, parsed, read.plan.steps):
            return read
        if not parsed.cut:
            offset = parsed.end
            alone |= {start: parsed.value} if _is_step(parsed.value, tools) else {}
    # Steps may be written one object after the other, without an array around them.
    return _plan_in([*alone.values()], tools, min(alone)) if len(alone) > 1 else None


def _without_programs(text: str) -> str:
    """The text with blanks in place of the programs in fences."""
    lines = text.split("\n")
    for fence in fences(lines):
        if fence.closed and fence.info.split(" ", 1)[0].strip("{}.") not in _NO_PROGRAM:
            for number in range(fence.first, fence.last + 1):
                lines[number] = " " * len(lines[number])
    return "\n".join(lines)


def _is_meant(text: str, start: int, parsed: Parsed, steps: Sequence[DraftStep]) -> bool:
    """Whether an array without a key stands alone, as a plan does, and not inside a sentence."""
    if not isinstance(parsed.value, list):
        return True
    before = text[text.rfind("\n", 0, start) + 1 : start].strip("` \t")
    after = not parsed.cut and _LINE_ENDS.match(text, parsed.end) is None
    whole = [entry for entry in parsed.value if not is_cut(entry)]
    if not whole or not all(isinstance(entry, str) for entry in whole):
        return not (before and after) or any(step.instruction != step.description for step in steps)
    phrases = sum(" " in step.description or not step.description.isascii() for step in steps)
    return not (before or after) and (text.strip()[:1] == "[" or 2 * phrases >= len(steps))


def _is_step(value: Any, tools: Collection[str]) -> bool:
    """Whether an object is a step by itself: it has both a description and an instruction, or a tool."""
    match _entries([value], tools, named=False):
        case [(step, False)]:
            return step.instruction != step.description or step.tool is not None
    return False


def _plan_in(value: Any, tools: Collection[str], start: int = 0) -> JsonPlan | None:
    weighed = _steps_in(value, tools, named=isinstance(value, dict))
    if not weighed:
        return None
    steps = tuple(step for step, _ in weighed)
    plan = PlanText(steps=steps, format="json", cut=is_cut(value), **fields_of_plan(value))
    return JsonPlan(plan, start, all(weak for _, weak in weighed))


_Weighed = list[tuple[DraftStep, bool]]
"""Steps, each with whether it is weak: only a name makes it a step."""


def _steps_in(value: Any, tools: Collection[str], *, named: bool, depth: int = 0) -> _Weighed:
    """The steps of a plan: the entries of an array that a key calls a plan (`named`), or of one by itself.

    Steps may stand further inside, and under keys such as "step_2". Where a plan is parted in phases, their steps
    follow each other.
    """
    steps: _Weighed = []
    if depth > DEPTH:
        return steps
    if isinstance(value, list):
        if named or depth == 0:
            steps = _entries(value, tools, named=named)
        below = (_steps_in(entry, tools, named=False, depth=depth + 1) for entry in value)
        return steps or [step for entry in below for step in entry]
    if not isinstance(value, dict):
        return steps
    if named and value and all(_STEP_KEY.fullmatch(key.strip()) for key in value):
        steps = _entries(list(value.values()), tools, named=True)
    keyed = _keyed(value)
    in_order = {name: keyed[name] for name in _LISTS if name in keyed} | keyed
    inner = (_steps_in(each, tools, named=name in _LISTS, depth=depth + 1) for name, each in in_order.items())
    return steps or next(filter(None, inner), [])


def _entries(entries: Sequence[Any], tools: Collection[str], *, named: bool) -> _Weighed:
    """The steps that the entries of an array are; strings are steps if there is nothing else or a key says so."""
    steps: _Weighed = []
    only_texts = all(isinstance(entry, str) or is_cut(entry) for entry in entries)
    for entry in entries:
        if isinstance(entry, str) and (named or only_texts):
            words = without_box(_NUMBER_IN_FRONT.sub("", entry))
            step = draft(words, words)
            steps += [] if step is None else [(step, not only_texts)]
        elif isinstance(entry, dict):
            steps += _phase(entry, tools) or ([] if is_cut(entry) else _described(entry, tools, named=named))
    return steps


def _phase(entry: Mapping[str, Any], tools: Collection[str]) -> _Weighed:
    """The steps of a phase: an object that lists steps and has no instruction of its own."""
    keyed = _keyed(entry)
    if any(isinstance(keyed.get(name), str) for name in _INSTRUCTION):
        return []
    lists = (keyed.get(name) for name in (*_LISTS, "subtasks", "substeps"))
    return _entries(next((each for each in lists if isinstance(each, list)), []), tools, named=True)


def _described(entry: Mapping[str, Any], tools: Collection[str], *, named: bool) -> _Weighed:
    """The step that an object is, if it is one."""
    keyed = _with_call(_keyed(entry))
    fields = _fields(_STEP, keyed)
    texts = {key: text for key, value in keyed.items() if (text := _text(value)) is not None}
    names = (texts.get(key) for key in ("action", "name"))
    tool = fields.get("tool") or next((name for name in names if name in tools), None)
    schema = fields.get("args", {})
    described = next((key for key in _DESCRIPTION if key in texts), "")
    description = texts.get(described, "")
    instruction = next((texts[key] for key in _INSTRUCTION if texts.get(key, tool) != tool), "")
    weak = not instruction and described in ("", "name") and tool is None and "subject" not in texts
    if schema.get("type") == "object" and "properties" in schema:
        return []
    if weak and not (described and (named or _KNOWN.issuperset(keyed))):
        return []
    if "subject" in texts:
        instruction = "\n".join(filter(None, (description, instruction)))
        description = texts["subject"]
    if tool is not None and not instruction:
        description = description or tool.replace("_", " ").capitalize()
    step = draft(description, instruction, **{**fields, "tool": tool})
    return [] if step is None else [(step, weak)]


def _with_call(keyed: dict[str, Any]) -> dict[str, Any]:
    """The members with those of a call that is an object of its own: its name, and its arguments or those beside it."""
    call: Args = next(
        (keyed[key] for key in ("call", "toolcall", "tool") if isinstance(keyed.get(key), dict)), {}
    )
    read = _fields(_CALL, _keyed(call))
    if "tool" not in read:
        return keyed
    beside = {key: value for key, value in call.items() if key not in ("name", "tool")}
    return {"args": beside, **read, **keyed, "tool": read["tool"]}


def _keyed(value: Mapping[str, Any]) -> dict[str, Any]:
    """The members by their keys in lower case, without the marks between words."""
    return {key.translate(_BETWEEN_WORDS).lower(): entry for key, entry in value.items()}


def _fields(fields: _Fields, keyed: Mapping[str, Json]) -> dict[str, Any]:
    """The fields that some members state; of several keys, the first with a usable value counts."""
    stated: dict[str, Any] = {}
    for name, keys, convert in fields:
        for key in keys:
            if name not in stated and (value := convert(keyed.get(key))) is not None:
                stated[name] = value
    return stated


def _text(value: Json) -> str | None:
    return (value.strip() or None) if isinstance(value, str) else None


def _number(value: Json) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _id(value: Json) -> str | None:
    return _text(value) if _number(value) is None else str(value)


def _ids(value: Json) -> tuple[str, ...] | None:
    """The ids or numbers of steps, whether written as a list, a text or a number."""
    if value is None:
        return None
    words: list[Json] = [*re.split(r"[\s,;]+", value)] if isinstance(value, str) else [value]
    entries = value if isinstance(value, list) else words
    named = (_id(each.get("id", each.get("stepId")) if isinstance(each, dict) else each) for each in entries)
    return tuple(name for name in named if name is not None and name.lower() not in ("none", "null", "-"))


def _condition(value: Json) -> str | None:
    return str(value).lower() if isinstance(value, bool) else _text(value)


def _items(value: Json) -> str | None:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list) else _text(value)


def _object(value: Json) -> Args | None:
    return value if isinstance(value, dict) else None


def _paths(value: Json) -> tuple[str, ...]:
    entries = value if isinstance(value, list) else []
    return tuple(each for each in entries if isinstance(each, str) and each.strip())


def _summary(value: Json) -> str | None:
    return " ".join(value.split())[:LONGEST_SUMMARY] if isinstance(value, str) else None


def _expected(value: Json) -> tuple[ExpectedTool, ...]:
    """The calls in a list of calls, or of names of tools."""
    entries = value if isinstance(value, list) else []
    read = [_fields(_CALL, _keyed(each if isinstance(each, dict) else {"tool": each})) for each in entries]
    return tuple(ExpectedTool(**each) for each in read if "tool" in each)


_Fields = tuple[tuple[str, tuple[str, ...], Callable[[Json], object]], ...]
"""Fields, the keys that models use for them (see `_keyed`), and what makes their value of JSON, or None."""
_ARGS = ("args", ("args", "arguments", "parameters"), _object)
_CALL: _Fields = (("tool", ("tool", "toolname", "name"), _text), _ARGS)
_STEP: _Fields = (
    _ARGS,
    ("tool", ("tool", "toolname"), _text),
    ("raw_id", ("id", "stepid", "taskid"), _id),
    ("raw_id", ("step",), lambda value: None if isinstance(value, str) else _id(value)),
    ("depends_on", ("dependson", "depends", "blockedby", "dependencies"), _ids),
    ("blocks", ("blocks",), _ids),
    ("agent", ("agent", "assignedagent"), _text),
    ("kind", ("kind", "type"), _text),
    ("priority", ("priority",), _text),
    ("critical", ("critical",), lambda value: value is True or None),
    ("question", ("question",), _text),
    ("active_form", ("activeform",), _text),
    ("checks", ("checks",), lambda value: tuple(value) if isinstance(value, list) else None),
    ("expected_files", ("expectedfiles", "files"), _paths),
    ("expected_tools", ("toolstoexecute", "expectedtools"), _expected),
    ("stated_seconds", ("estimatedduration",), seconds_in),
    ("when", ("when",), _condition),
    ("for_each", ("foreach",), _items),
    ("repeat_until", ("repeatuntil",), _text),
    ("repeat_most", ("repeatmost",), _number),
    ("template", ("templateid", "template"), _text),
)
_PLAN: _Fields = (
    ("summary", ("summary", "goal"), _summary),
    ("stated_risk", ("overallrisk",), lambda value: named_risk(value) if isinstance(value, str) else None),
    ("stated_seconds", ("estimatedduration",), seconds_in),
)
_OTHERS = {"call", "toolcall", "subject", "status", "order"}
_KNOWN = _OTHERS.union(_DESCRIPTION, _INSTRUCTION, *(keys for _, keys, _ in _STEP))
