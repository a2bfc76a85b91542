"""Tells the user of a client without an extension how plans end, and what their logs say."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Final

from lsprotocol import types

from planloom.domain.plans.plan import ENDED, LogLine, Plan
from planloom.domain.text.counted import cut
from planloom.domain.text.hidden_characters import in_message
from planloom.domain.values import Uri
from planloom.lsp.editor.side_files import place_of
from planloom.lsp.transport.outgoing import ClientGone
from planloom.view.plan_view import view
from planloom.view.questions import ended
from planloom.view.states import Around

if TYPE_CHECKING:
    from planloom.domain.events import catalog as ev
    from planloom.domain.values import PlanId
    from planloom.execution.jobs import Jobs
    from planloom.lsp.editor.side_files import SideFiles
    from planloom.lsp.transport.codec import PlanloomProtocol
    from planloom.view.words import Words

_ANSWER: Final = 2_000
"""Characters of an answer that a message shows."""
_TOGETHER_SECONDS: Final = 0.1
"""How long a warning waits for others, since some editors make the user close each message."""
_EDIT_SECONDS: Final = 3.0
"""How long the end of a plan waits to be told until its document shows it."""


class Notices:
    """Messages without buttons, for a client that does not declare `events`."""

    def __init__(self, protocol: PlanloomProtocol, jobs: Jobs, side_files: SideFiles, words: Words) -> None:
        self._protocol = protocol
        self._jobs = jobs
        self._side_files = side_files
        self._words = words
        self._last: dict[PlanId, LogLine] = {}
        self._warnings: dict[PlanId, list[str]] = {}

    def on_event(self, recorded: ev.Recorded, after: Plan) -> None:
        """Tell what an event has added to a plan's log, and the end of a plan; `after` is the plan with that event."""
        plan_id = after.plan_id
        line = after.log[-1] if after.log else None
        if line is not None and line.at == recorded.at and line is not self._last.get(plan_id):
            self._last[plan_id] = line
            self._tell(plan_id, line)
        if after.status in ENDED and after.completed_at == recorded.at:
            self._jobs.start(f"tell-end:{plan_id}", self._tell_end(after))

    def _tell(self, plan_id: PlanId, line: LogLine) -> None:
        message = self._words(line.message, *line.values)
        if line.level in ("warning", "error"):
            self._warnings.setdefault(plan_id, []).append(message)
            self._jobs.start(f"warn:{plan_id}", self._warn(plan_id))
        elif line.level == "info":
            params = {"type": types.MessageType.Info.value, "message": in_message(message)}
            self._protocol.notify(types.WINDOW_LOG_MESSAGE, params)

    async def _tell_end(self, plan: Plan) -> None:
        """Say how a plan has ended.

        Some editors write over a message when they edit a document, so that comes first.
        """
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_EDIT_SECONDS):
                await self._jobs.join(f"plan-document:{plan.plan_id}")
        level, said = ended(view(plan, Around(self._words)), self._words)
        shown = cut(said, _ANSWER)
        if shown != said:
            uri = await self._side_files.write(Uri(""), f"answer-{plan.plan_id[:8]}.md", said)
            if uri is not None:
                shown += f" {self._words('All of it is in {0}.', place_of(uri))}"
                with contextlib.suppress(ClientGone):
                    await self._side_files.show(uri)
        self._protocol.show_message(level, f"Planloom: {shown}")
        await self._side_files.remove(plan.plan_id)

    async def _warn(self, plan_id: PlanId) -> None:
        await self._jobs.sleep(_TOGETHER_SECONDS)
        if warnings := self._warnings.pop(plan_id, []):
            self._protocol.show_message("warning", "\n".join(f"Planloom: {each}" for each in warnings))
