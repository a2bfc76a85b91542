"""Where settings come from on a connection, and how each problem with them is said once."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from planloom.settings import Settings, Source

SECTION = "planloom"
MAX_DEPTH = 8
"""How deep a settings object may nest; the real ones are two deep."""


class Configuration:
    """The values of every source, and the settings they come to."""

    def __init__(self, sources: Mapping[Source, Mapping[str, Any]]) -> None:
        self._sources: dict[Source, Mapping[str, Any]] = dict(sources)
        self._problems: list[str] = []
        self._said: set[str] = set()

    def put(self, source: Source, values: Any) -> None:
        """Take what a source says now, in the place of what it said before; anything but an object says nothing."""
        if values is None:
            values = {}
        if not isinstance(values, dict) or _depth(values) > MAX_DEPTH:
            self._problems.append(f"{SECTION}: the {source} settings are no object of settings")
            values = {}
        self._sources[source] = values

    def add(self, source: Source, values: Mapping[str, Any]) -> None:
        """Take more values of a source, on top of what it said before."""
        self.put(source, {**self._sources.get(source, {}), **flat(values)})

    def problem(self, sentence: str) -> None:
        """Take note of what a source could not say; it is told with the next problems."""
        self._problems.append(sentence)

    def holder(self, name: str) -> Source | None:
        """The source whose value of a setting holds, named as `model.baseUrl`."""
        from planloom.settings import given_by

        return given_by(self._sources, name)

    def resolve(self) -> tuple[Settings, tuple[str, ...]]:
        """The settings that hold, and sentences on what was not taken that have not been said before."""
        # The settings are typed by a library that the answer to `initialize` must not wait for.
        from planloom.settings import resolve

        settings, problems = resolve(self._sources)
        told = [*self._problems, *(f"{SECTION}.{problem.field}: {problem.reason}" for problem in problems)]
        news = tuple(dict.fromkeys(line for line in told if line not in self._said))
        self._problems.clear()
        self._said.update(news)
        return settings, news


def flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """The values by dotted name, so that a later one replaces exactly the one it means."""
    found: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, dict) and prefix.count(".") < MAX_DEPTH:
            found.update(flat(value, f"{prefix}{key}."))
        else:
            found[f"{prefix}{key}"] = value
    return found


def from_command_line(pairs: Sequence[str]) -> dict[str, Any]:
    """Values of `--setting name=value`; a value that is JSON is taken as such, any other as text."""
    found: dict[str, Any] = {}
    for pair in pairs:
        name, _, value = pair.partition("=")
        found[name.strip().removeprefix(f"{SECTION}.")] = _typed(value)
    return found


def from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    """Values of variables like PLANLOOM_MODEL_BASE_URL, for every setting there is."""
    from planloom.settings import Settings

    found: dict[str, Any] = {}
    for name in flat(Settings().model_dump(by_alias=True)):
        variable = "PLANLOOM_" + re.sub(r"(?<=[a-z])(?=[A-Z])|\.", "_", name).upper()
        if variable in environment:
            found[name] = _typed(environment[variable])
    return found


def from_user_file(path: Path) -> tuple[Any, str | None]:
    """The settings object in the user's configuration file, and why it could not be read."""
    try:
        return json.loads(path.read_bytes()), None
    except FileNotFoundError:
        return {}, None
    except (OSError, ValueError, RecursionError) as error:
        return {}, f"{SECTION}: the configuration file {path} cannot be read: {error}"


def user_file() -> Path:
    """Where the user's configuration file lies; PLANLOOM_CONFIG names another place."""
    named = os.environ.get("PLANLOOM_CONFIG")
    if named:
        return Path(named)
    from platformdirs import user_config_path

    return user_config_path(SECTION, appauthor=False) / "settings.json"


def pushed(settings: Any) -> Any:
    """Our part of what a client pushes with `didChangeConfiguration`; None if it pushes nothing of ours."""
    return settings.get(SECTION) if isinstance(settings, dict) else None


def _typed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _depth(value: Any) -> int:
    """How deep objects nest, counted without recursion."""
    depth, level = 0, [value]
    while level and depth <= MAX_DEPTH:
        level = [child for each in level if isinstance(each, dict) for child in each.values()]
        depth += 1
    return depth
