"""Tools of packages that the user has enabled, as tools of ours: judged when they are loaded, asked before they run."""

from __future__ import annotations

import json
import re
from typing import Any, Final

from planloom.domain.safety.approvals import Effect
from planloom.tools.catalog import ALL, Arguments
from planloom.tools.context import ToolContext
from planloom.tools.external_tools import FIND, SEPARATOR, USE, NotThere
from planloom.tools.tool import Tool, ToolResult, failed

EFFECTS: Final[tuple[Effect, ...]] = ("read", "write", "destroy", "execute")
"""What a package's tool may declare. One that sends something declares `execute`: pages are fetched by ours alone."""
_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,63}")
_OURS: Final = frozenset({*(tool.name for tool in ALL), FIND, USE})
_MOST_DESCRIPTION: Final = 1_000


class ToolRefused(Exception):
    """What a package calls a tool cannot be one: the message says why."""


def of_package(given: object, package: str) -> Tool:
    """A package's tool as one of ours. Raises ToolRefused.

    What it raises fails its call alone. One with the effect `execute` is asked with its arguments before it runs.
    """
    if not isinstance(given, Tool):
        raise ToolRefused(f"{given!r} is no Tool")
    if not isinstance(given.name, str) or not _NAME.fullmatch(given.name) or SEPARATOR in given.name:
        raise ToolRefused(
            f"{given.name!r} is no name of a tool: it has lower case letters, digits and single _"
        )
    if given.name in _OURS:
        raise ToolRefused(f"{given.name} is the name of a tool of Planloom")
    if given.effect not in EFFECTS:
        raise ToolRefused(
            f"{given.name} has the effect {given.effect!r}, which is none of {', '.join(EFFECTS)}"
        )
    if not (isinstance(given.arguments, type) and issubclass(given.arguments, Arguments)):
        raise ToolRefused(f"the arguments of {given.name} are no class made of planloom.extending.Arguments")
    named = {*given.paths, *given.writes, *given.removes, *given.replaces}
    if unknown := sorted(named - given.arguments.model_fields.keys()):
        raise ToolRefused(f"{given.name} has no argument {unknown[0]!r}")
    if not given.description.strip() or len(given.description) > _MOST_DESCRIPTION:
        raise ToolRefused(f"{given.name} needs a description of at most {_MOST_DESCRIPTION} characters")
    try:
        json.loads(given.result)
    except ValueError as error:
        raise ToolRefused(f"the result of {given.name} is no example in JSON") from error

    async def run(arguments: Any, context: ToolContext) -> ToolResult:
        return await _run(given, package, arguments, context)

    # What else a tool can be is for those that Planloom knows.
    return given._replace(
        run=run, package=package, server=None, listed=True, follows_commands=False, needs=None
    )


async def _run(tool: Tool, package: str, arguments: Any, context: ToolContext) -> ToolResult:
    asks = tool.effect == "execute"
    if asks:
        if context.external is None:
            return failed(f"{tool.name} cannot be called here.")
        try:
            await context.external.permit(tool.name, package, arguments.model_dump(mode="json"))
        except NotThere as why:
            return failed(str(why))
    try:
        result: object = await tool.run(arguments, context)
    except Exception as error:
        # A denial, or another failure that Planloom itself raises, is for whoever has called.
        if type(error).__module__.startswith("planloom.") or isinstance(error, OSError):
            raise
        return failed(f"{tool.name} of the package {package} has failed: {type(error).__name__}: {error}")
    if not isinstance(result, ToolResult):
        return failed(f"{tool.name} of the package {package} has given no result of a tool.")
    # It ran to its end, so that it is not repeated after a crash without a question.
    return result._replace(ended=True) if asks else result
