"""The registry of tools, from which plans, validation, prompts and schemas are derived."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Final, cast

from pydantic import BaseModel, ValidationError

from planloom.domain.plans.validation import ArgumentProblem, ToolRules
from planloom.domain.safety.approvals import Effect
from planloom.domain.values import Args, Json
from planloom.models.port import ToolSpec
from planloom.tools.catalog import ALL
from planloom.tools.tool import Need, Tool, ToolResult, failed

if TYPE_CHECKING:
    from planloom.tools.context import ToolContext

READ_ONLY: frozenset[Effect] = frozenset({"read"})
_BOUNDS: Final = frozenset({"minLength", "maxLength", "minimum", "maximum", "exclusiveMinimum"})
"""Schema keywords for limits that a sensible call never reaches."""


class Registry:
    """Tools by name, in the order in which they are shown to a model.

    A model is not shown those that need what is `lacking`; a call of one is taken and checked all the same. `tools` are
    read when one is first asked for. There are `more` at a time, those of servers, of which some are `kept`.
    """

    def __init__(
        self,
        tools: Iterable[Tool],
        lacking: Collection[Need] = (),
        more: Callable[[], tuple[Tool, ...]] = tuple,
        kept: Callable[[Tool], bool] = lambda _: True,
    ) -> None:
        self._given = tools
        self._lacking = lacking
        self._more = more
        self._kept = kept

    @cached_property
    def _own(self) -> Mapping[str, Tool]:
        return {tool.name: tool for tool in self._given}

    @property
    def _tools(self) -> Mapping[str, Tool]:
        if not (more := self._more()):
            return self._own
        return {
            **self._own,
            **{tool.name: tool for tool in more if tool.name not in self._own and self._kept(tool)},
        }

    def __iter__(self) -> Iterator[Tool]:
        yield from self._tools.values()

    def get(self, name: str) -> Tool | None:
        """The tool with this exact name."""
        return self._tools.get(name)

    def names(self) -> tuple[str, ...]:
        """All names."""
        return tuple(self._tools)

    def only(self, effects: Collection[Effect]) -> Registry:
        """The tools with one of these effects. Those that follow commands come with those that run them."""
        return self._where(lambda tool: ("execute" if tool.is_of_commands else tool.effect) in effects)

    def before_commands(self) -> Registry:
        """The tools that a step of a plan can be: those that follow a background command need its id."""
        return self._where(lambda tool: not tool.follows_commands)

    def where(self, lacking: Collection[Need]) -> Registry:
        """The same tools for a place that lacks this: models are shown those that can work there."""
        return Registry(self._those(lambda _: True), lacking, self._more, self._kept)

    def with_more(self, more: tuple[Tool, ...]) -> Registry:
        """The same tools, with just these of servers, of which none comes or goes any more."""
        return Registry(self._those(lambda _: True), self._lacking, lambda: more, self._kept)

    def _where(self, keep: Callable[[Tool], bool]) -> Registry:
        def kept(tool: Tool) -> bool:
            return self._kept(tool) and keep(tool)

        return Registry(self._those(keep), self._lacking, self._more, kept)

    def _those(self, keep: Callable[[Tool], bool]) -> Iterator[Tool]:
        yield from filter(keep, self._own.values())

    def shown(self) -> tuple[Tool, ...]:
        """The tools that models are shown."""
        return tuple(tool for tool in self if tool.listed and tool.needs not in self._lacking)

    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools that models are shown, in the form that they get."""
        return tuple(_spec(tool.name, tool.description, tool.arguments) for tool in self.shown())

    def rules(self) -> Mapping[str, ToolRules]:
        """The tools' rules for plan validation."""
        return {tool.name: _rules(tool) for tool in self}


def builtin(more: Callable[[], tuple[Tool, ...]] = tuple, of_packages: tuple[Tool, ...] = ()) -> Registry:
    """The built-in tools, those of packages, and those that there are `more` at a time."""
    return Registry(_declared(of_packages), more=more)


def _declared(of_packages: tuple[Tool, ...]) -> Iterator[Tool]:
    yield from ALL
    yield from of_packages


@cache
def _spec(name: str, description: str, arguments: type[BaseModel]) -> ToolSpec:
    """Cached per tool: pydantic would take milliseconds in every turn to validate the schema."""
    return ToolSpec(name=name, description=description, parameters=_sent(schema(arguments)))


def _sent(parameters: dict[str, Json]) -> dict[str, Json]:
    """The schema as models get it in every request: without the bounds and defaults that tell a model nothing.

    That is true of the most results, too: a result says itself that there are more.

    Arguments are validated against the whole model in any case.
    """
    properties = parameters["properties"]
    assert isinstance(properties, dict)
    kept = {key: each for key, each in parameters.items() if key != "additionalProperties"}
    return kept | {
        "properties": {
            name: {key: each for key, each in argument.items() if not _says_nothing(key, each)}
            for name, argument in properties.items()
            if isinstance(argument, dict)
        }
    }


