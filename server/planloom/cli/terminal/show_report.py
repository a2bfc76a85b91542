"""Renders an ended plan's report: how it ended, the model's closing words, what was done, changed, run and left."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from planloom.cli.client.messages import Json, PlanView, Report, ReportedCommand
from planloom.cli.plain import one_line, visible
from planloom.cli.remedies import advice
from planloom.cli.terminal import show
from planloom.domain.text.counted import counted

_STYLES = {"completed": "bold green", "failed": "bold red"}
_INDENT = (0, 0, 0, 2)
_MOST_PROBLEMS = 10


def only_answers(report: Report) -> bool:
    """Whether all that the plan has done is to give an answer, which has been shown before."""
    more = (report.get(part) for part in ("files", "commands", "left", "notAllowed"))
    return bool(report.get("answered")) and len(report.get("done") or []) == 1 and not any(more)


def heading(view: PlanView) -> Text:
    """Where an ended plan stands, with its caveats, and its done steps counted."""
    report, progress, sign = view["plan"].get("report") or {}, view["progress"], view["sign"]
    results = [each["step"].get("result") or {} for each in view["steps"]]
    caveats = report.get("caveats") or []
    if not caveats and any(result.get("caveat") == "unchecked" for result in results):
        caveats = ["not all of it is checked"]
    style = "bold yellow" if caveats else _STYLES.get(sign, "bold yellow")
    mark = "!" if caveats and sign == "completed" else show.MARKS.get(sign, Text("")).plain
    count = f"  {progress['completed']} of {counted(progress['total'], 'step')} done."
    # A plan that is done in part is counted in its words.
    is_counted = sign not in ("partly", "undone") and progress["total"] > (1 if sign == "completed" else 0)
    # The words of a plan at whose end a command failed say "but" already.
    but = "" if sign == "partly" else "But "
    reservations = f"  {but}{visible('; '.join(caveats))}." if caveats else ""
    return Text.assemble(
        (f"{mark} {view['state']}.".lstrip(), style), count if is_counted else "", reservations
    )


def report_parts(view: PlanView, folders: Sequence[Path], *, steps: bool = True) -> Iterator[RenderableType]:
    """The parts of the report that say something, each under its heading; those on `steps` unless they stand above.

    A plan without a report has its changed files.
    """
    report = view["plan"].get("report") or {}
    if report.get("closing") and not report.get("answered"):
        yield Padding(show.Prose(report["closing"]), (0, 2))
    if steps and (done := _done(report, view)):
        yield Padding(done, _INDENT)
    if view["files"]:
        yield show.changed_tree(view["files"], folders, report.get("files") or [])
    judged = [step["judged"] for step in view["steps"] if step.get("judged")]
    problems = [problem for each in judged for problem in each.get("problems") or []]
    for each in problems[:_MOST_PROBLEMS]:
        place = f"{each['path']}:{each['line']}: {each['kind']}: {each['message']}"
        yield Padding(Text(visible(place), "yellow", overflow="fold"), _INDENT)
    if (more := len(problems) - _MOST_PROBLEMS) > 0:
        yield Padding(Text(f"and {more} more", "dim"), _INDENT)
    for note in report.get("notes") or []:
        yield Text.assemble(("! ", "yellow"), visible(note))
    for uri in report.get("notAllowed") or []:
        yield Text.assemble(("– ", "yellow"), visible(show.relative(uri, folders)), ("  not allowed", "dim"))
    if report.get("commands"):
        yield Text("Commands", "bold")
        yield Padding(_commands(report["commands"]), _INDENT)
    if steps and (left := view.get("left")) and len(view["steps"]) > 1:
        yield Text("Not done", "bold")
        yield Padding(_left(left, view), _INDENT)
    if report.get("files"):
        yield Text(f"All changes: planloom diff {view['plan'].get('planId', '')[:8]}", "dim")


def whole_plan(view: PlanView) -> RenderableType:
    """The plan for review, with what it has used of which model so far."""
    return Group(show.plan_table(view), *_problem_lines(view), *used_lines(view))


def problem_of(view: PlanView) -> tuple[str, str] | None:
    """Why the plan has failed, or cannot use a model, and what can be done, "" if nothing; None if all is well."""
    problem = view.get("problem")
    if problem is None:
        return None
    plan = view["plan"]
    of_model = plan.get("modelProblem") or (plan.get("error") or {}).get("modelProblem") or {}
    return problem["words"], advice(problem, of_model)


def _problem_lines(view: PlanView) -> Iterator[RenderableType]:
    if (problem := problem_of(view)) is not None:
        yield Text(visible(problem[0]), "bold yellow")
        yield show.advised(problem[1])


def used_lines(view: PlanView) -> Iterator[Text]:
    """The plan's use of models, in one line and in those that explain it."""
    if view.get("used"):
        yield Text(f"Used: {one_line(view['used'], 160)}", "dim")
        for line in (view.get("usedLines") or [])[1:]:
            yield Text(f"  {one_line(line, 160)}", "dim")


def _done(report: Report, view: PlanView) -> Table | None:
    """The completed steps, those of a model with its summaries; None if no summary adds to the plan.

    Literal calls have no summary here: the files and commands show their effect.
    """
    shown = {each["step"]["stepId"]: each for each in view["steps"]}
    steps = [(shown[step["stepId"]], step) for step in report.get("done") or [] if step["stepId"] in shown]
    summaries = [
        show.step_summary(step.get("summary"), step.get("description", ""))
        if each["step"].get("kind") == "processing"
        else ""
        for each, step in steps
    ]
    if not any(summaries):
        return None
    table = _rows()
    for (each, step), summary in zip(steps, summaries, strict=True):
        text = Text(visible(step.get("description", "")))
        if summary:
            text.append(f"\n{visible(summary)}", "dim")
        table.add_row(show.MARKS.get(each["sign"], Text(" ")), str(each["number"]), text)
    return table


def _left(left: Sequence[Json], view: PlanView) -> Table:
    signs = {each["number"]: each["sign"] for each in view["steps"]}
    table = _rows()
    for step in left:
        text = Text(visible(step["description"])).append(f"\n{visible(step['why'])}", "dim")
        mark = show.MARKS.get(signs[step["number"]], Text("·", "yellow"))
        table.add_row(mark, str(step["number"]), text)
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
