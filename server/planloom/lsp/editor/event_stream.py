"""Sends an extension every event in order, and the streamed text of running steps at a bounded rate."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from planloom.domain.events import catalog as ev
from planloom.lsp.wire import plan as wire
from planloom.lsp.wire import to_wire
from planloom.lsp.wire.methods.editor import SpentParams
from planloom.lsp.wire.to_wire_events import event

if TYPE_CHECKING:
    from planloom.domain.events.catalog import Recorded
    from planloom.domain.plans.outcome import Spent
    from planloom.domain.plans.plan import Plan
    from planloom.domain.values import PlanId
    from planloom.execution.resources import StepWait
    from planloom.lsp.transport.codec import PlanloomProtocol
    from planloom.service.requests import StreamDelta

logger = logging.getLogger(__name__)

STREAM_SECONDS = 1 / 30
"""The least time between two messages with text of one step."""

Step = tuple[str | None, str | None]
Channel = tuple[str | None, str]


def send_events(protocol: PlanloomProtocol) -> Callable[[Recorded, Plan], None]:
    """A listener that sends each event to the client at once; the ledger has it already."""

    def send(recorded: Recorded, after: Plan) -> None:
        try:
            message = event(recorded, after)
        except Exception:
            # A defect here must not stop the plan.
            logger.exception("Event %s of plan %s could not be sent", recorded.seq, recorded.plan_id)
            return
        protocol.notify("planloom/event", message)

    return send


def send_waits(protocol: PlanloomProtocol) -> Callable[[PlanId, tuple[StepWait, ...]], None]:
    """A listener that sends which steps of a plan wait for what another step uses."""

    def send(plan_id: PlanId, waits: tuple[StepWait, ...]) -> None:
        protocol.notify("planloom/waits", to_wire.waits(plan_id, waits))

    return send


def send_spent(
    protocol: PlanloomProtocol, spent: Callable[[Plan], Spent]
) -> Callable[[Recorded, Plan], None]:
    """A listener that sends what a plan has used of models, after each event that adds to it."""

    def send(recorded: Recorded, after: Plan) -> None:
        if isinstance(recorded.event, ev.ModelUsed | ev.StepUpdate) and recorded.event.usage:
            params = SpentParams(plan_id=after.plan_id, spent=wire.Spent.of(spent(after)))
            protocol.notify("planloom/spent", params)

    return send


class TextStream:
    """Sends text at most once per `interval` and step, joined; drops it while the client is congested."""

    def __init__(
        self,
        notify: Callable[[str, Any], None],
        congested: Callable[[], bool],
        interval: float = STREAM_SECONDS,
    ) -> None:
        self._notify = notify
        self._congested = congested
        self._interval = interval
        self._waiting: dict[Step, dict[Channel, list[str]]] = {}

    def on_delta(self, delta: StreamDelta) -> None:
        """Send a piece at once if none of its step was sent within `interval`, else with the next message."""
        step, channel = (delta.plan_id, delta.step_id), (delta.call_id, delta.kind)
        waiting = self._waiting.get(step)
        if waiting is None:
            self._waiting[step] = {}
            self._send(step, channel, delta.delta)
            self._schedule(step)
        else:
            waiting.setdefault(channel, []).append(delta.delta)

    def before_event(self, recorded: Recorded, _after: Plan) -> None:
        """Send what waits of the event's step, so that words stand before the calls that follow them."""
        step = (recorded.plan_id, getattr(recorded.event, "step_id", None))
        waiting = self._waiting.get(step, {})
        while waiting:
            channel = next(iter(waiting))
            self._send(step, channel, "".join(waiting.pop(channel)))

    def _schedule(self, step: Step) -> None:
        asyncio.get_running_loop().call_later(self._interval, self._send_waiting, step)

    def _send_waiting(self, step: Step) -> None:
        waiting = self._waiting[step]
        if not waiting:
            del self._waiting[step]
            return
        channel = next(iter(waiting))
        self._send(step, channel, "".join(waiting.pop(channel)))
        self._schedule(step)

    def _send(self, step: Step, channel: Channel, text: str) -> None:
        if self._congested():
            return
        ids = {"planId": step[0], "stepId": step[1], "callId": channel[0]}
        present = {name: value for name, value in ids.items() if value is not None}
        self._notify("planloom/stream", {**present, "kind": channel[1], "delta": text})
