"""The settings that the extension declares are those of the server; it sends each by the way that its scope tells."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from planloom.settings import USER_ONLY, Settings

CLIENT = Path(__file__).parents[2] / "client-vscode"
MANIFEST = json.loads((CLIENT / "package.json").read_text(encoding="utf-8"))
DECLARED: dict[str, dict[str, Any]] = MANIFEST["contributes"]["configuration"]["properties"]
ONLY_OF_THE_EXTENSION = {"planloom.server.python", "planloom.server.command", "planloom.trace.server"}


def fields(model: type[BaseModel], prefix: str = "planloom.") -> Iterator[str]:
    """The dotted names of every setting, as the wire has them."""
    for name, field in model.model_fields.items():
        alias = prefix + (field.alias or name)
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from fields(field.annotation, f"{alias}.")
        else:
            yield alias


def values(settings: dict[str, Any], prefix: str = "planloom.") -> Iterator[tuple[str, Any]]:
    """Every setting with its default."""
    for name, value in settings.items():
        if isinstance(value, dict):
            yield from values(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def is_user_only(name: str) -> bool:
    return name.removeprefix("planloom.").startswith(USER_ONLY)


def test_the_extension_declares_every_setting_and_no_other() -> None:
    assert set(DECLARED) - ONLY_OF_THE_EXTENSION == set(fields(Settings))


def test_the_declared_defaults_are_those_of_the_server() -> None:
    expected = dict(values(Settings().model_dump(by_alias=True, mode="json")))
    assert {name: DECLARED[name]["default"] for name in expected} == expected


def test_what_a_folder_must_not_set_is_of_machine_scope() -> None:
    for name, declared in DECLARED.items():
        closed = is_user_only(name) or name.startswith("planloom.server.")
        assert (declared.get("scope") == "machine") is closed, name
