"""The live plans: an event is numbered, folded, made durable and only then told to anyone."""

from __future__ import annotations

import logging
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Protocol

from planloom.domain.errors import OwnedElsewhere, PlanloomError, PlanUnreadable, StorageFailed, UnknownThing
from planloom.domain.events import catalog as ev
from planloom.domain.events.folding import IllegalTransition
from planloom.domain.events.lifecycle import apply
from planloom.domain.plans.plan import Plan
from planloom.domain.values import PlanId, SessionId, Sha256

Listener = Callable[[ev.Recorded, Plan], None]
StopListener = Callable[[PlanId, PlanloomError], None]
_READ = 32
"""Plans that were only read and are kept, in case they are looked at again."""
log = logging.getLogger(__name__)


class EventStore(Protocol):
    """Where events and texts are kept; storage.ledger.Ledger is the one that ships."""

    async def ready(self) -> None: ...

    def append(self, recorded: Sequence[ev.Recorded], plan: Plan, *, durable: bool) -> None: ...

    def seq(self, plan_id: PlanId) -> int | None: ...

    def events(self, plan_id: PlanId, after: int = 0, limit: int | None = None) -> Iterable[ev.Recorded]: ...

    def keep(self, plan_id: PlanId, texts: Iterable[tuple[Sha256, str]]) -> None: ...

    def text(self, digest: Sha256) -> str | None: ...


