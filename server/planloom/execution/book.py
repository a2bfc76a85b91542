"""The live plans: an event is numbered, folded, made durable and only then told to anyone."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from functools import reduce
from typing import Protocol

from planloom.domain import events as ev
from planloom.domain.errors import UnknownThing
from planloom.domain.lifecycle import apply
from planloom.domain.plan import Plan
from planloom.domain.values import PlanId, SessionId, Sha256

Listener = Callable[[ev.Recorded, Plan], None]
log = logging.getLogger(__name__)


class EventStore(Protocol):
    """Where events and texts are kept; storage.ledger.Ledger is the one that ships."""

    def append(self, recorded: Sequence[ev.Recorded], plan: Plan) -> None: ...

    def events(self, plan_id: PlanId, after: int = 0, limit: int | None = None) -> Iterable[ev.Recorded]: ...

    def keep(self, plan_id: PlanId, texts: Iterable[tuple[Sha256, str]]) -> None: ...

    def text(self, digest: Sha256) -> str | None: ...


class Book:
    """The plans of this process, as the folds of their events.

    Everything here is a plain `def`: a change of a plan cannot be interleaved with another one.
    """

    def __init__(self, store: EventStore, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self.store = store
        self.clock = clock
        self._plans: dict[PlanId, Plan] = {}
        self._listeners: list[Listener] = []

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Hear every event after it is durable, with the plan as it is after it. Returns what ends that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def open(self, plan_id: PlanId, session_id: SessionId, start: ev.PlanStart) -> Plan:
        """Begin a plan."""
        recorded = ev.Recorded(seq=1, plan_id=plan_id, session_id=session_id, at=self.clock(), event=start)
        return self._commit(None, (recorded,))

    def record(self, plan_id: PlanId, *happened: ev.Event) -> Plan:
        """Append events to a plan in one transaction.

        Raises IllegalTransition if one cannot happen now; nothing is written then.
        """
        plan = self._plans[plan_id]
        at = self.clock()
        numbered = tuple(
            ev.Recorded(seq=plan.seq + n, plan_id=plan_id, session_id=plan.session_id, at=at, event=event)
            for n, event in enumerate(happened, start=1)
        )
        return self._commit(plan, numbered) if numbered else plan

    def _commit(self, plan: Plan | None, recorded: Sequence[ev.Recorded]) -> Plan:
        steps: list[tuple[ev.Recorded, Plan]] = []
        current = plan
        for each in recorded:
            current = apply(current, each)
            steps.append((each, current))
        assert current is not None
        self.store.append(recorded, current)
        self._plans[current.plan_id] = current
        for each, after in steps:
            self._tell(each, after)
        return current

    def _tell(self, recorded: ev.Recorded, after: Plan) -> None:
        for listener in tuple(self._listeners):
            try:
                listener(recorded, after)
            except Exception:
                log.exception("a listener failed on %s", recorded.event.type)

    def find(self, plan_id: PlanId) -> Plan | None:
        """The plan as it is now, read from the store if this process has not seen it."""
        plan = self._plans.get(plan_id)
        return plan if plan is not None else self.replay(plan_id)

    def replay(self, plan_id: PlanId, until: int | None = None) -> Plan | None:
        """Fold a plan from the store, up to and with the event `until`."""
        recorded = self.store.events(plan_id, 0, until)
        return reduce(apply, recorded, None)

    def history(
        self, plan_id: PlanId, after: int = 0, limit: int | None = None
    ) -> tuple[tuple[ev.Recorded, Plan], ...]:
        """The events above `after`, at most `limit`, each with the plan as it was after it."""
        told: list[tuple[ev.Recorded, Plan]] = []
        plan: Plan | None = None
        for recorded in self.store.events(plan_id, 0, None if limit is None else after + limit):
            plan = apply(plan, recorded)
            if recorded.seq > after:
                told.append((recorded, plan))
        return tuple(told)

    def load(self, plan_id: PlanId) -> Plan | None:
        """Bring a plan of an earlier process into this one, so that events can be appended to it."""
        plan = self._plans.get(plan_id)
        if plan is None:
            plan = self.replay(plan_id)
            if plan is not None:
                self._plans[plan_id] = plan
        return plan

    def plan(self, plan_id: PlanId) -> Plan:
        """The plan as it is now, ready for events. Raises UnknownThing."""
        plan = self.load(plan_id)
        if plan is None:
            raise UnknownThing("plan", plan_id)
        return plan

    def live(self) -> tuple[Plan, ...]:
        """The plans of this process, oldest first."""
        return tuple(self._plans.values())

    def forget(self, plan_id: PlanId) -> None:
        """Drop a plan from memory; what the store holds is left to its caller."""
        self._plans.pop(plan_id, None)
