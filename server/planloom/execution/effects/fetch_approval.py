"""Builds the approval request for a fetch: the whole address as it will be used, its host, and warnings."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Final, NamedTuple

from planloom.domain.safety.approvals import Approval
from planloom.domain.text.look_alikes import look_alike_warning
from planloom.domain.values import ApprovalId, PlanId, Sha256, StepId
from planloom.tools.terminal_text import visible
from planloom.web.addresses import WebAddress, reach_of_host

_LONG: Final = 200
"""Characters of path and query from which an address may well carry something out."""


class FetchProposal(NamedTuple):
    """An address that a step wants to fetch."""

    plan_id: PlanId
    step_id: StepId | None
    title: str
    address: WebAddress


def fetch_approval(proposal: FetchProposal, approval_id: ApprovalId) -> Approval:
    """The approval request to show the user."""
    address = proposal.address
    return Approval(
        approval_id=approval_id,
        plan_id=proposal.plan_id,
        step_id=proposal.step_id,
        tool="fetch_url",
        proposal=Sha256(hashlib.sha256(address.url.encode()).hexdigest()),
        effect="fetch",
        title=proposal.title,
        warning=" ".join(_warnings(address)) or None,
        url=address.url,
        host=_shown_host(address),
    )


def _shown_host(address: WebAddress) -> str:
    """The host with an unusual port; one in other letters than ASCII also in these."""
    name = address.origin.partition("://")[2]
    return name if address.unicode_host is None else f"{name} ({visible(address.unicode_host)})"


def _warnings(address: WebAddress) -> Iterable[str]:
    if reach_of_host(address.host) == "internal":
        yield "The host is this machine or in a private network."
    if address.unicode_host is not None:
        yield f"The host is written in letters that may only look like those of another: it is {address.host}."
        if (warning := look_alike_warning((address.unicode_host,))) is not None:
            yield warning
    if not address.has_usual_port:
        yield f"It uses the port {address.port}."
    if address.scheme == "http":
        yield "The connection is not encrypted."
    if len(address.target) > _LONG:
        yield "The address is long: the host learns everything that stands in it."