def _says_nothing(key: str, value: Json) -> bool:
    return key in _BOUNDS or (key == "default" and (isinstance(value, int) or value == ""))


@cache
def schema(arguments: type[BaseModel]) -> dict[str, Json]:
    """The JSON schema of a tool's arguments, without what would only cost tokens: titles, and the model's docstring.

    Cached, since every turn needs it; callers must not change it.
    """
    found = _plain(arguments.model_json_schema())
    found.pop("description", None)
    return cast("dict[str, Json]", found)


def _plain(node: Any) -> Any:
    if isinstance(node, dict):
        if "anyOf" in node and len(node["anyOf"]) == 2 and {"type": "null"} in node["anyOf"]:
            (only,) = (each for each in node["anyOf"] if each != {"type": "null"})
            node = {**only, **{key: value for key, value in node.items() if key != "anyOf"}}
        dropped = ("title", "default") if node.get("default", 0) is None else ("title",)
        return {
            key: {name: _plain(each) for name, each in value.items()}
            if key == "properties"
            else _plain(value)
            for key, value in node.items()
            if key not in dropped or not isinstance(value, str | None)
        }
    if isinstance(node, list):
        return [_plain(each) for each in node]
    return node


def _rules(tool: Tool) -> ToolRules:
    def check(args: Args) -> tuple[ArgumentProblem, ...]:
        return argument_problems(tool, args)

    return ToolRules(
        effect=tool.effect,
        check=check,
        paths=tool.paths,
        writes=tool.writes,
        removes=tool.removes,
        replaces=tool.replaces,
        texts=tool.texts,
        result=json.loads(tool.result),
        of_server=tool.server is not None or tool.package is not None,
    )


def argument_problems(tool: Tool, args: Args) -> tuple[ArgumentProblem, ...]:
    """The problems of a call's arguments, as pairs of the argument's name and a phrase that names it."""
    try:
        tool.arguments.model_validate(args)
    except ValidationError as error:
        return tuple(
            (name, _problem_text(name, each["type"], each["msg"]))
            for each in error.errors(include_url=False, include_context=False, include_input=False)
            for name in [str(each["loc"][0]) if each["loc"] else ""]
        )
    return ()


def problems_text(tool: Tool, problems: Iterable[ArgumentProblem]) -> str:
    """The problems in one line; one that concerns no single argument stands after the name of the tool."""
    return "; ".join(problem if argument else f"{tool.name}: {problem}" for argument, problem in problems)


def callable_tool(tools: Registry, name: str, args: Args) -> Tool | ToolResult:
    """The tool for a call, or a failure for the model if the tool is unknown or the arguments are invalid."""
    tool = tools.get(name)
    if tool is None:
        shown = ", ".join(each.name for each in tools.shown())
        return failed(f"There is no tool {name!r}. The tools are: {shown}.")
    problems = argument_problems(tool, args)
    if problems:
        wrong = problems_text(tool, problems)
        return failed(f"The arguments are wrong ({wrong}). Correct them and call {name} again.")
    return tool


async def run_tool(tool: Tool, args: Args, context: ToolContext, seconds: float | None) -> ToolResult:
    """Run a tool with valid arguments; None is no time limit.

    A call that takes longer than `seconds`, or that the system refuses, gives a failed result.
    """
    limit = asyncio.timeout(seconds)
    try:
        async with limit:
            if tool.paths and not tool.limits_own_time:
                await context.look_ahead(tuple(dict.fromkeys(tool.named(args).values())))
            return await tool.run(tool.arguments.model_validate(args), context)
    except OSError as error:
        # The limit raises TimeoutError, which is an OSError; so may the tool, as ETIMEDOUT.
        if isinstance(error, TimeoutError) and limit.expired():
            return failed(f"{tool.name} took longer than {seconds:g} seconds and was stopped.")
        return not_carried_out(tool, error)
    finally:
        context.forget_ahead()


def not_carried_out(tool: Tool, error: OSError) -> ToolResult:
    """The failed result of a call that the system refused."""
    return failed(f"{tool.name} could not be carried out: {error.strerror or error}.")


def _problem_text(name: str, kind: str, message: str) -> str:
    if kind == "missing":
        return f"`{name}` is missing"
    if kind == "extra_forbidden":
        return f"there is no argument `{name}`"
    # The library's words for a problem that a tool's own rule has found.
    message = message.removeprefix("Value error, ")
    phrase = message[:1].lower() + message[1:]
    return f"`{name}`: {phrase}" if name else phrase
