"""Params and results of the requests about the memory of earlier plans."""

from typing import Annotated

from pydantic import Field

from planloom.lsp.wire.base import Int, Maybe, Text, Time, Wire
from planloom.lsp.wire.plan import PlanStatus


class SearchMemoryParams(Wire):
    """`planloom/memory/search`. Without words the newest entries; at most `limit` of them, 20 by default."""

    words: Maybe[Text] = None
    limit: Maybe[Annotated[int, Field(strict=True, ge=1, le=200)]] = None


class ForgetMemoryParams(Wire):
    """`planloom/memory/forget`: of one plan, or of all plans of the workspace."""

    plan_id: Maybe[str] = None


class MemoryEntry(Wire):
    """What a plan of this workspace found and did, kept for later plans.

    `files` are paths in the workspace, `findings` what models said of their work, `decisions` what the user has said.
    """

    plan_id: str
    at: Time
    status: PlanStatus
    request: str
    outcome: str
    files: tuple[str, ...]
    findings: tuple[str, ...]
    decisions: tuple[str, ...]


class MemoryResult(Wire):
    """Entries, the best or the newest first."""

    entries: tuple[MemoryEntry, ...]


class ForgottenResult(Wire):
    """Of how many plans the entries were deleted."""

    forgotten: Int
