"""Takes back what a plan or one of its steps has changed, after it has shown what that is."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from rich.text import Text
from rich.tree import Tree

from planloom.cli.answers import answered
from planloom.cli.client import plans
from planloom.cli.client.messages import Json, PlanView
from planloom.cli.client.server_process import Server
from planloom.cli.client.session import Session
from planloom.cli.client.views import applied, offers, present_uri
from planloom.cli.exit_codes import DONE, FAILED, UNTRUSTED
from planloom.cli.plain import visible
from planloom.cli.terminal import show
from planloom.cli.terminal.person import Terminal
from planloom.cli.trust import first_untrusted, read_only

_REVERSED = {
    "create": ("is deleted", "bold red"),
    "createFolder": ("is deleted if it is empty", "bold red"),
    "edit": ("gets its old text", "yellow"),
    "rename": ("gets its old name", "cyan"),
    "delete": ("comes back", "green"),
}

_UNDONE = ("completed", "failed", "cancelled", "paused")
"""The statuses of a plan whose changes can be taken back."""


async def undo_plan(server: Server, args: Namespace) -> int:
    """Undo a plan, or its step N from 1. Returns 1 if something could not be taken back, 3 without trust."""
    person = Terminal(show.console(), args.workspace) if args.terminal else None
    untrusted = await first_untrusted(args.workspace, trust=args.trust, person=person)
    if untrusted is not None:
        show.say(read_only(untrusted), "bold red", stderr=True)
        return UNTRUSTED
    return await answered(_undo, trusted=True)(server, args)


async def _undo(running: Session, args: Namespace) -> int:
    console, number, folders = show.console(), args.step, args.workspace
    plan = await plans.named(running, args.plan, _UNDONE, "plan that could be undone")
    view = await running.view(plan["planId"])
    if number is not None and number > len(view["steps"]):
        show.say(f"The plan has {len(view['steps'])} steps.", "bold red")
        return FAILED
    undone = view if number is None else view["steps"][number - 1]
    # Why a plan that is at work is not taken back, the server says.
    if not offers(undone, "planloom.undo") and not (view["live"] and applied(view)):
        what = (
            f"Step {number} has nothing to take back by itself" if number else "There is nothing to take back"
        )
        show.say(f"{what}.", "yellow")
        return FAILED
    console.print(_what_happens(view, number, folders))
    person = Terminal(console, folders)
    choices = {"y": "take it back", "n": "leave it"}
    if not args.yes and not await person.agrees("Take this back?", choices):
        person.say("Nothing was taken back.", "dim")
        return FAILED
    params: Json = {"planId": plan["planId"]}
    params |= {"stepId": view["steps"][number - 1]["step"]["stepId"]} if number else {}
    return _show(running, await running.request("planloom/plan/undo", params), folders)


def _what_happens(view: PlanView, number: int | None, folders: Sequence[Path]) -> Tree:
    plan_id = view["plan"]["planId"]
    step_id = None if number is None else view["steps"][number - 1]["step"]["stepId"]
    of = f"step {number} of " if number else ""
    tree = Tree(
        Text.assemble(("Takes back ", "bold"), (f"{of}plan {plan_id[:8]}", "bold")), guide_style="dim"
    )
    for file in sorted(applied(view), key=present_uri):
        made, creator = file.get("stepId"), file.get("createdBy")
        if not file["lasting"] and (step_id is None or step_id in (made, creator)):
            is_edit = file["change"] == "create" and step_id not in (None, creator)
            words, style = _REVERSED["edit" if is_edit else file["change"]]
            name = visible(show.relative(present_uri(file), folders))
            tree.add(Text.assemble(name, "  ", (words, style)))
    tree.add(Text("What was typed since stays.", "dim"))
    return tree


def _show(running: Session, undone: Json, folders: Sequence[Path]) -> int:
    console = show.console()
    for uri in undone["reverted"]:
        console.print(Text.assemble(("✔ ", "bold green"), visible(show.relative(uri, folders))))
    for uri in undone["conflicts"]:
        name = visible(show.relative(uri, folders))
        console.print(Text.assemble(("✘ ", "bold red"), name, ("  left as it is", "yellow")))
    while not running.events.empty():
        event = running.events.get_nowait()
        if event["type"] == "log" and event.get("planId") == undone["plan"]["planId"]:
            console.print(Text(f"  {visible(event.get('message', ''))}", "yellow"))
    return FAILED if undone["conflicts"] else DONE
