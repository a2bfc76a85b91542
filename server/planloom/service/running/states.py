"""The actions that each status of a plan allows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from planloom.domain.errors import WrongState
from planloom.domain.plans.plan import Plan, PlanStatus
from planloom.domain.values import Json

Action = Literal[
    "edit",
    "review",
    "regenerate",
    "approve",
    "reject",
    "direct",
    "pause",
    "resume",
    "cancel",
    "undo",
    "delete",
    "step/answer",
    "step/recover",
    "approval/respond",
    "conflict/resolve",
    "message",
]

_RUNNING: tuple[Action, ...] = (
    "pause",
    "review",
    "cancel",
    "step/answer",
    "step/recover",
    "approval/respond",
    "conflict/resolve",
    "message",
)
ALLOWED: Mapping[PlanStatus, tuple[Action, ...]] = {
    "draft": ("pause", "cancel", "direct", "approval/respond", "message"),
    "pending_approval": ("edit", "regenerate", "approve", "reject", "direct", "pause", "cancel", "message"),
    "approved": _RUNNING,
    "executing": _RUNNING,
    "paused": (*(a for a in _RUNNING if a != "pause"), "resume", "edit", "regenerate", "undo"),
    "rejected": ("regenerate", "delete", "message"),
    "failed": ("regenerate", "undo", "delete", "message"),
    "cancelled": ("regenerate", "undo", "delete", "message"),
    "completed": ("undo", "delete", "message"),
}


def require(plan: Plan, action: Action, **details: Json) -> None:
    """Raise WrongState unless the plan's status allows the action."""
    allowed = ALLOWED[plan.status]
    if action not in allowed:
        raise WrongState(
            f"The plan is {plan.status.replace('_', ' ')}, which does not allow {action}.",
            status=plan.status,
            allowed=allowed,
            **details,
        )
