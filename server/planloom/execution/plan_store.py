"""The live plans: an event is numbered, folded, written durably, and only then published to listeners."""

from __future__ import annotations

import logging
from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Protocol

from planloom.domain.changes import sha256
from planloom.domain.errors import (
    OwnedElsewhere,
    PlanElsewhere,
    PlanloomError,
    PlanUnreadable,
    StorageFailed,
    UnknownThing,
)
from planloom.domain.events import catalog as ev
from planloom.domain.events.folding import IllegalTransition
from planloom.domain.events.lifecycle import apply
from planloom.domain.plans.plan import Plan, PlanSummary
from planloom.domain.safety.known_keys import KnownKeys
from planloom.domain.values import PlanId, SessionId, Sha256, Uri
from planloom.execution.summary import with_report
from planloom.workspace.paths.names import visible
from planloom.workspace.paths.uris import to_path

Listener = Callable[[ev.Recorded, Plan], None]
StopListener = Callable[[PlanId, PlanloomError], None]
_CACHED = 32
"""How many plans that were only read are kept in memory."""
log = logging.getLogger(__name__)


class EventStore(Protocol):
    """Stores events and texts; implemented by storage.ledger.Ledger."""

    async def ready(self) -> None: ...

    def append(self, recorded: Sequence[ev.Recorded], plan: Plan, *, durable: bool) -> None: ...

    def seq(self, plan_id: PlanId) -> int | None: ...

    def events(self, plan_id: PlanId, after: int = 0, limit: int | None = None) -> Iterable[ev.Recorded]: ...

    def keep(self, plan_id: PlanId, texts: Iterable[tuple[Sha256, str]]) -> None: ...

    def text(self, digest: Sha256) -> str | None: ...


