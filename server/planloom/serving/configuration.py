"""Collects the settings of every source, resolves them, and reports each problem with them once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from planloom.settings import Settings, Source, beyond_a_folder, dotted, resolve, source_of
from planloom.user_settings import (
    MAX_DEPTH,
    flat,
    from_command_line,
    from_environment,
    from_user_file,
    user_file,
)

SECTION = "planloom"


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
        found.problem(f"{SECTION}: {problem}")
    return found


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
