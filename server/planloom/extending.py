"""What a package imports that brings tools, model providers or planners: docs/extensions.md says how.

These names stay; what they stand for only grows. Everything else of Planloom may change with each version.
"""

from planloom.domain.plans.plan import Step
from planloom.domain.values import StepId
from planloom.models.http.adapter import (
    AnswerReader,
    AnswerRefused,
    HttpRequest,
    ModelEntry,
    ModelListing,
    ProbeClient,
    ProviderAdapter,
    Reply,
)
from planloom.models.http.failures import Refusal, refusal_in
from planloom.models.port import Capabilities, Message, Model, ModelEvent, ModelRequest, ToolSpec
from planloom.models.providers.accumulator import StreamAccumulator
from planloom.planning.package_planner import PlannerParts
from planloom.planning.port import PlanDrafted, PlannerEvent, PlanningRequest, StepDrafted
from planloom.providers import Provider
from planloom.tools.catalog import Arguments
from planloom.tools.context import ToolContext
from planloom.tools.tool import Tool, ToolResult, failed, succeeded
from planloom.workspace.paths.resolver import PathRefused

__all__ = [
    "AnswerReader",
    "AnswerRefused",
    "Arguments",
    "Capabilities",
    "HttpRequest",
    "Message",
    "Model",
    "ModelEntry",
    "ModelEvent",
    "ModelListing",
    "ModelRequest",
    "PathRefused",
    "PlanDrafted",
    "PlannerEvent",
    "PlannerParts",
    "PlanningRequest",
    "ProbeClient",
    "Provider",
    "ProviderAdapter",
    "Refusal",
    "Reply",
    "Step",
    "StepDrafted",
    "StepId",
    "StreamAccumulator",
    "Tool",
    "ToolContext",
    "ToolResult",
    "ToolSpec",
    "failed",
    "refusal_in",
    "succeeded",
]
