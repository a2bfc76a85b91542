"""Supervises the commands that plans have running in the background, from their start to their end."""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
import re
from collections.abc import Collection
from pathlib import Path
from typing import Final

from planloom.domain.errors import PlanloomError
from planloom.domain.events import catalog as ev
from planloom.domain.events.folding import IllegalTransition
from planloom.domain.plans.commands import BackgroundReason, background_calls, outcome_line
from planloom.domain.plans.plan import Plan
from planloom.domain.text.counted import duration
from planloom.domain.values import PlanId
from planloom.execution.commands.changes import CommandChanges
from planloom.execution.jobs import Jobs, background_jobs
from planloom.execution.plan_store import PlanStore
from planloom.execution.session import Session
from planloom.execution.step_run import StepRun
from planloom.execution.workspace_index import WorkspaceIndex
from planloom.shielded import uninterrupted
from planloom.tools.confinement.confined_command import remove_plan_folder
from planloom.tools.processes.child_process import ChildProcess, Launch, OnOutput, result_of, set_within
from planloom.tools.processes.commands import Command, CommandState, NoCommand, how_ended
from planloom.tools.processes.kept_output import KeptOutput
from planloom.tools.processes.left_over import process_stamp
from planloom.tools.processes.unread_output import UnreadOutput
from planloom.workspace.index.programs import environment
from planloom.workspace.paths.names import listed

FIRST_SECONDS: Final = 2.0
"""How long the start of a command waits for what it prints first, or for its early end."""
_SETTLE_SECONDS: Final = 0.2
"""How long a read waits for the rest of output that has just begun to arrive."""
_LISTED: Final = 8
_ID: Final = re.compile(r"[a-z][0-9]{1,6}")
_STOPPED: Final[dict[BackgroundReason, str]] = {
    "stopped": "was stopped",
    "time_limit": "was stopped after {limit}, the longest that it may run",
    "plan_ended": "was still running when the plan ended, and was stopped",
    "server_ended": "was stopped when the server ended",
}
log = logging.getLogger(__name__)


class _Running:
    """A command that was started in this process, with its output, until its plan has ended."""

    def __init__(self, run: StepRun, command_id: str, command: Command, seconds: float) -> None:
        self.run = run
        self.command_id = command_id
        self.command = command
        self.seconds = seconds
        self.output = UnreadOutput(KeptOutput(run.session.plan_folder(run.plan_id), command_id))
        self.reason: BackgroundReason = "plan_ended"
        self.problem: str | None = None
        self.end: str | None = None
        self.code: int | None = None
        self.begun = asyncio.Event()
        self.ended = asyncio.Event()

    @property
    def job(self) -> str:
        """The name of its job, which begins no other name."""
        return f"{background_jobs(self.run.plan_id)}{self.command_id}:"

    def state(self) -> CommandState:
        """The state now; the output in it counts as read."""
        return CommandState(
            command_id=self.command_id,
            name=self.command.name,
            end=self.end,
            code=self.code,
            output=self.output.take(last=self.end is not None),
        )


