"""Recognizes JSON that is a call, by the keys that model families use, or a whole answer (docs/model-text.md, T17)."""

from __future__ import annotations

from typing import NamedTuple

from planloom.agent.toolcalls.offered_tools import OfferedTools, RawCall, decoded
from planloom.domain.values import Args, Json

CONTROL = ("task_completed", "final_answer", "ask_user", "report", "submit_plan")
"""Names of the control tools, which steer the loop and change nothing themselves."""
THOUGHT = "(reasoning)"
"""In place of a tool's name: the model's reasoning, as a string."""
BESIDE = {"task_completed": ("unchanged", "unchecked"), "final_answer": ("confidence",)}
"""Arguments of control tools that stand beside them in an answer, where each of these tools is one text."""
ANSWER_KEYS = frozenset({"reasoning", "tool_calls", "answer", *CONTROL}.union(*BESIDE.values()))
"""The fields of an answer."""

_NAMES = ("name", "tool_name", "tool", "function_name", "action", "function", "recipient_name", "toolName")
_ARGUMENTS = (
    "arguments",
    "parameters",
    "args",
    "input",
    "tool_input",
    "action_input",
    "tool_args",
    "tool_arguments",
    "toolInput",
    "params",
    "kwargs",
)
_LISTS = ("tool_calls", "tool_uses", "function_calls", "calls")
_HOLDERS = ("function_call", "tool_call", "function", "tool_use", "tool", "action")
_BESIDE = frozenset(
    {"id", "call_id", "tool_call_id", "tool_use_id", "type", "index", "thought", "thoughts", "reasoning"}
    | {
        "rationale",
        "explanation",
        "description",
        "comment",
        "note",
        "confidence",
        "status",
        "role",
        "content",
    }
    | {"message", "plan", "step", "jsonrpc", "method", "requires_approval", "reflection", "analysis"}
)
CALL_KEYS = frozenset((*_NAMES, *_ARGUMENTS, *_LISTS, *_HOLDERS, *_BESIDE, *ANSWER_KEYS))
"""The keys that the object of a call or an answer may have; an object with other keys is data."""
_DEEPEST = 4


class ControlCall(NamedTuple):
    """A control field of an answer as a call."""

    name: str
    arguments: Args


def is_answer(value: dict[str, Json], offered: OfferedTools) -> bool:
    """Whether an object is an answer: it has the fields of one, and none that only data would have."""
    if any(offered.knows(name) and name in value for name in CONTROL):
        return True
    if "answer" in value and offered.knows("final_answer"):
        return "confidence" in value or "reasoning" in value
    listed = listed_calls(value)
    return isinstance(listed, list) and (
        "reasoning" in value or listed is not value["tool_calls"] or not listed
    )


def listed_calls(value: dict[str, Json]) -> Json:
    """The calls of an answer as they stand in it, also in a string."""
    listed = value.get("tool_calls")
    return decoded(listed) if isinstance(listed, str) else listed


def control_calls(value: dict[str, Json]) -> tuple[ControlCall, ...]:
    """The control fields of an answer that are filled, each as the call of its tool."""
    filled = {name: value[name] for name in CONTROL if value.get(name) not in (None, "", [], {})}
    answer = value.get("answer")
    if "final_answer" not in filled and answer not in (None, "", [], {}):
        filled["final_answer"] = answer
    return tuple(
        ControlCall(name, _arguments(name, filled[name], value)) for name in CONTROL if name in filled
    )


def _arguments(name: str, field: Json, answer: dict[str, Json]) -> Args:
    if isinstance(field, list):
        return {"steps": field}
    is_number = isinstance(field, int | float) and not isinstance(field, bool)
    arguments: Args = dict(field) if isinstance(field, dict) else {"text": str(field) if is_number else field}
    return {each: answer[each] for each in BESIDE.get(name, ()) if each in answer} | arguments


def thought(value: dict[str, Json]) -> RawCall:
    """The reasoning of an answer, empty if it has none."""
    reasoning = value.get("reasoning")
    return RawCall(THOUGHT, reasoning if isinstance(reasoning, str) else "")


