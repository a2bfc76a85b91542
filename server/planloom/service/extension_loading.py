"""Loads the packages that the user has enabled, by their entry points; imported only where any is enabled.

A package is used whole or not at all. Whatever is wrong with it is in its report, and stops nothing else.
"""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from importlib import metadata
from typing import Any, Final

from planloom.models.http.adapter import ProviderAdapter
from planloom.models.providers.servers import load_adapter
from planloom.providers import Provider
from planloom.service.extensions import ExtensionReport, Extensions
from planloom.tools.package_tools import ToolRefused, of_package
from planloom.tools.tool import Tool

TOOLS: Final = "planloom.tools"
PROVIDERS: Final = "planloom.providers"
PLANNERS: Final = "planloom.planners"
_PART: Final = re.compile(r"[a-z][a-z0-9_-]*")
log = logging.getLogger(__name__)


def load(enabled: Sequence[str]) -> Extensions:
    """Import what these packages bring. Never raises for what is wrong with one of them."""
    loaded = Extensions()
    for name in dict.fromkeys(map(_normal, enabled)):
        try:
            found = _brought(name, loaded)
        # A package may end the interpreter while it is imported, as a script does.
        except (Exception, SystemExit) as error:
            log.warning("The package %s is not used", name, exc_info=error)
            found = Extensions(reports=(ExtensionReport(name, "failed", why=_why(error)),))
        loaded = Extensions(
            (*loaded.tools, *found.tools),
            (*loaded.providers, *found.providers),
            {**loaded.planners, **found.planners},
            (*loaded.reports, *found.reports),
        )
    return loaded


def _brought(package: str, before: Extensions) -> Extensions:
    """What one package brings. Raises whatever it raises, and ToolRefused."""
    distribution = metadata.distribution(package)
    tools: list[Tool] = []
    providers: list[Provider] = []
    planners: dict[str, Any] = {}
    taken = {tool.name for tool in before.tools}
    for entry in _entries(distribution):
        value = entry.load()
        name = f"{package}:{entry.name}"
        if entry.group == TOOLS:
            tools += (of_package(each, package) for each in _listed(value))
        elif not _PART.fullmatch(entry.name):
            raise ToolRefused(f"{entry.name!r} is no name of a provider or planner")
        elif entry.group == PROVIDERS:
            providers.append(_provider(value, name, package))
        elif callable(value):
            planners[name] = value
        else:
            raise ToolRefused(f"the planner {name} cannot be called")
    for tool in tools:
        if tool.name in taken:
            raise ToolRefused(f"there is a tool {tool.name} already")
        taken.add(tool.name)
    brings = (
        *(f"tool {tool.name}" for tool in tools),
        *(f"provider {row.name}" for row in providers),
        *(f"planner {name}" for name in planners),
    )
    if not brings:
        raise ToolRefused("it has no tools, providers or planners for Planloom")
    report = ExtensionReport(package, "loaded", distribution.version, brings)
    return Extensions(tuple(tools), tuple(providers), planners, (report,))


def _entries(distribution: metadata.Distribution) -> Iterator[metadata.EntryPoint]:
    for group in (TOOLS, PROVIDERS, PLANNERS):
        yield from sorted(distribution.entry_points.select(group=group), key=lambda entry: entry.name)


def _listed(value: object) -> Iterable[object]:
    """The tools of an entry point: one, or several. A tool itself is a tuple, too."""
    return value if isinstance(value, tuple | list) and not isinstance(value, Tool) else (value,)


def _provider(value: object, name: str, package: str) -> Provider:
    if not isinstance(value, Provider):
        raise ToolRefused(f"{value!r} is no Provider")
    row = value._replace(name=name, package=package, form_of="")
    if not isinstance(load_adapter(row), ProviderAdapter):
        raise ToolRefused(f"{row.adapter} is no ProviderAdapter")
    return row


def _why(error: BaseException) -> str:
    """Why a package is not used, in a sentence without its end."""
    if isinstance(error, metadata.PackageNotFoundError):
        return f"it is not installed for {sys.executable}"
    if isinstance(error, ToolRefused):
        return str(error)
    return f"it cannot be loaded: {type(error).__name__}: {error}"


def _normal(name: str) -> str:
    """The name as package indexes write it."""
    return re.sub(r"[-_.]+", "-", name).lower()
