"""Renders an ended plan's report: how it ended, the model's closing words, what was done, changed, run and left."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from pathlib import Path

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from planloom.cli.client.messages import LeftStep, Plan, Report, ReportedCommand, ReportedFile
from planloom.cli.plain import one_line, visible
from planloom.cli.terminal import show
from planloom.domain.text.counted import counted

_ENDINGS = {
    "completed": ("✔ Done.", "bold green"),
    "failed": ("✘ The plan failed.", "bold red"),
    "cancelled": ("– The plan was cancelled.", "bold yellow"),
    "rejected": ("– The plan was rejected.", "bold yellow"),
}
_LEFT = {"failed": ("✘", "bold red"), "skipped": ("–", "yellow")}
_INDENT = (0, 0, 0, 2)


def only_answers(report: Report) -> bool:
    """Whether all that the plan has done is to give an answer, which has been shown before."""
    more = (report.get(part) for part in ("files", "commands", "left", "notAllowed"))
    return bool(report.get("answered")) and len(report.get("done") or []) == 1 and not any(more)


def heading(ending: str, report: Report) -> Text:
    """How the plan ended. A plan that has left steps out is not called done, and one with caveats not simply so."""
    done, left = len(report.get("done") or []), len(report.get("left") or [])
    count = f"  {done} of {counted(done + left, 'step')} done."
    but = "; ".join(visible(each) for each in report.get("caveats") or [])
    if ending == "completed" and left:
        words = "! Done in part." if done else "– Nothing was done."
        return Text.assemble((words, "bold yellow"), count if done else "", f"  But {but}." if but else "")
    if ending == "completed" and but:
        return Text.assemble(("! Done, but ", "bold yellow"), f"{but}.", count if done > 1 else "")
    words, style = _ENDINGS.get(ending, (ending, ""))
    if ending == "completed" and any(each.get("caveat") == "unchecked" for each in report.get("done") or []):
        words, style = "! Done, but not all of it is checked.", "bold yellow"
    return Text.assemble((words, style), count if done + left > (1 if ending == "completed" else 0) else "")


def ending_line(ending: str, progress: Mapping[str, int]) -> Text:
    """How a plan without a report ended, with its steps counted."""
    words, style = _ENDINGS.get(ending, (ending, ""))
    counts = [f"{progress[key]} {key}" for key in ("completed", "failed", "skipped") if progress.get(key)]
    return Text.assemble((words, style), f"  {', '.join(counts)}" if counts else "")


def report_parts(report: Report, plan: Plan, folders: Sequence[Path]) -> Iterator[RenderableType]:
    """The parts of the report that say something, each under its heading."""
    if report.get("closing") and not report.get("answered"):
        yield Padding(show.Prose(report["closing"]), (0, 2))
    steps = plan.get("steps") or []
    numbers = {step["stepId"]: number for number, step in enumerate(steps, 1)}
    thought = {step["stepId"] for step in steps if step.get("kind") == "processing"}
    if done := _done(report, numbers, thought):
        yield Padding(done, _INDENT)
    if report.get("files"):
        files = {file["uri"]: file["change"] for file in report["files"]}
        counts = {file["uri"]: _counts(file) for file in report["files"]}
        yield show.changed_tree(files, folders, counts)
    for note in report.get("notes") or []:
        yield Text.assemble(("! ", "yellow"), visible(note))
    for uri in report.get("notAllowed") or []:
        yield Text.assemble(("– ", "yellow"), visible(show.relative(uri, folders)), ("  not allowed", "dim"))
    if report.get("commands"):
        yield Text("Commands", "bold")
        yield Padding(_commands(report["commands"]), _INDENT)
    if report.get("left") and len(numbers) > 1:
        yield Text("Not done", "bold")
        yield Padding(_left(report["left"], numbers), _INDENT)
    if report.get("files"):
        yield Text(f"All changes: planloom diff {plan.get('planId', '')[:8]}", "dim")


def _done(report: Report, numbers: Mapping[str, int], thought: Set[str]) -> Table | None:
    """The completed steps, those of a model with its summaries; None if no summary adds to the plan.

    Literal calls have no summary here: the files and commands show their effect.
    """
    steps = report.get("done") or []
    summaries = [
        show.step_summary(step.get("summary"), step.get("description", ""))
        if step["stepId"] in thought
        else ""
        for step in steps
    ]
    if not any(summaries):
        return None
    table = _rows()
    for step, summary in zip(steps, summaries, strict=True):
        text = Text(visible(step.get("description", "")))
        if summary:
            text.append(f"\n{visible(summary)}", "dim")
        table.add_row(
            show.MARKS[step.get("caveat") or "completed"], str(numbers.get(step["stepId"], "")), text
        )
    return table


def _left(steps: Sequence[LeftStep], numbers: Mapping[str, int]) -> Table:
    table = _rows()
    for step in steps:
        mark, style = _LEFT.get(step.get("status", ""), ("·", "yellow"))
        text = Text(visible(step.get("description", "")))
        if step.get("reason"):
            text.append(f"\n{visible(step['reason'])}", "dim")
        table.add_row(Text(mark, style), str(numbers.get(step["stepId"], "")), text)
    return table


def _commands(commands: Sequence[ReportedCommand]) -> Table:
    table = Table.grid(padding=(0, 1))
    table.add_column(width=1)
    table.add_column(overflow="fold")
    for command in commands:
        code = command.get("exitCode")
        mark, style = ("✘", "red") if command.get("failed") or code else ("✔", "green")
        if code is None and mark == "✔":
            # It did not end by itself, which may be what was wanted.
            mark, style = "–", "yellow"
        text = Text(one_line(command["command"], 160))
        how = [f"exit code {code}"] if code else []
        outcome = ": ".join([*how, *([command["outcome"]] if command.get("outcome") else [])])
        text.append(f"  {visible(outcome)}", "dim" if mark == "✔" else style)
        if command.get("runs", 1) > 1:
            failed = command.get("failedBefore", 0)
            before = f", {failed} of them failed before" if failed else ""
            text.append(f"  run {command['runs']} times{before}", "dim")
        if command.get("confinement"):
            text.append(f"\n{visible(command['confinement'])}", "dim")
        table.add_row(Text(mark, f"bold {style}"), text)
    return table


def _rows() -> Table:
    """A table for steps: a mark, the number, the text."""
    table = Table.grid(padding=(0, 1))
    table.add_column(width=1)
    table.add_column(justify="right", min_width=2, style="dim")
    table.add_column(overflow="fold")
    return table


def _counts(file: ReportedFile) -> Text:
    """`+3 −1`, empty where the lines were not counted, and that a command has changed the file."""
    text = Text()
    if added := file.get("added"):
        text.append(f" +{added}", "green")
    if removed := file.get("removed"):
        text.append(f" −{removed}", "red")
    if file.get("byCommand"):
        lasting = ", which cannot be taken back" if file.get("lasting") else ""
        text.append(f"  changed by a command{lasting}", "dim")
    return text
