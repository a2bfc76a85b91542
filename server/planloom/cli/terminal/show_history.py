"""Renders the list of plans, and one plan as it stands: its request, steps and results, and its report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from rich import box
from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from planloom.cli.client.messages import PlanSummary, PlanView, StepView
from planloom.cli.plain import one_line, visible
from planloom.cli.terminal import show, show_report
from planloom.domain.text.counted import counted
from planloom.workspace.paths.uris import to_path

_STYLES = {
    "completed": "green",
    "failed": "bold red",
    "cancelled": "yellow",
    "rejected": "yellow",
    "partly": "yellow",
    "undone": "dim",
    "paused": "bold yellow",
    "waiting": "bold yellow",
    "pending_approval": "bold cyan",
}
_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"))
_INDENT = (0, 0, 0, 2)


def plans_table(
    plans: Sequence[PlanSummary], ids: Mapping[str, str], now: datetime, *, with_folders: bool
) -> Table:
    """A row for each plan: the short id, status, age, steps done, folder if asked for, and the request's first line."""
    table = Table(box=box.SIMPLE_HEAD, expand=True, pad_edge=False, header_style="bold")
    table.add_column("Plan", no_wrap=True, style="cyan")
    table.add_column("Status", no_wrap=True)
    table.add_column("Age", no_wrap=True, justify="right", style="dim")
    table.add_column("Done", no_wrap=True, justify="right")
    if with_folders:
        table.add_column("Folder", no_wrap=True, overflow="ellipsis", max_width=16)
    table.add_column("Request", ratio=1, no_wrap=True, overflow="ellipsis")
    for plan in plans:
        progress = plan["progress"]
        table.add_row(
            ids[plan["planId"]],
            _listed_status(plan),
            age(plan["updatedAt"], now),
            f"{progress['completed']}/{progress['total']}" if progress["total"] else "",
            *([Text(_folder(plan))] if with_folders else []),
            Text(one_line(plan["request"], 300)),
        )
    return table


def _listed_status(plan: PlanSummary) -> Text:
    return Text(plan["state"], _STYLES.get(plan["sign"], ""))


def age(time: str, now: datetime) -> str:
    """How long ago a time was, in its largest unit, such as `3 h`."""
    seconds = (now - datetime.fromisoformat(time)).total_seconds()
    for size, unit in _UNITS:
        if seconds >= size:
            return f"{int(seconds // size)} {unit}"
    return "now"


def plan_parts(view: PlanView, folders: Sequence[Path], now: datetime) -> Iterator[RenderableType]:
    """The parts of a plan, from its request to its report."""
    plan = view["plan"]
    title = Text.assemble(("Plan ", "bold"), (plan["planId"][:8], "bold cyan"), "  ")
    title.append(view["state"], _STYLES.get(view["sign"], ""))
    created = age(plan["createdAt"], now)
    title.append(
        f" · {'just now' if created == 'now' else f'{created} ago'} · version {plan['version']}", "dim"
    )
    yield title
    for folder in folders:
        yield Text(visible(str(folder)), "dim", overflow="fold")
    yield Padding(Text(visible(plan["request"].strip())), (1, 0, 1, 2))
    for message in plan.get("messages") or []:
        yield Padding(Text(f"> {visible(message['text'])}", "italic"), _INDENT)
    if plan["status"] == "pending_approval":
        yield show.plan_table(view)
    else:
        yield from map(_step, view["steps"])
        yield Text()
    if plan.get("report"):
        yield show_report.heading(view)
    why = (view.get("problem") or {}).get("words") or (plan.get("error") or {}).get("message")
    if why:
        yield Text(visible(why), "bold red")
    yield from show_report.report_parts(view, folders, steps=False)
    yield from show_report.used_lines(view)
    if plan["status"] in ("paused", "pending_approval"):
        yield from _waiting(view)


def imported_line(view: PlanView) -> Text:
    """The plan that was imported, and how to go on with it."""
    short = view["plan"]["planId"][:8]
    line = Text.assemble("Imported plan ", (short, "cyan"), f" ({counted(len(view['steps']), 'step')}), ")
    if view["plan"]["status"] == "pending_approval":
        return line.append(f"which {view.get('waits')}: `planloom resume {short}`.")
    return line.append(f"which is {view['state'].lower()}: `planloom show {short}`.")


def _step(shown: StepView) -> Table:
    step = shown["step"]
    result = step.get("result") or {}
    note = shown.get("skipped") or result.get("error")
    note = note or show.step_summary(result.get("summary"), step.get("description", ""))
    if step.get("reverted"):
        note = "\n".join(filter(None, (note, shown["words"])))
    return show.step_line(shown, shown["sign"], note or "")


def _waiting(view: PlanView) -> Iterator[RenderableType]:
    """The matters that an open plan waits for, and the command that goes on with it."""
    plan = view["plan"]
    if not view.get("problem") and (pause := view.get("pause") or plan.get("pauseDetail")):
        yield Text(visible(pause), "yellow")
        if view.get("pauseHelp"):
            yield show.advised(view["pauseHelp"])
    pending = plan.get("pending") or {}
    for question in pending.get("questions") or []:
        yield Text.assemble(("? ", "bold magenta"), visible(question["question"]))
    for recovery in pending.get("recoveries") or []:
        yield Text.assemble(("✘ ", "bold red"), visible(recovery["error"]))
    waits = f"The plan {view['waits']}. " if view.get("waits") else ""
    yield Text(f"{waits}Go on with it: planloom resume {plan['planId'][:8]}", "dim")


def _folder(plan: PlanSummary) -> str:
    names = [
        path.name if (path := to_path(uri)) is not None else uri for uri in plan.get("workspaceFolders") or []
    ]
    return one_line(", ".join(names), 40)
