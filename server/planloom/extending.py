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
from planloom.tools.catalog import Arguments, WriteFile
from planloom.tools.context import ToolContext
from planloom.tools.files.reading import text_at
from planloom.tools.files.writing import write_file
from planloom.tools.tool import Tool, ToolResult, failed, succeeded

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
    "read_text",
    "refusal_in",
    "succeeded",
    "write_text",
]


async def read_text(path: str, context: ToolContext) -> str | ToolResult:
    """The text of a file of the workspace, with unsaved and staged changes.

    For a place outside it, one that may hold secrets, and where there is no text, the failed result to return.
    """
    found = await text_at(path, context)
    return found if isinstance(found, ToolResult) else found.text


async def write_text(path: str, text: str, context: ToolContext) -> ToolResult:
    """Stage a file with this text, for a tool with the effect `write`: it is asked for and made when the step ends."""
    return await write_file(WriteFile(path=path, content=text), context)
