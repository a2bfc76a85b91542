"""Fetches pages for one step: gets each address approved first, and keeps the last pages so that they are read on."""

from __future__ import annotations

from typing import Final

from planloom.execution.effects.fetch_approval import FetchProposal
from planloom.execution.effects.gate import Gate
from planloom.execution.effects.proposals import Denied
from planloom.execution.step_run import StepRun
from planloom.execution.steps.commands import CallDenied, CancelledByUser
from planloom.web.addresses import WebAddress, refusal
from planloom.web.fetching import fetch
from planloom.web.pages import Fetched, NotFetched, Page

_KEPT: Final = 4
"""The most pages that are kept, each of up to 2 MB."""


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
        fetched = await fetch(address, allow_internal=allow_internal)
        if isinstance(fetched, Page):
            self._pages.pop(address.url, None)
            self._pages[address.url] = fetched
            if len(self._pages) > _KEPT:
                del self._pages[next(iter(self._pages))]
        return fetched
