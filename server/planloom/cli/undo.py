"""Takes back what a plan or one of its steps has changed, or makes it again, after it has shown what that is."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from rich.text import Text
from rich.tree import Tree

from planloom.cli.answers import answered
from planloom.cli.client import plans
from planloom.cli.client.messages import ChangedFile, Json, PlanView
from planloom.cli.client.server_process import Server
from planloom.cli.client.session import Session
from planloom.cli.client.views import applied, offers, present_uri
from planloom.cli.exit_codes import DONE, FAILED, UNTRUSTED
from planloom.cli.plain import visible
from planloom.cli.terminal import show
from planloom.cli.terminal.person import Terminal
from planloom.cli.trust import first_untrusted, read_only


class _Words(NamedTuple):
    """What happens to a file, before and after it has, and the style of it."""

    to_come: str
    done: str
    style: str


_UNDO: Mapping[str, _Words] = {
    "create": _Words("is deleted", "deleted", "bold red"),
    "createFolder": _Words("is deleted if it is empty", "deleted", "bold red"),
    "edit": _Words("gets its old text", "old text restored", "yellow"),
    "rename": _Words("gets its old name", "old name restored", "cyan"),
    "delete": _Words("comes back", "restored", "green"),
}
"""The undo of a change."""
_REDO: Mapping[str, _Words] = {
    "create": _Words("is made again", "made again", "green"),
    "createFolder": _Words("is made again", "made again", "green"),
    "edit": _Words("is changed again", "changed again", "yellow"),
    "rename": _Words("is renamed again", "renamed again", "cyan"),
    "delete": _Words("is deleted again", "deleted again", "bold red"),
}
"""The redo of a change that was undone."""

_UNDONE = ("completed", "failed", "cancelled", "paused")
"""The statuses of a plan whose changes can be taken back."""


async def in_trusted_folder(server: Server, args: Namespace) -> int:
    """As `undo_plan`, in a session of its own; returns 3 without trust."""
    person = Terminal(show.console(), args.workspace) if args.terminal else None
    untrusted = await first_untrusted(args.workspace, trust=args.trust, person=person)
    if untrusted is not None:
        show.say(read_only(untrusted), "bold red", stderr=True)
        return UNTRUSTED
    return await answered(undo_plan, trusted=True)(server, args)


async def undo_plan(running: Session, args: Namespace) -> int:
    """Undo or redo a plan, or its step N from 1. Returns 1 if something could not be taken back."""
    console, number, folders = show.console(), args.step, args.workspace
    plan = await plans.named(running, args.plan, _UNDONE, "plan that could be undone")
    view = await running.view(plan["planId"])
    if number is not None and number > len(view["steps"]):
        show.say(f"The plan has {len(view['steps'])} steps.", "bold red")
        return FAILED
    chosen = view if number is None else view["steps"][number - 1]
    command, verb = ("planloom.redo", "make again") if args.redo else ("planloom.undo", "take back")
    # Why a plan that is at work is not taken back, the server says.
    if not offers(chosen, command) and not (view["live"] and applied(view)):
        what = f"Step {number} has nothing to {verb} by itself" if number else f"There is nothing to {verb}"
        show.say(f"{what}.", "yellow")
        return FAILED
    changes = list(_changes(view, number, redo=args.redo))
    console.print(_what_happens(view, number, changes, folders, redo=args.redo))
    person = Terminal(console, folders)
    question, choices = (
        ("Make this again?", {"y": "make it again", "n": "leave it"})
        if args.redo
        else ("Take this back?", {"y": "take it back", "n": "leave it"})
    )
    if not args.yes and not await person.agrees(question, choices):
        person.say("Nothing was made again." if args.redo else "Nothing was taken back.", "dim")
        return FAILED
    params: Json = {"planId": plan["planId"], "redo": args.redo}
    params |= {"stepId": view["steps"][number - 1]["step"]["stepId"]} if number else {}
    return _show(running, await running.request("planloom/plan/undo", params), changes, folders)


def _changes(view: PlanView, number: int | None, *, redo: bool) -> Iterator[tuple[ChangedFile, _Words]]:
    """The files that an undo or redo of the plan, or of a step, changes, with what happens to each."""
    step_id = None if number is None else view["steps"][number - 1]["step"]["stepId"]
    words, state = (_REDO, "reverted") if redo else (_UNDO, "applied")
    for file in sorted(view["files"], key=present_uri):
        made, creator = file.get("stepId"), file.get("createdBy")
        if file["state"] == state and not file["lasting"] and (step_id is None or step_id in (made, creator)):
            is_edit = file["change"] == "create" and step_id not in (None, creator)
            yield file, words["edit" if is_edit else file["change"]]


def _what_happens(
    view: PlanView,
    number: int | None,
    changes: Sequence[tuple[ChangedFile, _Words]],
    folders: Sequence[Path],
    *,
    redo: bool,
) -> Tree:
    of = f"step {number} of " if number else ""
    what = f"{'Makes again' if redo else 'Takes back'} {of}plan {view['plan']['planId'][:8]}"
    tree = Tree(Text(what, "bold"), guide_style="dim")
    for file, words in changes:
        name = visible(show.relative(present_uri(file), folders))
        tree.add(Text.assemble(name, "  ", (words.to_come, words.style)))
    tree.add(Text("What was typed since stays.", "dim"))
    return tree


def _show(
    running: Session, undone: Json, changes: Sequence[tuple[ChangedFile, _Words]], folders: Sequence[Path]
) -> int:
    console = show.console()
    done = {uri: words.done for file, words in changes for uri in (file["uri"], present_uri(file))}
    for uri in undone["reverted"]:
        name = visible(show.relative(uri, folders))
        console.print(Text.assemble(("✔ ", "bold green"), name, (f"  {done.get(uri, '')}".rstrip(), "dim")))
    for uri in undone["conflicts"]:
        name = visible(show.relative(uri, folders))
        console.print(Text.assemble(("✘ ", "bold red"), name, ("  left as it is", "yellow")))
    while not running.events.empty():
        event = running.events.get_nowait()
        if event["type"] == "log" and event.get("planId") == undone["plan"]["planId"]:
            console.print(Text(f"  {visible(event.get('message', ''))}", "yellow"))
    return FAILED if undone["conflicts"] else DONE
