"""Tells what tools may need and a plan's workspace or editor lacks, so that its models are not shown those tools."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from planloom.domain.values import PlanId
from planloom.execution.session import Session
from planloom.execution.workspace_index import WorkspaceIndex
from planloom.tools.tool import Need
from planloom.workspace.index.scan import in_work_tree

_MOST_PLANS: Final = 64


class Lacking:
    """Looked up once for each plan: its conversation keeps the same list of tools, so that its prefix is cached."""

    def __init__(self, session: Session, index: WorkspaceIndex) -> None:
        self._session = session
        self._index = index
        self._plans: OrderedDict[PlanId, frozenset[Need]] = OrderedDict()

    async def of(self, plan_id: PlanId) -> frozenset[Need]:
        """The needs that were lacking when a model of the plan was first asked."""
        if plan_id not in self._plans:
            found = await self._now()
            self._plans.setdefault(plan_id, found)
        self._plans.move_to_end(plan_id)
        while len(self._plans) > _MOST_PLANS:
            self._plans.popitem(last=False)
        return self._plans[plan_id]

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
