"""Tools of the user's MCP servers as tools of ours: the port to the servers, and how models are shown their tools.

Few tools are shown with their schemas; where they are more than `LISTED_BYTES`, models find them by words.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, ClassVar, Final, Literal, NamedTuple, Protocol

from pydantic import BaseModel, ConfigDict, Field, model_validator

from planloom.domain.model_text.fences import fenced
from planloom.domain.values import Args, Json
from planloom.models.port import Image, ToolCall
from planloom.tools.catalog import Arguments
from planloom.tools.context import ToolContext
from planloom.tools.terminal_text import plain
from planloom.tools.tool import Asks, Tool, ToolResult, failed, succeeded

LISTED_BYTES: Final = 8_000
"""The most bytes of the tools of all servers, with their schemas, that every request to a model lists."""
MOST_RESULT: Final = 20_000
"""The most characters of a result that a model gets."""
SEPARATOR: Final = "__"
"""Stands between the name of a server and that of its tool."""
FIND: Final = "find_tool"
USE: Final = "use_tool"
_MOST_FOUND: Final = 8
_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "string": (str,),
    "boolean": (bool,),
    "integer": (int, float),
    "number": (int, float),
    "array": (list,),
    "object": (dict,),
}


class NotThere(Exception):
    """A server cannot answer: the message says why, as a sentence for people and models."""


class RemoteTool(NamedTuple):
    """A tool of a server. `name` is ours, `own_name` that of the server; `parameters` is a JSON schema, as text.

    `reads`: the user believes this server that the tool changes nothing.
    """

    server: str
    own_name: str
    name: str
    description: str
    parameters: str
    reads: bool = False

    @property
    def size(self) -> int:
        """How many bytes it takes in a request."""
        return len(f"{self.name}{self.description}{self.parameters}".encode())


class RemoteResult(NamedTuple):
    """What a server said of a call. `asks` is its first question to the user that has no answer: it was declined."""

    ok: bool
    text: str
    asks: Asks | None = None
    images: tuple[Image, ...] = ()


class RemoteReport(NamedTuple):
    """A server for people: what is started or reached, how it is, and why; with the number of its tools if it runs."""

    name: str
    program: str
    state: Literal["ready to start", "starting", "running", "given up", "wrong"]
    why: str = ""
    tools: int = 0


class RemoteResource(NamedTuple):
    """Something that a server offers to be attached."""

    server: str
    uri: str
    title: str = ""


class RemotePrompt(NamedTuple):
    """A text that a server writes for whoever asks by its `name`. Of `arguments`, those in `required` must be given."""

    server: str
    name: str
    description: str
    arguments: tuple[tuple[str, str], ...] = ()
    required: frozenset[str] = frozenset()


Answer = Callable[[str], str | None]
"""The answer that the user has given to a question of a server; None if they were not asked it."""


class ExternalTools(Protocol):
    """The user's MCP servers. Whatever they send is bounded in size and time before it comes out here."""

    def tools(self) -> tuple[RemoteTool, ...]:
        """The tools that are known now. Starts nothing."""
        ...

    def names(self) -> tuple[str, ...]:
        """The names of the servers that the user has set up. Starts nothing."""
        ...

    async def ready(self) -> tuple[str, ...]:
        """Start the servers, and read which tools they have now. Returns what a person should know of it, once."""
        ...

    async def call(
        self, tool: RemoteTool, arguments: Args, progress: Callable[[str], None], answer: Answer
    ) -> RemoteResult:
        """Call a tool. Raises NotThere."""
        ...

    async def resources(self, server: str) -> tuple[RemoteResource, ...]:
        """What a server offers to be attached. Raises NotThere."""
        ...

    async def read(self, server: str, uri: str) -> str:
        """The text of what a server offers. Raises NotThere."""
        ...

    async def prompts(self) -> tuple[RemotePrompt, ...]:
        """What the servers offer to be asked for. A server that fails offers nothing."""
        ...

    async def prompt(self, server: str, name: str, values: Mapping[str, str]) -> str:
        """The text of a prompt with these arguments. Raises NotThere."""
        ...

    def is_confined(self, server: str) -> bool:
        """Whether a server is a process of ours that is confined."""
        ...

    def reports(self) -> tuple[RemoteReport, ...]:
        """The servers, and how each is."""
        ...

    async def close(self) -> None:
        """End whatever was started."""
        ...


class ExternalCaller(Protocol):
    """Calls tools that are not ours for whoever works: asks first where that is needed."""

    async def call(self, tool: RemoteTool, arguments: Args) -> RemoteResult:
        """Call a tool. Raises NotThere, and what the denial of a call raises."""
        ...

    async def permit(self, tool: str, package: str, arguments: Args) -> None:
        """Get the call of a package's tool approved. Raises the same."""
        ...


class _RemoteArguments(BaseModel):
    """Arguments of a server's tool. Only what the schema says of the outermost names is checked here: the server
    checks the rest, and a schema from outside must not cost more than that."""

    model_config = ConfigDict(extra="allow")
    remote_schema: ClassVar[dict[str, Any]]

    @model_validator(mode="before")
    @classmethod
    def _fits(cls, given: Args) -> Args:
        if problems := "; ".join(_misfits(cls.remote_schema, given)):
            raise ValueError(problems)
        return given

    @classmethod
    def model_json_schema(cls, *_: Any, **__: Any) -> dict[str, Any]:
        """The schema as the server has given it, cleaned."""
        return cls.remote_schema


