"""What each agent may do in a step: Chapo reads, Koda changes files, Devo runs commands too."""

from __future__ import annotations

from collections.abc import Mapping

from planloom.domain.approvals import Effect
from planloom.domain.perspectives import Agent

EFFECTS: Mapping[Agent, frozenset[Effect]] = {
    "chapo": frozenset({"read"}),
    "koda": frozenset({"read", "write", "destroy"}),
    "devo": frozenset({"read", "write", "destroy", "execute"}),
}

NAMES: Mapping[Agent, str] = {"chapo": "Chapo", "koda": "Koda", "devo": "Devo"}
"""How the agents are called in sentences."""


def may_use(agent: Agent, effect: Effect) -> bool:
    """Whether a tool with this effect is in the agent's set."""
    return effect in EFFECTS[agent]
