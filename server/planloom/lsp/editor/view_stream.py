"""Sends a client the views of plans: the first whole, then patches at a bounded rate."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from planloom.domain.events import catalog as ev
from planloom.domain.plans.outcome import Spent
from planloom.domain.plans.plan import Plan, PlanSummary
from planloom.domain.values import PlanId, StepId
from planloom.lsp.wire import plan as wire_plan
from planloom.lsp.wire import to_wire_view
from planloom.lsp.wire import view as wire
from planloom.view.plan_view import PlanView, view
from planloom.view.states import LIVE, Around, summary_state

if TYPE_CHECKING:
    from planloom.execution.resources import StepWait
    from planloom.service.requests import StreamDelta
    from planloom.view.words import Words

logger = logging.getLogger(__name__)

VIEW_SECONDS: Final = 1 / 30
"""The least time between two messages with the view of one plan."""
_KEPT: Final = 50
"""How many plans are followed by patches; one that is not among the last ones is sent whole again."""


class _Sent(NamedTuple):
    """What the client has of a plan."""

    view: PlanView
    head: dict[str, Any]
    number: int


class _Stalls(NamedTuple):
    """Which steps of a plan wait for what others use, since when, and how long their runs have waited before."""

    waits: tuple[StepWait, ...]
    since: dict[StepId, datetime]
    waited_ms: dict[StepId, int]


class Views:
    """The views of plans that one client follows. A message that is not sent in time is joined with the next one."""

    def __init__(
        self,
        notify: Callable[[str, wire.ViewParams], None],
        congested: Callable[[], bool],
        spent: Callable[[Plan], Spent],
        words: Words,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """`spent` says what a plan has used of models. While the client is `congested`, nothing is sent."""
        self._notify = notify
        self._congested = congested
        self._spent = spent
        self._words = words
        self._clock = clock
        self._sent: OrderedDict[PlanId, _Sent] = OrderedDict()
        self._latest: dict[PlanId, Plan] = {}
        self._stalls: dict[PlanId, _Stalls] = {}
        self._waiting: dict[PlanId, bool] = {}
        self._begun: set[PlanId] = set()

    def on_event(self, recorded: ev.Recorded, after: Plan) -> None:
        """Show the plan after an event."""
        if isinstance(recorded.event, ev.TaskStarted):
            self._begun.add(after.plan_id)
            if stalls := self._stalls.get(after.plan_id):
                stalls.waited_ms.pop(recorded.event.task_id, None)
        self._latest[after.plan_id] = after
        self._changed(after.plan_id)

    def before_text(self, delta: StreamDelta) -> None:
        """Show that a run has begun before the text that belongs to it."""
        if delta.plan_id in self._begun and self._waiting.get(delta.plan_id):
            self._waiting[delta.plan_id] = False
            self._send(delta.plan_id)

    def on_waits(self, plan_id: PlanId, waits: tuple[StepWait, ...]) -> None:
        """Show which steps wait for what other steps use."""
        now, before = self._clock(), self._stalls.get(plan_id) or _Stalls((), {}, {})
        ids = {wait.step_id for wait in waits}
        waited = dict(before.waited_ms)
        for step_id, since in before.since.items():
            if step_id not in ids:
                passed = max(0, round((now - since).total_seconds() * 1000))
                waited[step_id] = waited.get(step_id, 0) + passed
        self._stalls[plan_id] = _Stalls(waits, {each: before.since.get(each, now) for each in ids}, waited)
        if plan_id in self._latest:
            self._changed(plan_id)

    def whole(self, plan: Plan) -> wire.ViewResult:
        """The whole view of a plan, which the client follows from then on."""
        self._latest[plan.plan_id] = plan
        shown = self._view(plan)
        number = self._keep(plan.plan_id, shown, to_wire_view.head(shown))
        return wire.ViewResult(number=number, view=to_wire_view.whole(shown))

    def summary(self, found: PlanSummary) -> wire_plan.PlanSummary:
        """A plan in a list, in the user's language."""
        state, sign = summary_state(found, self._words)
        return wire_plan.PlanSummary.of(found, state=state, sign=sign, live=found.status in LIVE)

    def _changed(self, plan_id: PlanId) -> None:
        """Send what has changed at once if nothing of the plan was sent within `VIEW_SECONDS`, else then."""
        if plan_id in self._waiting:
            self._waiting[plan_id] = True
            return
        self._send(plan_id)
        self._schedule(plan_id)

    def _schedule(self, plan_id: PlanId) -> None:
        self._waiting[plan_id] = False
        asyncio.get_running_loop().call_later(VIEW_SECONDS, self._send_waiting, plan_id)

    def _send_waiting(self, plan_id: PlanId) -> None:
        if not self._waiting.pop(plan_id):
            return
        if self._congested():
            self._schedule(plan_id)
            self._waiting[plan_id] = True
            return
        self._send(plan_id)
        self._schedule(plan_id)

    def _send(self, plan_id: PlanId) -> None:
        self._begun.discard(plan_id)
        try:
            message = self._message(plan_id)
        except Exception:
            # A defect here must not stop the plan. The next message is a whole view.
            logger.exception("The view of plan %s could not be sent", plan_id)
            self._sent.pop(plan_id, None)
            return
        if message is not None:
            self._notify("planloom/plan/view", message)

    def _message(self, plan_id: PlanId) -> wire.ViewParams | None:
        plan, before = self._latest[plan_id], self._sent.get(plan_id)
        shown = self._view(plan)
        head = to_wire_view.head(shown)
        if before is None:
            number = self._keep(plan_id, shown, head)
            return wire.ViewParams(plan_id=plan_id, number=number, view=to_wire_view.whole(shown))
        patch = to_wire_view.patch(before.view, shown, before.head, head)
        if patch is None:
            return None
        return wire.ViewParams(plan_id=plan_id, number=self._keep(plan_id, shown, head), patch=patch)

    def _view(self, plan: Plan) -> PlanView:
        stalls = self._stalls.get(plan.plan_id) or _Stalls((), {}, {})
        around = Around(self._words, self._spent(plan), stalls.waits, stalls.waited_ms, stalls.since)
        return view(plan, around)

    def _keep(self, plan_id: PlanId, shown: PlanView, head: dict[str, Any]) -> int:
        before = self._sent.pop(plan_id, None)
        number = 1 if before is None else before.number + 1
        self._sent[plan_id] = _Sent(shown, head, number)
        while len(self._sent) > _KEPT:
            forgotten, _ = self._sent.popitem(last=False)
            self._latest.pop(forgotten, None)
        return number
