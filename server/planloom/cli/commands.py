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
from planloom.cli.client.messages import PlanView
from planloom.cli.client.server_process import Server
from planloom.cli.client.session import Session, session
from planloom.cli.client.views import applied, present_uri
from planloom.cli.doctor import doctor
from planloom.cli.exit_codes import DONE, FAILED, INTERRUPTED, UNTRUSTED
from planloom.cli.run import Request, RequestRun
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

    async def carry(running: Session, request_run: RequestRun) -> PlanView:
        plan = await plans.named(running, args.plan, _OPEN, "plan that could be resumed")
        view = await running.view(plan["planId"])
        if not view["live"]:
            raise ServerError(
                f"The plan has ended ({view['state']}): there is nothing left of it to resume.",
                code="wrong_state",
                hint='`planloom run --continue "…"` continues the latest ended plan of the folder.',
            )
        return await request_run.resume(view)

    return await _run(server, args, carry)


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


async def _run(server: Server, args: Namespace, carry: Carry) -> int:
    folders: Sequence[Path] = args.workspace
    flags = Flags(args.yes, args.yes_commands, args.terminal)
    console = show.console(stderr=args.json or (flags.terminal and not sys.stdout.isatty()))
    screen = Screen(console, folders, as_json=args.json)
    person = Terminal(console, folders) if flags.terminal else NonInteractive(yes=flags.yes)
    code = FAILED
    try:
        person_at_hand = person if isinstance(person, Terminal) else None
        untrusted = await first_untrusted(folders, trust=args.trust, person=person_at_hand)
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
                request_run = RequestRun(running, screen, person, flags)
                try:
                    view = await carry(running, request_run)
                    code = _show_end(view, screen, UNTRUSTED if request_run.needed_trust else FAILED)
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
    view = request_run.view
    if view and (applied(view) or view["plan"].get("report")):
        screen.ended(view)
    plan_id = view["plan"]["planId"] if view else None
    screen.result({"exitCode": INTERRUPTED, "planId": plan_id, "status": "cancelled"})


def _show_end(view: PlanView, screen: Screen, failed: int) -> int:
    """Show the end of a plan; the exit code, `failed` unless it was completed or is ready for review."""
    plan = view["plan"]
    is_ready = plan["status"] == "pending_approval"
    code = DONE if is_ready or plan["status"] == "completed" else failed
    if not is_ready:
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
        | ({"plan": plan} if is_ready else {})
    )
    return code
