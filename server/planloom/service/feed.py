"""Publishes plan events, streamed text, and problems to the application's listeners."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from planloom.domain.events import catalog as ev
from planloom.domain.plans.plan import ENDED, Plan
from planloom.domain.safety.known_keys import KnownKeys, MaskedStream
from planloom.domain.values import PlanId, StepId
from planloom.execution.model_waits import ModelWaits
from planloom.execution.plan_store import PlanStore
from planloom.execution.resources import StepWaits
from planloom.service.requests import Health, StreamDelta

EventListener = Callable[[ev.Recorded, Plan], None]
StreamListener = Callable[[StreamDelta], None]
HealthListener = Callable[[Health], None]
NoticeListener = Callable[[Literal["error", "warning", "info"], str], None]


class Feed:
    """The application's listeners. `subscribe` and `subscribe_stream` return a function that unsubscribes.

    `waits` tells which steps wait for what another step uses, `model_waits` which work waits for a model.
    """

    def __init__(self, plan_store: PlanStore, keys: KnownKeys, model_waits: ModelWaits) -> None:
        """`keys` are masked in streamed text, also if one comes in pieces."""
        self._plan_store = plan_store
        self._keys = keys
        self.waits = StepWaits()
        self.model_waits = model_waits
        self._masked: dict[StreamDelta, MaskedStream] = {}
        self._streams: list[StreamListener] = []
        self._healths: list[HealthListener] = []
        self._notices: list[NoticeListener] = []

    def subscribe(self, listener: EventListener) -> Callable[[], None]:
        """Subscribe to every event, in order, after it is durable, with the plan after it."""
        return self._plan_store.listen(listener)

    def subscribe_health(self, listener: HealthListener) -> None:
        """Subscribe to changes of the server's health."""
        self._healths.append(listener)

    def health(self, health: Health) -> None:
        """Publish the server's health."""
        for listener in tuple(self._healths):
            listener(health)

    def subscribe_notices(self, listener: NoticeListener) -> None:
        """Subscribe to messages for the user that belong to no plan."""
        self._notices.append(listener)

    def notice(self, level: Literal["error", "warning", "info"], message: str) -> None:
        """Publish a message for the user that belongs to no plan."""
        for listener in tuple(self._notices):
            listener(level, message)

    def subscribe_stream(self, listener: StreamListener) -> Callable[[], None]:
        """Subscribe to the streamed text of models and commands."""
        self._streams.append(listener)
        return lambda: self._streams.remove(listener)

    def stream_step(
        self,
        plan_id: PlanId,
        step_id: StepId,
        kind: Literal["text", "reasoning", "stdout", "stderr"],
        delta: str,
    ) -> None:
        """Publish more text of a step's model or command."""
        self.stream(StreamDelta(plan_id=plan_id, step_id=step_id, kind=kind, delta=delta))

    def stream(self, delta: StreamDelta) -> None:
        """Publish more text of a model or a command."""
        source = delta._replace(delta="")
        masked = self._masked.setdefault(source, MaskedStream(self._keys))
        self._publish(source, masked.add(delta.delta))

    def on_event(self, recorded: ev.Recorded, plan: Plan) -> None:
        """Publish what is held back of the streams that this event comes after.

        An event of one step says nothing of the streams of others, nor one of a draft that goes on of the draft's.
        """
        step_id = getattr(recorded.event, "step_id", None)
        for source in [each for each in self._masked if each.plan_id == plan.plan_id]:
            ended = plan.status != "draft" if source.step_id is None else source.step_id == step_id
            if ended or plan.status in ENDED:
                self._publish(source, self._masked.pop(source).end())

    def _publish(self, source: StreamDelta, text: str) -> None:
        if not text:
            return
        delta = source._replace(delta=text)
        for listener in tuple(self._streams):
            listener(delta)