def calls_in(
    value: Json, offered: OfferedTools, *, marked: bool, depth: int = 0
) -> tuple[RawCall, ...] | None:
    """The calls that a value holds; None if it is not a call, a list of calls or an answer.

    After a marker an object that names a tool is a call even without arguments, and a string may hold the call.
    """
    if depth > _DEEPEST:
        return None
    if isinstance(value, str) and marked:
        held = decoded(value)
        return None if isinstance(held, str) else calls_in(held, offered, marked=True, depth=depth + 1)
    if isinstance(value, list):
        found: list[RawCall] = []
        for entry in value:
            inner = calls_in(entry, offered, marked=marked, depth=depth + 1)
            if inner is None or not isinstance(entry, dict | str):
                return None
            found.extend(inner)
        return tuple(found) if found or marked else None
    if not isinstance(value, dict):
        return None
    if all(key in ANSWER_KEYS or key in _BESIDE for key in value) and is_answer(value, offered):
        return _answered(value, offered, depth)
    return _held(value, offered, depth) or _plain(value, offered, marked) or _keyed(value, offered)


def _answered(value: dict[str, Json], offered: OfferedTools, depth: int) -> tuple[RawCall, ...]:
    """The reasoning of an answer, its calls, and its control fields as calls."""
    listed = listed_calls(value)
    calls = calls_in(listed, offered, marked=True, depth=depth + 1) if listed else ()
    if calls is None:
        calls = (RawCall("tool_calls", {}),)
    ends = (RawCall(*call) for call in control_calls(value) if offered.knows(call.name))
    return (thought(value), *calls, *ends)


def _held(value: dict[str, Json], offered: OfferedTools, depth: int) -> tuple[RawCall, ...] | None:
    """Calls nested in a list or an object, as OpenAI writes them."""
    for key in _LISTS:
        if isinstance(value.get(key), list) and value[key]:
            return calls_in(value[key], offered, marked=True, depth=depth + 1)
    for key in _HOLDERS:
        inner = value.get(key)
        if isinstance(inner, dict) and "name" in inner:
            return calls_in(inner, offered, marked=True, depth=depth + 1)
    if value.get("method") == "tools/call" and isinstance(value.get("params"), dict):
        return calls_in(value["params"], offered, marked=True, depth=depth + 1)
    return None


def _plain(value: dict[str, Json], offered: OfferedTools, marked: bool) -> tuple[RawCall, ...] | None:
    for key in _NAMES:
        name = value.get(key)
        if not isinstance(name, str) or not name.strip():
            continue
        for arguments in _ARGUMENTS:
            if arguments in value:
                return (RawCall(name, value[arguments]),)
        flat = _flat(value, key, name, offered)
        if flat is not None:
            return flat
        if marked and offered.knows(name):
            return (RawCall(name, None),)
    return None


def _flat(value: dict[str, Json], key: str, name: str, offered: OfferedTools) -> tuple[RawCall, ...] | None:
    """`{"tool": "read_file", "path": "p"}`: the arguments are beside the name."""
    known = offered.name_of(name)
    if known not in offered.tools:
        return None
    rest = {other: entry for other, entry in value.items() if other != key}
    properties = offered.properties[known]
    arguments = {other: entry for other, entry in rest.items() if other in properties}
    if not arguments or not offered.required(known) <= set(arguments):
        return None
    return (RawCall(name, arguments),) if all(k in properties or k in _BESIDE for k in rest) else None


def _keyed(value: dict[str, Json], offered: OfferedTools) -> tuple[RawCall, ...] | None:
    """`{"read_file": {"path": "p"}}`: the name is the key."""
    if not value or not all(offered.knows(key) and isinstance(entry, dict) for key, entry in value.items()):
        return None
    return tuple(RawCall(key, entry) for key, entry in value.items())


def may_be_call(key: str, members: dict[str, Json], offered: OfferedTools) -> bool:
    """Whether an object with this key, and these members before it, can still be a call."""
    if key in CALL_KEYS or key in offered.parameters or offered.knows(key):
        return True
    return any(offered.knows(entry) for name, entry in members.items() if name in _NAMES)
