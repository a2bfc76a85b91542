"""Runs a step that is one literal tool call, without a model."""

from __future__ import annotations

from typing import Final

from planloom.domain.events import catalog as ev
from planloom.domain.plans.outputs import NoOutput, resolved
from planloom.domain.plans.plan import Step
from planloom.domain.values import Args
from planloom.execution.effects.proposals import Committed, Denied
from planloom.execution.effects.staging_area import StagingArea, commit_step
from planloom.execution.judging import ASK_SECONDS
from planloom.execution.step_outcomes import Asked, CallFailed, Done, Failed, Outcome, Rerouted, Skipped
from planloom.execution.step_run import StepRun
from planloom.execution.steps.call_records import recorded_call
from planloom.execution.steps.checks import StepChecks
from planloom.execution.steps.tool_contexts import ToolContextFactory
from planloom.tools.context import ToolContext
from planloom.tools.registry import Registry, argument_problems, run_tool
from planloom.tools.tool import Tool, ToolResult
from planloom.workspace.paths.uris import display_names

READS_DENIED = "The setting planloom.approvals.read denies reading."
NOT_ALLOWED = "{tool} is not among the tools of this step. A request that is a question changes no files."
_OUTPUT_GONE = "The server ended after that, and only this line of it is stored."
LACKED_NETWORK: Final = "lacked_network"
LACKED_RIGHTS: Final = "lacked_rights"
"""The codes of a failed command that seems to have failed for want of the network, or of another right that it can get
confined: run again, it is asked with it."""
_LINES: Final = 40
_CHARACTERS: Final = 4_000
"""The most of an output's end that people are shown."""


class LiteralCalls:
    """Runs literal calls: arguments resolved, approved like any other, and not repeated after a crash."""

    def __init__(self, tools: Registry, staging: StagingArea, context_factory: ToolContextFactory) -> None:
        self._tools = tools
        self._staging = staging
        self._context_factory = context_factory

    async def run(self, run: StepRun) -> Outcome | CallFailed:
        """Run the call, commit what it has staged, and check the result."""
        plan, step = run.plan, run.step
        tool = self._tools.get(step.tool or "")
        if tool is None:
            for sentence in await run.session.know_tools([step.tool]):
                run.record(ev.Log(level="warning", message=sentence, step_id=run.step_id))
            tool = self._tools.get(step.tool or "")
        if tool is None:
            return Failed(error=f"There is no tool {step.tool!r}.", code="invalid_plan")
        if self._context_factory.tools_of(run).get(tool.name) is None:
            detail = READS_DENIED if tool.effect == "read" else NOT_ALLOWED.format(tool=tool.name)
            return Skipped(reason="approval_denied", detail=detail)
        args = resolved(plan, step.args or {}, tool.texts)
        if isinstance(args, NoOutput):
            return Failed(error=f"{args.argument}: {args.problem}.", code="invalid_plan")
        problems = argument_problems(tool, args)
        if problems:
            invalid = "; ".join(problem for _, problem in problems)
            return Failed(error=f"{tool.name}: {invalid}.", code="invalid_plan")
        context = self._context_factory.context(run)
        checks = self._context_factory.checks(run, context)
        outcome = await _earlier_outcome(step, tool, args, context)
        if outcome is None:
            async with recorded_call(run, tool, args) as call:
                context.files.causes = (call.call_id,)
                seconds = run.session.settings.execution.completion_timeout_seconds
                result = await run_tool(tool, args, context, None if tool.limits_own_time else seconds)
                call.result, call.after = result, context.files.changeset()
            if context.commands is not None:
                await context.commands.settle()
            outcome = await self._commit(run, result, context, checks)
        if not isinstance(outcome, Done):
            return outcome
        # Nobody is there to mend them, so they are only shown.
        await checks.new_errors(ASK_SECONDS)
        missing = await checks.staged()
        if missing:
            return Failed(error=" ".join(missing), code="check_failed")
        failed_checks = await checks.made()
        if not failed_checks:
            return outcome
        output = "\n".join(failed_checks)
        summary, _, rest = output.partition("\n")
        failure = Failed(error=_readable(summary, rest), code="check_failed")
        return CallFailed(output=output, failure=failure, value=outcome.value)

    async def _commit(
        self, run: StepRun, result: ToolResult, context: ToolContext, checks: StepChecks
    ) -> Outcome | CallFailed:
        """Commit what the call has staged."""
        if result.asks is not None:
            return Asked(*result.asks)
        if not result.ok:
            summary, _, output = result.text.partition("\n")
            lack = None if result.outcome is None else result.outcome.lack
            lacked = LACKED_NETWORK if lack is not None and lack.kind == "network" else LACKED_RIGHTS
            failure = Failed(
                error=_readable(result.summary if output or result.code else summary, output),
                code=lacked if lack is not None and lack.can_be_given else result.code,
            )
            return (
                CallFailed(output=result.text, failure=failure, value=result.value)
                if result.ended
                else failure
            )
        changes = context.files.changeset()
        if not changes.changes:
            return Done(summary=result.summary, value=result.value)
        await checks.before(changes)
        verdict = await commit_step(run, self._staging, context)
        match verdict:
            case Committed():
                changed = " The user changed the proposal before it was made." if verdict.edited else ""
                return Done(summary=f"{result.summary}{changed}", value=result.value)
            case Denied():
                if verdict.cancelled:
                    return Rerouted()
                return Skipped(reason="approval_denied", detail=verdict.reason)
            case _:
                return Failed(error=verdict.reason, code=verdict.code)


