"""Which drafts and steps wait for their model now, since a request to it failed and is sent again."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing

from planloom.domain.values import PlanId, StepId
from planloom.models.port import Capabilities, Model, ModelEvent, ModelIdentity, ModelRequest, Restarted

Waits = Mapping[StepId | None, Restarted]
"""The waits of one plan by step; None is the draft."""
NO_WAITS: Waits = {}


class ModelWaits:
    """The waits of all plans. Listeners receive all waits of a plan at each change of them."""

    def __init__(self) -> None:
        self._waits: dict[PlanId, dict[StepId | None, Restarted]] = {}
        self._listeners: list[Callable[[PlanId, Waits], None]] = []

    def listen(self, listener: Callable[[PlanId, Waits], None]) -> None:
        """Call the listener at each change."""
        self._listeners.append(listener)

    def watched(self, model: Model, plan_id: PlanId, step_id: StepId | None = None) -> Model:
        """The model, whose waits are reported as those of a step, or of the draft."""
        return _Watched(model, lambda wait: self._report(plan_id, step_id, wait))

    def _report(self, plan_id: PlanId, step_id: StepId | None, wait: Restarted | None) -> None:
        before = self._waits.get(plan_id, {})
        waits = {each: found for each, found in before.items() if each != step_id}
        if wait is not None:
            waits[step_id] = wait
        if waits == before:
            return
        self._waits[plan_id] = waits
        if not waits:
            del self._waits[plan_id]
        for listener in tuple(self._listeners):
            listener(plan_id, waits)


class _Watched:
    """A model that reports each wait, and its end."""

    def __init__(self, model: Model, report: Callable[[Restarted | None], None]) -> None:
        self._model = model
        self._report = report

    @property
    def identity(self) -> ModelIdentity:
        return self._model.identity

    async def capabilities(self) -> Capabilities:
        return await self._model.capabilities()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent]:
        waits = False
        try:
            async with aclosing(self._model.stream(request)) as events:
                async for event in events:
                    if waits or isinstance(event, Restarted):
                        waits = isinstance(event, Restarted)
                        self._report(event if isinstance(event, Restarted) else None)
                    yield event
        finally:
            if waits:
                self._report(None)

    async def close(self) -> None:
        await self._model.close()
