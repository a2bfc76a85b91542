"""Reads what a project's manifests say in a line: its name, scripts and dependencies, and how its tests are run."""

from __future__ import annotations

import configparser
import json
import re
import tomllib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from planloom.domain.patterns import pattern
from planloom.domain.values import Json
from planloom.intake.surroundings.runners import command_of
from planloom.tools.terminal_text import visible
from planloom.workspace.paths.names import listed

MOST_READ: Final = 100_000
"""The most characters of a manifest that are read."""
_LISTED: Final = 12
"""The most names of one list that are shown."""
_MOST_NAME: Final = 60
_REQUIREMENT: Final = pattern(r"\s*([A-Za-z0-9][\w.-]*)")
_GO_REQUIRE: Final = pattern(r"^\s*(?:require\s+)?([\w.-]+\.[\w.-]+/[^\s]+)\s+v\S+[ \t]*$", re.MULTILINE)
_TARGET: Final = pattern(r"^([A-Za-z0-9][\w.-]*)[\w ./%-]*:(?!=)", re.MULTILINE)
_RECIPE: Final = pattern(r"^@?([A-Za-z0-9][\w-]*)[^:\n]*:(?!=)", re.MULTILINE)
_PYTEST: Final = frozenset({"pytest"})


class Manifest(NamedTuple):
    """The statements of one manifest: a line of facts, and commands that run the tests when started in its folder."""

    facts: str
    tests: tuple[str, ...] = ()


class _Facts:
    """Collects the facts of a manifest, each once, as `label a, b, c`."""

    def __init__(self) -> None:
        self._parts: list[str] = []

    def add(self, label: str, values: object, most: int = _LISTED) -> None:
        """Add a name or a list of names; anything else, and what is empty, is left out."""
        names = [values] if isinstance(values, str) else list(_strings(values))
        shown = [visible(" ".join(name.split()))[:_MOST_NAME] for name in names if name.strip()]
        if shown:
            self._parts.append(f"{label} {listed(shown, most)}".strip())

    def __str__(self) -> str:
        return "; ".join(self._parts)


def read_manifest(name: str, text: str, beside: Collection[str]) -> Manifest | None:
    """The statements of a manifest of this file name; None if it is of no known kind, broken or says nothing.

    `beside` are the names of the files in the same folder, by which lock files tell the package manager.
    """
    reader = _READERS.get(name) or (_requirements if _is_requirements(name) else None)
    if reader is None:
        return None
    try:
        found = reader(text[:MOST_READ], beside)
    except (ValueError, configparser.Error, RecursionError):
        return None
    return found if found.facts or found.tests else None


def rank(name: str) -> int | None:
    """The place of a manifest's file name among all, the most telling first; None if it is not read."""
    if _is_requirements(name):
        return len(_READERS)
    return _RANKS.get(name)


def _is_requirements(name: str) -> bool:
    return "requirements" in name and name.endswith(".txt")


def _pyproject(text: str, beside: Collection[str]) -> Manifest:
    data = tomllib.loads(text)
    project, tool = _table(data, "project"), _table(data, "tool")
    poetry = _table(tool, "poetry")
    facts = _Facts()
    facts.add("", project.get("name") or poetry.get("name"))
    facts.add("Python", project.get("requires-python"))
    facts.add("scripts", project.get("scripts") or poetry.get("scripts"))
    needed = [*_packages(project.get("dependencies")), *_table(poetry, "dependencies")]
    facts.add("needs", [name for name in needed if name != "python"])
    groups: dict[str, object] = {
        **_table(project, "optional-dependencies"),
        **_table(data, "dependency-groups"),
        **{name: list(_table(each, "dependencies")) for name, each in _tables(_table(poetry, "group"))},
    }
    for name, group in list(groups.items())[:4]:
        facts.add(f"extra {name}:", _packages(group), 6)
    facts.add("tools", sorted(set(tool) - {"setuptools", "setuptools_scm", "poetry", "hatch", "flit", "pdm"}))
    tests: list[str] = []
    everything = {*needed, *(package for group in groups.values() for package in _packages(group))}
    if "pytest" in tool or _PYTEST & everything:
        tests.append(command_of("pytest", beside))
    if "tox" in tool:
        tests.append("tox")
    return Manifest(str(facts), tuple(tests))


def _setup_cfg(text: str, beside: Collection[str]) -> Manifest:
    sections = _ini(text)
    facts = _Facts()
    facts.add("", sections.get("metadata", "name", fallback=""))
    facts.add("needs", _packages(sections.get("options", "install_requires", fallback="").splitlines()))
    runs = "tool:pytest" in sections or "pytest" in text
    return Manifest(str(facts), (command_of("pytest", beside),) if runs else ())


