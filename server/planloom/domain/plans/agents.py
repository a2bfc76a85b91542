"""What each agent may do in a step: Chapo reads, Koda changes files, Devo runs commands too."""

from __future__ import annotations

from collections.abc import Mapping

from planloom.domain.plans.perspectives import Agent
from planloom.domain.plans.plan import Plan
from planloom.domain.safety.approvals import Effect

EFFECTS: Mapping[Agent, frozenset[Effect]] = {
    "chapo": frozenset({"read"}),
    "koda": frozenset({"read", "write", "destroy"}),
    "devo": frozenset({"read", "write", "destroy", "execute"}),
}

NAMES: Mapping[Agent, str] = {"chapo": "Chapo", "koda": "Koda", "devo": "Devo"}
"""How the agents are called in sentences."""


def allowed_effects(plan: Plan, agent: Agent) -> frozenset[Effect]:
    """What the tools of a plan's step may do, whoever wrote the step: a request that only asks changes nothing."""
    return EFFECTS["chapo" if plan.only_asks else agent]


def may_use(agent: Agent, effect: Effect) -> bool:
    """Whether a tool with this effect is in the agent's set."""
    return effect in EFFECTS[agent]
