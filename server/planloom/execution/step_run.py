"""One run of one step: identifies it to everything that works in it, and records what happens."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from planloom.domain.errors import BudgetExhausted
from planloom.domain.events import catalog as ev
from planloom.domain.plans.plan import Plan, Step, Usage
from planloom.execution.plan_store import PlanStore
from planloom.execution.session import Session
from planloom.settings import BudgetSettings
from planloom.workspace.paths.uris import shown_in


class StepRun:
    """One run of one step. `step` is the step as it was when the run began; `now` has what was recorded since.

    `on_model` hears when the step begins to wait for the model, and when it no longer does.
    """

    def __init__(self, plan_store: PlanStore, session: Session, plan: Plan, step: Step) -> None:
        self.plan_store = plan_store
        self.session = session
        self.plan_id = plan.plan_id
        self.step_id = step.step_id
        self.step = step
        self.on_model: Callable[[bool], None] = lambda _: None
        self._model_seconds = 0.0
        self.model: str | None = None

    @property
    def plan(self) -> Plan:
        """The plan as it is now. Raises UnknownThing, PlanUnreadable, StorageFailed."""
        return self.plan_store.plan(self.plan_id)

    @property
    def now(self) -> Step:
        """The step as it is now."""
        return self.plan.step(self.step_id) or self.step

    def shown(self, uri: str) -> str:
        """The path of a file, for use in sentences."""
        return shown_in(uri, self.session.folders)

    def record(self, *happened: ev.Event) -> Plan:
        """Append events to the plan. Raises what `PlanStore.record` raises."""
        return self.plan_store.record(self.plan_id, *happened)

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Open while a request to the model is; a step has one at a time. Its time is no work of the step."""
        began = asyncio.get_running_loop().time()
        self.on_model(True)
        try:
            yield
        finally:
            self._model_seconds += asyncio.get_running_loop().time() - began
            self.on_model(False)

    def spend(self, usage: Usage) -> None:
        """Record the cost of a request to the model, and how long it took."""
        seconds, self._model_seconds = self._model_seconds, 0.0
        self.update(usage=usage, model_seconds=seconds, model=self.model)

    def update(self, **news: Any) -> None:
        """Record what is new of the running step: fields of `StepUpdate`."""
        now = self.now
        self.record(
            ev.StepUpdate(
                step_id=self.step_id,
                status="running",
                active_form=now.active_form or None,
                attempt=now.attempts,
                **news,
            )
        )

    def require_budget(self) -> None:
        """Raise BudgetExhausted if the plan may send no further request to the model."""
        allow_request(self.plan, self.session.settings.budget)


def allow_request(plan: Plan, budget: BudgetSettings) -> None:
    """Raise BudgetExhausted, with a message for the user, unless the plan may make another request."""
    used, base = plan.usage, plan.budget_base
    requests = used.requests - base.requests
    tokens = used.prompt_tokens + used.completion_tokens - base.prompt_tokens - base.completion_tokens
    if requests >= budget.max_requests:
        raise BudgetExhausted(
            f"The plan has made {requests} requests to the model, its budget (budget.maxRequests). "
            "Resume it to grant as many again."
        )
    if budget.max_tokens and tokens >= budget.max_tokens:
        raise BudgetExhausted(
            f"The plan has used {tokens} tokens, its budget (budget.maxTokens). "
            "Resume it to grant as many again."
        )
