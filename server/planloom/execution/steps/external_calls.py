"""Calls tools that are not ours: for a step after the gate, while planning only those that read."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Final, Literal

from planloom.domain.values import Args
from planloom.execution.commands.running import CallDenied, CancelledByUser
from planloom.execution.effects.external_approval import CalledTool, ExternalProposal
from planloom.execution.effects.gate import Gate
from planloom.execution.effects.proposals import Denied
from planloom.execution.session import Session
from planloom.execution.step_run import StepRun
from planloom.tools.external_tools import ExternalTools, NotThere, RemoteResult, RemoteTool

_NO_SERVERS: Final = "There are no servers whose tools could be called."
_CUT_OFF: Final = "This very call was cut off, and may have been made: it would be made a second time."
_MOST_ARGUMENTS: Final = 100_000


class ReadingCalls:
    """`ExternalCaller` before a plan is approved: the user believes the server that these tools only read."""

    def __init__(self, session: Session) -> None:
        self._session = session

    async def call(self, tool: RemoteTool, arguments: Args) -> RemoteResult:
        """Call a tool that reads. Raises NotThere."""
        if not tool.reads:
            raise NotThere("Only tools that read are called before the user has approved the plan.")
        return await _servers(self._session).call(tool, arguments, lambda _: None, lambda _: None)

    async def permit(self, _tool: str, _package: str, _arguments: Args) -> None:
        """No call of a package's tool that does more than read is made. Raises NotThere."""
        raise NotThere("Only tools that read are called before the user has approved the plan.")


class StepExternalCalls:
    """`ExternalCaller` for one run of a step."""

    def __init__(
        self, run: StepRun, gate: Gate, on_output: Callable[[Literal["stdout", "stderr"], str], None]
    ) -> None:
        self._run = run
        self._gate = gate
        self._on_output = on_output

    async def call(self, tool: RemoteTool, arguments: Args) -> RemoteResult:
        """Get the call approved, unless its tool only reads, and make it.

        Raises NotThere, CallDenied, CancelledByUser, UntrustedWorkspace.
        """
        servers = _servers(self._run.session)
        if not tool.reads:
            is_confined = servers.is_confined(tool.server)
            called = CalledTool(tool.name, tool.own_name, server=tool.server, is_confined=is_confined)
            await self._permit(called, arguments)
        return await servers.call(
            tool, arguments, lambda text: self._on_output("stdout", f"{text}\n"), self._answer
        )

    async def permit(self, tool: str, package: str, arguments: Args) -> None:
        """Get the call of a package's tool approved; it then runs by itself.

        Raises NotThere, CallDenied, CancelledByUser, UntrustedWorkspace.
        """
        await self._permit(CalledTool(tool, tool, package=package), arguments)

    async def _permit(self, tool: CalledTool, arguments: Args) -> None:
        run = self._run
        text = json.dumps(arguments, ensure_ascii=False)
        if len(text) > _MOST_ARGUMENTS:
            raise NotThere(
                f"The arguments are longer than {_MOST_ARGUMENTS} characters, so it was not called."
            )
        again = _CUT_OFF if self._was_cut_off(tool.name, arguments) else None
        proposal = ExternalProposal(run.plan_id, run.step_id, run.step.description, tool, text, again)
        verdict = await self._gate.permit_external(proposal)
        if isinstance(verdict, Denied):
            if verdict.cancelled:
                raise CancelledByUser
            raise CallDenied(verdict.reason, "The tool was not called")
        # A crash from here on leaves a call that may have been made.
        run.update(command_started=True)

    def _was_cut_off(self, tool: str, arguments: Args) -> bool:
        return any(
            call.command == "cut_off" and (call.tool, call.args) == (tool, arguments)
            for call in self._run.now.tools_executed
        )

    def _answer(self, question: str) -> str | None:
        """What the user has answered to this question in the step: a model was told to ask it with these words."""
        asked = [each for each in self._run.plan.asked if each.step_id == self._run.step_id]
        known = (each.answer for each in reversed(asked) if _same(each.question, question))
        return next((answer for answer in known if answer is not None), None)


def _same(one: str, other: str) -> bool:
    """Whether two questions are the same but for spaces and what stands around the other."""
    return " ".join(other.split()).casefold() in " ".join(one.split()).casefold()


def _servers(session: Session) -> ExternalTools:
    session.require_trust("no tool of a server is called for it")
    if session.external is None:
        raise NotThere(_NO_SERVERS)
    return session.external
