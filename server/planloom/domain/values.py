"""The base of every value in the domain, and the names of the ids that tie values together."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, NewType

from pydantic import AwareDatetime, BaseModel, ConfigDict, JsonValue

PlanId = NewType("PlanId", str)
SessionId = NewType("SessionId", str)
StepId = NewType("StepId", str)
ApprovalId = NewType("ApprovalId", str)
EditId = NewType("EditId", str)
CallId = NewType("CallId", str)
AttachmentId = NewType("AttachmentId", str)
TemplateId = NewType("TemplateId", str)
Uri = NewType("Uri", str)
Sha256 = NewType("Sha256", str)

Instant = Annotated[datetime, AwareDatetime]
Json = JsonValue
Args = dict[str, JsonValue]
"""The arguments of one tool call, as JSON: each tool's own model gives them a precise type."""


class Value(BaseModel):
    """A frozen value that knows exactly its own fields; unknown ones are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")
