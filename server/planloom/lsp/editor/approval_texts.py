"""Says in plain lines what an approval is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planloom.domain.text.counted import counted
from planloom.view.actions import ALLOW_FOLDER, ALLOW_PLAN
from planloom.workspace.paths.uris import display_name

if TYPE_CHECKING:
    from planloom.domain.safety.approvals import Approval, PlanChange

MOST_FILES = 10
"""Files that a message names."""


def approval_text(approval: Approval) -> str:
    """All that a person has to know of it, but for the changes of its files."""
    lines = [f"Planloom wants to change: {approval.title}"]
    if approval.command is not None:
        lines = [command_text(approval)]
    if approval.confinement is not None:
        lines.append(approval.confinement.line)
    if approval.rules and not approval.only_once:
        lines.append(rules_text(approval))
    if approval.url is not None:
        lines = [
            f"Planloom wants to fetch from {approval.host}: {approval.url}",
            f"“{ALLOW_PLAN}” covers all pages of this host.",
        ]
    if approval.puts_back:
        lines = [f"Planloom: {approval.title}"]
    if approval.goes_on:
        lines = [f"Planloom asks before it goes on: {approval.title}"]
    if approval.plan_changes:
        lines = [f"Planloom: {approval.title}", *map(_change_text, approval.plan_changes)]
    for file in approval.files[:MOST_FILES]:
        to = f" to {file.new_resolved_path or display_name(file.new_uri)}" if file.new_uri else ""
        counts = f" (+{file.added} −{file.removed})" if file.added or file.removed else ""
        lines.append(f"{file.change} {file.resolved_path}{to}{counts}")
    if len(approval.files) > MOST_FILES:
        lines.append(f"and {counted(len(approval.files) - MOST_FILES, 'more file')}")
    if approval.warning:
        lines.append(approval.warning)
    return "\n".join(lines)


def command_text(approval: Approval) -> str:
    """The command and its folder."""
    return f"Planloom wants to run in {folder_of(approval)}: {approval.command}"


def rules_text(approval: Approval) -> str:
    """The scope of the answers that allow more than this command."""
    rules = " and ".join(f"`{rule}`" for rule in approval.rules)
    return f"“{ALLOW_PLAN}” covers {rules}, “{ALLOW_FOLDER}” does so in every plan; both confined as here."


def folder_of(approval: Approval) -> str:
    """The folder in which the command is to run."""
    return "the workspace folder" if approval.cwd in (None, ".") else str(approval.cwd)


def remarks_of(approval: Approval) -> list[str]:
    """The rights and the dangers of a command."""
    line = approval.confinement.line if approval.confinement is not None else None
    return [text for text in (line, approval.warning) if text]


def _change_text(change: PlanChange) -> str:
    before, after = change.before or "", change.after or ""
    match change.kind:
        case "added":
            return f"New: {after}"
        case "dropped":
            return f"Dropped: {before}"
        case "moved":
            return f"Moved: {before} → {after}"
        case "changed":
            return f"Changed from: {before}\nto: {after}"
