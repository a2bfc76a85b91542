"""The base class of the domain's values, and the types of their ids."""

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
"""The arguments of one tool call, as JSON; each tool validates them with its own model."""


WHEN_USED = ConfigDict(defer_build=True)
"""For a TypeAdapter: it is built when it is first used. The start of a server uses few of them."""


class Value(BaseModel):
    """A frozen value; unknown fields are refused. Its validator is built when it is first used."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)
