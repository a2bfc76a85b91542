"""Runs the tests of the workspace while a plan is made: confined, on files whose changes are thrown away."""

from __future__ import annotations

import asyncio
import os
import shlex
from collections.abc import Sequence
from typing import Final

from planloom.domain.errors import UntrustedWorkspace
from planloom.domain.patterns import pattern
from planloom.domain.plans.plan import Plan
from planloom.domain.safety.confinement import Confinement
from planloom.domain.values import PlanId
from planloom.execution.effects.command_approval import CommandProposal, folder_id_of
from planloom.execution.effects.gate import Gate
from planloom.execution.effects.proposals import Denied
from planloom.execution.session import Session
from planloom.execution.steps.background import BackgroundCommands
from planloom.tools.confinement.abilities import abilities
from planloom.tools.processes.child_process import Launch, ProcessResult, run_process
from planloom.tools.processes.commands import CalledCommand, Command, CommandState, NoCommand
from planloom.tools.processes.kept_output import KeptOutput
from planloom.workspace.index.programs import environment
from planloom.workspace.paths.names import listed
from planloom.workspace.paths.uris import display_name

Words = tuple[str, ...]

_TITLE: Final = "To plan, it wants to run this; your files stay as they are"
_NOT_YET: Final = (
    "While planning only {known} can be run, with any arguments and without a shell: no pipes, no redirections, no "
    "background. Put anything else into the plan."
)
_REFUSED: Final = "{reason} Plan without it."
_UNSAVED: Final = "[It saw the files on disk; these have unsaved text: {names}.]"
_OPERATORS: Final = "|&;<>()`$\n"
_SETTING: Final = pattern(r"[A-Za-z_]\w*=.*")
_EVERYTHING: Final = "/..."
_NAMED: Final = 5


def words_of(line: str) -> Words | None:
    """The words of a command line, None for one that only a shell can run."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=_OPERATORS)
    lexer.whitespace_split, lexer.whitespace, lexer.commenters = True, " \t", ""
    try:
        words = tuple(lexer)
    except ValueError:
        return None
    return None if any(word and not word.strip(_OPERATORS) for word in words) else words


def runner_of(words: Words, known: Sequence[str]) -> Words | None:
    """The one of the known commands that these words run, whatever the arguments; None if they run another."""
    runs = _program(words)
    for each in known:
        runner = _program(tuple(word for word in words_of(each) or () if not word.endswith(_EVERYTHING)))
        if runner and runs[: len(runner)] == runner:
            return runner
    return None


def _program(words: Words) -> Words:
    """The words without variables before them; `python -m` before a module is left out."""
    start = next((at for at, word in enumerate(words) if not _SETTING.fullmatch(word)), len(words))
    words = words[start:]
    return words[2:] if words[:1] in (("python",), ("python3",)) and words[1:2] == ("-m",) else words


class PlanningCommands:
    """What planners may run. A person is asked once for each plan and runner, and an answer holds for its redrafts."""

    def __init__(self, session: Session, gate: Gate, background: BackgroundCommands) -> None:
        self._session = session
        self._gate = gate
        self._background = background
        self._answers: dict[tuple[PlanId, Words], str] = {}

    async def offered(self, commands: Sequence[str]) -> tuple[str, ...]:
        """Those of the commands that can be offered here; none unless what they change can be thrown away."""
        session = self._session
        denied = session.settings.approvals.policy().verdict("execute") == "deny"
        if denied or not session.trusted or session.view.roots.any_virtual:
            return ()
        if not (await asyncio.to_thread(abilities)).throwaway:
            return ()
        return tuple(each for each in dict.fromkeys(commands) if words_of(each))

    def of(self, plan: Plan, known: Sequence[str]) -> PlanningRunner:
        """The runner of the known commands for the draft of a plan."""
        return PlanningRunner(self, plan, known)

    async def run(self, plan_id: PlanId, command: Command, runner: Words) -> ProcessResult:
        """Get a command approved and run it."""
        network = self._session.settings.commands.network
        place = await asyncio.to_thread(folder_id_of, command.cwd)
        if place is None:
            return ProcessResult(code=None, problem="The folder of the command is gone.")
        confinement = Confinement(network=network, workspace="throwaway")
        command = command._replace(confinement=confinement, folder_id=place)
        refused = await self._refused(plan_id, command, runner)
        if refused:
            return ProcessResult(code=None, problem=_REFUSED.format(reason=refused))
        confined = self._session.confined(confinement)
        result = await run_process(
            Launch(command.process_argv, command.working_folder, environment(os.environ), confined),
            timeout_seconds=command.timeout_seconds or 0,
            capture=KeptOutput(self._session.outputs(plan_id)),
        )
        return result._replace(note=await self._unsaved())

    async def whole(self, plan: Plan, command_id: str) -> bytes | NoCommand:
        """All of an output that was long."""
        return await self._background.whole(plan, command_id)

    async def _refused(self, plan_id: PlanId, command: Command, runner: Words) -> str:
        """Why the command may not run; empty if it may."""
        key = (plan_id, runner)
        if key not in self._answers:
            has = self._session.command_abilities(await asyncio.to_thread(abilities))
            try:
                verdict = await self._gate.permit_command(
                    CommandProposal(plan_id, None, _TITLE, command, has, folder_id=command.folder_id)
                )
            except UntrustedWorkspace as error:
                return error.message
            self._answers[key] = verdict.reason if isinstance(verdict, Denied) else ""
        return self._answers[key]

    async def _unsaved(self) -> str:
        """Says which files the command has seen without the text that the editor has."""
        view = self._session.view
        unsaved = [each.uri for each in view.documents.all() if await view.is_dirty(each.uri)]
        return _UNSAVED.format(names=listed(list(map(display_name, unsaved)), _NAMED)) if unsaved else ""


class PlanningRunner:
    """`CommandRunner` for the draft of one plan."""

    def __init__(self, commands: PlanningCommands, plan: Plan, known: Sequence[str]) -> None:
        self._commands = commands
        self._plan = plan
        self._known = known
        names = listed([f"`{each}`" for each in known], _NAMED)
        self._not_yet = NoCommand(reason=_NOT_YET.format(known=names))

    def expect(self, following: Sequence[CalledCommand]) -> None:
        """Nothing is asked ahead."""

    def close(self) -> None:
        """Nothing was asked ahead."""

    async def run(self, command: Command) -> ProcessResult:
        """Run a command if it is a known one."""
        words = words_of(command.line) if command.line is not None else command.argv
        runner = runner_of(words, self._known) if words else None
        if words is None or runner is None:
            return ProcessResult(code=None, problem=self._not_yet.reason)
        argv = ("env", *words) if _SETTING.fullmatch(words[0]) else words
        return await self._commands.run(self._plan.plan_id, command._replace(line=None, argv=argv), runner)

    async def start(self, command: Command) -> CommandState | NoCommand:  # noqa: ARG002
        """Nothing runs in the background."""
        return self._not_yet

    async def read(self, command_id: str, wait_seconds: float) -> CommandState | NoCommand:  # noqa: ARG002
        """Nothing runs in the background."""
        return self._not_yet

    async def whole(self, command_id: str) -> bytes | NoCommand:
        """All that a command has printed, if that was long."""
        return await self._commands.whole(self._plan, command_id)

    async def stop(self, command_id: str) -> CommandState | NoCommand:  # noqa: ARG002
        """Nothing runs in the background."""
        return self._not_yet
