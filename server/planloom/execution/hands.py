"""The hands of the model that works on a step: its calls run, stage and settle here, and are recorded as facts."""

from __future__ import annotations

from planloom.agent.work import Standing
from planloom.domain.path_text import normal_path
from planloom.domain.plan import Plan, Step
from planloom.execution.book import Book
from planloom.execution.calls import recorded_call
from planloom.execution.commands import CancelledByUser, CommandDenied
from planloom.execution.earlier import earlier_calls, written_paths
from planloom.execution.effort import files_to_write, is_to_write, standing
from planloom.execution.gate import grant_of
from planloom.execution.kit import Kit
from planloom.execution.proposals import Proposal
from planloom.execution.repeats import Repeats
from planloom.execution.staging_area import StagingArea
from planloom.execution.verdicts import Denied, NotMade
from planloom.models.port import ToolCall
from planloom.tools.context import ToolContext
from planloom.tools.registry import Registry, callable_tool
from planloom.tools.tool import Tool, ToolResult, failed


class StepHands:
    """Carries out the calls of one step's model. Writes are staged, and asked for once, when the step could end.

    `staged` tells that some of them wait for the end of the plan.
    """

    def __init__(
        self,
        book: Book,
        staging: StagingArea,
        tools: Registry,
        plan: Plan,
        step: Step,
        kit: Kit,
        repeats: Repeats,
    ) -> None:
        self._book = book
        self._staging = staging
        self._tools = tools
        self._plan_id = plan.plan_id
        self._step = step
        self._kit = kit
        self._repeats = repeats
        self._context: ToolContext = kit.context(plan, step)
        self._checks = kit.checks(plan, step, self._context)
        self.staged = False
        earlier = earlier_calls(plan, step, tools)
        self._effects = sum(self._writes(call.tool) for call in earlier.done)
        self._written = self._effects
        self._good = len(earlier.done)
        self._lost = {path: None for call in earlier.lost for path in written_paths(call, tools)}

    async def call(self, call: ToolCall) -> ToolResult:
        """Run one call. Unknown tools and wrong arguments are answered with what to do instead."""
        tool = callable_tool(self._tools, call.name, call.arguments)
        if isinstance(tool, ToolResult):
            return tool
        staged = self._context.files.changeset()
        with recorded_call(
            self._book, self._plan_id, self._step.step_id, call.name, call.arguments
        ) as record:
            earlier: ToolResult | None = None
            try:
                earlier = await self._repeats.earlier(tool, call.arguments, self._context)
                result = earlier or await self._run(tool, call)
            except CommandDenied as denied:
                result = failed(f"The command was not run: {denied.reason} Do without it, or ask the user.")
            except OSError as error:
                result = failed(f"{call.name} could not be carried out: {error.strerror or error}.")
            record.came_to(ok=result.ok, summary=result.summary, deduplicated=earlier is not None)
        if result.ok:
            self._good += 1
            self._written += self._writes(call.name)
            self._effects += self._writes(call.name) and (
                tool.effect == "execute" or self._context.files.changeset() != staged
            )
            for name in tool.writes:
                self._lost.pop(normal_path(str(call.arguments.get(name, ""))), None)
        return result

    async def _run(self, tool: Tool, call: ToolCall) -> ToolResult:
        denied = await self._not_settled(tool)
        result = denied or await tool.run(tool.arguments.model_validate(call.arguments), self._context)
        await self._repeats.ran(self._context, result)
        return result

    async def _not_settled(self, tool: Tool) -> ToolResult | None:
        """A command must find the files as the step has left them: what is staged is asked for first."""
        denied = await self.settle() if tool.effect == "execute" else None
        return (
            None
            if denied is None
            else failed(f"The command was not run, for the changes before it: {denied}")
        )

    def _writes(self, name: str) -> bool:
        tool = self._tools.get(name)
        return tool is not None and tool.effect != "read"

    async def settle(self) -> str | None:
        """Ask for what is staged and make it happen. The reason, for the model, if that was not to be."""
        changes = self._context.files.changeset()
        if not changes.changes:
            return None
        plan = self._book.plan(self._plan_id)
        number = (plan.place(self._step.step_id) or 0) + 1
        proposal = Proposal(
            plan_id=self._plan_id,
            step_id=self._step.step_id,
            number=number,
            title=self._step.description,
            tool=None,
            changeset=changes,
            blind=frozenset(self._context.blind),
            doubtful=frozenset(self._context.doubtful),
        )
        await self._checks.before(changes)
        self._lost.clear()
        verdict = await self._staging.commit(proposal, grant_of(plan), self._context.files)
        self._context.files.clear()
        self._context.blind.clear()
        self._context.doubtful.clear()
        self._repeats.forget()
        if isinstance(verdict, Denied):
            if verdict.cancelled:
                raise CancelledByUser
            return verdict.reason
        if isinstance(verdict, NotMade):
            return verdict.reason
        self.staged = self.staged or verdict.staged
        if verdict.denied:
            names = ", ".join(uri.rpartition("/")[2] for uri in verdict.denied)
            return f"The user allowed the other files but not {names}."
        return None

    async def missing(self) -> tuple[str, ...]:
        """What the step lacks: expected files that are not there, nothing written, checks that do not hold."""
        found = [
            f"{path} does not exist yet."
            for path in self._step.expected_files
            if not await self._checks.exists(path)
        ]
        found += [
            f"{path} was not changed: the run that meant to was cut off. Do it again." for path in self._lost
        ]
        if self._step.expected_files and not found and not self._has_written():
            found.append(f"Nothing was written yet; the task is to write {self._step.expected_files[0]}.")
        return (*found, *await self._checks.staged())

    async def unproved(self) -> tuple[str, ...]:
        """What the checks say once the changes are made."""
        return await self._checks.made()

    def _has_written(self) -> bool:
        plan = self._book.load(self._plan_id)
        edits = plan.edits if plan is not None else ()
        return self._written > 0 or any(
            edit.step_id == self._step.step_id and edit.state == "applied" for edit in edits
        )

    def worked(self) -> bool:
        """Whether something was really done: a write where the step is to write, else any call that succeeded."""
        wants_files = bool(self._step.expected_files)
        return self._effects > 0 or (not wants_files and self._good > 0)

    async def standing(self) -> Standing:
        """What the calls so far make of the claim that the step is done."""
        to_write = is_to_write(self._step, self._tools)
        named = files_to_write(self._step) if to_write else ()
        there = all([await self._is_there(path) for path in named])
        return standing(to_write=to_write, good_calls=self._good, effects=self._effects, there=there)

    async def _is_there(self, path: str) -> bool:
        """Whether a file is there under this path, or was written under one that ends so."""
        staged = [change.uri for change in self._context.files.changeset().changes]
        plan = self._book.load(self._plan_id)
        edits = plan.edits if plan is not None else ()
        made = [file.uri for edit in edits if edit.step_id == self._step.step_id for file in edit.files]
        ending = f"/{normal_path(path)}"
        return any(uri.endswith(ending) for uri in (*staged, *made)) or await self._checks.exists(path)
