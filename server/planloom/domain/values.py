"""The base class of the domain's values, and the types of their ids."""

from __future__ import annotations

import sys
from datetime import datetime
from types import ModuleType
from typing import Annotated, NewType

from pydantic import AwareDatetime, BaseModel, ConfigDict, JsonValue, TypeAdapter

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


def _without_plugins() -> None:
    """Build pydantic's first validator while no installed package can be found.

    Before it pydantic looks for plugins, which would be shown every value of every plan, in whatever is installed
    beside the server. It imports importlib.metadata for that, with email, csv and zipfile: 9 ms and 1.5 MB of each
    server. Where somebody else has imported it, pydantic looks as ever.
    """
    name = "importlib.metadata"
    if name in sys.modules:
        return
    nothing_installed = ModuleType(name)
    vars(nothing_installed)["entry_points"] = lambda **_: ()
    sys.modules[name] = nothing_installed
    try:
        TypeAdapter(int)
    finally:
        del sys.modules[name]


_without_plugins()
