"""Requests of the protocol that are wrong in many ways, made from the wire models that describe the right ones."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from lsprotocol import types

from planloom.lsp.methods import CLIENT_NOTIFICATIONS, CLIENT_REQUESTS, ClientNotification, ClientRequest

DEEP: Final = "@deep@"
"""Stands in the params for brackets that are too deep for a writer of JSON."""
_LEFT_OUT: Final = frozenset({"shutdown", "exit", "initialize", "initialized", "$/cancelRequest"})
_TEXTS: Final = (
    *(
        "",
        "x",
        "a.txt",
        "Create the file a.txt with the text x",
        "Read a.txt",
        "1. Read a.txt\n2. Read b.txt",
    ),
    *(
        "../..",
        "/etc/passwd",
        "file:///",
        "http://127.0.0.1:9/",
        "@a.txt",
        "@",
        "~",
        "C:\\x",
        "a\0b",
        "step_1",
    ),
    *(
        "\u202e\u200b",
        "\ud800",
        "\udfff x",
        "😀" * 9,
        "é\u0301",
        "\r\n\u2028\x85",
        "{}",
        "[]",
        "null",
        "true",
        "0",
    ),
    *(
        "echo x",
        "read_file",
        "write_file",
        "run_command",
        "retry",
        "allow",
        "openai",
        "plan",
        "$step_1.output",
    ),
)
_VALUES: Final[tuple[Any, ...]] = (
    *(None, True, False, 0, -1, 1, 2**31, 2**53, 2**70, -(2**63), 0.5, 1e308, float("nan"), float("inf")),
    *([], {}, [[]], {"": {}}, {"__proto__": 1, "type": "x"}, [None] * 3, "", "x", DEEP),
)
_MOST_REPEATED: Final = 2_000
_HUGE: Final = (100_000, 1_000_000)


class Case(NamedTuple):
    """One request or, without an answer, notification. `text` is its JSON, in which `ident` is the id."""

    method: str
    params: Any
    is_request: bool

    @property
    def is_json(self) -> bool:
        """Whether a reader of JSON takes it; if not, its answer cannot name it."""
        text = self.text(0)
        return not any(
            word in text
            for word in (": NaN", ": Infinity", "[NaN", "[Infinity", ", NaN", ", Infinity", "[[[[[[[")
        )

    def text(self, ident: int) -> str:
        message = {"jsonrpc": "2.0", "method": self.method, **({"id": ident} if self.is_request else {})}
        if self.params is not ...:
            message["params"] = self.params
        return json.dumps(message).replace(f'"{DEEP}"', "[" * 20_000 + "]" * 20_000)


class Known:
    """Ids that the server has told, so that some requests get further than their plan's name."""

    def __init__(self) -> None:
        self.texts: dict[str, list[str]] = {}
        self.plans: dict[str, tuple[int, list[str]]] = {}

    def see(self, value: Any) -> None:
        """Keep the ids in an answer or an event."""
        if isinstance(value, list):
            for each in value:
                self.see(each)
        elif isinstance(value, dict):
            if isinstance(value.get("steps"), list) and "version" in value and "planId" in value:
                steps = [step["stepId"] for step in value["steps"]]
                self.plans[value["planId"]] = value["version"], steps
            for name, each in value.items():
                if isinstance(each, str) and name.endswith(("Id", "sha256", "uri")):
                    kept = self.texts.setdefault(name, [])
                    if each not in kept:
                        kept.append(each)
                        del kept[:-20]
                else:
                    self.see(each)