def _tox(text: str, beside: Collection[str]) -> Manifest:
    sections = _ini(text)
    facts = _Facts()
    listed = sections.get("tox", "env_list", fallback=sections.get("tox", "envlist", fallback=""))
    facts.add("environments", [each.strip() for each in listed.splitlines() if each.strip()])
    runs_pytest = "pytest" in sections or re.search(r"\bpytest\b", text) is not None
    return Manifest(str(facts), (*((command_of("pytest", beside),) if runs_pytest else ()), "tox"))


def _requirements(text: str, beside: Collection[str]) -> Manifest:
    packages = list(_packages(line for line in text.splitlines() if not line.lstrip().startswith(("#", "-"))))
    facts = _Facts()
    facts.add("needs", packages)
    return Manifest(str(facts), (command_of("pytest", beside),) if _PYTEST & {*packages} else ())


def _package_json(text: str, beside: Collection[str]) -> Manifest:
    data = _object(text)
    facts = _Facts()
    facts.add("", data.get("name"))
    scripts = _table(data, "scripts")
    facts.add("scripts", scripts)
    facts.add("needs", _table(data, "dependencies"))
    facts.add("for development", _table(data, "devDependencies"))
    test = scripts.get("test")
    # What `npm init` writes where there are no tests.
    has_tests = isinstance(test, str) and "no test specified" not in test
    return Manifest(str(facts), (command_of("package.json", beside),) if has_tests else ())


def _composer_json(text: str, _: Collection[str]) -> Manifest:
    data = _object(text)
    facts = _Facts()
    facts.add("", data.get("name"))
    facts.add("scripts", _table(data, "scripts"))
    facts.add("needs", _table(data, "require"))
    return Manifest(str(facts), ("composer test",) if "test" in _table(data, "scripts") else ())


def _cargo(text: str, beside: Collection[str]) -> Manifest:
    data = tomllib.loads(text)
    facts = _Facts()
    facts.add("", _table(data, "package").get("name"))
    facts.add("edition", _table(data, "package").get("edition"))
    facts.add("members", _table(data, "workspace").get("members"))
    facts.add("needs", _table(data, "dependencies"))
    return Manifest(str(facts), (command_of("Cargo.toml", beside),))


def _go_mod(text: str, beside: Collection[str]) -> Manifest:
    facts = _Facts()
    for word in ("module", "go"):
        found = re.search(rf"^{word}\s+(\S+)", text, re.MULTILINE)
        facts.add("" if word == "module" else "Go", found[1] if found else None)
    facts.add("needs", _GO_REQUIRE.findall(text))
    return Manifest(str(facts), (command_of("go.mod", beside),))


def _makefile(text: str, _: Collection[str]) -> Manifest:
    return _targets("make", _TARGET.findall(text))


def _justfile(text: str, _: Collection[str]) -> Manifest:
    return _targets("just", _RECIPE.findall(text))


def _targets(program: str, found: Iterable[str]) -> Manifest:
    targets = list(dict.fromkeys(found))
    facts = _Facts()
    facts.add("targets", targets, 20)
    test = next((each for each in ("test", "tests", "check") if each in targets), None)
    return Manifest(str(facts), (f"{program} {test}",) if test else ())


_READERS: Final[Mapping[str, Callable[[str, Collection[str]], Manifest]]] = {
    "pyproject.toml": _pyproject,
    "setup.cfg": _setup_cfg,
    "tox.ini": _tox,
    "package.json": _package_json,
    "composer.json": _composer_json,
    "Cargo.toml": _cargo,
    "go.mod": _go_mod,
    "Makefile": _makefile,
    "GNUmakefile": _makefile,
    "justfile": _justfile,
}
_RANKS: Final = {name: place for place, name in enumerate(_READERS)}


def _ini(text: str) -> configparser.ConfigParser:
    sections = configparser.ConfigParser(interpolation=None, strict=False)
    sections.read_string(text)
    return sections


def _object(text: str) -> Mapping[str, Json]:
    data = json.loads(text)
    return data if isinstance(data, dict) else {}


def _table(data: Mapping[str, object], key: str) -> Mapping[str, object]:
    found = data.get(key)
    return found if isinstance(found, dict) else {}


def _tables(data: Mapping[str, object]) -> Iterator[tuple[str, Mapping[str, object]]]:
    return ((key, value) for key, value in data.items() if isinstance(value, dict))


def _strings(values: object) -> Iterator[str]:
    if isinstance(values, Iterable):
        yield from (value for value in values if isinstance(value, str))


def _packages(requirements: object) -> Iterator[str]:
    """The names of packages in requirements such as `pytest>=9; python_version < "4"`."""
    if isinstance(requirements, str):
        return
    for each in _strings(requirements):
        found = _REQUIREMENT.match(each)
        if found:
            yield found[1]