async def _earlier_outcome(
    step: Step, tool: Tool, args: Args, context: ToolContext
) -> Outcome | CallFailed | None:
    """The outcome of this call in an earlier run of the step that was interrupted; None if it has to run."""
    same = [
        index for index, call in enumerate(step.tools_executed) if (call.tool, call.args) == (tool.name, args)
    ]
    if not same:
        return None
    call, is_open = step.tools_executed[same[-1]], same[-1] >= step.calls_closed
    if call.fates and call.fates <= {"made", "staged"}:
        # The earlier run made its changes and then failed, so only the checks remain.
        target = await context.resolve(str(args[tool.writes[-1]]), "read") if tool.writes else None
        value = None if target is None or target.kind == "refused" else target.relative
        return Done(summary="Done already, in an earlier run of the step.", value=value)
    if not is_open:
        return None
    if call.background is not None and call.background.end is not None:
        return None if call.background.end.reason in ("server_ended", "crash") else Done(summary=call.summary)
    if call.command == "background":
        return Done(summary=call.summary)
    if call.command == "ended":
        if call.ok:
            return Done(summary=call.summary)
        if call.output is None:
            return CallFailed(output=f"{call.summary}\n{_OUTPUT_GONE}", failure=Failed(error=call.summary))
        error = _readable(call.summary, call.output.partition("\n")[2])
        return CallFailed(output=call.output, failure=Failed(error=error))
    if call.command == "denied" or (call.fates and call.fates <= {"denied"}):
        return Skipped(reason="approval_denied", detail=call.why)
    if "made" in call.fates:
        done = display_names(uri for uri, fate in call.files.items() if fate == "made")
        missing = display_names(uri for uri, fate in call.files.items() if fate != "made")
        return Failed(
            error=f"The server ended in the middle of this step. Made: {done}. Not made: {missing}."
        )
    return None


def _readable(summary: str, output: str) -> str:
    """The summary and, below it, the last lines of the output, which say most about a failure."""
    whole = output.strip("\n").rstrip()
    end = "\n".join(whole.splitlines()[-_LINES:])[-_CHARACTERS:]
    if not end or end in summary:
        return summary
    left_out = len(whole) - len(end)
    before = f"[… {left_out} characters before this …]\n" if left_out else ""
    return f"{summary}\n{before}{end}"
