"""Runs the tool calls that a model makes during one step, and commits the changes that they staged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext

from planloom.agent.task import ChangesDenied
from planloom.domain.plans.agents import may_use
from planloom.domain.plans.plan import ExecutedTool
from planloom.domain.values import Args, Sha256, Uri
from planloom.execution.commands.running import CallDenied, CancelledByUser
from planloom.execution.effects.previous_calls import latest_fates, not_made
from planloom.execution.effects.proposals import Denied, NotMade
from planloom.execution.effects.staging_area import StagingArea, commit_step
from planloom.execution.judging import JUDGE_SECONDS
from planloom.execution.step_run import StepRun
from planloom.execution.steps.call_cache import CallCache
from planloom.execution.steps.call_records import CallRecord, has_touched, recorded_call
from planloom.execution.steps.tool_contexts import ToolContextFactory
from planloom.models.port import ToolCall
from planloom.tools.catalog import RUN_COMMAND, RunCommand
from planloom.tools.context import ToolContext
from planloom.tools.external_tools import unwrapped
from planloom.tools.processes.commands import CalledCommand, Command
from planloom.tools.processes.run_command import command_of
from planloom.tools.registry import Registry, callable_tool, not_carried_out
from planloom.tools.tool import Tool, ToolResult, failed, refused
from planloom.workspace.paths.resolver import PathRefused, Purpose
from planloom.workspace.paths.uris import normalized

_MOST_AHEAD = 8
"""Calls of one answer whose files are read before the first of them runs: all their texts are in memory then."""
_ONLY_ASKED = (
    "Nothing is changed for a question. If the user wants a change, call submit_plan with its steps."
)
_AS_BEFORE = "Nothing was done, since an earlier call did just this. Its result: "


class StepToolRunner:
    """Runs the calls of one step's model. Writes are staged, and committed together when the step could end.

    What the step has done is read from the plan, where every call is recorded with the fate of its changes.
    """

    def __init__(
        self,
        run: StepRun,
        staging: StagingArea,
        tools: Registry,
        of_plan: Registry,
        context_factory: ToolContextFactory,
        call_cache: CallCache,
    ) -> None:
        """`tools` are those of the step; `of_plan` those of all steps, which a shared conversation lists."""
        self._run = run
        self._staging = staging
        self._tools = tools
        self._of_plan = of_plan
        self._call_cache = call_cache
        self._context: ToolContext = context_factory.context(run)
        self._in_doubt: set[Uri] = set(run.step.in_doubt)
        self._checks = context_factory.checks(run, self._context)
        self.revise = context_factory.revisions(run, self._context, self.commit).revise

    def add_seen(self, seen: Mapping[Uri, Sha256]) -> None:
        """Add the hashes of texts that were read in the conversation that the step continues."""
        self._context.seen.update(seen)

    def seen(self) -> Mapping[Uri, Sha256]:
        """The files that the model has seen by now, with the hashes of their texts."""
        return {**self._context.seen, **self._context.files.hashes()}

    async def call(self, call: ToolCall, following: Sequence[ToolCall] = (), /) -> ToolResult:
        """Run one call. The result for an unknown tool or wrong arguments says what to do instead.

        A call of a known tool is recorded also if it cannot be run, so that people see what the model tried.
        A command is asked together with those `following` it in the same answer.
        """
        call = unwrapped(call)
        tool = self._callable(call)
        if isinstance(tool, ToolResult):
            return await self._not_run(call, tool)
        async with recorded_call(self._run, tool, call.arguments) as record:
            try:
                await self._look_ahead(tool, [call, *following])
                if tool is RUN_COMMAND and self._context.commands is not None:
                    self._context.commands.expect(await self._commands_among(following))
                with nullcontext() if tool.limits_own_time else self._context.resolving_once():
                    result = await self._carry_out(tool, call, following, record)
            except CallDenied as denied:
                result = record.result = refused(f"{denied.consequence}: {denied.reason} Do without it.")
            except OSError as error:
                result = record.result = not_carried_out(tool, error)
            finally:
                if not following:
                    self._context.forget_ahead()
        if tool is RUN_COMMAND and self._context.commands is not None:
            # The command counts as ended whatever becomes of the question.
            result = result._replace(text="\n".join([result.text, *await self._context.commands.settle()]))
        return result._replace(call_id=record.call_id)

    async def _look_ahead(self, tool: Tool, calls: Sequence[ToolCall]) -> None:
        """Look at the files that calls name, together, up to the first call that may wait or take long."""
        if not _is_quick(tool):
            self._context.forget_ahead()
            return
        if self._context.has_looked_at(tool.named(calls[0].arguments).values()):
            return
        paths: dict[tuple[str, Purpose], None] = {}
        for call in calls[:_MOST_AHEAD]:
            called = self._tools.get(call.name)
            if called is None or not _is_quick(called):
                break
            paths |= dict.fromkeys(called.named(call.arguments).values())
        await self._context.look_ahead(tuple(paths))

    def _callable(self, call: ToolCall) -> Tool | ToolResult:
        """The tool for a call, or the result that says why the call cannot be run."""
        if call.name in self._of_plan.names() and self._tools.get(call.name) is None:
            return refused(f"This task changes no files, so {call.name} cannot be called in it.")
        tool = callable_tool(self._tools, call.name, call.arguments)
        if isinstance(tool, ToolResult) and self._run.plan.only_asks and self._tools.get(call.name) is None:
            return refused(f"{tool.text} {_ONLY_ASKED}")
        return tool

    async def _not_run(self, call: ToolCall, result: ToolResult) -> ToolResult:
        """The result of a call that is not run, recorded if its tool is known."""
        tool = self._of_plan.get(call.name) or self._tools.get(call.name)
        if tool is None:
            return result
        async with recorded_call(self._run, tool, call.arguments) as record:
            record.result = result
        return result._replace(call_id=record.call_id)

    async def _commands_among(self, calls: Sequence[ToolCall]) -> tuple[CalledCommand, ...]:
        """The commands among calls, up to the first that stages a change: a command behind it depends on that."""
        found: list[CalledCommand] = []
        for call in calls:
            tool = callable_tool(self._tools, call.name, call.arguments)
            if isinstance(tool, ToolResult):
                continue
            if tool.changes_files:
                break
            if tool is RUN_COMMAND:
                command = await command_of(RunCommand.model_validate(call.arguments), self._context)
                if isinstance(command, Command):
                    found.append(CalledCommand(command, call.arguments))
        return tuple(found)

    def close(self) -> None:
        """No further call is made: withdraw what was asked ahead."""
        if self._context.commands is not None:
            self._context.commands.close()

    def _is_writing(self, call: ToolCall) -> bool:
        tool = self._tools.get(call.name)
        return tool is not None and tool.effect in ("write", "destroy")

    async def _carry_out(
        self, tool: Tool, call: ToolCall, following: Sequence[ToolCall], record: CallRecord
    ) -> ToolResult:
        earlier = await self._call_cache.earlier(tool, call.arguments, self._context)
        if earlier is not None:
            record.result, record.deduplicated = earlier, True
            # The first call's text ("Created …") would make a repeated write look like another change.
            return earlier if not tool.changes_files else earlier._replace(text=_AS_BEFORE + earlier.text)
        # A command may need what is staged; so may one in the background, before its output is read.
        not_made = await self.commit() if tool.is_of_commands else None
        before = self._context.files.changeset()
        self._context.files.causes = (record.call_id,)
        if not_made is not None and not tool.follows_commands:
            result = failed(f"The command was not run. {not_made}")
        else:
            result = await tool.run(tool.arguments.model_validate(call.arguments), self._context)
            if not_made is not None:
                result = result._replace(text=f"{not_made}\n{result.text}")
        self._checks.judging.prepare()
        await self._call_cache.ran(self._context, result)
        after = self._context.files.changeset()
        if result.ok and after != before and not any(map(self._is_writing, following)):
            # A call beside the end of the task has a time of its own, of which the judgement takes a part.
            seconds = min(JUDGE_SECONDS, self._run.session.settings.execution.completion_timeout_seconds / 2)
            told = await self._checks.judging.told(seconds)
            result = result._replace(text=f"{result.text}\n{told}") if told else result
        same = await self._named(tool.writes, call.arguments) if result.ok and after == before else ()
        if result.ok and self._in_doubt:
            self._in_doubt.difference_update(await self._named(tool.paths, call.arguments))
        record.result, record.before, record.after, record.same = result, before, after, same
        return result

    async def _named(self, names: Sequence[str], args: Args) -> tuple[Uri, ...]:
        """The files that these arguments of a call name."""
        paths = [await self._context.resolve(str(args.get(name, "")), "write") for name in names]
        return tuple(path.uri for path in paths if not isinstance(path, PathRefused))

    async def commit(self) -> str | None:
        """Ask for the staged changes and make them. Returns, for the model, what was not made and why."""
        changes = self._context.files.changeset()
        if not changes.changes:
            return None
        await self._checks.before(changes)
        verdict = await commit_step(self._run, self._staging, self._context)
        self._context.drop_staged()
        self._call_cache.forget()
        if isinstance(verdict, Denied):
            if verdict.cancelled:
                raise CancelledByUser
            return f"The changes were not made: {verdict.reason}"
        if isinstance(verdict, NotMade):
            fates = {uri: fate for uri, (fate, _) in latest_fates(self._run.now.tools_executed).items()}
            made = [self._run.shown(uri) for uri in changes.uris() if fates.get(uri) in ("made", "staged")]
            but = f" But these were: {', '.join(made)}." if made else ""
            self._in_doubt = {uri for uri in changes.uris() if fates.get(uri) == "doubtful"}
            return " ".join([f"The changes were not made: {verdict.reason}{but}", *self._to_read()])
        if verdict.edited:
            self._checks.changed_by_user()
        names = ", ".join(map(self._run.shown, verdict.denied))
        left_out = (f"The user allowed the other files but not {names}.",) if verdict.denied else ()
        return "\n".join((*left_out, *verdict.edited)) or None

    async def _still_out(self) -> list[str]:
        """The step's changes that the editor may still make, once it was waited for again, a sentence each."""
        in_doubt = self._run.now.in_doubt
        late = await self._run.session.view.unanswered.wait(in_doubt) if in_doubt else ()
        uris = {uri for edit in late for uri in edit.uris}
        return [
            f"{self._run.shown(uri)}: the editor has not answered your change of it, and may still make it."
            for uri in sorted(uris.intersection(map(normalized, in_doubt)))
        ]

    def _to_read(self) -> list[str]:
        return [
            f"{self._run.shown(uri)}: read it, since it is unknown whether your change of it was made."
            for uri in sorted(self._in_doubt)
        ]

    async def missing(self) -> tuple[str, ...]:
        """Sentences on what the step lacks, but for its checks: expected files, and changes that were not made."""
        found = [
            f"{path} does not exist yet."
            for path in self._run.step.expected_files
            if not await self._exists(path)
        ]
        found += [
            f"{name} was not changed: {why} Do it again."
            for name, why in not_made(self._run.plan, self._run.now).items()
        ]
        found += self._to_read()
        return (*found, *await self._still_out())

    def denial(self) -> ChangesDenied | None:
        """How the step ends once its model is done, if the user denied all its changes."""
        calls = self._run.now.tools_executed
        denied = [call for fate, call in latest_fates(calls).values() if fate == "denied"]
        if not denied or self.failed_changes() or any(call.has_effect for call in calls):
            return None
        return ChangesDenied(reason=denied[-1].why or "The user did not allow this.")

    def failed_changes(self) -> str:
        """Sentences that name the files whose changes could not be made, and why."""
        lost = not_made(self._run.plan, self._run.now)
        return " ".join(f"{name} was not changed: {why}" for name, why in lost.items())

    async def failed_checks(self, *, committed: bool) -> tuple[str, ...]:
        """The checks that fail, of those that see `committed` changes or of the others: a sentence and output each."""
        return await (self._checks.made() if committed else self._checks.staged())

    async def new_errors(self) -> str:
        """The errors that the model should know before a step without checks of its own ends, a line each."""
        return await self._checks.new_errors()

    def looks_done(self) -> bool:
        """Whether the step has changed something or run a command; one whose agent changes nothing, made a call."""
        calls = self._run.now.tools_executed
        if may_use(self._run.step.agent, "write"):
            return any(call.stands and _writes(call) for call in calls)
        return any(call.stands for call in calls)

    def has_worked(self) -> bool:
        """Whether the step has changed something, if its plan states that it does; else whether a call succeeded.

        A step states so by its expected files, or by an expected tool that writes. An exit code is a result: a
        command that ran to its end is work, whatever its exit code.
        """
        step, calls = self._run.step, self._run.now.tools_executed
        expected = [self._tools.get(each.tool) for each in step.tools_to_execute]
        if step.kind != "tool_call" and (
            step.expected_files or any(tool and tool.changes_files for tool in expected)
        ):
            return any(call.stands and _writes(call) for call in calls)
        may_only_look = not may_use(step.agent, "write")
        return may_only_look or any(call.stands or call.command in ("ended", "denied") for call in calls)

    async def _exists(self, path: str) -> bool:
        """Whether a file exists at this path, or the step has made, renamed or deleted it."""
        return has_touched(self._run.now, path) or await self._checks.exists(path)


def _is_quick(tool: Tool) -> bool:
    """Whether a call looks only at the files that it names, and waits for nobody."""
    return bool(tool.paths) and not tool.limits_own_time and not tool.wide


def _writes(call: ExecutedTool) -> bool:
    return bool(call.files) or call.command == "ended"