class Cases:
    """An endless supply of cases, the same for the same seed and the same ids."""

    def __init__(self, seed: int, known: Known) -> None:
        self._chance = random.Random(seed)
        self._known = known
        own: tuple[ClientRequest | ClientNotification, ...] = (*CLIENT_REQUESTS, *CLIENT_NOTIFICATIONS)
        self._schemas = {each.name: each.params.model_json_schema(by_alias=True) for each in own}
        self._own_requests = [each.name for each in CLIENT_REQUESTS]
        self._own_notifications = [each.name for each in CLIENT_NOTIFICATIONS]
        self._requests, self._notifications = list(self._own_requests), list(self._own_notifications)
        for name, (message, *_) in types.METHOD_TO_TYPES.items():
            if name not in _LEFT_OUT and types.message_direction(name) != "serverToClient":
                fields = {field.name for field in message.__attrs_attrs__}  # type: ignore[attr-defined]
                (self._requests if "id" in fields else self._notifications).append(name)

    def next(self) -> Case:
        """One case: mostly a request of our own that is right but for one thing."""
        chance = self._chance
        is_request = chance.random() < 0.93
        method = chance.choice(self._requests if is_request else self._notifications)
        if chance.random() < 0.6:
            method = chance.choice(self._own_requests if is_request else self._own_notifications)
        schema = self._schemas.get(method)
        params = self._made(schema, schema, 0) if schema is not None else self._lsp_params()
        if chance.random() < 0.8:
            params = self._of_one_plan(params)
        for _ in range(chance.choice((0, 0, 0, 1, 1, 2, 5))):
            params = self._spoiled(params)
        if chance.random() < 0.02:
            params = ...
        if chance.random() < 0.01:
            method = chance.choice((method + "x", "", "planloom/" + "x" * 9_999, "\u202e", "rpc.x"))
        return Case(method, params, is_request)

    def _of_one_plan(self, params: Any) -> Any:
        """The params with the newest version and the steps of the plan that they name."""
        known = self._known.plans.get(str(params.get("planId"))) if isinstance(params, dict) else None
        if known is None:
            return params
        version, steps = known
        fitting = {"version": version, **({"stepId": self._chance.choice(steps)} if steps else {})}
        edits = [{**edit, **fitting} if "stepId" in edit else edit for edit in params.get("edits", [])]
        return {
            **params,
            **{name: value for name, value in fitting.items() if name in params},
            **({"edits": edits} if edits else {}),
        }

    def _lsp_params(self) -> Any:
        """Params in the forms that requests about documents have."""
        chance = self._chance
        place = {"line": chance.choice((0, 1, 2**31)), "character": chance.choice((0, 5, 2**31))}
        uri = self._text("uri")
        return {
            "textDocument": {
                "uri": uri,
                "version": chance.choice((0, 1, -5)),
                "languageId": "x",
                "text": "a\nb",
            },
            "position": place,
            "range": {"start": place, "end": place},
            "context": {"diagnostics": [], "triggerKind": 1, "includeDeclaration": True},
            "contentChanges": [{"range": {"start": place, "end": place}, "text": self._text("text")}],
            "command": chance.choice(("planloom.create", "planloom.approve", "x")),
            "arguments": [self._value()],
            "settings": {"planloom": {"model": self._value()}},
            "event": {"added": [], "removed": []},
            "changes": [{"uri": uri, "type": 1}],
            "query": "x",
            "value": "off",
        }

    def _made(
        self, schema: Mapping[str, Any], root: Mapping[str, Any], depth: int, name: str = "text"
    ) -> Any:
        """A value of the field `name` that fits the schema, or nearly."""
        chance = self._chance
        if "$ref" in schema:
            return self._made(root["$defs"][schema["$ref"].rpartition("/")[2]], root, depth, name)
        for word in ("anyOf", "oneOf"):
            if word in schema:
                return self._made(chance.choice(schema[word]), root, depth, name)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return chance.choice(schema["enum"])
        match schema.get("type"):
            case "object":
                required = schema.get("required", ())
                return {
                    field: self._made(each, root, depth + 1, field)
                    for field, each in schema.get("properties", {}).items()
                    if field in required or (depth < 4 and chance.random() < 0.5)
                } or {self._text("name"): self._value() for _ in range(chance.randint(0, 2))}
            case "array":
                count = chance.choice((0, 1, 1, 2, 3)) if depth < 5 else 0
                items = schema.get("items", {})
                return [
                    self._made(items, root, depth + 1) for _ in range(max(count, schema.get("minItems", 0)))
                ]
            case "string":
                return self._text(name)
            case "integer":
                return chance.choice((0, 1, 2))
            case "number":
                return chance.choice((0.01, 0.02, 0.05))
            case "boolean":
                return chance.random() < 0.5
            case "null":
                return None
        return self._value()

    def _text(self, name: str) -> str:
        known = self._known.texts.get(name)
        if known and self._chance.random() < 0.85:
            return self._chance.choice(known)
        return self._chance.choice(_TEXTS)

    def _value(self) -> Any:
        chance = self._chance
        if chance.random() < 0.01:
            size = chance.choice(_HUGE)
            return chance.choice(("x" * size, [0] * (size // 10), "\ud83d" * (size // 10), {"k" * size: 1}))
        return chance.choice((*_VALUES, *_TEXTS))

    def _spoiled(self, value: Any) -> Any:
        """The value with one thing in it changed: another type, a name or an item less or more."""
        chance = self._chance
        if isinstance(value, dict) and value and chance.random() < 0.85:
            name = chance.choice(list(value))
            changed = dict(value)
            match chance.randrange(6):
                case 0:
                    del changed[name]
                case 1:
                    changed[self._text("name")] = self._value()
                case _:
                    changed[name] = self._spoiled(value[name])
            return changed
        if isinstance(value, list) and value and chance.random() < 0.85:
            at = chance.randrange(len(value))
            match chance.randrange(6):
                case 0:
                    return value[:at] + value[at + 1 :]
                case 1:
                    # What is huge already would soon be too big for this machine.
                    return value * (50 if len(repr(value)) < _MOST_REPEATED else 1)
                case _:
                    return [*value[:at], self._spoiled(value[at]), *value[at + 1 :]]
        return self._value()
