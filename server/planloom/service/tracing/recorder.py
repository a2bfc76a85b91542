"""Listens to the events of plans, and has the trace of each plan that ends exported."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from planloom.domain.events import catalog as ev
from planloom.domain.plans.plan import Plan
from planloom.domain.values import CallId, Instant, PlanId
from planloom.service.tracing.spans import Span, call_span, plan_spans

_MOST_CALLS = 5_000
"""Calls of one plan that are traced."""


@dataclass(slots=True)
class _Calls:
    """The calls of a plan so far: when the open ones began, and the spans of the others."""

    began: dict[CallId, Instant] = field(default_factory=dict)
    ended: list[Span] = field(default_factory=list)


class TraceRecorder:
    """Keeps the calls of running plans until the plan ends or is forgotten, while traces are `wanted`."""

    def __init__(self, wanted: Callable[[], bool], export: Callable[[tuple[Span, ...]], None]) -> None:
        self._wanted = wanted
        self._export = export
        self._calls: dict[PlanId, _Calls] = {}

    def on_event(self, recorded: ev.Recorded, plan: Plan) -> None:
        """Note the times of a call; export the trace of a plan that ends."""
        if not self._wanted():
            self._calls.clear()
            return
        match recorded.event:
            case ev.ToolStarted() as started:
                self._calls.setdefault(plan.plan_id, _Calls()).began[started.call_id] = recorded.at
            case ev.ToolCompleted() as call:
                calls = self._calls.setdefault(plan.plan_id, _Calls())
                began = calls.began.pop(call.call_id, recorded.at)
                if len(calls.ended) < _MOST_CALLS:
                    calls.ended.append(call_span(plan, call, began, recorded.at))
            case ev.PlanCompleted() | ev.PlanFailed() | ev.PlanCancelled():
                ended = self._calls.pop(plan.plan_id, _Calls()).ended
                self._export(plan_spans(plan, recorded.at, ended))

    def forget(self, plan_id: PlanId) -> None:
        """Drop what is kept of a plan that this process no longer runs."""
        self._calls.pop(plan_id, None)

    @property
    def held(self) -> int:
        """How many plans it keeps something of."""
        return len(self._calls)
