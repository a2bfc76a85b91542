"""Writes the settings that the VS Code extension declares, from the server's models."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from planloom.settings import LOWERED, USER_ONLY, Settings
from planloom.version import VERSION

_CLIENT: Final = Path(__file__).parents[1] / "client-vscode"
_CONSTRAINTS: Final = ("minimum", "maximum", "exclusiveMinimum", "enum", "items")
_EDITOR_ONLY: Final = ("order", "editPresentation")
_SHOWN: Final = frozenset(
    (
        *("enableTaskPlanning", "model.provider", "model.baseUrl", "model.name", "model.prices"),
        *("model.reasoningEffort", "planning.perspectives", "planning.whenUnsure", "execution.review"),
        *("execution.onFailure", "execution.maxParallelSteps", "execution.pauseOnClarification"),
        *(f"approvals.{each}" for each in ("read", "write", "destroy", "execute", "fetch", "plan")),
        *("commands.network", "commands.writable", "edits.save"),
        *("budget.maxRequests", "budget.maxTokens", "budget.maxMinutes"),
        *("context.exclude", "context.instructions", "context.memory"),
    )
)
"""The settings that most people may touch. The editor shows the others only to who asks for advanced ones."""
_OWN: Final = ("planloom.composer.", "planloom.notifications", "planloom.server.", "planloom.trace.")


def manifest() -> str:
    """The extension's package.json with the server's version and every setting; its own settings stay at the end."""
    written: dict[str, Any] = json.loads((_CLIENT / "package.json").read_text(encoding="utf-8"))
    written["version"] = VERSION
    configuration = written["contributes"]["configuration"]
    declared = {f"planloom.{name}": _declaration(name, schema) for name, schema in _settings()}
    own = {name: value for name, value in configuration["properties"].items() if name.startswith(_OWN)}
    configuration["properties"] = {**declared, **own}
    return json.dumps(written, indent=2, ensure_ascii=False) + "\n"


def english() -> str:
    """The English texts of the manifest: those of the server's settings, and the others as they are."""
    written: dict[str, str] = json.loads((_CLIENT / "package.nls.json").read_text(encoding="utf-8"))
    names = {f"planloom.{name}" for name, _ in _settings()}
    texts = {key: text for name, schema in _settings() for key, text in _texts(name, schema)}
    own = {key: text for key, text in written.items() if key.partition("=")[0] not in names}
    return json.dumps({**texts, **own}, indent=2, ensure_ascii=False) + "\n"


def _texts(name: str, schema: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The texts of a setting, by the keys under which its declaration names them."""
    yield f"planloom.{name}", schema["description"] + _scope(name)[1]
    for value, text in zip(schema.get("enum", ()), schema.get("enumDescriptions", ()), strict=False):
        yield f"planloom.{name}={value}", text


def _settings() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every setting by its dotted name, with its JSON schema."""
    schema = Settings.model_json_schema(by_alias=True)
    for name, field in schema["properties"].items():
        group = schema["$defs"].get(str(field.get("$ref", "")).rpartition("/")[2])
        if group is None:
            yield name, field
        else:
            yield from ((f"{name}.{own}", each) for own, each in group["properties"].items())


def _declaration(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    kinds = schema.get("anyOf", [schema])
    types = [kind["type"] for kind in kinds]
    found = {key: kind[key] for kind in kinds for key in _CONSTRAINTS if key in kind}
    scope, _ = _scope(name)
    description, *values = (f"%{key}%" for key, _ in _texts(name, schema))
    return {
        "type": types[0] if len(types) == 1 else types,
        **({"scope": scope} if scope else {}),
        "default": schema["default"],
        **found,
        **{key: schema[key] for key in _EDITOR_ONLY if key in schema},
        **({"enumDescriptions": values} if values else {}),
        **({} if name in _SHOWN else {"tags": ["advanced"]}),
        "description": description,
    }


def _scope(name: str) -> tuple[str, str]:
    """The scope in VS Code, and a note for the description. The extension sends the user's values of both scopes."""
    if name.startswith(USER_ONLY):
        return "machine", " User setting only."
    if name in LOWERED:
        return "machine-overridable", " A workspace can only lower it."
    return "", ""
