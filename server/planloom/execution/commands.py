"""Runs the commands of one step: unsaved files settled, a person asked, scripts checked once more, then run."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import Final, Literal

from planloom.domain import events as ev
from planloom.domain.plan import Step
from planloom.domain.values import CallId, PlanId
from planloom.execution.book import Book
from planloom.execution.calls import INTERRUPTED
from planloom.execution.gate import Gate
from planloom.execution.permission import CommandProposal, scripts_of
from planloom.execution.staging_area import StagingArea
from planloom.execution.unsaved import Unsaved
from planloom.execution.verdicts import Committed, Denied
from planloom.tools.commands import Command
from planloom.tools.processes import Ended, environment, run_process, shell_argv

_CHANGED: Final = "A file that the command runs has changed since you allowed it."
_REPEATED: Final = "It was started before and cut off, so that it may have run already."
Output = Callable[[Literal["stdout", "stderr"], str], None]


class CancelledByUser(Exception):
    """A person answered an approval by cancelling the whole plan."""


class CommandDenied(Exception):
    """A person, or the policy, does not want a command to run."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class StepCommands:
    """`CommandRunner` for one step. `refresh` takes in what a command may have made of the workspace's files.

    Whoever runs a command holds the `terminal`: a model's commands and those of checks are in no step's claims.
    """

    def __init__(
        self,
        book: Book,
        gate: Gate,
        staging: StagingArea,
        unsaved: Unsaved,
        plan_id: PlanId,
        step: Step,
        on_output: Output,
        refresh: Callable[[], Awaitable[None]],
        terminal: asyncio.Lock,
    ) -> None:
        self._book = book
        self._gate = gate
        self._staging = staging
        self._unsaved = unsaved
        self._plan_id = plan_id
        self._step = step
        self._on_output = on_output
        self._refresh = refresh
        self._terminal = terminal

    async def run(self, command: Command) -> Ended:
        """Ask and run. Raises CommandDenied, CancelledByUser, UnsavedFiles, UntrustedWorkspace.

        The permission is for the scripts as they were shown: if one has changed when the command is about
        to start, it is asked again.
        """
        not_made = await self._staged()
        if not_made is not None:
            return not_made
        plan = self._book.plan(self._plan_id)
        await self._unsaved.settle(plan)
        again = _REPEATED if self._was_cut_off() else None
        while True:
            proposal = await self._proposal(command, again)
            verdict = await self._gate.permit_command(proposal)
            if isinstance(verdict, Denied):
                if verdict.cancelled:
                    raise CancelledByUser
                raise CommandDenied(verdict.reason)
            if (await self._proposal(command, None)).bound == proposal.bound:
                break
            again = _CHANGED
        argv = command.argv if command.line is None else shell_argv(command.line)
        try:
            async with self._terminal:
                return await run_process(
                    argv,
                    cwd=command.cwd,
                    env=environment(os.environ),
                    timeout_seconds=command.timeout_seconds,
                    on_output=self._on_output,
                )
        finally:
            await self._refresh()

    async def _staged(self) -> Ended | None:
        """A command must find the files as the plan has left them: what it has staged is asked for first."""
        verdict = await self._staging.commit_staged(self._plan_id)
        if verdict is None or isinstance(verdict, Committed):
            return None
        reason = f"The changes before it were not made: {verdict.reason}"
        if not isinstance(verdict, Denied):
            return Ended(code=None, problem=reason)
        if verdict.cancelled:
            raise CancelledByUser
        raise CommandDenied(reason)

    async def _proposal(self, command: Command, again: str | None) -> CommandProposal:
        scripts = await asyncio.to_thread(scripts_of, command, self._gate.folders())
        return CommandProposal(
            plan_id=self._plan_id,
            step_id=self._step.step_id,
            title=self._step.description,
            command=command,
            scripts=scripts,
            again=again,
        )

    def _was_cut_off(self) -> bool:
        """Whether the command before this one in the step was started, and its end is not known."""
        open_call: CallId | None = None
        cut_off = False
        for recorded in self._book.store.events(self._plan_id):
            event = recorded.event
            if isinstance(event, ev.ToolStarted) and event.task_id == self._step.step_id:
                if event.tool == "run_command":
                    cut_off = open_call is not None
                    open_call = event.call_id
            elif isinstance(event, ev.ToolCompleted) and event.call_id == open_call:
                open_call = event.call_id if event.summary == INTERRUPTED else None
        return cut_off
