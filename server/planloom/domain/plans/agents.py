"""What each agent may do in a step. Approvals decide about every change and command; only Chapo changes no files."""

from __future__ import annotations

from collections.abc import Mapping

from planloom.domain.plans.perspectives import Agent
from planloom.domain.plans.plan import Plan
from planloom.domain.safety.approvals import Effect

EFFECTS: Mapping[Agent, frozenset[Effect]] = {
    "chapo": frozenset({"read", "execute", "fetch"}),
    "koda": frozenset({"read", "write", "destroy", "execute", "fetch"}),
    "devo": frozenset({"read", "write", "destroy", "execute", "fetch"}),
}

NAMES: Mapping[Agent, str] = {"chapo": "Chapo", "koda": "Koda", "devo": "Devo"}
"""The display names of the agents."""


def allowed_effects(plan: Plan, agent: Agent) -> frozenset[Effect]:
    """The effects allowed to a step of `agent`; a plan that only answers a question changes no files."""
    return EFFECTS["chapo" if plan.only_asks else agent]


def may_use(agent: Agent, effect: Effect) -> bool:
    """Whether the agent may use tools with this effect."""
    return effect in EFFECTS[agent]