class PlanStore:
    """The plans of this process, as the folds of their events.

    What changes a plan is a plain `def`: it cannot be interleaved with another change.

    A plan one of whose events could not be written is stopped: from then on it takes no event, since what runs
    may have done what the ledger does not know. It is to be let go (`forget`), and brought back from the ledger
    like a plan whose server has died; so there is one way to go on, and no effect is done twice.
    """

    def __init__(self, store: EventStore, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self.store = store
        self.clock = clock
        self.unreadable: dict[PlanId, PlanUnreadable] = {}
        self._plans: dict[PlanId, Plan] = {}
        self._read: OrderedDict[PlanId, Plan] = OrderedDict()
        self._stopped: dict[PlanId, PlanloomError] = {}
        self._listeners: list[Listener] = []
        self._stop_listeners: list[StopListener] = []
        self._aside_listeners: list[Callable[[], None]] = []
        self._untold: deque[tuple[ev.Recorded, Plan]] = deque()
        self._telling = False

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Hear every event after it is durable, with the plan as it is after it. Returns what ends that.

        Every listener hears the events in the order of the ledger, also those that another listener records.
        """
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def is_stopped(self, plan_id: PlanId) -> bool:
        """Whether the plan takes no event, since an earlier one could not be written."""
        return plan_id in self._stopped

    def on_stop(self, listener: StopListener) -> None:
        """Hear of each plan that was stopped, since an event of it could not be written."""
        self._stop_listeners.append(listener)

    def on_unreadable(self, listener: Callable[[], None]) -> None:
        """Hear whenever another plan turns out to be unreadable; `unreadable` holds them all."""
        self._aside_listeners.append(listener)

    async def ready(self) -> None:
        """For a request: wait until an event can be written. Raises StorageFailed when that takes too long."""
        await self.store.ready()

    async def unlocked(self) -> None:
        """For what runs: wait in the same way. A plan whose event cannot be written even then is stopped by it."""
        with suppress(StorageFailed):
            await self.store.ready()

    def open(self, plan_id: PlanId, session_id: SessionId, start: ev.PlanStart) -> Plan:
        """Begin a plan."""
        recorded = ev.Recorded(seq=1, plan_id=plan_id, session_id=session_id, at=self.clock(), event=start)
        return self._commit(None, (recorded,))

    def record(self, plan_id: PlanId, *happened: ev.Event) -> Plan:
        """Append events to a plan in one transaction.

        Raises IllegalTransition if one cannot happen now, StorageFailed if they cannot be written, OwnedElsewhere
        if another server runs the plan; nothing is written then.
        """
        if plan_id in self._stopped:
            raise self._stopped[plan_id]
        plan = self._plans.get(plan_id)
        if plan is None:
            raise UnknownThing("plan", plan_id)
        at = self.clock()
        numbered = tuple(
            ev.Recorded(seq=plan.seq + n, plan_id=plan_id, session_id=plan.session_id, at=at, event=event)
            for n, event in enumerate(happened, start=1)
        )
        return self._commit(plan, numbered) if numbered else plan

    def _commit(self, plan: Plan | None, recorded: Sequence[ev.Recorded]) -> Plan:
        steps: list[tuple[ev.Recorded, Plan]] = []
        current = plan
        durable = False
        for each in recorded:
            durable = durable or ev.is_durable(each.event, current)
            current = apply(current, each)
            steps.append((each, current))
        assert current is not None
        try:
            self.store.append(recorded, current, durable=durable)
        except (StorageFailed, OwnedElsewhere) as error:
            if plan is not None:
                self._stop(plan.plan_id, error)
            raise
        self._plans[current.plan_id] = current
        self._untold.extend(steps)
        self._tell()
        return current

    def _stop(self, plan_id: PlanId, error: PlanloomError) -> None:
        log.error("plan %s is stopped: %s", plan_id, error.message)
        self._stopped[plan_id] = error
        for listener in tuple(self._stop_listeners):
            listener(plan_id, error)

    def _tell(self) -> None:
        if self._telling:
            # A listener has recorded something: it is told when everyone has heard what came before.
            return
        self._telling = True
        try:
            while self._untold:
                recorded, after = self._untold.popleft()
                for listener in tuple(self._listeners):
                    try:
                        listener(recorded, after)
                    except Exception:
                        log.exception("a listener failed on %s", recorded.event.type)
        finally:
            self._telling = False

    def find(self, plan_id: PlanId) -> Plan | None:
        """The plan as it is now, read from the store if this process does not run it.

        Raises PlanUnreadable, StorageFailed.
        """
        plan = self._plans.get(plan_id)
        if plan is not None:
            return plan
        known = self._read.get(plan_id)
        try:
            seq = self.store.seq(plan_id)
        except StorageFailed:
            if known is not None:
                return known
            raise
        if seq is None:
            self._read.pop(plan_id, None)
            return None
        if known is None or known.seq != seq:
            known = self.replay(plan_id)
            if known is None or known.seq < seq:
                raise self.set_aside(PlanUnreadable(plan_id, "its last events are missing"))
            self._keep_read(known)
        return known

    def set_aside(self, error: PlanUnreadable) -> PlanUnreadable:
        """Record that a plan cannot be read and notify listeners. Returns the error to raise."""
        if error.plan_id not in self.unreadable:
            self.unreadable[error.plan_id] = error
            for listener in tuple(self._aside_listeners):
                listener()
        return error

    def _keep_read(self, plan: Plan) -> None:
        self._read[plan.plan_id] = plan
        self._read.move_to_end(plan.plan_id)
        while len(self._read) > _READ:
            self._read.popitem(last=False)

    def replay(self, plan_id: PlanId, until: int | None = None) -> Plan | None:
        """Fold a plan from the store, up to and with the event `until`. Raises PlanUnreadable, StorageFailed."""
        last = deque(self._folded(plan_id, until), maxlen=1)
        return last[0][1] if last else None

    def history(
        self, plan_id: PlanId, after: int = 0, limit: int | None = None
    ) -> tuple[tuple[ev.Recorded, Plan], ...]:
        """The events above `after`, at most `limit`, each with the plan as it was after it.

        Raises PlanUnreadable, StorageFailed.
        """
        until = None if limit is None else after + limit
        return tuple(each for each in self._folded(plan_id, until) if each[0].seq > after)

    def _folded(self, plan_id: PlanId, until: int | None) -> Iterator[tuple[ev.Recorded, Plan]]:
        plan: Plan | None = None
        try:
            for recorded in self.store.events(plan_id, 0, until):
                plan = self._after(plan, recorded)
                yield recorded, plan
        except PlanUnreadable as error:
            raise self.set_aside(error) from error

    def _after(self, plan: Plan | None, recorded: ev.Recorded) -> Plan:
        try:
            return apply(plan, recorded)
        except IllegalTransition as error:
            why = f"its event {recorded.seq} does not follow from those before ({error})"
            raise PlanUnreadable(recorded.plan_id, why) from error
        except Exception as error:
            # Each event is well formed, but a damaged one may name what the fold takes for granted.
            log.exception("event %s of plan %s cannot be folded", recorded.seq, recorded.plan_id)
            raise PlanUnreadable(recorded.plan_id, f"its event {recorded.seq} is damaged") from error

    def load(self, plan_id: PlanId) -> Plan | None:
        """Bring a plan of an earlier process into this one, so that events can be appended to it.

        Raises PlanUnreadable, StorageFailed.
        """
        plan = self._plans.get(plan_id)
        if plan is None:
            plan = self.find(plan_id)
            if plan is not None:
                self._plans[plan_id] = plan
                self._read.pop(plan_id, None)
        return plan

    def plan(self, plan_id: PlanId) -> Plan:
        """The plan as it is now, ready for events. Raises UnknownThing, PlanUnreadable, StorageFailed."""
        plan = self.load(plan_id)
        if plan is None:
            raise UnknownThing("plan", plan_id)
        return plan

    def live(self) -> tuple[Plan, ...]:
        """The plans of this process, oldest first; a stopped one is none of them."""
        return tuple(plan for plan_id, plan in self._plans.items() if plan_id not in self._stopped)

    def forget(self, plan_id: PlanId) -> None:
        """Drop a plan from the live ones; the store is authoritative from now on. Its last state stays readable."""
        plan = self._plans.pop(plan_id, None)
        self._stopped.pop(plan_id, None)
        if plan is not None:
            self._keep_read(plan)
