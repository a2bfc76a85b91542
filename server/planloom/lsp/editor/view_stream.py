"""Sends a client the views of plans: the first whole, then patches at a bounded rate."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from planloom.domain.events import catalog as ev
from planloom.domain.events.folding import OPEN
from planloom.domain.plans.outcome import Spent
from planloom.domain.plans.plan import Plan, PlanSummary
from planloom.domain.values import PlanId, StepId
from planloom.lsp.wire import plan as wire_plan
from planloom.lsp.wire import to_wire_view
from planloom.lsp.wire import view as wire
from planloom.view.plan_view import PlanView, view
from planloom.view.states import Around, summary_state

if TYPE_CHECKING:
    from planloom.execution.model_waits import Waits
    from planloom.execution.resources import StepWait
    from planloom.service.requests import StreamDelta
    from planloom.view.words import Words

logger = logging.getLogger(__name__)

VIEW_SECONDS: Final = 1 / 30
"""The least time between two messages with the view of one plan."""
_KEPT: Final = 50
"""How many plans are followed by patches; one that is not among those changed last is sent whole again."""


class _Sent(NamedTuple):
    """The view of a plan that the client has."""

    view: PlanView
    head: dict[str, Any]
    number: int


@dataclass(slots=True)
class _Followed:
    """A plan that the client follows: as it is now, and as the client has it.

    `waits` are its steps that wait for what other steps use, `since` is when each began to, `waited_ms` how long their
    runs waited before, `model_waits` is the work that waits for a model. `due`: something has changed since the last
    message; None if the next one may be sent at once.
    `begun`: a run has begun that the client has not been shown.
    """

    plan: Plan | None = None
    sent: _Sent | None = None
    waits: tuple[StepWait, ...] = ()
    model_waits: Waits = field(default_factory=dict)
    since: dict[StepId, datetime] = field(default_factory=dict)
    waited_ms: dict[StepId, int] = field(default_factory=dict)
    due: bool | None = None
    begun: bool = False


class Views:
    """The views of plans that one client follows. A message that is not sent in time is joined with the next one."""

    def __init__(
        self,
        notify: Callable[[str, wire.ViewParams], None],
        congested: Callable[[], bool],
        spent: Callable[[Plan], Spent],
        words: Words,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        *,
        can_save: bool = False,
    ) -> None:
        """`spent` returns what a plan has used of models. While the client is `congested`, nothing is sent.

        `can_save`: the editor can be asked to save files.
        """
        self._notify = notify
        self._congested = congested
        self._spent = spent
        self._words = words
        self._clock = clock
        self._can_save = can_save
        self._plans: OrderedDict[PlanId, _Followed] = OrderedDict()

    def on_event(self, recorded: ev.Recorded, after: Plan) -> None:
        """Show the plan after an event."""
        followed = self._follow(after.plan_id)
        followed.plan = after
        if isinstance(recorded.event, ev.StepStarted):
            followed.begun = True
            followed.waited_ms.pop(recorded.event.step_id, None)
        self._changed(followed)

    def before_text(self, delta: StreamDelta) -> None:
        """Show that a run has begun before the text that belongs to it."""
        followed = None if delta.plan_id is None else self._plans.get(delta.plan_id)
        if followed is not None and followed.begun and followed.due:
            followed.due = False
            self._send(followed)

    def on_waits(self, plan_id: PlanId, waits: tuple[StepWait, ...]) -> None:
        """Show which steps wait for what other steps use."""
        followed, now = self._follow(plan_id), self._clock()
        ids = {wait.step_id for wait in waits}
        for step_id, since in followed.since.items():
            if step_id not in ids:
                passed = max(0, round((now - since).total_seconds() * 1000))
                followed.waited_ms[step_id] = followed.waited_ms.get(step_id, 0) + passed
        followed.waits, followed.since = waits, {each: followed.since.get(each, now) for each in ids}
        self._changed(followed)

    def on_model_waits(self, plan_id: PlanId, waits: Waits) -> None:
        """Show which work of a plan waits for a model that is asked again."""
        followed = self._follow(plan_id)
        followed.model_waits = waits
        self._changed(followed)

    def whole(self, plan: Plan) -> wire.ViewResult:
        """The whole view of a plan, which the client follows from then on."""
        followed = self._follow(plan.plan_id)
        followed.plan = plan
        shown = self._view(followed, plan)
        number = _kept(followed, shown, to_wire_view.head(shown))
        return wire.ViewResult(number=number, view=to_wire_view.whole(shown))

    def summary(self, found: PlanSummary) -> wire_plan.PlanSummary:
        """A plan in a list, in the user's language."""
        state, sign = summary_state(found, self._words)
        return wire_plan.PlanSummary.of(found, state=state, sign=sign, live=found.status in OPEN)

    def _follow(self, plan_id: PlanId) -> _Followed:
        followed = self._plans.setdefault(plan_id, _Followed())
        self._plans.move_to_end(plan_id)
        while len(self._plans) > _KEPT and next(iter(self._plans.values())).due is None:
            self._plans.popitem(last=False)
        return followed

    def _changed(self, followed: _Followed) -> None:
        """Send the change at once if nothing of the plan was sent within `VIEW_SECONDS`, else then."""
        if followed.due is None:
            self._send(followed)
            self._schedule(followed, due=False)
        else:
            followed.due = True

    def _schedule(self, followed: _Followed, *, due: bool) -> None:
        followed.due = due
        asyncio.get_running_loop().call_later(VIEW_SECONDS, self._send_due, followed)

    def _send_due(self, followed: _Followed) -> None:
        if not followed.due:
            followed.due = None
        elif self._congested():
            self._schedule(followed, due=True)
        else:
            self._send(followed)
            self._schedule(followed, due=False)

    def _send(self, followed: _Followed) -> None:
        followed.begun = False
        if followed.plan is None:
            return
        try:
            message = self._message(followed, followed.plan)
        except Exception:
            # A defect here must not stop the plan. The next message is a whole view.
            logger.exception("The view of plan %s could not be sent", followed.plan.plan_id)
            followed.sent = None
            return
        if message is not None:
            self._notify("planloom/plan/view", message)

    def _message(self, followed: _Followed, plan: Plan) -> wire.ViewParams | None:
        before, shown = followed.sent, self._view(followed, plan)
        head = to_wire_view.head(shown)
        if before is None:
            number = _kept(followed, shown, head)
            return wire.ViewParams(plan_id=plan.plan_id, number=number, view=to_wire_view.whole(shown))
        patch = to_wire_view.patch(before.view, shown, before.head, head)
        if patch is None:
            return None
        return wire.ViewParams(plan_id=plan.plan_id, number=_kept(followed, shown, head), patch=patch)

    def _view(self, followed: _Followed, plan: Plan) -> PlanView:
        spent = self._spent(plan)
        around = Around(
            self._words,
            spent,
            followed.waits,
            followed.waited_ms,
            followed.since,
            followed.model_waits,
            self._can_save,
        )
        return view(plan, around)


def _kept(followed: _Followed, shown: PlanView, head: dict[str, Any]) -> int:
    """Keep a view as the one that the client has, and return its number."""
    number = 1 if followed.sent is None else followed.sent.number + 1
    followed.sent = _Sent(shown, head, number)
    return number