class PlanStore:
    """The plans of this process, as folds of their events.

    Every method that changes a plan is synchronous, so that no two changes interleave.

    A plan is stopped when one of its events cannot be written: it accepts no further event, because effects may
    have happened that the ledger does not know of. Its owner must `forget` it and reload it from the ledger like
    a plan whose server has crashed; that is the only way to continue, so no effect happens twice.
    """

    def __init__(
        self,
        store: EventStore,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        keys: KnownKeys | None = None,
        folders: Callable[[], Collection[Uri]] | None = None,
    ) -> None:
        """`keys` are masked in every event before anybody sees it. `folders` are those of the workspace, None if all
        plans of the store are this process's to read."""
        self.keys = keys or KnownKeys()
        self._folders = folders
        self.store = store
        self.clock = clock
        self.unreadable: dict[PlanId, PlanUnreadable] = {}
        self._plans: dict[PlanId, Plan] = {}
        self._cached: OrderedDict[PlanId, Plan] = OrderedDict()
        self._pages: OrderedDict[PlanId, Plan] = OrderedDict()
        self._stopped: dict[PlanId, PlanloomError] = {}
        self._reasons: dict[PlanId, PlanloomError] = {}
        self._listeners: list[tuple[Listener, tuple[type[ev.Event], ...] | None]] = []
        self._stop_listeners: list[StopListener] = []
        self._forget_listeners: list[Callable[[PlanId], object]] = []
        self._unreadable_listeners: list[Callable[[], None]] = []
        self._unpublished: deque[tuple[ev.Recorded, Plan]] = deque()
        self._publishing = False

    def listen(
        self, listener: Listener, types: tuple[type[ev.Event], ...] | None = None
    ) -> Callable[[], None]:
        """Call `listener` with every event, or every one of these types, once it is durable, and the plan after it.

        Every listener gets the events in the order of the ledger, including those that other listeners record.
        Returns the unsubscriber.
        """
        row = (listener, types)
        self._listeners.append(row)
        return lambda: self._listeners.remove(row)

    def is_stopped(self, plan_id: PlanId) -> bool:
        """Whether the plan accepts no event, because an earlier one could not be written."""
        return plan_id in self._stopped

    def stop_reason(self, plan_id: PlanId) -> PlanloomError | None:
        """Why nothing more happens to a plan here, from its stop until it is live again; None if it was not stopped."""
        return self._reasons.get(plan_id)

    def on_stop(self, listener: StopListener) -> Callable[[], None]:
        """Call `listener` for each plan that is stopped, because an event of it could not be written.

        Returns the unsubscriber.
        """
        self._stop_listeners.append(listener)
        return lambda: self._stop_listeners.remove(listener)

    def on_forget(self, listener: Callable[[PlanId], object]) -> None:
        """Call `listener` for each plan that is no longer live in this process."""
        self._forget_listeners.append(listener)

    def on_unreadable(self, listener: Callable[[], None]) -> None:
        """Call `listener` whenever a plan is added to `unreadable`."""
        self._unreadable_listeners.append(listener)

    async def ready(self) -> None:
        """Wait until the store can be written, for a request. Raises StorageFailed when that takes too long."""
        await self.store.ready()

    async def wait_unlocked(self) -> None:
        """Wait like `ready`, for a running plan: it raises nothing, since `record` then stops the plan."""
        with suppress(StorageFailed):
            await self.store.ready()

    def open(self, plan_id: PlanId, session_id: SessionId, start: ev.PlanStart) -> Plan:
        """Begin a plan with its first event. Raises StorageFailed."""
        recorded = ev.Recorded(seq=1, plan_id=plan_id, session_id=session_id, at=self.clock(), event=start)
        return self._commit(None, (recorded,))

    def record(self, plan_id: PlanId, *happened: ev.Event) -> Plan:
        """Append events to a plan in one transaction.

        Nothing is written if it raises: IllegalTransition if an event is not allowed now, StorageFailed,
        OwnedElsewhere if another server runs the plan, UnknownThing if the plan is not loaded.
        """
        if plan_id in self._stopped:
            raise self._stopped[plan_id]
        plan = self._plans.get(plan_id)
        if plan is None:
            raise UnknownThing("plan", plan_id)
        now = self.clock()
        numbered = tuple(
            ev.Recorded(seq=plan.seq + n, plan_id=plan_id, session_id=plan.session_id, at=now, event=event)
            for n, event in enumerate(happened, start=1)
        )
        return self._commit(plan, numbered) if numbered else plan

    def _commit(self, plan: Plan | None, recorded: Sequence[ev.Recorded]) -> Plan:
        steps: list[tuple[ev.Recorded, Plan]] = []
        current = plan
        durable = False
        for each in map(self._masked, recorded):
            durable = durable or ev.is_durable(each.event, current)
            current = apply(current, each)
            steps.append((each, current))
        assert current is not None
        try:
            self.store.append([each for each, _ in steps], current, durable=durable)
        except (StorageFailed, OwnedElsewhere) as error:
            if plan is not None:
                self.stop(plan.plan_id, error)
            raise
        self._plans[current.plan_id] = current
        self._unpublished.extend(steps)
        self._publish()
        return current

    def _masked(self, recorded: ev.Recorded) -> ev.Recorded:
        body = self.keys.masked_event(recorded.event.model_dump_json())
        if body is None:
            return recorded
        return recorded._replace(event=type(recorded.event).model_validate_json(body))

    def stop(self, plan_id: PlanId, error: PlanloomError) -> None:
        """Refuse further events of a plan with this error, and notify listeners once."""
        if plan_id in self._stopped:
            return
        log.error("plan %s is stopped: %s", plan_id, error.message)
        self._stopped[plan_id] = self._reasons[plan_id] = error
        for listener in tuple(self._stop_listeners):
            listener(plan_id, error)

    def _publish(self) -> None:
        if self._publishing:
            # A listener has recorded an event: it is published after those before it, by the outer call.
            return
        self._publishing = True
        try:
            while self._unpublished:
                recorded, after = self._unpublished.popleft()
                for listener, types in tuple(self._listeners):
                    try:
                        if types is None or isinstance(recorded.event, types):
                            listener(recorded, after)
                    except Exception:
                        log.exception("a listener failed on %s", recorded.event.type)
        finally:
            self._publishing = False

    def find(self, plan_id: PlanId) -> Plan | None:
        """The current plan, read from the store if this process does not run it; None if there is none.

        Raises PlanUnreadable, StorageFailed.
        """
        plan = self._plans.get(plan_id)
        if plan is not None:
            return plan
        cached = self._cached.get(plan_id)
        try:
            seq = self.store.seq(plan_id)
        except StorageFailed:
            if cached is not None:
                return cached
            raise
        if seq is None:
            self._cached.pop(plan_id, None)
            return None
        if cached is None or cached.seq != seq:
            cached = self.replay(plan_id)
            if cached is None or cached.seq < seq:
                raise self.mark_unreadable(PlanUnreadable(plan_id, "its last events are missing"))
            self._cache(cached)
        return cached

    def read(self, plan_id: PlanId, *, all_workspaces: bool = False) -> Plan:
        """The plan, for reading only. Every request by the id of a plan passes here.

        Raises UnknownThing, PlanElsewhere if it is of another workspace, PlanUnreadable, StorageFailed.
        """
        plan = self.find(plan_id)
        if plan is None:
            raise UnknownThing("plan", plan_id)
        if not all_workspaces and not self.is_here(plan):
            raise PlanElsewhere(
                plan_id, [visible(str(to_path(uri) or uri)) for uri in plan.workspace_folders]
            )
        return plan

    def is_here(self, plan: Plan | PlanSummary) -> bool:
        """Whether a plan is of this workspace: its folders are open, or it is live in this process."""
        if self._folders is None or plan.plan_id in self._plans:
            return True
        here = {*self._folders()}
        return here >= {*plan.workspace_folders} and bool(here) == bool(plan.workspace_folders)

    def mark_unreadable(self, error: PlanUnreadable) -> PlanUnreadable:
        """Record that a plan cannot be read, and notify listeners. Returns the error to raise."""
        if error.plan_id not in self.unreadable:
            self.unreadable[error.plan_id] = error
            for listener in tuple(self._unreadable_listeners):
                listener()
        return error

    def _cache(self, plan: Plan) -> None:
        _put(self._cached, plan)

    def replay(self, plan_id: PlanId) -> Plan | None:
        """Fold a plan from the store. Raises PlanUnreadable, StorageFailed."""
        last = deque(self._folded(plan_id, None, None), maxlen=1)
        return last[0][1] if last else None

    def history(
        self, plan_id: PlanId, after: int = 0, limit: int | None = None
    ) -> tuple[tuple[ev.Recorded, Plan], ...]:
        """At most `limit` events with a `seq` above `after`, each with the plan after it.

        Raises PlanUnreadable, StorageFailed.
        """
        # Whoever reads page by page while the plan runs goes on where the last page has ended.
        known = (plans.get(plan_id) for plans in (self._pages, self._plans, self._cached))
        start = next((plan for plan in known if plan is not None and plan.seq == after), None)
        count = limit if start is not None or limit is None else after + limit
        page = tuple(each for each in self._folded(plan_id, start, count) if each[0].seq > after)
        if page:
            _put(self._pages, page[-1][1])
        return page

    def _folded(
        self, plan_id: PlanId, start: Plan | None, count: int | None
    ) -> Iterator[tuple[ev.Recorded, Plan]]:
        """At most `count` events after the plan `start`, each with the plan after it."""
        plan = start
        try:
            for stored in self.store.events(plan_id, 0 if start is None else start.seq, count):
                recorded = stored if plan is None else with_report(stored, plan, self.store.text)
                plan = self._after(plan, recorded)
                yield recorded, plan
        except PlanUnreadable as error:
            raise self.mark_unreadable(error) from error

    def _after(self, plan: Plan | None, recorded: ev.Recorded) -> Plan:
        try:
            return apply(plan, recorded)
        except IllegalTransition as error:
            why = f"its event {recorded.seq} does not follow from those before ({error})"
            raise PlanUnreadable(recorded.plan_id, why) from error
        except Exception as error:
            # An event that was damaged can be well formed and still refer to something that does not exist.
            log.exception("event %s of plan %s cannot be folded", recorded.seq, recorded.plan_id)
            raise PlanUnreadable(recorded.plan_id, f"its event {recorded.seq} is damaged") from error

    def has_text(self, text: str) -> bool:
        """Whether the store has a text, so that an unsaved buffer with it may go."""
        return not text or self.store.text(sha256(text)) is not None

    def load(self, plan_id: PlanId) -> Plan | None:
        """The plan, made live in this process so that events can be appended; None if there is none.

        Raises PlanUnreadable, StorageFailed.
        """
        plan = self._plans.get(plan_id)
        if plan is None:
            plan = self.find(plan_id)
            if plan is not None:
                self._plans[plan_id] = plan
                self._cached.pop(plan_id, None)
                self._reasons.pop(plan_id, None)
        return plan

    def plan(self, plan_id: PlanId) -> Plan:
        """The plan, made live in this process. Raises UnknownThing, PlanUnreadable, StorageFailed."""
        plan = self.load(plan_id)
        if plan is None:
            raise UnknownThing("plan", plan_id)
        return plan

    def live(self) -> tuple[Plan, ...]:
        """The live plans that are not stopped, in the order in which they were loaded."""
        return tuple(plan for plan_id, plan in self._plans.items() if plan_id not in self._stopped)

    def forget(self, plan_id: PlanId) -> None:
        """Make a plan no longer live. Its last state stays cached for reading."""
        plan = self._plans.pop(plan_id, None)
        self._stopped.pop(plan_id, None)
        if plan is not None:
            self._cache(plan)
        for listener in tuple(self._forget_listeners):
            listener(plan_id)


def _put(plans: OrderedDict[PlanId, Plan], plan: Plan) -> None:
    """Keep a plan among the last ones."""
    plans[plan.plan_id] = plan
    plans.move_to_end(plan.plan_id)
    while len(plans) > _CACHED:
        plans.popitem(last=False)
