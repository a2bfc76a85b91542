"""Fetches pages for a step, and for a plan the images that its request links, once each address is approved."""

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
from planloom.execution.commands.running import CallDenied, CancelledByUser
from planloom.execution.effects.fetch_approval import FetchProposal
from planloom.execution.effects.gate import Gate
from planloom.execution.effects.proposals import Denied
from planloom.execution.plan_store import PlanStore
from planloom.execution.step_run import StepRun
from planloom.tools.fetch_url import Fetcher
from planloom.web.addresses import WebAddress, refusal, web_address
from planloom.web.pages import Fetched, NotFetched, Page, Picture, Redirected

_KEPT: Final = 4
"""The most pages that are kept, each of up to 2 MB."""
MOST_OF_A_PLAN: Final = 4
"""The most images that are fetched for a plan: a text pasted from a page may name many, and each is asked."""
_IMAGES_KEPT: Final = 16
"""The most results that are kept, each with an image of up to 5 MB."""


class StepFetches:
    """`Fetcher` for one run of a step."""

    def __init__(self, run: StepRun, gate: Gate) -> None:
        self._run = run
        self._gate = gate
        self._pages: dict[str, Page] = {}

    async def fetch(self, address: WebAddress, *, again: bool) -> Fetched:
        """Get the address approved and fetch it. Raises CallDenied, CancelledByUser, UntrustedWorkspace.

        `again`: a page that this run has fetched already is returned as it was, since nothing is sent for it.
        """
        kept = self._pages.get(address.url)
        if again and kept is not None:
            return kept
        allow_internal = self._run.session.settings.fetch.allow_internal
        refused = refusal(address, allow_internal=allow_internal)
        if refused is not None:
            return NotFetched(refused)
        verdict = await self._gate.permit_fetch(
            FetchProposal(self._run.plan_id, self._run.step_id, self._run.step.description, address)
        )
        if isinstance(verdict, Denied):
            if verdict.cancelled:
                raise CancelledByUser
            raise CallDenied(verdict.reason, "The page was not fetched")
        # httpx is imported when something is sent: it takes as long as a third of the start.
        from planloom.web.fetching import fetch

        fetched = await fetch(address, allow_internal=allow_internal)
        if isinstance(fetched, Page):
            self._pages.pop(address.url, None)
            self._pages[address.url] = fetched
            if len(self._pages) > _KEPT:
                del self._pages[next(iter(self._pages))]
        return fetched


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
                if len(self._results) > _IMAGES_KEPT:
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
