"""A tool: a name, a description for models, an argument model, an effect and an async function."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from pydantic import BaseModel

from planloom.domain.plans.commands import CommandOutcome
from planloom.domain.safety.approvals import Effect
from planloom.domain.values import Args, CallId, Json
from planloom.models.port import Image

if TYPE_CHECKING:
    from planloom.workspace.paths.resolver import Purpose

Need = Literal["repository", "diagnostics", "commands", "language"]
"""A need that not every workspace or editor meets: a git repository around a folder, reports of errors and warnings,
a disk on which commands can run, and somebody who knows the symbols of its code."""
NO_OUTPUT = "(no output)"
"""Stands in the text of a result for the output of a command that printed nothing."""
SUMMARY_LIMIT = 500
"""Most characters of a summary."""


SEVERAL_MATCHES: Final = "several_matches"
"""The code of an edit that nothing came of, since its old text stands in several places: all can be replaced."""


class Asks(NamedTuple):
    """A question to the user, with the answers to choose from, if it has some."""

    question: str
    options: tuple[str, ...] = ()


class ToolResult(NamedTuple):
    """The result of a call: a summary for people, a text for the model, a value for later steps.

    For a failed call `ok` is False and `text` tells the model what to do instead. `ended`: a command ran to its
    end, with any exit code, and `outcome` says how; `in_background`: it runs on. `refused`: a person or the policy did
    not allow the call. `code` names a failure that has a way out of its own.
    `call_id` is the recorded call's, by which the plan tells what became of its changes; None if it is not recorded.
    `asks` is what the user has to answer before it can be called again; `images` are for models that take them.
    """

    ok: bool
    summary: str
    text: str
    value: Json = None
    ended: bool = False
    in_background: bool = False
    outcome: CommandOutcome | None = None
    refused: bool = False
    call_id: CallId | None = None
    code: str | None = None
    asks: Asks | None = None
    images: tuple[Image, ...] = ()


def succeeded(summary: str, text: str | None = None, value: Json = None) -> ToolResult:
    """The result of a successful call; `text` defaults to the summary."""
    return ToolResult(
        ok=True, summary=shortened(summary), text=summary if text is None else text, value=value
    )


def failed(sentence: str) -> ToolResult:
    """The result of a failed call; the sentence tells the model what to do instead."""
    return ToolResult(ok=False, summary=shortened(sentence), text=sentence)


def refused(sentence: str) -> ToolResult:
    """The result of a call that was not allowed; the sentence says why."""
    return failed(sentence)._replace(refused=True)


def shortened(text: str, limit: int = SUMMARY_LIMIT) -> str:
    """The text, cut at a word and marked with an ellipsis if it is longer than `limit` characters."""
    if len(text) <= limit:
        return text
    cut = text[: limit - 1]
    head, space, _ = cut.rpartition(" ")
    return (head if space else cut).rstrip() + "…"


class Later:
    """The function of a tool, by its module below `planloom.tools` and its name; it is imported at the first call."""

    def __init__(self, module: str, name: str) -> None:
        self.module = module
        self.name = name

    def load(self) -> Callable[[Any, Any], Awaitable[ToolResult]]:
        """Import it."""
        found: Callable[[Any, Any], Awaitable[ToolResult]] = getattr(
            import_module(f"planloom.tools.{self.module}"), self.name
        )
        return found

    async def __call__(self, arguments: Any, context: Any) -> ToolResult:
        """Call it."""
        return await self.load()(arguments, context)


class Tool(NamedTuple):
    """A tool that a step or a model can call. `run` takes the parsed `arguments` model and the context.

    `paths` names the arguments that are workspace paths; of these, `writes` are those that the call changes,
    `removes` those that it deletes or moves away, `replaces` those whose whole content it sets. `wide`: what it reads
    or changes are not only the files that its arguments name. `follows_commands`: it reads or stops a command that was
    allowed before. `needs` is that without which every call fails. `result` is an
    example, in JSON, of the value that later steps can use, with every field, and one item of a list. One that is not
    `listed` is not shown to models, who find it by words; `server` is the MCP server whose tool it is, `package` the
    package of the user's environment.
    """

    name: str
    description: str
    arguments: type[BaseModel]
    effect: Effect
    run: Callable[[Any, Any], Awaitable[ToolResult]]
    paths: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    removes: tuple[str, ...] = ()
    replaces: tuple[str, ...] = ()
    wide: bool = False
    follows_commands: bool = False
    needs: Need | None = None
    result: str = '""'
    listed: bool = True
    server: str | None = None
    package: str | None = None

    def named(self, args: Args) -> dict[str, tuple[str, Purpose]]:
        """The workspace paths that a call with these arguments names, by argument, each with what for."""
        return {
            name: (value or ".", "write" if name in self.writes else "read")
            for name in self.paths
            if isinstance(value := args.get(name), str)
        }

    @property
    def texts(self) -> frozenset[str]:
        """The arguments that take a text alone."""
        fields = self.arguments.model_fields.items()
        return frozenset(name for name, field in fields if field.annotation in (str, str | None))

    @property
    def changes_files(self) -> bool:
        """Whether it stages changes of files, those that no argument names among them."""
        return self.effect in ("write", "destroy")

    @property
    def is_of_commands(self) -> bool:
        """Whether it runs, reads or stops commands: its result is different each time."""
        return self.effect == "execute" or self.follows_commands

    @property
    def limits_own_time(self) -> bool:
        """Whether a call limits its own time: one that asks a person first does not count the time of the answer."""
        return self.effect == "fetch" or self.is_of_commands