class BackgroundCommands:
    """The commands that all plans of this process have in the background, each in a job of its own.

    They outlive the step that has started them. Whoever ends a plan stops their jobs (`background_jobs`).
    """

    def __init__(
        self,
        session: Session,
        plan_store: PlanStore,
        jobs: Jobs,
        index: WorkspaceIndex,
        changes: CommandChanges,
    ) -> None:
        self.changes = changes
        self._session = session
        self._plan_store = plan_store
        self._jobs = jobs
        self._index = index
        self._commands: dict[PlanId, dict[str, _Running]] = {}
        self._is_closed = False

    def refusal(self, plan: Plan, command: Command) -> NoCommand | None:
        """Why this command cannot be started beside those that run, if so."""
        running = self._running(plan.plan_id)
        for each in running:
            if (each.command.text, each.command.cwd) == (command.text, command.cwd):
                reason = f"This very command runs already, as {each.command_id}: read its output, or stop it first."
                return NoCommand(reason=reason)
        if len(running) >= self._session.settings.execution.max_background_commands:
            names = listed([f"{each.command_id} (`{each.command.name}`)" for each in running], _LISTED)
            return NoCommand(
                reason=f"{len(running)} commands run in the background, which is the most: {names}. Stop one first."
            )
        return None

    def begin(self, run: StepRun, command: Command, on_output: OnOutput) -> _Running | NoCommand:
        """Start a command that was allowed, in its own job."""
        refused = self.refusal(run.plan, command)
        if refused is not None:
            return refused
        most = self._session.settings.execution.background_minutes * 60
        seconds = min(command.timeout_seconds or most, most)
        commands = self._commands.setdefault(run.plan_id, {})
        running = _Running(run, _new_id(run.plan, commands), command, seconds)
        commands[running.command_id] = running
        self._jobs.start(running.job, self._supervise(running, on_output))
        return running

    async def first(self, running: _Running) -> CommandState | NoCommand:
        """The state of a command that has just begun, after a moment or at its end."""
        # A cancellation before the start is recorded would hide the command from the plan.
        await uninterrupted(running.begun.wait())
        await set_within(FIRST_SECONDS, running.ended)
        if running.problem is not None:
            return NoCommand(reason=running.problem)
        return running.state()

    async def read(self, plan: Plan, command_id: str, wait_seconds: float) -> CommandState | NoCommand:
        """The state of a command as soon as it has new output or has ended, or after `wait_seconds`."""
        running = self._commands.get(plan.plan_id, {}).get(command_id)
        if running is None:
            return self._unknown(plan, command_id)
        if not running.ended.is_set() and await set_within(wait_seconds, running.output.news):
            await set_within(_SETTLE_SECONDS, running.ended)
        return running.state()

    async def whole(self, plan: Plan, command_id: str) -> bytes | NoCommand:
        """All that a command of the plan has printed."""
        running = self._commands.get(plan.plan_id, {}).get(command_id)
        if running is not None:
            return running.output.whole.kept()
        file = self._file(plan, command_id)
        return self._unknown(plan, command_id) if file is None else await asyncio.to_thread(file.read_bytes)

    def _file(self, plan: Plan, command_id: str) -> Path | None:
        """The file of an output that was long."""
        file = self._session.plan_folder(plan.plan_id) / command_id
        return file if _ID.fullmatch(command_id) and file.is_file() else None

    async def stop(self, plan: Plan, command_id: str) -> CommandState | NoCommand:
        """Stop a command with its process group."""
        running = self._commands.get(plan.plan_id, {}).get(command_id)
        if running is None:
            return self._unknown(plan, command_id)
        if not running.ended.is_set():
            running.reason = "stopped"
            await self._jobs.stop(running.job)
        return running.state()

    def close(self) -> None:
        """The server ends: this is why the commands whose jobs are stopped from now on have ended."""
        self._is_closed = True

    async def forget_all(self) -> None:
        """Remove the folders of all plans of this session, whose commands have ended."""
        await asyncio.to_thread(remove_plan_folder, self._session.plan_folders)

    def _running(self, plan_id: PlanId) -> tuple[_Running, ...]:
        return tuple(each for each in self._commands.get(plan_id, {}).values() if not each.ended.is_set())

    def on_event(self, recorded: ev.Recorded, _: Plan) -> None:
        """Stop and forget the commands of a plan that has ended in whatever way, and remove its folder."""
        self._jobs.start(f"end-background:{recorded.plan_id}", self._forget(recorded.plan_id))

    async def _forget(self, plan_id: PlanId) -> None:
        await self._jobs.stop(background_jobs(plan_id))
        self._commands.pop(plan_id, None)
        await asyncio.to_thread(remove_plan_folder, self._session.plan_folder(plan_id))

    def _unknown(self, plan: Plan, command_id: str) -> NoCommand:
        """Why there is no such command: it has ended, or never was."""
        if self._file(plan, command_id) is not None:
            return NoCommand(
                reason=f"{command_id} has ended: give pattern or lines to read what it has printed."
            )
        commands = (command for _, _, command in background_calls(plan))
        known = next((each for each in commands if each.command_id == command_id), None)
        if known is not None:
            return NoCommand(
                reason=f"{command_id} does not run any more ({known.state}). Run it again if you still need it."
            )
        running = ", ".join(each.command_id for each in self._running(plan.plan_id))
        which = f"These run: {running}." if running else "None runs."
        return NoCommand(reason=f"There is no background command {command_id}. {which}")

    async def _supervise(self, running: _Running, on_output: OnOutput) -> None:
        """Run a command until it ends, its time is over, or the job is cancelled; then end its whole group."""
        command = running.command
        child = ChildProcess(running.output, on_output)
        try:
            async with self.changes.watched(running.run, command.text):
                try:
                    await self._run(running, child)
                finally:
                    await child.end()
        except (PlanloomError, IllegalTransition) as error:
            log.info("what %s has changed was not recorded: %s", running.job, error)
        finally:
            self._settle(running, child)

    async def _run(self, running: _Running, child: ChildProcess) -> None:
        """Run a command until it ends by itself or its time is over."""
        command = running.command
        # What it prints is read while it runs, so Python must not keep it back.
        env = environment(os.environ) | {"PYTHONUNBUFFERED": "1"}
        confined = self._session.confined(running.run.plan_id, command.confinement)
        launch = Launch(command.process_argv, command.working_folder, env, confined)
        try:
            running.problem = await child.start(launch)
            if running.problem is None:
                await self._record_start(running, child.pid)
                running.begun.set()
                async with asyncio.timeout(running.seconds):
                    await child.ended()
                running.reason = "exit"
        except TimeoutError:
            running.reason = "time_limit"
        except (PlanloomError, IllegalTransition) as error:
            # Nobody would know of it after a crash, so it does not run on.
            running.problem = f"The start of the command could not be recorded: {error}"

    async def _record_start(self, running: _Running, pid: int) -> None:
        await self._plan_store.wait_unlocked()
        running.run.record(
            ev.BackgroundStarted(
                step_id=running.run.step_id,
                command_id=running.command_id,
                command=running.command.name,
                pid=pid,
                process=process_stamp(pid),
            )
        )

    def _settle(self, running: _Running, child: ChildProcess) -> None:
        """Record how a command has ended, before those who wait for it go on."""
        if running.problem is not None or not running.begun.is_set():
            self._commands.get(running.run.plan_id, {}).pop(running.command_id, None)
            running.problem = running.problem or "The command was interrupted as it started."
        else:
            result = result_of(child, "", timed_out=False)
            if running.reason == "plan_ended" and self._is_closed:
                running.reason = "server_ended"
            if running.reason == "exit":
                running.code = result.code
                running.end = how_ended(result, running.seconds)
            else:
                running.end = _STOPPED[running.reason].format(limit=duration(running.seconds))
            ended = ev.BackgroundEnded(
                step_id=running.run.step_id,
                command_id=running.command_id,
                reason=running.reason,
                exit_code=running.code,
                line=f"it {running.end}" if running.code is None else outcome_line(running.output.end()),
            )
            try:
                running.run.record(ended)
            except PlanloomError as error:
                log.info("the end of %s was not recorded: %s", running.job, error.message)
            if running.reason != "server_ended":
                # It is unknown what the command has changed.
                self._index.rescan()
        running.begun.set()
        running.ended.set()
        running.output.news.set()


def _new_id(plan: Plan, running: Collection[str]) -> str:
    """An id that no background command of the plan has had."""
    taken = {command.command_id for _, _, command in background_calls(plan)}
    numbers = (f"c{number}" for number in itertools.count(1))
    return next(name for name in numbers if name not in taken and name not in running)
