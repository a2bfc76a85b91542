"""The work of each command: runs a request or resumes a plan, or leaves it to the module of the command."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from argparse import Namespace
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

from planloom.cli import history, past_work
from planloom.cli.answers import Work, reported
from planloom.cli.client import plans
from planloom.cli.client.connection import ServerError, ServerLost
from planloom.cli.client.plan_state import ENDED
from planloom.cli.client.server_process import Server
from planloom.cli.client.session import Session, session
from planloom.cli.doctor import doctor
from planloom.cli.exit_codes import DONE, FAILED, INTERRUPTED, UNTRUSTED
from planloom.cli.run import Outcome, Request, RequestRun
from planloom.cli.templates import show_templates
from planloom.cli.terminal import show
from planloom.cli.terminal.decisions import Flags, NonInteractive
from planloom.cli.terminal.person import Terminal
from planloom.cli.terminal.screen import Screen
from planloom.cli.trust import first_untrusted, read_only
from planloom.cli.undo import undo_plan

CANCEL_SECONDS = 10.0
"""Seconds that a plan may take to end after Ctrl-C; it finishes the edit that is being applied."""

_OPEN = ("paused", "pending_approval", "executing", "approved")
"""The statuses of a plan that can be resumed; one that runs elsewhere is refused by the server, with the reason."""


Carry = Callable[[Session, RequestRun], Awaitable[Outcome]]
"""What carries a plan to its end, on an opened session."""


async def run_request(server: Server, given: Namespace) -> int:
    """Plan or execute a request; returns the exit code of the command line."""
    request = Request(
        given.text,
        given.mode,
        given.review,
        until_ready=given.command == "plan",
        follows=given.follows,
        document=given.document,
        template=given.template,
        parameters=dict(given.param),
    )
    return await _run(server, given, lambda _, request_run: request_run.carry_out(request))


async def resume_plan(server: Server, given: Namespace) -> int:
    """Go on with the plan whose id begins so, or the newest that has not ended; returns the exit code."""

    async def carry(running: Session, request_run: RequestRun) -> Outcome:
        plan = await plans.named(running, given.plan, _OPEN, "plan that could be resumed")
        if plan["status"] in ENDED:
            raise ServerError(
                f"The plan is {plan['status']}: there is nothing left of it to resume.",
                code="wrong_state",
                hint='`planloom run --continue "…"` continues the latest ended plan of the folder.',
            )
        return await request_run.resume(plan)

    return await _run(server, given, carry)


COMMANDS: Mapping[str, Work] = {
    "run": run_request,
    "plan": run_request,
    "doctor": doctor,
    "plans": history.list_plans,
    "show": history.show_plan,
    "diff": history.show_changes,
    "stats": past_work.show_stats,
    "memory": past_work.show_memory,
    "templates": show_templates,
    "resume": resume_plan,
    "undo": undo_plan,
    "export": history.export_plan,
    "import": history.import_plan,
}
"""The work of each command that needs a server."""


async def _run(server: Server, given: Namespace, carry: Carry) -> int:
    folders: Sequence[Path] = given.workspace
    flags = Flags(given.yes, given.yes_commands, given.terminal)
    console = show.console(stderr=given.json or (flags.terminal and not sys.stdout.isatty()))
    screen = Screen(console, folders, as_json=given.json)
    person = Terminal(console, folders) if flags.terminal else NonInteractive(yes=flags.yes)
    code = FAILED
    try:
        person_at_hand = person if isinstance(person, Terminal) else None
        untrusted = await first_untrusted(folders, trust=given.trust, person=person_at_hand)
        if untrusted is not None:
            screen.failure(read_only(untrusted), None)
        with reported(screen.failure) as failure:
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
    if failure:
        code = FAILED
        screen.result({"exitCode": code, "error": failure})
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
