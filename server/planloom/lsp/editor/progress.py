"""Shows running plans by `$/progress`, with a button that cancels the plan."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from planloom.domain.errors import PlanloomError
from planloom.domain.plans.graph import step_waits
from planloom.domain.plans.plan import Plan, progress
from planloom.domain.text.hidden_characters import in_message
from planloom.domain.values import PlanId
from planloom.execution.jobs import Jobs
from planloom.lsp.transport.codec import PlanloomProtocol
from planloom.lsp.transport.outgoing import ClientGone, ClientRefused
from planloom.view.plan_view import thought
from planloom.view.states import status_words, waiting_for
from planloom.view.words import Words

if TYPE_CHECKING:
    from planloom.domain.events.catalog import Recorded

logger = logging.getLogger(__name__)

REPORT_SECONDS = 0.1
"""The least time between two reports on one plan."""
CREATE_SECONDS = 10.0
_SHOWN = frozenset({"draft", "approved", "executing"})


class ProgressReporter:
    """One progress bar for each plan that is being drafted or executed."""

    def __init__(
        self,
        protocol: PlanloomProtocol,
        jobs: Jobs,
        cancel: Callable[[PlanId], Awaitable[Any]],
        congested: Callable[[], bool],
        words: Words,
    ) -> None:
        """`cancel` cancels a plan. While the client is `congested`, bars only begin and end. `words` are its user's."""
        self._protocol = protocol
        self._jobs = jobs
        self._cancel = cancel
        self._congested = congested
        self._words = words
        self._latest: dict[PlanId, Plan] = {}
        self._changed: dict[PlanId, asyncio.Event] = {}
        self._tokens: dict[str, PlanId] = {}
        self._refused = False

    def on_event(self, recorded: Recorded, after: Plan) -> None:
        """Begin, update or end the bar of a plan; `after` is the plan with the event folded in."""
        plan_id = recorded.plan_id
        if plan_id in self._changed:
            self._latest[plan_id] = after
            self._changed[plan_id].set()
        elif after.status in _SHOWN and not self._refused:
            self._latest[plan_id] = after
            self._changed[plan_id] = asyncio.Event()
            # Zed accepts only strings as tokens.
            token = f"planloom-{uuid.uuid4().hex}"
            self._jobs.start(f"progress:{token}", self._show(plan_id, token))

    def cancelled(self, token: Any) -> None:
        """The user pressed the button of a bar."""
        plan_id = self._tokens.get(token) if isinstance(token, str) else None
        if plan_id is None:
            logger.debug("The cancelled progress %r is unknown", token)
        else:
            self._jobs.start(f"progress-cancel:{plan_id}", self._cancel_plan(plan_id))

    async def _cancel_plan(self, plan_id: PlanId) -> None:
        try:
            await self._cancel(plan_id)
        except PlanloomError as error:
            # The plan may have ended before the user pressed the button.
            logger.info("Plan %s was not cancelled: %s", plan_id, error.message)

    async def _show(self, plan_id: PlanId, token: str) -> None:
        try:
            await self._protocol.request(
                types.WINDOW_WORK_DONE_PROGRESS_CREATE, {"token": token}, timeout=CREATE_SECONDS
            )
        except (ClientRefused, ClientGone, TimeoutError) as error:
            logger.info("The client cannot show progress: %s", error)
            self._refused = True
            self._close(plan_id, token)
            return
        self._tokens[token] = plan_id
        self._report(
            token, {"kind": "begin", "title": "Planloom", "cancellable": True, **self._value(plan_id)}
        )
        try:
            await self._follow(plan_id, token)
        finally:
            ended = self._latest[plan_id]
            self._close(plan_id, token)
            self._report(token, {"kind": "end", "message": status_words(ended.status, self._words)})

    async def _follow(self, plan_id: PlanId, token: str) -> None:
        changed = self._changed[plan_id]
        reported: dict[str, Any] = {}
        while self._latest[plan_id].status in _SHOWN:
            changed.clear()
            if (now := self._value(plan_id)) != reported and not self._congested():
                self._report(token, {"kind": "report", "cancellable": True, **now})
                reported = now
            await asyncio.sleep(REPORT_SECONDS)
            await changed.wait()

    def _value(self, plan_id: PlanId) -> dict[str, Any]:
        plan, t = self._latest[plan_id], self._words
        if plan.status == "draft":
            return {"message": waiting_for(plan, t) or thought(plan, t)}
        waits = step_waits(plan)
        running = (step for step in plan.steps if step.status == "running" and step.step_id not in waits)
        now, step = progress(plan), next(running, None)
        if step is not None:
            what = t.at_work(step.active_title or step.title, step.progress, step.attempts)
        else:
            what = waiting_for(plan, t) or plan.summary
        count = f"{now.completed}/{now.total}"
        return {
            "message": in_message(f"{count} {what}").strip()[:200],
            "percentage": now.percent_complete,
        }

    def _close(self, plan_id: PlanId, token: str) -> None:
        self._tokens.pop(token, None)
        self._changed.pop(plan_id, None)
        self._latest.pop(plan_id, None)

    def _report(self, token: str, value: dict[str, Any]) -> None:
        self._protocol.notify(types.PROGRESS, {"token": token, "value": value})
