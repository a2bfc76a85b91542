"""Runs the tests of the workspace while a plan is made: confined, on files whose changes are thrown away."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from planloom.domain.errors import UntrustedWorkspace
from planloom.domain.patterns import pattern
from planloom.domain.plans.plan import Plan
from planloom.domain.safety.command_rules import Words, parts_of
from planloom.domain.safety.confinement import Confinement
from planloom.domain.values import PlanId
from planloom.execution.commands.running import CallDenied, CancelledByUser, Terminal
from planloom.execution.effects.command_approval import CommandProposal, folder_id_of
from planloom.execution.session import Session
from planloom.tools.confinement.abilities import abilities
from planloom.tools.processes.child_process import ProcessResult
from planloom.tools.processes.commands import CalledCommand, Command, NoCommand
from planloom.tools.processes.kept_output import KeptOutput
from planloom.workspace.paths.names import listed
from planloom.workspace.paths.uris import shown_in

Answers = dict[tuple[PlanId, Words], str]

_TITLE: Final = "To plan, it wants to run this; your files stay as they are"
_NOT_YET: Final = (
    "While planning only {known} can be run, with any arguments and without a shell: no pipes, no redirections, no "
    "background. Put anything else into the plan."
)
_REFUSED: Final = "{reason} Plan without it."
_UNSAVED: Final = "[It saw the files on disk; these have unsaved text: {names}.]"
_SETTING: Final = pattern(r"[A-Za-z_]\w*=.*")
_EVERYTHING: Final = "/..."
_NAMED: Final = 5


def words_of(line: str) -> Words | None:
    """The words of a command line, None for one that only a shell can run."""
    parts = parts_of(line) or ()
    return parts[0] if len(parts) == 1 else None


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


async def offered(session: Session, commands: Sequence[str]) -> tuple[str, ...]:
    """Those of the commands that can be offered here; none unless what they change can be thrown away."""
    denied = session.settings.approvals.policy().verdict("execute") == "deny"
    if denied or not session.trusted or session.view.roots.any_virtual:
        return ()
    if not (await asyncio.to_thread(abilities)).throwaway:
        return ()
    return tuple(each for each in dict.fromkeys(commands) if words_of(each))


class PlanningCommands:
    """`CommandRunner` for the draft of one plan, which runs the `known` commands with any arguments.

    `answers` keeps for each plan and runner why it may not run, empty if it may: a person is asked once.
    """

    def __init__(
        self, session: Session, terminal: Terminal, plan: Plan, known: Sequence[str], answers: Answers
    ) -> None:
        self._session = session
        self._terminal = terminal
        self._plan = plan
        self._known = known
        self._answers = answers
        self._not_yet = NoCommand(_NOT_YET.format(known=listed([f"`{each}`" for each in known], _NAMED)))

    def expect(self, following: Sequence[CalledCommand]) -> None:
        """Nothing is asked ahead."""

    def close(self) -> None:
        """Nothing was asked ahead."""

    async def run(self, command: Command) -> ProcessResult:
        """Get a known command approved and run it."""
        words = words_of(command.line) if command.line is not None else command.argv
        runner = runner_of(words, self._known) if words else None
        if words is None or runner is None:
            return ProcessResult(code=None, problem=self._not_yet.reason)
        confinement = Confinement(network=self._session.settings.commands.network, workspace="throwaway")
        command = command._replace(
            line=None,
            argv=("env", *words) if _SETTING.fullmatch(words[0]) else words,
            confinement=confinement,
            folder_id=await asyncio.to_thread(folder_id_of, command.cwd),
        )
        key = (self._plan.plan_id, runner)
        if key not in self._answers:
            self._answers[key] = await self._refusal(command)
        if self._answers[key]:
            return ProcessResult(code=None, problem=_REFUSED.format(reason=self._answers[key]))
        confined = self._session.confined(self._plan.plan_id, confinement)
        capture = KeptOutput(confined.plan_folder)
        result = await self._terminal.run(command, confined, lambda *_: None, lambda _: None, capture)
        return result._replace(note=await self._unsaved())

    async def settle(self) -> tuple[str, ...]:
        """Nothing that they have changed stays."""
        return ()

    async def start(self, command: Command) -> NoCommand:  # noqa: ARG002
        """Nothing runs in the background."""
        return self._not_yet

    async def read(self, command_id: str, wait_seconds: float) -> NoCommand:  # noqa: ARG002
        """Nothing runs in the background."""
        return self._not_yet

    async def whole(self, command_id: str) -> bytes | NoCommand:
        """All that a command has printed, if that was long."""
        return await self._terminal.background.whole(self._plan, command_id)

    async def stop(self, command_id: str) -> NoCommand:  # noqa: ARG002
        """Nothing runs in the background."""
        return self._not_yet

    async def _refusal(self, command: Command) -> str:
        """Why the command may not run; empty if it may."""
        if command.folder_id is None:
            return "The folder of the command is gone."
        has = self._session.command_abilities(await asyncio.to_thread(abilities))
        proposal = CommandProposal(
            self._plan.plan_id, None, _TITLE, command, has, folder_id=command.folder_id
        )
        try:
            await self._terminal.permit(proposal, ())
        except CallDenied as denied:
            return denied.reason
        except CancelledByUser:
            return "The user has cancelled the plan."
        except UntrustedWorkspace as error:
            return error.message
        return ""

    async def _unsaved(self) -> str:
        """Says which files the command has seen without the text that the editor has."""
        folders = self._session.folders
        unsaved = [shown_in(uri, folders) for uri in await self._session.view.unsaved()]
        return _UNSAVED.format(names=listed(unsaved, _NAMED)) if unsaved else ""
