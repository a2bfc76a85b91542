"""The settings of a user outside of any editor: those of the file, of the environment and of a command line."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from planloom.settings import dotted, fields, from_text
from planloom.user_folders import config_folder, replace_file

MAX_DEPTH = 8
"""The deepest nesting of a settings object; the real ones are two levels deep."""


def user_file() -> Path:
    """The path of the user's configuration file, which PLANLOOM_CONFIG can override."""
    override = os.environ.get("PLANLOOM_CONFIG")
    if override:
        return Path(override)
    return config_folder() / "settings.json"


def flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """The values by dotted name, so that adding one replaces only that one."""
    found: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, dict) and prefix.count(".") < MAX_DEPTH:
            found.update(flat(value, f"{prefix}{key}."))
        else:
            found[f"{prefix}{key}"] = value
    return found


def from_command_line(pairs: Sequence[str]) -> dict[str, Any]:
    """Values of `--setting name=value`."""
    found: dict[str, Any] = {}
    for pair in pairs:
        name, _, value = pair.partition("=")
        found[name.strip()] = from_text(value)
    return found


def from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    """Values of environment variables such as PLANLOOM_MODEL_BASE_URL, which exist for every setting."""
    found: dict[str, Any] = {}
    for name in fields():
        if (value := environment.get(variable_of(name))) is not None:
            found[name] = from_text(value)
    return found


def variable_of(name: str) -> str:
    """The environment variable of a setting: `PLANLOOM_MODEL_BASE_URL` of `model.baseUrl`."""
    return "PLANLOOM_" + re.sub(r"(?<=[a-z])(?=[A-Z])|\.", "_", name).upper()


def from_user_file(path: Path) -> tuple[Any, str | None]:
    """The content of the user's configuration file, and a problem if it could not be read."""
    try:
        return json.loads(path.read_bytes()), None
    except FileNotFoundError:
        return {}, None
    except (OSError, ValueError, RecursionError) as error:
        return {}, f"the configuration file {path} cannot be read: {error}"


def set_in_user_file(path: Path, name: str, value: Any) -> None:
    """Set one setting in the user's configuration file, and leave the others as they are written; None removes it.

    Raises as `replace_file` does, and ValueError if the file is no object.
    """
    values = json.loads(path.read_bytes()) if path.exists() else {}
    if not isinstance(values, dict):
        raise ValueError("it is no JSON object")
    values = _without(values, name)
    if value is not None:
        values[f"planloom.{name}"] = value
    replace_file(path, json.dumps(values, ensure_ascii=False, indent=2) + "\n")


def _without(values: Mapping[str, Any], name: str, prefix: str = "") -> dict[str, Any]:
    """The values without a setting, in whatever spelling it stands."""
    left: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, Mapping):
            inner = _without(value, name, f"{prefix}{key}.")
            if inner or not value:
                left[key] = inner
        elif next(dotted({f"{prefix}{key}": value}), ("",))[0] != name:
            left[key] = value
    return left
