"""What the packages that the user has enabled bring: tools, model providers and planners."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple

from planloom.planning.package_planner import MakePlanner
from planloom.providers import Provider
from planloom.tools.tool import Tool


class ExtensionReport(NamedTuple):
    """An enabled package for people: its version, what it brings, or why it is not used."""

    name: str
    state: Literal["loaded", "failed"]
    version: str = ""
    brings: tuple[str, ...] = ()
    why: str = ""


class Extensions(NamedTuple):
    """All that is used of packages, and how each package is."""

    tools: tuple[Tool, ...] = ()
    providers: tuple[Provider, ...] = ()
    planners: Mapping[str, MakePlanner] = MappingProxyType({})
    reports: tuple[ExtensionReport, ...] = ()


NO_EXTENSIONS = Extensions()
