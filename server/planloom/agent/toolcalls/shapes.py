"""What makes a JSON value a call: the names that model families give to the name and to the arguments."""

from __future__ import annotations

from planloom.agent.toolcalls.offers import Offers, RawCall
from planloom.domain.values import Json

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
CALL_KEYS = frozenset((*_NAMES, *_ARGUMENTS, *_LISTS, *_HOLDERS, *_BESIDE))
"""The keys that a call's object may have; one with others is data."""
_DEEPEST = 4


def calls_in(value: Json, offers: Offers, *, marked: bool, depth: int = 0) -> tuple[RawCall, ...] | None:
    """The calls that a value stands for; None if it is something else.

    In a marked place an object that names a tool is a call even without arguments.
    """
    if depth > _DEEPEST:
        return None
    if isinstance(value, list):
        found: list[RawCall] = []
        for entry in value:
            inner = calls_in(entry, offers, marked=marked, depth=depth + 1)
            if inner is None or not isinstance(entry, dict | str):
                return None
            found.extend(inner)
        return tuple(found) if found or marked else None
    if not isinstance(value, dict):
        return None
    return _held(value, offers, depth) or _plain(value, offers, marked) or _keyed(value, offers)


def _held(value: dict[str, Json], offers: Offers, depth: int) -> tuple[RawCall, ...] | None:
    """Calls in a list or an object of their own, as OpenAI writes them."""
    for key in _LISTS:
        if isinstance(value.get(key), list) and value[key]:
            return calls_in(value[key], offers, marked=True, depth=depth + 1)
    for key in _HOLDERS:
        inner = value.get(key)
        if isinstance(inner, dict) and "name" in inner:
            return calls_in(inner, offers, marked=True, depth=depth + 1)
    if value.get("method") == "tools/call" and isinstance(value.get("params"), dict):
        return calls_in(value["params"], offers, marked=True, depth=depth + 1)
    return None


def _plain(value: dict[str, Json], offers: Offers, marked: bool) -> tuple[RawCall, ...] | None:
    for key in _NAMES:
        name = value.get(key)
        if not isinstance(name, str) or not name.strip():
            continue
        for arguments in _ARGUMENTS:
            if arguments in value:
                return (RawCall(name, value[arguments]),)
        flat = _flat(value, key, name, offers)
        if flat is not None:
            return flat
        if marked and offers.knows(name):
            return (RawCall(name, None),)
    return None


def _flat(value: dict[str, Json], key: str, name: str, offers: Offers) -> tuple[RawCall, ...] | None:
    """`{"tool": "read_file", "path": "p"}`: the arguments stand beside the name."""
    known = offers.name_of(name)
    if known not in offers.tools:
        return None
    rest = {other: entry for other, entry in value.items() if other != key}
    properties = offers.properties[known]
    arguments = {other: entry for other, entry in rest.items() if other in properties}
    if not arguments or not offers.required(known) <= set(arguments):
        return None
    return (RawCall(name, arguments),) if all(k in properties or k in _BESIDE for k in rest) else None


def _keyed(value: dict[str, Json], offers: Offers) -> tuple[RawCall, ...] | None:
    """`{"read_file": {"path": "p"}}`: the name is the key."""
    if not value or not all(offers.knows(key) and isinstance(entry, dict) for key, entry in value.items()):
        return None
    return tuple(RawCall(key, entry) for key, entry in value.items())


def may_be_call(key: str, members: dict[str, Json], offers: Offers) -> bool:
    """Whether an object with this key, and these members before it, may still turn out to be a call."""
    if key in CALL_KEYS or key in offers.parameters or offers.knows(key):
        return True
    return any(offers.knows(entry) for name, entry in members.items() if name in _NAMES)
