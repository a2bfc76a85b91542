"""Tells an extension what happens: every event in order, and the text of what runs as often as is useful."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from planloom.lsp.wire.to_wire_events import event

if TYPE_CHECKING:
    from planloom.domain.events.catalog import Recorded
    from planloom.domain.plans.plan import Plan
    from planloom.lsp.transport.codec import PlanloomProtocol
    from planloom.service.requests import StreamDelta

logger = logging.getLogger(__name__)

STREAM_SECONDS = 1 / 30
"""The least time between two messages on the text of one step."""

Step = tuple[str | None, str | None]
Voice = tuple[str | None, str]


def send_events(protocol: PlanloomProtocol) -> Callable[[Recorded, Plan], None]:
    """What sends each event to the client, at once: the ledger has it already."""

    def send(recorded: Recorded, after: Plan) -> None:
        try:
            payload = event(recorded, after)
        except Exception:
            # A defect here must not stop the plan, which goes on without this listener.
            logger.exception("Event %s of plan %s cannot be told", recorded.seq, recorded.plan_id)
            return
        protocol.notify("planloom/event", payload)

    return send


class TextStream:
    """Joins pieces of text until their step may speak again, and drops them when the client cannot keep up."""

    def __init__(
        self,
        notify: Callable[[str, Any], None],
        congested: Callable[[], bool],
        interval: float = STREAM_SECONDS,
    ) -> None:
        self._notify = notify
        self._congested = congested
        self._interval = interval
        self._waiting: dict[Step, dict[Voice, list[str]]] = {}

    def take(self, delta: StreamDelta) -> None:
        """Send a piece at once if its step was quiet, else with the next turn of that step."""
        step, voice = (delta.plan_id, delta.step_id), (delta.call_id, delta.kind)
        waiting = self._waiting.get(step)
        if waiting is None:
            self._waiting[step] = {}
            self._send(step, voice, delta.delta)
            self._later(step)
        else:
            waiting.setdefault(voice, []).append(delta.delta)

    def _later(self, step: Step) -> None:
        asyncio.get_running_loop().call_later(self._interval, self._turn, step)

    def _turn(self, step: Step) -> None:
        waiting = self._waiting[step]
        if not waiting:
            del self._waiting[step]
            return
        voice = next(iter(waiting))
        self._send(step, voice, "".join(waiting.pop(voice)))
        self._later(step)

    def _send(self, step: Step, voice: Voice, text: str) -> None:
        if self._congested():
            return
        named = {"planId": step[0], "stepId": step[1], "callId": voice[0]}
        known = {name: value for name, value in named.items() if value is not None}
        self._notify("planloom/stream", {**known, "kind": voice[1], "delta": text})
