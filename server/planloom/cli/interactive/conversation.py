"""A conversation in the terminal: each line is a request, what follows from the last one, or a command."""

from __future__ import annotations

import asyncio
import shlex
from argparse import Namespace
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import NamedTuple

from rich.text import Text

from planloom.cli import arguments
from planloom.cli.answers import reported
from planloom.cli.client import model_memory
from planloom.cli.client.connection import ServerError
from planloom.cli.client.messages import Json, PlanView
from planloom.cli.client.server_process import Server
from planloom.cli.client.session import Session
from planloom.cli.commands import ASKED, Carry, resumed, show_end, shown_session, to_an_end
from planloom.cli.exit_codes import DONE, FAILED
from planloom.cli.interactive.line import RequestLine
from planloom.cli.plain import visible
from planloom.cli.run import Request, RequestRun
from planloom.cli.setup.models import language_models, name_of
from planloom.cli.terminal import show
from planloom.cli.terminal.decisions import Flags
from planloom.cli.terminal.person import Terminal
from planloom.cli.terminal.screen import Screen
from planloom.cli.terminal.signals import Signals
from planloom.user_folders import state_folder
from planloom.version import VERSION

_HISTORY = "requests"
"""The file in the user's state folder that keeps what was typed."""
_COMPLETIONS = 30
_ENDED = frozenset({"completed", "failed", "cancelled"})
"""The statuses of a plan that the next request continues."""


async def converse(server: Server, args: Namespace) -> int:
    """Read and carry out one line after the other, until the person leaves. Returns the exit code."""
    console = show.console()
    screen, person = Screen(console, args.workspace), Terminal(console, args.workspace)
    with Signals() as signals:
        with reported(screen.failure) as failure:
            async with shown_session(server, args, screen, person) as running:
                await Conversation(running, screen, person, signals, args).run()
        return FAILED if failure else DONE


class _Command(NamedTuple):
    """A command of the conversation: what it does, in words and as a function of the words behind its name."""

    words: str
    run: Callable[[Conversation, Sequence[str]], Awaitable[None]]


