"""Runs one request of the command line and returns its exit code."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from planloom.cli.client import plans
from planloom.cli.client.connection import ServerError, ServerLost
from planloom.cli.client.plan_state import ENDED
from planloom.cli.client.server_process import Server
from planloom.cli.client.session import Session, session
from planloom.cli.exit_codes import DONE, FAILED, INTERRUPTED, UNTRUSTED
from planloom.cli.failures import Failure, reported
from planloom.cli.run import Outcome, Request, RequestRun
from planloom.cli.terminal import show
from planloom.cli.terminal.decisions import Flags, NonInteractive
from planloom.cli.terminal.person import Terminal
from planloom.cli.terminal.screen import Screen
from planloom.cli.trust import first_untrusted, read_only

CANCEL_SECONDS = 10.0
"""Seconds that a plan may take to end after Ctrl-C; it finishes the edit that is being applied."""

_OPEN = ("paused", "pending_approval", "executing", "approved")
"""The statuses of a plan that can be resumed; one that runs elsewhere is refused by the server, with the reason."""


Carry = Callable[[Session, RequestRun], Awaitable[Outcome]]
"""What carries a plan to its end, on an opened session."""


async def run_request(
    server: Server,
    request: Request,
    *,
    folders: Sequence[Path],
    flags: Flags,
    as_json: bool,
) -> int:
    """Plan or execute a request, as its options say; returns the exit code of the command line."""

    async def carry(_: Session, request_run: RequestRun) -> Outcome:
        return await request_run.carry_out(request)

    return await _run(server, carry, folders=folders, flags=flags, as_json=as_json)


async def resume_plan(
    server: Server, start: str | None, *, folders: Sequence[Path], flags: Flags, as_json: bool
) -> int:
    """Go on with the plan whose id begins so, or the newest that has not ended; returns the exit code."""

    async def carry(running: Session, request_run: RequestRun) -> Outcome:
        plan = await plans.named(running, start, _OPEN, "plan that could be resumed")
        if plan["status"] in ENDED:
            raise ServerError(
                f"The plan is {plan['status']}: there is nothing left of it to resume.",
                code="wrong_state",
                hint='`planloom run --continue "…"` continues the latest ended plan of the folder.',
            )
        return await request_run.resume(plan)

    return await _run(server, carry, folders=folders, flags=flags, as_json=as_json)


async def _run(server: Server, carry: Carry, *, folders: Sequence[Path], flags: Flags, as_json: bool) -> int:
    console = show.console(stderr=as_json or (flags.terminal and not sys.stdout.isatty()))
    screen = Screen(console, folders, as_json=as_json)
    person = Terminal(console, folders) if flags.terminal else NonInteractive(yes=flags.yes)
    failure, code = Failure(), FAILED
    try:
        person_at_hand = person if isinstance(person, Terminal) else None
        untrusted = await first_untrusted(folders, trust=flags.trust, person=person_at_hand)
        if untrusted is not None:
            screen.failure(read_only(untrusted), None)
        with reported(failure, screen.failure):
            async with session(
                server,
                folders,
                say=screen.say,
                stream=screen.stream,
                spent=screen.spent,
                trusted=untrusted is None,
            ) as running:
                screen.log_path(running.status.get("logPath") or "")
                request_run = RequestRun(running.connection, running.events, screen, person, flags)
                try:
                    outcome = await carry(running, request_run)
                    code = _show_outcome(outcome, screen, UNTRUSTED if request_run.needed_trust else FAILED)
                except asyncio.CancelledError:
                    await _interrupted(request_run, screen)
                    code = INTERRUPTED
    finally:
        screen.pause()
    if failure.error is not None:
        code = failure.code
        screen.result({"exitCode": code, "error": failure.error})
    return code


async def _interrupted(request_run: RequestRun, screen: Screen) -> None:
    # Clears the cancellation, which would otherwise end the next `asyncio.timeout` early.
    task = asyncio.current_task()
    if task is not None:
        task.uncancel()
    screen.pause()
    screen.note("Interrupted: the plan is being cancelled …")
    with contextlib.suppress(TimeoutError, ServerError, ServerLost):
        async with asyncio.timeout(CANCEL_SECONDS):
            await request_run.cancel()
    if request_run.files or request_run.last_event.get("report"):
        screen.ended("cancelled", request_run.last_event, request_run.plan, request_run.files)
    screen.result({"exitCode": INTERRUPTED, "planId": request_run.plan.get("planId"), "status": "cancelled"})


def _show_outcome(outcome: Outcome, screen: Screen, failed: int) -> int:
    """Show the end of a plan; the exit code, `failed` unless it was completed or is ready."""
    code = DONE if outcome.ending in ("completed", "ready") else failed
    if outcome.ending != "ready":
        screen.ended(outcome.ending, outcome.last_event, outcome.plan, outcome.files)
    needs = {"error": {"code": "untrusted_workspace"}} if code == UNTRUSTED else {}
    screen.result(
        {
            "exitCode": code,
            "planId": outcome.plan.get("planId"),
            "status": "pending_approval" if outcome.ending == "ready" else outcome.ending,
            "files": [{"uri": uri, "change": change} for uri, change in sorted(outcome.files.items())],
        }
        | needs
        | ({"plan": outcome.plan} if outcome.ending == "ready" else {})
    )
    return code
