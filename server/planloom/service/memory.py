"""The memory of earlier plans of the workspace: kept when a plan ends, and found again for a request like it.

An entry belongs to the real folders, as trust does: another project at the same path gets none of it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence

from planloom.domain.errors import InvalidParams, StorageFailed
from planloom.domain.memory.entries import MemoryEntry, entry_terms, shown
from planloom.domain.memory.ranking import matches, query_of, ranked
from planloom.domain.plans.plan import ENDED, Plan, Step, taken_back
from planloom.domain.safety.known_keys import KnownKeys
from planloom.domain.text.counted import cut
from planloom.domain.values import PlanId, Uri
from planloom.execution.session import Session
from planloom.execution.summary import changed_files
from planloom.storage.decisions import identity_of
from planloom.storage.ledger import Ledger, workspace_key
from planloom.tools.external_tools import SEPARATOR
from planloom.workspace.paths.uris import name_in, to_path

_FILES, _FINDINGS, _DECISIONS = 20, 8, 6
_REQUEST, _TEXT, _NAME = 500, 400, 200
_FROM_THE_WEB = "fetch_url"
log = logging.getLogger(__name__)


class Memory:
    """The entries of the workspace. With `context.memory` off none is kept, and none is shown to a model."""

    def __init__(self, session: Session, ledger: Ledger, keys: KnownKeys) -> None:
        """`keys` are masked in what is kept, and so are texts in the form of well-known keys."""
        self._session = session
        self._ledger = ledger
        self._keys = keys

    def keep(self, plan: Plan) -> None:
        """Keep what a plan found and did, if it has ended or was rejected."""
        if not self._session.settings.context.memory:
            return
        if plan.status not in ENDED and plan.status != "rejected":
            return
        entry = self._masked(entry_of(plan)).model_copy(update={"folders": _real(plan.workspace_folders)})
        try:
            if entry.says_something:
                self._ledger.keep_memory(entry, entry_terms(entry))
        except StorageFailed as error:
            log.warning("what the plan %s found is not kept: %s", plan.plan_id, error.message)

    def of(self, plan: Plan, besides: PlanId | None) -> str:
        """The entries of plans on the subject of this one, for its prompts; empty where none is surely on it.

        `besides` is the plan of which the prompts say more.
        """
        if not self._session.settings.context.memory:
            return ""
        known = (plan.plan_id, besides)
        workspace = workspace_key(plan.workspace_folders)
        try:
            count = self._ledger.memory_count(workspace)
            if not count:
                return ""
            attached = (each.uri for each in plan.attachments if each.uri is not None)
            query = query_of(plan.request, [name_in(uri, plan.workspace_folders) for uri in attached])
            hits = [
                hit for hit in self._ledger.memory_hits(workspace, query.terms) if hit.plan_id not in known
            ]
            found = ranked(query, hits, count) if hits else ()
            entries = _of_folders(self._ledger.memories_of(found), plan.workspace_folders)
            return shown([each for each in entries if not _says_the_same(each, plan)], query.words)
        except StorageFailed as error:
            log.warning("earlier plans are not searched: %s", error.message)
            return ""

    def search(self, words: str, limit: int) -> tuple[MemoryEntry, ...]:
        """The entries that share a word or a file with these words, the best first; without words the newest.

        Raises StorageFailed.
        """
        workspace = workspace_key(self._session.folders)
        if not words.strip():
            return _of_folders(self._ledger.memories(workspace, limit), self._session.folders)
        query = query_of(words)
        hits = self._ledger.memory_hits(workspace, query.terms)
        found = matches(query, hits, self._ledger.memory_count(workspace))
        entries = self._ledger.memories_of([match.plan_id for match in found[:limit]])
        return _of_folders(entries, self._session.folders)

    def forget(self, plan_id: PlanId | None) -> int:
        """Delete the entry of a plan, or of all plans of the workspace for None; how many there were.

        Raises InvalidParams for a plan without an entry here, StorageFailed.
        """
        forgotten = self._ledger.forget_memories(workspace_key(self._session.folders), plan_id)
        if plan_id is not None and not forgotten:
            raise InvalidParams(
                "Nothing is kept of this plan for later ones.",
                details=[{"field": "planId", "problem": "nothing is kept of it"}],
            )
        return forgotten

    def _masked(self, entry: MemoryEntry) -> MemoryEntry:
        mask = self._keys.masked_log
        many = ("files", "findings", "decisions")
        masked: dict[str, object] = {name: mask(getattr(entry, name)) for name in ("request", "outcome")}
        # A key may be masked already in one of two texts that are the same.
        masked |= {name: tuple(dict.fromkeys(map(mask, getattr(entry, name)))) for name in many}
        return entry.model_copy(update=masked)


def _of_folders(entries: Sequence[MemoryEntry], folders: Sequence[Uri]) -> tuple[MemoryEntry, ...]:
    """The entries of these very folders, and older ones that do not tell theirs."""
    return tuple(each for each in entries if each.folders in ("", _real(folders)))


def _real(folders: Sequence[Uri]) -> str:
    """The identities of folders beyond their names; folders that only the editor can reach have none."""
    return ",".join(identity_of(path) if (path := to_path(uri)) is not None else "" for uri in folders)


def entry_of(plan: Plan) -> MemoryEntry:
    """The findings and changes of an ended or rejected plan."""
    at = plan.completed_at or plan.rejected_at or plan.updated_at
    assert at is not None, "its events have set it"
    files = (name_in(uri, plan.workspace_folders) for uri in changed_files(plan))
    return MemoryEntry(
        plan_id=plan.plan_id,
        at=at,
        status=plan.status,
        request=cut(plan.request.strip(), _REQUEST),
        outcome=cut(plan.execution_summary or "", _TEXT),
        files=tuple(cut(name, _NAME) for name in files)[:_FILES],
        findings=tuple(cut(text, _TEXT) for text in dict.fromkeys(_findings(plan)))[:_FINDINGS],
        decisions=tuple(cut(text, _TEXT) for text in _decisions(plan))[:_DECISIONS],
    )


def _says_the_same(entry: MemoryEntry, plan: Plan) -> bool:
    """Whether an entry is of the very same request, which was done without a word of the user."""
    same = entry.request == cut(plan.request.strip(), _REQUEST)
    return same and entry.status == "completed" and not entry.decisions


def _findings(plan: Plan) -> Iterator[str]:
    """The words of models about their work, the final answer first.

    What a page of the web may have put there is left out: it would stay for all later plans.
    """
    if plan.answer and not any(map(_has_fetched, plan.steps)):
        yield plan.answer.strip()
    for step in plan.steps:
        result = step.result
        if step.kind != "processing" or result is None or _has_fetched(step):
            continue
        if step.status == "completed" and result.summary:
            yield result.summary.strip()
        elif result.error:
            yield f"{step.description} failed: {result.error.strip()}"


def _has_fetched(step: Step) -> bool:
    return any(
        call.tool == _FROM_THE_WEB
        or SEPARATOR in call.tool
        or (call.confinement is not None and call.confinement.network == "all")
        for call in step.tools_executed
    )


def _decisions(plan: Plan) -> Iterator[str]:
    """The words and decisions of the user."""
    undone = taken_back(plan)
    if undone is not None:
        yield f"The user has undone {'it' if undone == 'whole' else 'a part of it'}."
    if plan.status == "rejected":
        yield f"The user rejected it: {plan.rejection_reason or 'without a reason'}"
    for each in plan.asked:
        if each.answer is not None:
            yield f"{each.question} The user answered: {each.answer.strip()}"
    for message in plan.messages:
        if message.state != "dropped":
            yield f"The user said: {message.text.strip()}"
    for uri in plan.left_out:
        yield f"The user did not allow changes of {name_in(uri, plan.workspace_folders)}."