def _misfits(schema: dict[str, Any], given: Args) -> Iterator[str]:
    properties = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in given:
            yield f"`{name}` is missing"
    for name, value in given.items():
        stated = properties.get(name)
        if stated is None and schema.get("additionalProperties") is False:
            yield f"there is no argument `{name}`"
        kind = stated.get("type") if isinstance(stated, dict) else None
        wanted = _TYPES.get(kind) if isinstance(kind, str) else None
        if wanted and (not isinstance(value, wanted) or (isinstance(value, bool) and kind != "boolean")):
            yield f"`{name}` must be of type {kind}"


@lru_cache(512)
def tool_of(remote: RemoteTool, *, listed: bool = True) -> Tool:
    """A server's tool as one of ours. What it does is not known, so it counts as a command does, unless it reads."""

    async def run(arguments: Any, context: ToolContext) -> ToolResult:
        return await _call(remote, arguments.model_extra or {}, context)

    arguments = type(
        "RemoteArguments",
        (_RemoteArguments,),
        {"remote_schema": json.loads(remote.parameters), "__module__": __name__},
    )
    return Tool(
        name=remote.name,
        description=remote.description,
        arguments=arguments,
        effect="read" if remote.reads else "execute",
        run=run,
        listed=listed,
        server=remote.server,
    )


async def _call(remote: RemoteTool, arguments: Args, context: ToolContext) -> ToolResult:
    if context.external is None:
        return failed("Tools of servers cannot be called here.")
    try:
        found = await context.external.call(remote, arguments)
    except NotThere as why:
        return failed(str(why))
    shown = plain(found.text)
    rest = len(shown) - MOST_RESULT
    facts = f", the first {MOST_RESULT} of {len(shown)} characters" if rest > 0 else ""
    body = fenced(shown[:MOST_RESULT]) if shown.strip() else "(no text)"
    text = f"DATA from the server {remote.server}{facts}\n{body}"
    if found.asks is not None:
        text += (
            f"\nThe server asked the user this, and has no answer yet:\n{fenced(found.asks.question)}\n"
            "When the user has answered, call it again: it then gets the answer."
        )
    first = next((line for line in shown.splitlines() if line.strip()), "no text").strip()
    result = succeeded(f"{remote.name}: {first}", text, shown[:MOST_RESULT])
    if not found.ok:
        result = failed(f"{remote.name} failed: {first}")._replace(text=f"{remote.name} failed.\n{text}")
    # It ran to its end, so that it is not repeated after a crash without a question.
    return result._replace(ended=not remote.reads, asks=found.asks, images=found.images)


@lru_cache(8)
def offered(remotes: tuple[RemoteTool, ...]) -> tuple[Tool, ...]:
    """The tools of all servers; with those that do not fit into the bytes come two by which they are found and called.

    A server's tools are listed all or none, in the order of the servers.
    """
    by_server: dict[str, list[RemoteTool]] = {}
    for each in remotes:
        by_server.setdefault(each.server, []).append(each)
    left, tools, is_whole = LISTED_BYTES, list[Tool](), True
    for own in by_server.values():
        size = sum(each.size for each in own)
        if listed := size <= left:
            left -= size
        is_whole = is_whole and listed
        tools += (tool_of(each, listed=listed) for each in own)
    return tuple(tools) if is_whole else (*tools, *_finders(remotes))


class FindTool(Arguments):
    """Arguments of `find_tool`."""

    words: str = Field(
        min_length=1, max_length=300, description="What the tool should do, or a part of its name."
    )


class UseTool(Arguments):
    """Arguments of `use_tool`."""

    tool: str = Field(max_length=100, description="Its name, as found.")
    arguments: dict[str, Any] = Field(default_factory=dict)


def _finders(remotes: tuple[RemoteTool, ...]) -> Iterator[Tool]:
    async def find(arguments: FindTool, _: ToolContext) -> ToolResult:
        found = _matching(remotes, arguments.words)
        if not found:
            return failed(
                f"No tool of a server matches. There are: {', '.join(each.name for each in remotes)}"[:4_000]
            )
        entries = [
            f"{each.name}: {each.description}\narguments: {each.parameters}" for each in found[:_MOST_FOUND]
        ]
        more = f" Of {len(found)} these are the first." if len(found) > _MOST_FOUND else ""
        text = (
            f"DATA what servers say of their tools.{more} Call one by {USE}.\n{fenced(chr(10).join(entries))}"
        )
        return succeeded(f"Found {len(found)} tools", text, [each.name for each in found])

    async def use(arguments: UseTool, _: ToolContext) -> ToolResult:
        return failed(f"There is no tool {arguments.tool!r}. Find one by {FIND}.")

    servers = ", ".join(dict.fromkeys(each.server for each in remotes))
    yield Tool(
        name=FIND,
        description=f"Find a tool of the servers {servers}, which are not listed here.",
        arguments=FindTool,
        effect="read",
        run=find,
        result='["server__tool"]',
    )
    yield Tool(
        name=USE,
        description=f"Call a tool that {FIND} has found.",
        arguments=UseTool,
        effect="read",
        run=use,
    )


def _matching(remotes: Iterable[RemoteTool], words: str) -> list[RemoteTool]:
    """The tools in which most of the words occur, those in names first."""
    wanted = [word for word in words.casefold().replace("_", " ").split() if len(word) > 1]

    def points(each: RemoteTool) -> int:
        name, text = each.name.casefold(), each.description.casefold()
        return sum(3 * (word in name) + (word in text) for word in wanted)

    return [each for each in sorted(remotes, key=points, reverse=True) if points(each)]


def unwrapped(call: ToolCall) -> ToolCall:
    """The call that a call of `use_tool` means; any other call as it is."""
    target, arguments = call.arguments.get("tool"), call.arguments.get("arguments", {})
    if call.name != USE or not isinstance(target, str) or SEPARATOR not in target:
        return call
    inner: dict[str, Json] = arguments if isinstance(arguments, dict) else {}
    return call.model_copy(update={"name": target, "arguments": inner})
