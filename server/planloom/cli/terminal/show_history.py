"""Renders the list of plans, and one plan as it stands: its request, steps and results, and its report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import cast

from rich import box
from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from planloom.cli.client.messages import Plan, PlanSummary, Report, Step
from planloom.cli.plain import one_line, visible
from planloom.cli.terminal import show, show_report
from planloom.domain.text.counted import counted
from planloom.workspace.paths.uris import to_path

_STYLES = {
    "completed": "green",
    "failed": "bold red",
    "cancelled": "yellow",
    "rejected": "yellow",
    "paused": "bold yellow",
    "pending_approval": "bold cyan",
}
_REVERTED = {"whole": "taken back", "part": "taken back in part"}
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
    """The status, and whether the plan's changes were taken back."""
    reverted = plan.get("reverted")
    words = f"{status(plan)}, {_REVERTED[reverted]}" if reverted else status(plan)
    return Text(words, "dim" if reverted == "whole" else _STYLES.get(plan["status"], ""))


def status(plan: Plan | PlanSummary) -> str:
    """The status in words."""
    return plan["status"].replace("_", " ")


def age(time: str, now: datetime) -> str:
    """How long ago a time was, in its largest unit, such as `3 h`."""
    seconds = (now - datetime.fromisoformat(time)).total_seconds()
    for size, unit in _UNITS:
        if seconds >= size:
            return f"{int(seconds // size)} {unit}"
    return "now"


def plan_parts(
    plan: Plan, folders: Sequence[Path], files: Mapping[str, str], now: datetime
) -> Iterator[RenderableType]:
    """The parts of a plan, from its request to its report; `files` are changed by a plan that has no report yet."""
    title = Text.assemble(("Plan ", "bold"), (plan["planId"][:8], "bold cyan"), "  ")
    title.append(status(plan), _STYLES.get(plan["status"], ""))
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
        yield show.plan_table(plan)
    else:
        for number, step in enumerate(plan.get("steps") or [], 1):
            yield _step(number, step)
        yield Text()
    report = plan.get("report")
    if report is not None:
        yield show_report.heading(plan["status"], report)
    error = plan.get("error")
    if error:
        yield Text(visible(error.get("message", "")), "bold red")
    if report is not None:
        # The steps above have their results.
        shown = cast(Report, {**report, "done": [], "left": []})
        yield from show_report.report_parts(shown, plan, folders)
    elif files:
        yield show.changed_tree(files, folders)
    if plan["status"] in ("paused", "pending_approval"):
        yield from _waiting(plan)


def imported_line(plan: Plan) -> Text:
    """What was imported, and how to go on with it."""
    short = plan["planId"][:8]
    line = Text.assemble(
        "Imported plan ", (short, "cyan"), f" ({counted(len(plan.get('steps') or []), 'step')}), "
    )
    if plan["status"] == "pending_approval":
        return line.append(f"which waits for your approval: `planloom resume {short}`.")
    return line.append(f"which is {status(plan)}: `planloom show {short}`.")


def _step(number: int, step: Step) -> Table:
    result = step.get("result") or {}
    note = result.get("error") or show.step_summary(result.get("summary"), step.get("description", ""))
    shown = step.get("status", "")
    if not note and shown == "skipped":
        note = show.SKIPPED.get(step.get("skipReason", ""), "")
    if step.get("reverted"):
        note = f"{note}\n{_REVERTED[step['reverted']]}".strip()
    return show.step_line(number, step, shown, note, result.get("durationMs"))


def _waiting(plan: Plan) -> Iterator[Text]:
    """What an open plan waits for, and the command that goes on with it."""
    if plan.get("pauseDetail"):
        yield Text(visible(plan["pauseDetail"] or ""), "yellow")
    pending = plan.get("pending") or {}
    for question in pending.get("questions") or []:
        yield Text.assemble(("? ", "bold magenta"), visible(question["question"]))
    for recovery in pending.get("recoveries") or []:
        yield Text.assemble(("✘ ", "bold red"), visible(recovery["error"]))
    yield Text(f"Go on with it: planloom resume {plan['planId'][:8]}", "dim")


def _folder(plan: PlanSummary) -> str:
    names = [
        path.name if (path := to_path(uri)) is not None else uri for uri in plan.get("workspaceFolders") or []
    ]
    return one_line(", ".join(names), 40)
