"""Lenses on what plans have changed in a file: keep it, or take it back, one place at a time."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from lsprotocol import types

from planloom.domain.events import catalog as ev
from planloom.execution.jobs import Jobs
from planloom.lsp.transport.codec import PlanloomProtocol
from planloom.lsp.transport.outgoing import ClientGone, ClientRefused
from planloom.service.actions.made_changes import MadeChange
from planloom.view.words import Words

if TYPE_CHECKING:
    from planloom.domain.plans.plan import Plan

KEEP: Final = "planloom.keepChange"
UNDO: Final = "planloom.undoChange"
_SECONDS: Final = 0.1
_ANSWER_SECONDS: Final = 10.0
_AFTER: Final = (ev.EditApplied, ev.EditReverted, *ev.ENDS)
logger = logging.getLogger(__name__)


def change_lenses(changes: Sequence[MadeChange], t: Words) -> Iterator[types.CodeLens]:
    """The lenses above each change; the first of several of a plan has those for all of them, too."""
    for change in changes:
        of_plan = [each for each in changes if each.plan_id == change.plan_id]
        at = types.Position(change.line, 0)
        commands = [*_commands(change, t)]
        if len(of_plan) > 1 and of_plan[0] is change:
            both = ((t("Keep all {0}", len(of_plan)), KEEP), (t("Undo all {0}", len(of_plan)), UNDO))
            commands += [
                types.Command(title, name, arguments=[change.plan_id, change.uri]) for title, name in both
            ]
        for command in commands:
            yield types.CodeLens(types.Range(at, at), command=command)


def _commands(change: MadeChange, t: Words) -> Iterator[types.Command]:
    where = [change.plan_id, change.uri, change.key]
    if change.hunk is None:
        yield types.Command(t("Keep Planloom's new file"), KEEP, arguments=where)
        step = [] if change.step_id is None else [change.step_id]
        yield types.Command(t("Undo"), "planloom.undo", arguments=[change.plan_id, *step])
        return
    yield types.Command(t("Keep Planloom's change"), KEEP, arguments=where)
    yield types.Command(t("Undo"), UNDO, arguments=where)


class LensRefresh:
    """Has the editor ask for its lenses anew once what they depend on has changed."""

    def __init__(self, protocol: PlanloomProtocol, jobs: Jobs, *, is_supported: bool) -> None:
        self._is_supported = is_supported
        self._protocol = protocol
        self._jobs = jobs
        self._is_due = False

    def on_event(self, recorded: ev.Recorded, _: Plan) -> None:
        """A plan has changed a file, has taken that back, or has ended."""
        if isinstance(recorded.event, _AFTER):
            self.soon()

    def soon(self) -> None:
        """Ask the editor, together with all that becomes due meanwhile."""
        self._is_due = True
        self._jobs.start("lenses", self._refresh())

    async def _refresh(self) -> None:
        while self._is_due:
            await self._jobs.sleep(_SECONDS)
            self._is_due = False
            await self.now()

    async def now(self) -> None:
        """Ask the editor, and wait for its answer."""
        if not self._is_supported:
            return
        try:
            await self._protocol.request(types.WORKSPACE_CODE_LENS_REFRESH, timeout=_ANSWER_SECONDS)
        except (ClientGone, ClientRefused, TimeoutError) as error:
            logger.info("The client did not ask for the lenses anew: %s", error)
