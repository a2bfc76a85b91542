"""Tells the user of a client without an extension how plans end, and what they are warned of."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Final

from lsprotocol import types

from planloom.domain.events import catalog as ev
from planloom.domain.text.counted import cut
from planloom.domain.text.hidden_characters import in_message
from planloom.domain.values import Uri
from planloom.lsp.transport.outgoing import ClientGone
from planloom.workspace.paths.uris import display_name
from planloom.workspace.scratch_files import FOLDER

if TYPE_CHECKING:
    from planloom.domain.plans.plan import Plan
    from planloom.domain.values import PlanId
    from planloom.execution.jobs import Jobs
    from planloom.lsp.editor.side_files import SideFiles
    from planloom.lsp.transport.codec import PlanloomProtocol

_ANSWER: Final = 2_000
"""Characters of an answer that a message shows."""
_TOGETHER_SECONDS: Final = 0.1
"""How long a warning waits for others, since some editors make the user close each message."""
_EDIT_SECONDS: Final = 3.0
"""How long the end of a plan waits to be told until its document shows it."""


class Notices:
    """Messages without buttons, for a client that does not declare `events`."""

    def __init__(self, protocol: PlanloomProtocol, jobs: Jobs, side_files: SideFiles) -> None:
        self._protocol = protocol
        self._jobs = jobs
        self._side_files = side_files
        self._warnings: dict[PlanId, list[str]] = {}

    def on_event(self, recorded: ev.Recorded, after: Plan) -> None:
        """Tell what an event says, if it says something; `after` is the plan with that event folded in."""
        plan_id = recorded.plan_id
        match recorded.event:
            case ev.PlanCompleted() | ev.PlanFailed() | ev.PlanCancelled():
                self._jobs.start(f"tell-end:{plan_id}", self._tell_end(after))
            case ev.Log(level="warning" | "error") as event:
                self._warnings.setdefault(plan_id, []).append(event.message)
                self._jobs.start(f"warn:{plan_id}", self._warn(plan_id))
            case ev.Log(level="info") as event:
                params = {"type": types.MessageType.Info.value, "message": in_message(event.message)}
                self._protocol.notify(types.WINDOW_LOG_MESSAGE, params)
            case _:
                pass

    async def _tell_end(self, plan: Plan) -> None:
        """Say how a plan has ended, and its answer if it has one.

        Some editors write over a message when they edit a document, so that comes first.
        """
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_EDIT_SECONDS):
                await self._jobs.join(f"plan-document:{plan.plan_id}")
        said = plan.answer or plan.execution_summary or plan.status
        if plan.error is not None:
            said = plan.error.message
        if plan.status == "cancelled":
            said = f"The plan was cancelled. {said}"
        shown = cut(said, _ANSWER)
        if shown != said:
            uri = await self._side_files.write(Uri(""), f"answer-{plan.plan_id[:8]}.md", said)
            if uri is not None:
                shown += f" All of it is in {FOLDER}/{display_name(uri)}."
                with contextlib.suppress(ClientGone):
                    await self._side_files.show(uri)
        self._protocol.show_message("error" if plan.status == "failed" else "info", f"Planloom: {shown}")

    async def _warn(self, plan_id: PlanId) -> None:
        await self._jobs.sleep(_TOGETHER_SECONDS)
        if warnings := self._warnings.pop(plan_id, []):
            self._protocol.show_message("warning", "\n".join(f"Planloom: {each}" for each in warnings))
