"""The three agents, and the report of each on a request before it is planned."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from planloom.domain.values import Instant, Value

Agent = Literal["chapo", "koda", "devo"]
Effort = Literal["trivial", "small", "medium", "large"]


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
