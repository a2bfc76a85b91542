"""Collects the settings of every source, resolves them, and reports each problem with them once."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from planloom.settings import Settings, Source, beyond_a_folder, dotted, from_text, resolve, source_of
from planloom.user_folders import config_folder

SECTION = "planloom"
MAX_DEPTH = 8
"""The deepest nesting of a settings object; the real ones are two levels deep."""


class Configuration:
    """The values of every source, and the settings that they resolve to."""

    def __init__(self, sources: Mapping[Source, Mapping[str, Any]]) -> None:
        self._sources: dict[Source, Mapping[str, Any]] = dict(sources)
        self._problems: list[str] = []
        self._reported: set[str] = set()
        self._held_back: Mapping[str, Any] = {}

    def put(self, source: Source, values: Any) -> None:
        """Replace the values of a source. Anything but an object or None is a problem and counts as no values."""
        if values is None:
            values = {}
        if not isinstance(values, dict) or _depth(values) > MAX_DEPTH:
            self._problems.append(f"{SECTION}: the {source} settings are not an object of settings")
            values = {}
        self._sources[source] = values

    def add(self, source: Source, values: Mapping[str, Any]) -> None:
        """Add values of a source to those that it has."""
        self.put(source, {**self._sources.get(source, {}), **flat(values)})

    def hold_back_options(self) -> dict[str, Any]:
        """Leave out of `initializationOptions` what an opened folder could not set, until `accept_options`.

        Returns what is left out, by dotted name.
        """
        options = self._sources["initialization"]
        beyond = beyond_a_folder(self._sources, "initialization")
        if beyond:
            self._held_back = options
            self.put("initialization", {name: value for name, value in dotted(options) if name not in beyond})
        return beyond

    def accept_options(self) -> None:
        """Use what was left out."""
        if self._held_back:
            self.put("initialization", self._held_back)
            self._held_back = {}

    def problem(self, sentence: str) -> None:
        """Add a problem, which the next `resolve` returns."""
        self._problems.append(sentence)

    def source_of(self, name: str) -> Source | None:
        """The source of the current value of a setting such as `model.baseUrl`; None for the default."""
        return source_of(self._sources, name)

    def resolve(self) -> tuple[Settings, tuple[str, ...]]:
        """The effective settings, and the problems that were not returned before, a sentence each."""
        settings, problems = resolve(self._sources)
        found = [*self._problems, *(f"{SECTION}.{problem.field}: {problem.reason}" for problem in problems)]
        new = tuple(dict.fromkeys(line for line in found if line not in self._reported))
        self._problems.clear()
        self._reported.update(new)
        return settings, new


def of_connection(settings: Sequence[str], environment: Mapping[str, str], options: Any) -> Configuration:
    """The settings of the command line, the environment, the user's file and `initializationOptions`."""
    user, problem = from_user_file(user_file())
    found = Configuration(
        {"command_line": from_command_line(settings), "environment": from_environment(environment)}
    )
    found.put("user", user)
    found.put("initialization", options.get(SECTION) if isinstance(options, dict) else None)
    if problem is not None:
        found.problem(problem)
    return found


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
    for name in flat(Settings().model_dump(by_alias=True)):
        variable = "PLANLOOM_" + re.sub(r"(?<=[a-z])(?=[A-Z])|\.", "_", name).upper()
        if variable in environment:
            found[name] = from_text(environment[variable])
    return found


def from_user_file(path: Path) -> tuple[Any, str | None]:
    """The content of the user's configuration file, and a problem if it could not be read."""
    try:
        return json.loads(path.read_bytes()), None
    except FileNotFoundError:
        return {}, None
    except (OSError, ValueError, RecursionError) as error:
        return {}, f"{SECTION}: the configuration file {path} cannot be read: {error}"


def user_file() -> Path:
    """The path of the user's configuration file, which PLANLOOM_CONFIG can override."""
    override = os.environ.get("PLANLOOM_CONFIG")
    if override:
        return Path(override)
    return config_folder() / "settings.json"


def pushed(settings: Any) -> Any:
    """Planloom's section of the settings that a client pushes with `didChangeConfiguration`, or None."""
    return settings.get(SECTION) if isinstance(settings, dict) else None


def _depth(value: Any) -> int:
    """How deeply objects are nested, counted without recursion."""
    depth, level = 0, [value]
    while level and depth <= MAX_DEPTH:
        level = [child for each in level if isinstance(each, dict) for child in each.values()]
        depth += 1
    return depth
