"""The work of each command: runs a request or resumes a plan, or leaves it to the module of the command."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from argparse import Namespace
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

from planloom.cli import history, past_work, undo
from planloom.cli.answers import Ask, Work, answered, reported
from planloom.cli.client import model_memory, plans
from planloom.cli.client.connection import ServerError, ServerLost
from planloom.cli.client.messages import PlanView
from planloom.cli.client.server_process import Server
from planloom.cli.client.session import Session, session
from planloom.cli.client.views import applied, present_uri
from planloom.cli.exit_codes import DONE, FAILED, INTERRUPTED, LEFT, UNTRUSTED
from planloom.cli.run import Request, RequestRun
from planloom.cli.setup.doctor import doctor
from planloom.cli.setup.models import list_models
from planloom.cli.templates import show_templates
from planloom.cli.terminal import keyboard, show
from planloom.cli.terminal.decisions import Decider, Flags, Leave, NonInteractive
from planloom.cli.terminal.person import Terminal
from planloom.cli.terminal.screen import Screen
from planloom.cli.terminal.signals import Signals
from planloom.cli.trust import first_untrusted, read_only
from planloom.domain.text.counted import counted

STOP_SECONDS = 10.0
"""Seconds that a plan may take to pause or to end; it finishes the edit that is being applied."""

_OPEN = ("paused", "pending_approval", "executing", "approved")
"""The statuses of a plan that can be resumed; one that runs elsewhere is refused by the server, with the reason."""


Carry = Callable[[Session, RequestRun], Awaitable[PlanView]]
"""Carries a plan to its end, on an opened session."""


async def run_request(server: Server, args: Namespace) -> int:
    """Plan or execute a request; returns the exit code of the command line."""
    request = Request(
        args.text,
        args.mode,
        args.review,
        until_ready=args.command == "plan",
        follows=args.follows,
        document=args.document,
        template=args.template,
        parameters=dict(args.param),
    )
    return await _run(server, args, lambda _, request_run: request_run.carry_out(request))


async def resume_plan(server: Server, args: Namespace) -> int:
    """Go on with the plan whose id begins so, or the newest that has not ended; returns the exit code."""
    return await _run(server, args, resumed(args.plan, model_memory.named(args)))


def resumed(start: str | None, model: Mapping[str, Any]) -> Carry:
    """Goes on with the plan whose id begins with `start`, else the one that was left last; `model` as it is named."""

    async def carry(running: Session, request_run: RequestRun) -> PlanView:
        chosen, others = (start, 0) if start else await plans.left(running, _OPEN)
        plan = await plans.named(running, chosen)
        kept = None if model else await model_memory.take_up(running, plan["planId"])
        view = await running.view(plan["planId"])
        if not view["live"]:
            raise ServerError(
                f"The plan has ended ({view['state']}): there is nothing left of it to resume.",
                code="wrong_state",
                hint='`planloom run --continue "…"` continues the latest ended plan of the folder.',
            )
        more = f"{counted(others, 'other plan')} can be resumed: `planloom plans`." if others else None
        return await request_run.resume(view, *filter(None, (more, kept)))

    return carry


ASKED: Mapping[str, Ask] = {
    "models": list_models,
    "plans": history.list_plans,
    "show": history.show_plan,
    "diff": history.show_changes,
    "undo": undo.undo_plan,
    "stats": past_work.show_stats,
    "memory": past_work.show_memory,
    "templates": show_templates,
    "export": history.export_plan,
}
"""The work of each command that asks the server a few things, in any session."""

COMMANDS: Mapping[str, Work] = {
    "run": run_request,
    "plan": run_request,
    "doctor": doctor,
    "resume": resume_plan,
    **{name: answered(ask) for name, ask in ASKED.items()},
    "undo": undo.in_trusted_folder,
    "import": answered(history.import_plan),
}
"""The work of each command that needs a server."""


async def _run(server: Server, args: Namespace, carry: Carry) -> int:
    console = show.console(stderr=args.json or (args.terminal and not sys.stdout.isatty()))
    screen = Screen(console, args.workspace, as_json=args.json)
    person = Terminal(console, args.workspace) if args.terminal else NonInteractive(yes=args.yes)
    with Signals() as signals:
        try:
            return await _in_session(server, args, carry, person, screen, signals)
        except asyncio.CancelledError:
            signals.clear()
            show_end({}, screen, INTERRUPTED)
            return INTERRUPTED
        finally:
            screen.pause()


@contextlib.asynccontextmanager
async def shown_session(
    server: Server, args: Namespace, screen: Screen, person: Decider
) -> AsyncIterator[Session]:
    """A session whose messages the screen shows. A person is asked first whether folders are trusted.

    Raises as `session` does.
    """
    asked = person if isinstance(person, Terminal) else None
    untrusted = await first_untrusted(args.workspace, trust=args.trust, person=asked)
    if untrusted is not None:
        screen.failure(read_only(untrusted), None)
    async with session(
        server,
        args.workspace,
        say=screen.say,
        stream=screen.stream,
        spent=screen.spent,
        trusted=untrusted is None,
    ) as running:
        yield running


async def _in_session(
    server: Server,
    args: Namespace,
    carry: Carry,
    person: Decider,
    screen: Screen,
    signals: Signals,
) -> int:
    flags = Flags(args.yes, args.yes_commands, args.terminal)
    code = FAILED
    with reported(screen.failure) as failure:
        async with shown_session(server, args, screen, person) as running:
            screen.log_path(running.status.get("logPath") or "")
            request_run = RequestRun(running, screen, person, flags, model_memory.named(args))
            ended = await to_an_end(carry(running, request_run), request_run, person, screen, signals)
            code = UNTRUSTED if ended in (FAILED, LEFT) and request_run.needed_trust else ended
            show_end(request_run.view, screen, code)
    if failure:
        code = FAILED
        screen.result({"exitCode": code, "error": failure})
    return code


async def to_an_end(
    work: Awaitable[PlanView],
    request_run: RequestRun,
    person: Decider,
    screen: Screen,
    signals: Signals,
) -> int:
    """Do the work, and what a person chooses each time that they interrupt it. Returns the exit code.

    Ctrl-C pauses the plan, and cancels it while it is paused; Esc is as Ctrl-C while it runs.
    """
    with keyboard.passing_on_escape():
        while True:
            try:
                view = await work
                return DONE if view["plan"]["status"] in ("completed", "pending_approval") else FAILED
            except Leave:
                signals.forget_lost_terminal()
                await _stopped(request_run.pause())
                return LEFT
            except asyncio.CancelledError:
                signals.clear()
            if not request_run.is_open:
                return INTERRUPTED
            try:
                screen.interrupted("The plan is being paused. Ctrl-C again cancels it.")
                await _stopped(request_run.pause())
                if signals.closing:
                    return LEFT
                choice = await person.pause(request_run.view)
            except Leave:
                signals.forget_lost_terminal()
                return LEFT
            except asyncio.CancelledError:
                signals.clear()
                if signals.closing:
                    return LEFT
                choice = "cancel"
            if choice == "cancel":
                screen.interrupted("The plan is being cancelled …")
                await _stopped(request_run.cancel())
                return INTERRUPTED
            work = request_run.go_on(choice)


async def _stopped(stop: Awaitable[None]) -> None:
    """Wait until the plan is paused or cancelled, but not for ever: the next server pauses what still runs."""
    with contextlib.suppress(TimeoutError, ServerError, ServerLost):
        async with asyncio.timeout(STOP_SECONDS):
            await stop


def show_end(view: PlanView, screen: Screen, code: int) -> None:
    """Show the end of a plan, or how it was left. The exit code is part of the result for programs."""
    if not view:
        screen.interrupted("Interrupted. Nothing was started.")
        screen.result({"exitCode": code, "planId": None})
        return
    plan = view["plan"]
    if code == LEFT or (code == UNTRUSTED and view["live"]):
        screen.left(view)
    elif not view["live"]:
        screen.ended(view)
    changed = {present_uri(file): file["change"] for file in applied(view)}
    needs = {"error": {"code": "untrusted_workspace"}} if code == UNTRUSTED else {}
    screen.result(
        {
            "exitCode": code,
            "planId": plan["planId"],
            "status": plan["status"],
            "files": [{"uri": uri, "change": change} for uri, change in sorted(changed.items())],
        }
        | needs
        | ({"plan": plan} if plan["status"] == "pending_approval" else {})
    )
