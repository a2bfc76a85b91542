"""Fetches the images whose addresses a request names, once for a plan, when a step for a model first needs them."""

from __future__ import annotations

import asyncio
from typing import Final
from weakref import WeakValueDictionary

from planloom.domain.errors import UntrustedWorkspace
from planloom.domain.events import catalog as ev
from planloom.domain.image_types import KINDS
from planloom.domain.plans.attachments import Attachment, ResolvedAttachment
from planloom.domain.plans.plan import Plan
from planloom.domain.values import PlanId, Uri
from planloom.execution.plan_store import PlanStore
from planloom.execution.steps.commands import CallDenied
from planloom.tools.fetch_url import Fetcher
from planloom.web.addresses import WebAddress, web_address
from planloom.web.pages import NotFetched, Page, Picture, Redirected

MOST_OF_A_PLAN: Final = 4
"""The most images that are fetched for a plan: a text pasted from a page may name many, and each is asked."""
_KEPT: Final = 16
"""The most results that are kept, each with an image of up to 5 MB."""


class LinkedImages:
    """Images by their addresses. Each is asked and fetched once for a plan; so is a denial or a failure kept."""

    def __init__(self, plan_store: PlanStore) -> None:
        self._plan_store = plan_store
        self._results: dict[tuple[PlanId, Uri | None], ResolvedAttachment] = {}
        self._locks: WeakValueDictionary[PlanId, asyncio.Lock] = WeakValueDictionary()

    async def of(self, plan: Plan, attachment: Attachment, pages: Fetcher) -> ResolvedAttachment:
        """The attachment with its image, or with a note on why there is none. Raises CancelledByUser."""
        key = plan.plan_id, attachment.uri
        # Steps that run in parallel share the attachments of their plan.
        async with self._locks.setdefault(plan.plan_id, asyncio.Lock()):
            if key not in self._results:
                self._results[key] = await self._result(plan, attachment, pages)
                if len(self._results) > _KEPT:
                    del self._results[next(iter(self._results))]
            return self._results[key]

    async def _result(self, plan: Plan, attachment: Attachment, pages: Fetcher) -> ResolvedAttachment:
        found = await self._fetched(plan, attachment, pages)
        if isinstance(found, bytes):
            return ResolvedAttachment(attachment=attachment.model_copy(update={"note": None}), image=found)
        message = f"The model is not shown {attachment.uri}. {found}"
        self._plan_store.record(plan.plan_id, ev.Log(level="warning", message=message))
        return ResolvedAttachment(attachment=attachment.model_copy(update={"note": found}))

    async def _fetched(self, plan: Plan, attachment: Attachment, pages: Fetcher) -> bytes | str:
        """The image, or a sentence on why there is none."""
        linked = [each for each in plan.attachments if each.kind == "image" and each.of_web]
        if attachment in linked[MOST_OF_A_PLAN:]:
            return f"Only the first {MOST_OF_A_PLAN} images that a request links are fetched."
        address = web_address(attachment.uri or "")
        assert isinstance(address, WebAddress), "other addresses are attached as links"
        try:
            found = await pages.fetch(address, again=False)
        except (CallDenied, UntrustedWorkspace) as refused:
            return str(refused)
        match found:
            case Picture():
                return found.data
            case Page():
                return f"The host sent a text, no {KINDS}."
            case Redirected():
                return "It redirects to another host, where nothing is fetched."
            case NotFetched():
                return found.reason
