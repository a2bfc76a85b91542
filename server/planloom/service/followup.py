"""What a request is told of its session: the summary and the changed files of the last plan that ended."""

from __future__ import annotations

from collections.abc import Callable

from planloom.domain.plan import ENDED, Plan
from planloom.domain.values import PlanId
from planloom.execution.book import Book
from planloom.execution.compaction import merge_by_rules
from planloom.execution.summary import changed_files
from planloom.models.tokens import TokenCounter
from planloom.storage.ledger import Ledger
from planloom.tools.tool import shortened

SUMMARY_TOKENS = 800
_FILES = 60
_REQUEST = 500


class FollowUp:
    """Finds the plan that went before, once for each plan."""

    def __init__(self, book: Book, ledger: Ledger) -> None:
        self._book = book
        self._ledger = ledger
        self._known: dict[PlanId, str] = {}

    def of(self, plan: Plan) -> str:
        """What the session's last ended plan has left, as text; empty for the first request of a session."""
        if plan.plan_id not in self._known:
            before = self._before(plan)
            self._known[plan.plan_id] = told(before, self._name) if before is not None else ""
        return self._known[plan.plan_id]

    def _before(self, plan: Plan) -> Plan | None:
        ended = self._ledger.plans(session_id=plan.session_id, statuses=tuple(ENDED), limit=20)
        for plan_id in ended:
            found = self._book.find(plan_id) if plan_id != plan.plan_id else None
            if found is not None and (
                plan.created_at is None or (found.created_at or plan.created_at) <= plan.created_at
            ):
                return found
        return None

    def _name(self, plan: Plan, uri: str) -> str:
        for folder in plan.workspace_folders:
            if uri.startswith(folder.rstrip("/") + "/"):
                return uri[len(folder.rstrip("/")) + 1 :]
        return uri


def _began_after(one: Plan, other: Plan) -> bool:
    return one.created_at is not None and other.created_at is not None and one.created_at > other.created_at


def told(plan: Plan, name: Callable[[Plan, str], str]) -> str:
    """An ended plan in a few lines: its request, what came of it, and the files that it changed."""
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
    files = [name(plan, uri) for uri in changed_files(plan)]
    if files:
        more = f" and {len(files) - _FILES} more" if len(files) > _FILES else ""
        lines.append(f"Changed files: {', '.join(files[:_FILES])}{more}")
    return "\n".join(lines)
