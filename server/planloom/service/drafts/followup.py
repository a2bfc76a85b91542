"""Describes the previous plan of a session for the prompts of its next request."""

from __future__ import annotations

from contextlib import suppress
from typing import NamedTuple

from planloom.domain.errors import StorageFailed
from planloom.domain.plans.plan import ENDED, Plan
from planloom.domain.safety.protected import is_secret
from planloom.domain.text.diff import unified
from planloom.domain.values import PlanId
from planloom.execution.plan_store import PlanStore
from planloom.execution.prompting.compaction import merge_by_rules
from planloom.execution.summary import changed_files, changes_of_file
from planloom.models.tokens import TokenCounter
from planloom.storage.ledger import Ledger
from planloom.tools.tool import shortened
from planloom.workspace.paths.names import listed
from planloom.workspace.paths.uris import name_in

SUMMARY_TOKENS = 800
_FILES = 60
_REQUEST = 500
_DIFF = 6_000
"""Most characters of the diff of a plan that is continued."""
_SEARCHED_PLANS = 20


class Previous(NamedTuple):
    """The plan before a plan, and its description; None and "" without one."""

    plan_id: PlanId | None = None
    text: str = ""


class FollowUp:
    """Finds the previous plan, once for each plan."""

    def __init__(self, plan_store: PlanStore, ledger: Ledger) -> None:
        self._plan_store = plan_store
        self._ledger = ledger
        self._found: dict[PlanId, Previous] = {}

    def forget(self, plan_id: PlanId) -> None:
        """Drop what was found for a plan that is no longer live here."""
        self._found.pop(plan_id, None)

    def of(self, plan: Plan) -> Previous:
        """The session's last ended plan."""
        if plan.plan_id not in self._found:
            found = self._previous(plan)
            self._found[plan.plan_id] = (
                Previous()
                if found is None
                else Previous(
                    found.plan_id, describe(found) + (self._diff(found) if plan.follows is not None else "")
                )
            )
        return self._found[plan.plan_id]

    def _diff(self, plan: Plan) -> str:
        """The changes of a plan that is continued, as a diff in bounds; texts that are gone are left out."""
        found = ""
        # What a command has written is as foreign as its output.
        commanded = {
            file.new_uri or file.uri for edit in plan.edits if edit.command is not None for file in edit.files
        }
        for uri in changed_files(plan):
            if uri in commanded:
                continue
            changes, name = changes_of_file(plan, uri, None), name_in(uri, plan.workspace_folders)
            if changes is None or is_secret(name):
                continue
            with suppress(StorageFailed):
                before, after = (
                    self._ledger.text(each) if each else None for each in (changes.before, changes.after)
                )
                if (before is None, after is None) == (changes.before is None, changes.after is None):
                    found += unified(before, after, name, name)
        if not found:
            return ""
        cut = found[: found.rfind("\n", 0, _DIFF) + 1] if len(found) > _DIFF else found
        rest = "" if cut == found else f"[{len(found) - len(cut)} more characters: read the files]"
        return f"\nIts changes:\n{cut}{rest}".rstrip()

    def _previous(self, plan: Plan) -> Plan | None:
        """The plan that this one follows, else the newest ended one of those created before it.

        The order is that of the ledger, not of the clock.
        """
        if plan.follows is not None:
            with suppress(StorageFailed):
                return self._plan_store.find(plan.follows)
        ids = self._ledger.plans(session_id=plan.session_id, limit=_SEARCHED_PLANS)
        older = ids[ids.index(plan.plan_id) + 1 :] if plan.plan_id in ids else ids
        for plan_id in older:
            try:
                found = self._plan_store.find(plan_id)
            except StorageFailed:
                continue
            if found is not None and found.status in ENDED:
                return found
        return None


def describe(plan: Plan) -> str:
    """An ended plan in a few lines: its request, outcome, results and changed files."""
    lines = [f"Request: {shortened(plan.request.strip(), _REQUEST)}"]
    if plan.execution_summary:
        lines.append(f"Outcome: {plan.status}. {plan.execution_summary}")
    results = [
        step.result.summary
        for step in plan.steps
        if step.step_id not in plan.summarized and step.result is not None and step.result.summary
    ]
    summary = merge_by_rules(plan.context_summary or "", results, SUMMARY_TOKENS, TokenCounter().text)
    if summary:
        lines.append(f"What was done:\n{summary}")
    files = [name_in(uri, plan.workspace_folders) for uri in changed_files(plan)]
    if files:
        lines.append(f"Changed files: {listed(files, _FILES)}")
    return "\n".join(lines)
