"""Tells which tools a plan's models are shown: those that can work where it is, and those of servers."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from planloom.domain.values import PlanId
from planloom.execution.session import Session
from planloom.execution.workspace_index import WorkspaceIndex
from planloom.tools.external_tools import offered
from planloom.tools.tool import Need, Tool
from planloom.workspace.index.scan import in_work_tree

_MOST_PLANS: Final = 64


class Lacking:
    """Looked up once for each plan: its conversation keeps the same list of tools, so that its prefix is cached."""

    def __init__(
        self, session: Session, index: WorkspaceIndex, say: Callable[[PlanId, str], None] = lambda *_: None
    ) -> None:
        """`say` tells the user of a plan what there is to know of the servers."""
        self._session = session
        self._index = index
        self._say = say
        self._plans: OrderedDict[PlanId, tuple[frozenset[Need], tuple[Tool, ...]]] = OrderedDict()

    async def of(self, plan_id: PlanId) -> tuple[frozenset[Need], tuple[Tool, ...]]:
        """The needs that were lacking, and the tools of servers, when a model of the plan was first asked."""
        if plan_id not in self._plans:
            lacks, tools = await asyncio.gather(self._now(), self._of_servers(plan_id))
            self._plans.setdefault(plan_id, (lacks, tools))
        self._plans.move_to_end(plan_id)
        while len(self._plans) > _MOST_PLANS:
            self._plans.popitem(last=False)
        return self._plans[plan_id]

    async def _of_servers(self, plan_id: PlanId) -> tuple[Tool, ...]:
        external = self._session.external
        if external is None or not self._session.trusted:
            return ()
        for sentence in await external.ready():
            self._say(plan_id, sentence)
        return offered(external.tools())

    async def _now(self) -> frozenset[Need]:
        lacks: set[Need] = set()
        if not await self._index.find_language():
            lacks.add("language")
            if not self._session.editor.capabilities.diagnostics:
                lacks.add("diagnostics")
        if self._session.view.roots.any_virtual:
            lacks.add("commands")
        folders = [root.path for root in self._session.view.roots.folders]
        if not await asyncio.to_thread(_any_in_work_tree, folders):
            lacks.add("repository")
        return frozenset(lacks)


def _any_in_work_tree(folders: Sequence[Path]) -> bool:
    try:
        return any(in_work_tree(folder.resolve()) for folder in folders)
    except (OSError, RuntimeError):
        # What cannot be looked at may well be a repository.
        return True
