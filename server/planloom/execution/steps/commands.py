"""Runs the commands of one step: commits staged changes, saves files, gets approval, re-checks scripts, then runs."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import Final, Literal

from planloom.domain.events import catalog as ev
from planloom.domain.plans.plan import Step
from planloom.domain.values import Args, PlanId
from planloom.execution.effects.command_approval import CommandProposal, scripts_of
from planloom.execution.effects.gate import Gate
from planloom.execution.effects.proposals import Committed, Denied
from planloom.execution.effects.staging_area import StagingArea
from planloom.execution.effects.unsaved import UnsavedFileSaver
from planloom.execution.plan_store import PlanStore
from planloom.tools.processes.child_process import ProcessResult, run_process, shell_argv
from planloom.tools.processes.run_command import Command
from planloom.workspace.index.programs import environment

_CHANGED: Final = "A file that the command runs has changed since you allowed it."
_CUT_OFF: Final = "It was started before and interrupted, so it may have run already."
_QUESTION: Final = "The request is a question, so every command is asked."
_ENDED: Final = "It ran to its end in an earlier run of this step, so this would be the second time."
Output = Callable[[Literal["stdout", "stderr"], str], None]


class CancelledByUser(Exception):
    """Raised when the user answers an approval by cancelling the whole plan."""


class CommandDenied(Exception):
    """Raised when the user or the policy denies a command."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class StepCommands:
    """`CommandRunner` for one step. `refresh` updates the file index after a command.

    Every command holds the lock `terminal`: the resources that a step claims do not cover the commands of its
    model and of its checks.
    """

    def __init__(
        self,
        plan_store: PlanStore,
        gate: Gate,
        staging: StagingArea,
        unsaved: UnsavedFileSaver,
        plan_id: PlanId,
        step: Step,
        on_output: Output,
        refresh: Callable[[], Awaitable[None]],
        terminal: asyncio.Lock,
    ) -> None:
        self._plan_store = plan_store
        self._gate = gate
        self._staging = staging
        self._unsaved = unsaved
        self._plan_id = plan_id
        self._step = step
        self._on_output = on_output
        self._refresh = refresh
        self._terminal = terminal

    async def run(self, command: Command) -> ProcessResult:
        """Get the command approved and run it. Raises CommandDenied, CancelledByUser, UnsavedFiles,
        UntrustedWorkspace.

        The approval is for the scripts as they were shown. They are compared again once the terminal is locked; if
        one has changed, the lock is released and the user is asked again.
        """
        not_made = await self._commit_staged()
        if not_made is not None:
            return not_made
        plan = self._plan_store.plan(self._plan_id)
        await self._unsaved.save_before_command(plan)
        again = self._ran_before()
        while True:
            proposal = await self._proposal(command, again)
            verdict = await self._gate.permit_command(proposal)
            if isinstance(verdict, Denied):
                if verdict.cancelled:
                    raise CancelledByUser
                raise CommandDenied(verdict.reason)
            async with self._terminal:
                await self._plan_store.wait_unlocked()
                if (await self._proposal(command, None)).digest == proposal.digest:
                    return await self._run(command)
            again = _CHANGED

    async def _run(self, command: Command) -> ProcessResult:
        """Run it. Its start is recorded durably first, so that a crash while it waited can be told from one later."""
        started = ev.TaskUpdate(task_id=self._step.step_id, status="running", command_started=True)
        self._plan_store.record(self._plan_id, started)
        argv = command.argv if command.line is None else shell_argv(command.line)
        try:
            return await run_process(
                argv,
                cwd=command.cwd,
                env=environment(os.environ),
                timeout_seconds=command.timeout_seconds,
                on_output=self._on_output,
            )
        finally:
            await self._refresh()

    async def _commit_staged(self) -> ProcessResult | None:
        """Commit the plan's staged changes, which the command may need. Returns the failure if they were not made."""
        verdict = await self._staging.commit_staged(self._plan_id)
        if verdict is None or isinstance(verdict, Committed):
            return None
        reason = f"The changes before it were not made: {verdict.reason}"
        if not isinstance(verdict, Denied):
            return ProcessResult(code=None, problem=reason)
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

    def _ran_before(self) -> str | None:
        """Why this command must be approved whatever the policy says: the plan only asks, or it may have run before."""
        plan = self._plan_store.plan(self._plan_id)
        now = plan.step(self._step.step_id) or self._step
        if plan.only_asks:
            return _QUESTION
        args = next((call.args for call in plan.open_calls if call.step_id == now.step_id), None)
        for index in reversed(range(len(now.tools_executed))):
            call = now.tools_executed[index]
            if args is None or call.command not in ("ended", "cut_off") or not _same(call.args, args):
                continue
            if call.command == "cut_off":
                return _CUT_OFF
            earlier = now.calls_closed <= index < len(self._step.tools_executed)
            return _ENDED if earlier else None
        return None


def _same(one: Args, other: Args) -> bool:
    """Whether two calls run the same command in the same folder, whatever their time limits."""
    return one.get("command") == other.get("command") and (one.get("cwd") or ".") == (other.get("cwd") or ".")
