"""Runs the commands of one step: commits staged changes, saves files, gets approval, re-checks scripts, then runs."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final, Literal, NamedTuple

from planloom.domain.errors import PlanloomError
from planloom.domain.plans.commands import CommandProcess, PercentReader, background_calls
from planloom.domain.safety.command_needs import CREDENTIALS, Lack, lack_of
from planloom.domain.safety.confinement import Confinement
from planloom.domain.safety.confinement_choices import given_confinement, who_reaches
from planloom.domain.values import Args
from planloom.execution.commands.background import BackgroundCommands
from planloom.execution.commands.changes import Watched
from planloom.execution.effects.command_approval import CommandProposal, folder_id_of
from planloom.execution.effects.command_scripts import ESCAPE, scripts_of
from planloom.execution.effects.gate import Gate
from planloom.execution.effects.proposals import CommandPermitted, Denied, NotMade
from planloom.execution.effects.staging_area import StagingArea
from planloom.execution.effects.unsaved import UnsavedFiles, UnsavedFileSaver
from planloom.execution.resources import TERMINAL, StepWaits, UsedBy, User
from planloom.execution.step_run import StepRun
from planloom.execution.summary import changed_files
from planloom.execution.workspace_index import WorkspaceIndex
from planloom.tools.confinement.abilities import abilities
from planloom.tools.confinement.confined_command import Confined, changeable_git
from planloom.tools.confinement.places import lacking_folder
from planloom.tools.processes.child_process import Capture, Launch, ProcessResult, run_process
from planloom.tools.processes.commands import CalledCommand, Command, CommandState, NoCommand
from planloom.tools.processes.kept_output import KeptOutput
from planloom.tools.processes.left_over import end_left_over, left_over, process_stamp, until_one_has_ended
from planloom.tools.tool import shortened
from planloom.workspace.index.programs import environment
from planloom.workspace.paths.uris import name_in

_CHANGED: Final = "A file that the command runs, or its folder, has changed since you allowed it."
_CUT_OFF: Final = "It was started before and interrupted, so it may have run already."
_OWN_RUNS: Final = (
    "It still runs as process {}, since the server ended without it. If you allow it, that process is ended first; to "
    "let it end by itself, wait with your answer."
)
_OTHER_RUNS: Final = "`{}` of an earlier run still runs, as process {}, and goes on beside it."
_NOT_RUN: Final = "The command was not run"
_CHANGES_DENIED: Final = "The command was not run, since the changes before it were not made"
_SHOWN: Final = 80
_QUESTION: Final = "The request is a question, so every command is asked."
_ENDED: Final = "It ran to its end in an earlier run of this step, so this would be the second time."
Output = Callable[[Literal["stdout", "stderr"], str], None]


class CancelledByUser(Exception):
    """Raised when the user answers an approval by cancelling the whole plan."""


class CallDenied(Exception):
    """Raised when the user or the policy denies a call; `consequence` says what was not done."""

    def __init__(self, reason: str, consequence: str = _NOT_RUN) -> None:
        super().__init__(reason)
        self.reason = reason
        self.consequence = consequence


class _Left(NamedTuple):
    """The commands that a dead server has left running: processes of this very command, and others by their command."""

    own: tuple[CommandProcess, ...]
    others: dict[str, CommandProcess]


class Terminal:
    """The one terminal that the commands of all steps share: one command at a time, on saved files.

    The resources that a step claims do not cover the commands of its model and of its checks; the lock does. Commands
    in the `background` hold it only while they start.
    """

    def __init__(
        self,
        gate: Gate,
        staging: StagingArea,
        saver: UnsavedFileSaver,
        index: WorkspaceIndex,
        background: BackgroundCommands,
        waits: StepWaits,
    ) -> None:
        self.background = background
        self.changes = background.changes
        self._lock = asyncio.Lock()
        self._user: User | None = None
        self._waiting: list[UsedBy] = []
        self._waits = waits
        self._gate = gate
        self._staging = staging
        self._saver = saver
        self._index = index

    @asynccontextmanager
    async def turn(self, run: StepRun) -> AsyncIterator[None]:
        """Hold the terminal. While another step has it, the wait for that step is reported, then for each next one."""
        user = (run.plan_id, run.step_id)
        with self._waits.waiting(user, TERMINAL) as used_by:
            if self._user is not None:
                used_by(self._user)
            self._waiting.append(used_by)
            try:
                await self._lock.acquire()
            finally:
                self._waiting.remove(used_by)
        self._user = user
        for used_by in self._waiting:
            used_by(user)
        try:
            yield
        finally:
            self._user = None
            self._lock.release()

    async def put_on_disk(self, run: StepRun) -> str | None:
        """Commit the plan's staged changes and have unsaved files saved, since a command may need them.

        Returns why staged changes were not made. Raises CallDenied, CancelledByUser, UnsavedFiles.
        """
        verdict = await self._staging.commit_staged(run.plan_id)
        if isinstance(verdict, NotMade) and verdict.unsaved:
            # No model can save a file, so the step must not go on without the user.
            raise UnsavedFiles(why=verdict.reason)
        if isinstance(verdict, Denied | NotMade):
            if isinstance(verdict, Denied):
                raise _denied(verdict, _CHANGES_DENIED)
            return f"The changes before it were not made: {verdict.reason}"
        await self._saver.save_before_command(run.plan)
        return None

    async def save_own(self, run: StepRun) -> None:
        """Have the files saved that only the plan has changed, since a command in the background may follow them."""
        await self._saver.save_own(run.plan)

    def withdraw_ahead(self, run: StepRun) -> None:
        """Withdraw what was asked for a step ahead of its calls."""
        self._gate.approvals.withdraw_ahead(run.plan_id, run.step_id)

    async def permit(
        self, proposal: CommandProposal, following: Sequence[CommandProposal]
    ) -> CommandPermitted:
        """Get a command approved, asked with those following.

        Raises CallDenied, CancelledByUser, UntrustedWorkspace.
        """
        verdict = await self._gate.permit_command(proposal, following)
        if isinstance(verdict, Denied):
            raise _denied(verdict)
        return verdict

    async def run(
        self,
        command: Command,
        confined: Confined,
        on_output: Output,
        on_start: Callable[[int], None],
        capture: Capture,
    ) -> ProcessResult:
        """Run a command to its end, then update the index of files. The caller holds the lock."""
        assert command.timeout_seconds is not None, (
            "only a command in the background has no time limit of its own"
        )
        try:
            return await run_process(
                Launch(command.process_argv, command.working_folder, environment(os.environ), confined),
                timeout_seconds=command.timeout_seconds,
                on_output=on_output,
                on_start=on_start,
                capture=capture,
            )
        finally:
            await self._index.rescan_after_command()


def _denied(verdict: Denied, consequence: str = _NOT_RUN) -> CancelledByUser | CallDenied:
    return CancelledByUser() if verdict.cancelled else CallDenied(verdict.reason, consequence)


class StepCommands:
    """`CommandRunner` for one run of a step."""

    def __init__(self, run: StepRun, terminal: Terminal, on_output: Output) -> None:
        self._run = run
        self._terminal = terminal
        self._background = terminal.background
        self._on_output = on_output
        self._following: tuple[CalledCommand, ...] = ()
        self._watched: list[Watched] = []

    def expect(self, following: Sequence[CalledCommand]) -> None:
        """The commands that are called after the next one, which are asked together with it."""
        self._following = tuple(following)

    def close(self) -> None:
        """Withdraw what was asked ahead and is not called."""
        self._terminal.withdraw_ahead(self._run)

    async def run(self, command: Command) -> ProcessResult:
        """Get the command approved and run it. Raises CallDenied, CancelledByUser, UnsavedFiles,
        UntrustedWorkspace.
        """
        not_made = await self._terminal.put_on_disk(self._run)
        if not_made is not None:
            return ProcessResult(code=None, problem=not_made)
        async with self._allowed(command) as permitted:
            confined = self._run.session.confined(self._run.plan_id, permitted.confinement)
            on_output = self._metered() if self._run.step.kind == "tool_call" else self._on_output
            capture = KeptOutput(self._run.session.plan_folder(self._run.plan_id))
            async with self._terminal.changes.watched(self._run, permitted.text) as watched:
                result = await self._terminal.run(
                    permitted, confined, on_output, self._record_process, capture
                )
        self._watched.append(watched)
        if result.code in (0, None) or not permitted.confinement.confined:
            return result
        return result._replace(lacked=await asyncio.to_thread(self._lack, permitted, result.output))

    def _lack(self, command: Command, output: str) -> Lack | None:
        """The permission that a failed confined command seems to have lacked, and was not given. Blocks on file I/O."""
        lack, gets = lack_of(output, command.text, ESCAPE), command.confinement
        roots = tuple(root.path for root in self._run.session.view.roots.folders)
        match lack:
            case Lack(kind="network"):
                is_held = gets.network != "all" and abilities().network
                return lack if is_held else None
            case Lack(kind="git"):
                can_change = gets.git is None and changeable_git(command.cwd, roots) is not None
                return lack if can_change else Lack(kind="protected")
            case Lack(kind="folder"):
                place = lacking_folder(command.cwd / Path(lack.place).expanduser(), roots)
                return Lack(kind="protected") if place is None else Lack(kind="folder", place=str(place))
            case Lack(kind="credentials", place=program):
                unseen = (place for place in CREDENTIALS[program] if place not in gets.reads)
                there = any(Path(place).expanduser().exists() for place in unseen)
                return lack if there and abilities().files else None
            case Lack(kind="socket", place=place) if place and not Path(place).exists():
                return None
            case _:
                return lack if abilities().files else None

    async def settle(self) -> tuple[str, ...]:
        """Have the user decide on what the commands have made of protected names; sentences on what is not kept."""
        watched, self._watched = self._watched, []
        return tuple([note for each in watched for note in await self._terminal.changes.decide(each)])

    def _metered(self) -> Output:
        """Passes on the output of the one command of a step, and records the percentages in it."""
        percents = PercentReader()

        def on_output(kind: Literal["stdout", "stderr"], text: str) -> None:
            self._on_output(kind, text)
            percent = percents.feed(text)
            if percent is not None:
                with suppress(PlanloomError):
                    self._run.update(progress=percent)

        return on_output

    async def start(self, command: Command) -> CommandState | NoCommand:
        """Get the command approved and start it in the background. Raises what `run` raises."""
        not_made = await self._terminal.put_on_disk(self._run)
        if not_made is not None:
            return NoCommand(reason=not_made)
        refused = self._background.refusal(self._run.plan, command)
        if refused is not None:
            return refused
        async with self._allowed(command) as permitted:
            begun = self._background.begin(self._run, permitted, self._on_output)
        state = begun if isinstance(begun, NoCommand) else await self._background.first(begun)
        if isinstance(state, NoCommand):
            return state
        has = await asyncio.to_thread(abilities)
        return state._replace(reach=who_reaches(permitted.confinement, has))

    async def read(self, command_id: str, wait_seconds: float) -> CommandState | NoCommand:
        """The new output of a background command, which may follow the files that the plan has changed."""
        await self._terminal.save_own(self._run)
        return await self._background.read(self._run.plan, command_id, wait_seconds)

    async def whole(self, command_id: str) -> bytes | NoCommand:
        """All that a command of the plan has printed, if it runs in the background or has printed much."""
        return await self._background.whole(self._run.plan, command_id)

    async def stop(self, command_id: str) -> CommandState | NoCommand:
        """Stop a background command."""
        return await self._background.stop(self._run.plan, command_id)

    @asynccontextmanager
    async def _allowed(self, command: Command) -> AsyncIterator[Command]:
        """Get the command approved, and lock the terminal; the start of the command is recorded.

        Yields the command as the user has allowed it.

        The approval is for the scripts as they were shown. They are compared again once the terminal is locked; if
        one has changed, the lock is released and the user is asked again. So is the user if a command that a dead
        server has left running ends meanwhile.
        """
        command, args = self._confined(command), self._args()
        changed: str | None = None
        while True:
            left = self._left_running(args)
            proposal = await self._proposal(command, args, changed or self._again(args, left))
            following = () if left.own or left.others else await self._proposed()
            permitted = await self._permitted(proposal, following, left)
            if permitted is None:
                continue
            async with self._terminal.turn(self._run):
                await self._run.plan_store.wait_unlocked()
                if (await self._proposal(command, args, None)).digest == proposal.digest:
                    for process in left.own:
                        end_left_over(process)
                    # A crash while the command waited must differ from a crash later: the start is durable first.
                    given = given_confinement(permitted.confinement, proposal.abilities)
                    self._run.update(
                        command_started=True, command_confinement=given, covered_by=permitted.covered_by
                    )
                    yield command._replace(confinement=permitted.confinement, folder_id=proposal.folder_id)
                    return
            changed = _CHANGED

    def _record_process(self, pid: int) -> None:
        """Record which process a command is, so that a later server finds it if this one dies."""
        self._run.update(command_process=CommandProcess(pid=pid, stamp=process_stamp(pid)))

    def _confined(self, command: Command) -> Command:
        """The command with what the settings give it."""
        network = self._run.session.settings.commands.network
        return command._replace(confinement=Confinement(network=network))

    async def _proposed(self) -> tuple[CommandProposal, ...]:
        """The commands that are called after this one, as they would be asked now."""
        proposals = []
        for command, args in self._following:
            again = self._again(args, self._left_running(args))
            proposals.append(await self._proposal(self._confined(command), args, again))
        return tuple(proposals)

    async def _permitted(
        self, proposal: CommandProposal, following: Sequence[CommandProposal], left: _Left
    ) -> CommandPermitted | None:
        """How the command is permitted; None if meanwhile a process that the question names has ended."""
        if not left.own and not left.others:
            return await self._terminal.permit(proposal, following)
        asking = asyncio.ensure_future(self._terminal.permit(proposal, following))
        watching = asyncio.ensure_future(until_one_has_ended((*left.own, *left.others.values())))
        try:
            await asyncio.wait({asking, watching}, return_when=asyncio.FIRST_COMPLETED)
            return await asking if asking.done() else None
        finally:
            asking.cancel()
            watching.cancel()
            await asyncio.wait({asking, watching})

    async def _proposal(self, command: Command, args: Args | None, again: str | None) -> CommandProposal:
        folders = tuple(root.path for root in self._run.session.view.roots.folders)
        folder_id = await asyncio.to_thread(folder_id_of, command.cwd)
        if folder_id is None:
            raise CallDenied("The folder of the command is gone, or another has taken its place.")
        has = self._run.session.command_abilities(await asyncio.to_thread(abilities))
        scripts = await asyncio.to_thread(scripts_of, command, folders)
        git = await asyncio.to_thread(changeable_git, command.cwd, folders)
        changed = {name_in(uri, self._run.session.folders) for uri in changed_files(self._run.plan)}
        return CommandProposal(
            plan_id=self._run.plan_id,
            step_id=self._run.step_id,
            title=self._run.step.description,
            command=command,
            abilities=has,
            scripts=scripts,
            again=again,
            may_have_run=self._ran_before(args) not in (None, _QUESTION, _ENDED),
            changed=tuple(script.name for script in scripts.files if script.name in changed),
            folder_id=folder_id,
            git=git,
            lacked=self._lacked(args),
        )

    def _lacked(self, args: Args | None) -> Lack | None:
        """The permission that this command lacked when it last ended in this step."""
        earlier = (call for call in reversed(self._run.now.tools_executed) if args and _same(call.args, args))
        last = next((call.outcome for call in earlier if call.command == "ended"), None)
        return None if last is None else last.lack

    def _ran_before(self, args: Args | None) -> str | None:
        """Why this command must be approved whatever the policy says: the plan only asks, or it may have run before."""
        now = self._run.now
        if self._run.plan.only_asks:
            return _QUESTION
        for index in reversed(range(len(now.tools_executed))):
            call = now.tools_executed[index]
            if args is None or call.command not in ("ended", "cut_off") or not _same(call.args, args):
                continue
            if call.background is not None:
                break
            if call.command == "cut_off":
                return _CUT_OFF
            earlier = now.calls_closed <= index < len(self._run.step.tools_executed)
            is_check = any(args == {"command": check.command} for check in now.checks)
            return _ENDED if earlier and not is_check else None
        return self._was_in_background(args)

    def _left_running(self, args: Args | None) -> _Left:
        """The commands of this plan that a server which has died has left running; those of `args` as its own."""
        own: list[CommandProcess] = []
        others: dict[str, CommandProcess] = {}
        for step in self._run.plan.steps:
            for call in step.tools_executed:
                if call.process is None or left_over(call.process) != "running":
                    continue
                if args is not None and _same(call.args, args):
                    own.append(call.process)
                else:
                    others[str(call.args.get("command"))] = call.process
        return _Left(tuple(own), others)

    def _again(self, args: Args | None, left: _Left) -> str | None:
        """Why this command must be approved whatever the policy says, with what still runs of earlier ones."""
        why = [] if (reason := self._ran_before(args)) is None else [reason]
        why += [_OWN_RUNS.format(process.pid) for process in left.own]
        why += [
            _OTHER_RUNS.format(shortened(name, _SHOWN), process.pid) for name, process in left.others.items()
        ]
        return " ".join(why) or None

    def _args(self) -> Args | None:
        """The arguments of the call that wants to run a command."""
        plan, step_id = self._run.plan, self._run.step_id
        return next((call.args for call in plan.open_calls if call.step_id == step_id), None)

    def _was_in_background(self, args: Args | None) -> str | None:
        """Whether a server that died has left this very command running in the background, for whichever step."""
        for _, earlier, command in background_calls(self._run.plan):
            end = command.end
            if end is not None and end.reason == "crash" and args is not None and _same(earlier, args):
                return f"It ran in the background before: {end.line}."
        return None


def _same(one: Args, other: Args) -> bool:
    """Whether two calls run the same command in the same folder, whatever their time limits."""
    return one.get("command") == other.get("command") and (one.get("cwd") or ".") == (other.get("cwd") or ".")
