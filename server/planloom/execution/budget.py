"""Checks a plan's budget of model requests and tokens, counted from when it was last granted."""

from __future__ import annotations

from planloom.domain.errors import BudgetExhausted
from planloom.domain.plans.plan import Plan
from planloom.settings import BudgetSettings


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
