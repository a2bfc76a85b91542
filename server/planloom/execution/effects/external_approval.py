"""Builds the approval request for a call of a tool that is not ours: whose it is, all arguments, and warnings."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Final, NamedTuple

from planloom.domain.safety.approvals import Approval
from planloom.domain.text.look_alikes import look_alike_warning
from planloom.domain.values import ApprovalId, PlanId, Sha256, StepId
from planloom.tools.terminal_text import escaped, hides

_OUTSIDE: Final = (
    "What the tool does is up to its server: it may change files and send data, and no undo of the plan takes that"
    " back."
)
_OF_PACKAGE: Final = (
    "What the tool does is up to its package, which you have enabled: it may change files and send data, and no undo of"
    " the plan takes that back. Nothing confines it."
)
_CONFINED: Final = "The server itself is confined."
_FREE: Final = "Nothing confines the server."


class CalledTool(NamedTuple):
    """A tool of a server or of a package: the name that models use, and its own there."""

    name: str
    own_name: str
    server: str | None = None
    package: str | None = None
    is_confined: bool = False


class ExternalProposal(NamedTuple):
    """A call of such a tool that a step wants to make; `arguments` are its arguments, as JSON.

    `again` says that it was cut off before, so that the user is asked about it once more.
    """

    plan_id: PlanId
    step_id: StepId | None
    title: str
    tool: CalledTool
    arguments: str
    again: str | None = None


def external_approval(proposal: ExternalProposal, approval_id: ApprovalId) -> Approval:
    """The approval request to show the user."""
    tool = proposal.tool
    return Approval(
        approval_id=approval_id,
        plan_id=proposal.plan_id,
        step_id=proposal.step_id,
        tool=tool.name,
        proposal=Sha256(
            hashlib.sha256(
                json.dumps([tool.server or tool.package, tool.own_name, proposal.arguments]).encode()
            ).hexdigest()
        ),
        effect="execute",
        title=proposal.title,
        warning=" ".join(_warnings(proposal)),
        command=escaped(f"{tool.own_name} {proposal.arguments}"),
        server=tool.server,
        package=tool.package,
        may_have_run=proposal.again is not None or None,
    )


def _warnings(proposal: ExternalProposal) -> Iterable[str]:
    if proposal.again is not None:
        yield proposal.again
    if proposal.tool.package is not None:
        yield _OF_PACKAGE
    else:
        yield _OUTSIDE
        yield _CONFINED if proposal.tool.is_confined else _FREE
    if hides(proposal.arguments):
        yield "It has characters that are not seen, or turn the order of others; they are written out here."
    if (warning := look_alike_warning((proposal.arguments,))) is not None:
        yield warning
