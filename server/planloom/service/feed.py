"""Publishes plan events, streamed text, and problems to the application's listeners."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from planloom.domain.events import catalog as ev
from planloom.domain.plans.plan import Plan
from planloom.execution.plan_store import PlanStore
from planloom.service.requests import Health, StreamDelta

EventListener = Callable[[ev.Recorded, Plan], None]
StreamListener = Callable[[StreamDelta], None]
HealthListener = Callable[[Health], None]
NoticeListener = Callable[[Literal["error", "warning", "info"], str], None]


class Feed:
    """Listeners hear every event after it is durable, in order, with the plan as it is after it."""

    def __init__(self, plan_store: PlanStore) -> None:
        self._plan_store = plan_store
        self._streams: list[StreamListener] = []
        self._healths: list[HealthListener] = []
        self._notices: list[NoticeListener] = []

    def subscribe(self, listener: EventListener) -> Callable[[], None]:
        """Hear every event. Returns what ends the subscription."""
        return self._plan_store.listen(listener)

    def subscribe_health(self, listener: HealthListener) -> None:
        """Hear whenever something else is wrong with the server, or nothing any more."""
        self._healths.append(listener)

    def health(self, health: Health) -> None:
        """Tell what is wrong now."""
        for listener in tuple(self._healths):
            listener(health)

    def subscribe_notices(self, listener: NoticeListener) -> None:
        """Subscribe to messages for the user that belong to no plan."""
        self._notices.append(listener)

    def notice(self, level: Literal["error", "warning", "info"], message: str) -> None:
        """Tell the user something that belongs to no plan."""
        for listener in tuple(self._notices):
            listener(level, message)

    def subscribe_stream(self, listener: StreamListener) -> Callable[[], None]:
        """Hear the text of what runs. Returns what ends the subscription."""
        self._streams.append(listener)
        return lambda: self._streams.remove(listener)

    def stream(self, delta: StreamDelta) -> None:
        """Pass on more text of something that runs."""
        for listener in tuple(self._streams):
            listener(delta)
