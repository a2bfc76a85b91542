"""The three agents: what each may do in a step, and its report on a request before it is planned."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from planloom.domain.safety.approvals import Effect
from planloom.domain.values import Instant, Value

if TYPE_CHECKING:
    from planloom.domain.plans.plan import Plan

Agent = Literal["chapo", "koda", "devo"]
Effort = Literal["trivial", "small", "medium", "large"]

EFFECTS: Mapping[Agent, frozenset[Effect]] = {
    "chapo": frozenset({"read", "execute", "fetch"}),
    "koda": frozenset({"read", "write", "destroy", "execute", "fetch"}),
    "devo": frozenset({"read", "write", "destroy", "execute", "fetch"}),
}

NAMES: Mapping[Agent, str] = {"chapo": "Chapo", "koda": "Koda", "devo": "Devo"}
"""The display names of the agents."""


def allowed_effects(plan: "Plan", agent: Agent) -> frozenset[Effect]:
    """The effects allowed to a step of `agent`; a plan that only answers a question changes no files."""
    return EFFECTS["chapo" if plan.only_asks else agent]


def may_use(agent: Agent, effect: Effect) -> bool:
    """Whether the agent may use tools with this effect."""
    return effect in EFFECTS[agent]


class _Shared(Value):
    analysis: str
    concerns: tuple[str, ...] = ()
    recommendations: tuple[str, ...] = ()
    estimated_effort: Effort = "medium"
    dependencies: tuple[str, ...] = ()
    timestamp: Instant


class ChapoPerspective(_Shared):
    """Strategy: what the change means as a whole."""

    agent: Literal["chapo"] = "chapo"
    strategic_analysis: str
    risk_assessment: str
    impact_areas: tuple[str, ...] = ()
    coordination_needs: tuple[str, ...] = ()


class KodaPerspective(_Shared):
    """Code: which files and patterns the change touches."""

    agent: Literal["koda"] = "koda"
    affected_files: tuple[str, ...] = ()
    code_patterns: tuple[str, ...] = ()
    potential_breaking_changes: tuple[str, ...] = ()
    testing_requirements: tuple[str, ...] = ()


class DevoPerspective(_Shared):
    """Operations: how the change is deployed and rolled back."""

    agent: Literal["devo"] = "devo"
    deployment_impact: tuple[str, ...] = ()
    rollback_strategy: str
    services_affected: tuple[str, ...] = ()
    infrastructure_changes: tuple[str, ...] = ()


Perspective = Annotated[ChapoPerspective | KodaPerspective | DevoPerspective, Field(discriminator="agent")]