class Conversation:
    """What a person and Planloom say to each other on one connection."""

    def __init__(
        self, running: Session, screen: Screen, person: Terminal, signals: Signals, args: Namespace
    ) -> None:
        self._running = running
        self._screen = screen
        self._person = person
        self._signals = signals
        self._args = args
        self._model = model_memory.named(args)
        self._model_words = ""
        self._view: PlanView | None = None
        self._line = RequestLine(
            self._completions,
            {name: command.words for name, command in COMMANDS.items()},
            self._status,
            state_folder() / _HISTORY,
        )

    async def run(self) -> None:
        """Read lines until there are no more, or the terminal goes."""
        await self._look_at_models()
        self._greet()
        while not self._signals.closing and (text := await self._line.read()) not in (None, "/quit", "/exit"):
            if text:
                await self._interruptible(self._carry_out(text))

    async def _interruptible(self, work: Awaitable[None]) -> None:
        """Do what a line says. It can be interrupted, and its failure is shown; the conversation goes on."""
        try:
            with reported(self._screen.failure) as failure:
                await work
        except asyncio.CancelledError:
            self._signals.clear()
        finally:
            self._screen.pause()
        if failure.get("code") == "server_lost":
            raise ServerError("The conversation ends with its server.", code="server_lost")

    async def _carry_out(self, text: str) -> None:
        name, *words = _words(text[1:])
        if not text.startswith("/"):
            last = self._view["plan"] if self._view else None
            request = Request(text, follows=last is not None and last["status"] in _ENDED)
            await self._plan(lambda _, run: run.carry_out(request))
        elif name in COMMANDS:
            await COMMANDS[name].run(self, words)
        elif await self._is_template(name):
            values = dict(word.split("=", 1) for word in words if "=" in word)
            rest = " ".join(word for word in words if "=" not in word)
            request = Request(rest, template=name, parameters=values)
            await self._plan(lambda _, run: run.carry_out(request))
        else:
            self._person.say(f"There is no command /{name}; /help shows those that there are.", "yellow")

    async def _is_template(self, name: str) -> bool:
        """Whether a template has this name, such as a prompt of an MCP server."""
        listed = await self._running.request("planloom/template/list")
        return any(name.casefold() == each["name"].casefold() for each in listed["templates"])

    async def _plan(self, carry: Carry) -> None:
        """Carry a plan to its end, or until it is left."""
        run = RequestRun(self._running, self._screen, self._person, Flags(terminal=True), self._model)
        try:
            code = await to_an_end(carry(self._running, run), run, self._person, self._screen, self._signals)
            show_end(run.view, self._screen, code)
        finally:
            self._view = run.view or self._view
        await self._look_at_models()

    async def resume(self, words: Sequence[str]) -> None:
        """Take up a plan that was left: the one that is named, else the last."""
        await self._plan(resumed(words[0] if words else None, self._model))

    async def begin_anew(self, _: Sequence[str]) -> None:
        """Have the next request follow no plan."""
        self._view = None
        self._person.say("The next request begins anew.", "dim")

    async def choose_model(self, words: Sequence[str]) -> None:
        """Show the models, and use the one that is named or chosen from now on."""
        usable = [each for each in await self._look_at_models(select=True) if each["reachable"]]
        if not usable:
            self._person.say("No model can be used: `planloom doctor` says what is missing.", "yellow")
            return
        names = [name_of(each) for each in usable]
        named = " ".join(words) or await self._person.one_of(names, "Number (empty keeps the model): ")
        found = [each for each, name in zip(usable, names, strict=True) if named in (each["name"], name)]
        if named and not found:
            self._person.say(f"No model that can be used is called {named}.", "yellow")
        elif found:
            self._model = {"model.provider": found[0]["provider"], "model.name": found[0]["name"]}
            await self._running.request("planloom/settings/user", {"values": self._model})
            await self._look_at_models(select=True)
        self._person.say(f"Model: {self._model_words}", "dim")

    async def help(self, _: Sequence[str]) -> None:
        """Show the commands and the keys."""
        for name, command in COMMANDS.items():
            self._person.say(f"  /{name:<10}{command.words}")
        self._person.say(
            "  Enter sends, Alt+Enter begins a new line, Tab completes; while a plan runs, a line goes to it, and"
            " Ctrl-C pauses it.",
            "dim",
        )

    async def ask(self, name: str, words: Sequence[str]) -> None:
        """Run a command of the command line on this connection, with its own options."""
        try:
            args = arguments.parsed([name, *words])
        except SystemExit:
            return
        args.workspace = self._args.workspace
        await ASKED[name](self._running, args)

    async def _completions(self, text: str, offset: int) -> Sequence[Json]:
        params = {"text": text, "offset": offset, "limit": _COMPLETIONS}
        found: Json = await self._running.request("planloom/reference/complete", params)
        return list(found["items"])

    async def _look_at_models(self, *, select: bool = False) -> Sequence[Json]:
        """The models, with `select` after the server has chosen one; the status line names the one in use."""
        listed = await self._running.request("planloom/model/list", {"select": select})
        active = listed.get("active")
        if active is None:
            self._model_words = "no model: only literal requests are planned, by rules (/model)"
        elif active["provider"] == "auto":
            self._model_words = "the model is chosen when it is needed"
        else:
            self._model_words = name_of(active)
        return language_models(listed)

    def _status(self) -> str:
        parts = [self._model_words, *(each.name for each in self._args.workspace)]
        if self._view and self._view["live"]:
            parts.insert(0, f"{self._view['state']}: /resume goes on")
        elif self._view:
            parts.insert(0, "goes on from the last plan, /new begins anew")
        return visible(" · ".join(parts))

    def _greet(self) -> None:
        self._person.console.print(Text.assemble(("Planloom ", "bold"), (VERSION, "dim")))
        self._person.say("Say what is to be done. @ names files, / lists commands, Ctrl-D leaves.", "dim")


def _words(text: str) -> list[str]:
    """The words of a command as a shell reads them, without the meaning of an open quote."""
    try:
        return shlex.split(text) or [""]
    except ValueError:
        return text.split()


def _as_command(name: str) -> _Command:
    return _Command(arguments.sentence(name), lambda conversation, words: conversation.ask(name, words))


COMMANDS: Mapping[str, _Command] = {
    **{name: _as_command(name) for name in ASKED},
    "resume": _Command(arguments.sentence("resume"), Conversation.resume),
    "model": _Command("Show the models, or use the one that is named.", Conversation.choose_model),
    "new": _Command(
        "Begin anew: the next request does not go on from the last plan.", Conversation.begin_anew
    ),
    "help": _Command("Show the commands and the keys.", Conversation.help),
}
"""The commands of the conversation; those of the command line that only ask or take back are among them."""
