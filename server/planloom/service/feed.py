"""What the application tells those who listen: events of plans, and the text of what runs."""

from __future__ import annotations

from collections.abc import Callable

from planloom.domain import events as ev
from planloom.domain.plan import Plan
from planloom.execution.book import Book
from planloom.service.requests import StreamDelta

EventListener = Callable[[ev.Recorded, Plan], None]
StreamListener = Callable[[StreamDelta], None]


class Feed:
    """Listeners hear every event after it is durable, in order, with the plan as it is after it."""

    def __init__(self, book: Book) -> None:
        self._book = book
        self._streams: list[StreamListener] = []

    def subscribe(self, listener: EventListener) -> Callable[[], None]:
        """Hear every event. Returns what ends the subscription."""
        return self._book.listen(listener)

    def subscribe_stream(self, listener: StreamListener) -> Callable[[], None]:
        """Hear the text of what runs. Returns what ends the subscription."""
        self._streams.append(listener)
        return lambda: self._streams.remove(listener)

    def stream(self, delta: StreamDelta) -> None:
        """Pass on more text of something that runs."""
        for listener in tuple(self._streams):
            listener(delta)
