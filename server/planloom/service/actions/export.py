"""Exports a plan as Markdown, or the raw events of an unreadable one as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from planloom.domain.plans.graph import shown_statuses
from planloom.domain.plans.plan import Plan, taken_back
from planloom.domain.plans.report import Report
from planloom.domain.values import PlanId, Uri
from planloom.service.actions.markdown_text import as_line, as_text, code
from planloom.storage.event_rows import RawEvent
from planloom.storage.ledger import Compaction
from planloom.workspace.paths.uris import name_in

_MARKS = {
    "completed": "x",
    "running": ">",
    "needs_clarification": "?",
    "failed": "!",
    "skipped": "-",
}
_STATES = {"open": " (not read yet)", "read": "", "dropped": " (not followed)"}
"""The outcome of a message, written after its text."""
_REVERTED = {"whole": "taken back", "part": "taken back in part"}


def as_raw_json(plan_id: PlanId, events: Sequence[RawEvent]) -> str:
    """The event rows of a plan that cannot be read, with their bodies as undecoded text."""
    rows = [event._asdict() for event in events]
    return json.dumps({"planId": plan_id, "events": rows}, indent=2, ensure_ascii=False) + "\n"


def sentence(compaction: Compaction) -> str:
    """Says what was compacted of a plan, and when."""
    texts = "1 text" if compaction.texts == 1 else f"{compaction.texts} texts"
    return (
        f"{texts} of this plan's files ({compaction.bytes / 1e6:.1f} MB) were removed from the ledger on"
        f" {compaction.at[:10]} to save space."
    )


def as_markdown(plan: Plan, compaction: Compaction | None = None) -> str:
    """The request, the plan's status, its steps as a task list, what the user has said since, what was compacted."""
    title = as_line(plan.request.strip().splitlines()[0]) if plan.request.strip() else "Plan"
    back = f", {_REVERTED[how]}" if (how := taken_back(plan)) else ""
    lines = [f"# {title}", "", f"Version {plan.version}, {plan.status.replace('_', ' ')}{back}.", ""]
    if plan.summary:
        lines += [as_text(plan.summary), ""]
    for number, (step, shown) in enumerate(zip(plan.steps, shown_statuses(plan), strict=True), start=1):
        mark = " " if step.reverted == "whole" else _MARKS.get(shown, " ")
        lines.append(f"{number}. [{mark}] {as_line(step.title)}")
        if step.instruction and step.instruction != step.title:
            lines += _indented(step.instruction)
        for answer in plan.answers(step.step_id):
            lines += _indented(answer)
        if step.result and (step.result.summary or step.result.error):
            lines.append(f"   → {as_line(step.result.summary or step.result.error or '')}")
        if step.reverted:
            lines.append(f"   → {_REVERTED[step.reverted]}")
    if plan.messages:
        lines += ["", "## Said since the request", ""]
        lines += [f"- {as_line(message.text)}{_STATES[message.state]}" for message in plan.messages]
    if plan.execution_summary:
        lines += ["", as_text(plan.execution_summary)]
    if plan.report is not None:
        lines += _report(plan.report, plan.workspace_folders)
    if compaction is not None:
        lines += ["", f"{sentence(compaction)} The plan can no longer be undone."]
    return "\n".join(lines) + "\n"


def _indented(text: str) -> list[str]:
    return [f"   {line}" if line else "" for line in as_text(text).split("\n")]


def _report(report: Report, folders: Sequence[Uri]) -> Iterator[str]:
    """The parts of the report that the list of steps does not show."""
    if report.closing:
        yield from ("", as_text(report.closing))
    if report.files:
        yield from ("", "## Changed files", "")
        for file in report.files:
            counts = "" if file.added is None else f", +{file.added} −{file.removed}"
            before = "" if file.old_uri is None else f" from {as_line(name_in(file.old_uri, folders))}"
            by = ", changed by a command" if file.by_command else ""
            by += ", which cannot be taken back" if file.lasting else ""
            yield f"- {as_line(name_in(file.uri, folders))}: {file.change}{before}{counts}{by}"
    if report.notes:
        yield from ("", *(f"- {as_line(note)}" for note in report.notes))
    if report.commands:
        yield from ("", "## Commands", "")
        for command in report.commands:
            exit_code = "" if command.exit_code is None else f"exit code {command.exit_code}"
            outcome = as_line(": ".join(filter(None, (exit_code, command.outcome))))
            yield f"- {code(command.command)}: {outcome}"
    left = [f"- {as_line(step.description)}: {as_line(step.reason)}" for step in report.left]
    left += [f"- {as_line(name_in(uri, folders))}: not allowed" for uri in report.not_allowed]
    if left:
        yield from ("", "## Not done", "", *left)
