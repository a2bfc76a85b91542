"""Builds the context of a step's tools: its files, the index, diagnostics, and what runs commands and fetches pages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from typing import Literal, NamedTuple

from planloom.domain.plans.agents import EFFECTS, allowed_effects
from planloom.domain.plans.plan import Plan
from planloom.domain.safety.approvals import Effect
from planloom.domain.values import PlanId, Sha256, StepId, Uri
from planloom.execution.commands.running import StepCommands, Terminal
from planloom.execution.effects.gate import Gate
from planloom.execution.effects.staging_area import StagingArea
from planloom.execution.prompting.lacking import Lacking
from planloom.execution.session import Session
from planloom.execution.step_rules import StepRules
from planloom.execution.step_run import StepRun
from planloom.execution.steps.call_cache import CallCache, open_call_cache
from planloom.execution.steps.checks import StepChecks
from planloom.execution.steps.external_calls import ReadingCalls, StepExternalCalls
from planloom.execution.steps.fetches import StepFetches
from planloom.execution.steps.revisions import PlanRevisions, Work
from planloom.execution.summary import name_now
from planloom.execution.workspace_index import WorkspaceIndex
from planloom.tools.context import ToolContext
from planloom.tools.registry import READ_ONLY, Registry
from planloom.workspace.editor import EditorSilent, FileDiagnostics
from planloom.workspace.paths.roots import Root
from planloom.workspace.staged.overlay import Overlay
from planloom.workspace.view import WorkspaceView

StepStream = Callable[[PlanId, StepId, Literal["text", "reasoning", "stdout", "stderr"], str], None]


class StepEffects(NamedTuple):
    """The parts that the effects of a step's tools go through. `say` tells the user of a plan of its tools."""

    gate: Gate
    staging: StagingArea
    terminal: Terminal
    say: Callable[[PlanId, str], None] = lambda *_: None


class ToolContextFactory:
    """Builds the tool context of each run of a step, and what is made from it.

    `stream` publishes the text of models and commands.
    """

    def __init__(
        self,
        session: Session,
        index: WorkspaceIndex,
        effects: StepEffects,
        tools: Registry,
        rules: StepRules,
        stream: StepStream,
    ) -> None:
        self._session = session
        self._index = index
        self._staging = effects.staging
        self._terminal = effects.terminal
        self._gate = effects.gate
        self._tools = tools
        self._rules = rules
        self.stream = stream
        self._lacking = Lacking(session, index, effects.say)

    def context(self, run: StepRun) -> ToolContext:
        """The context of a step's tools, with nothing staged."""

        def on_output(kind: Literal["stdout", "stderr"], text: str) -> None:
            self.stream(run.plan_id, run.step_id, kind, text)

        return replace(
            self.reading(run.plan),
            commands=None
            if self._session.view.roots.any_virtual
            else StepCommands(run, self._terminal, on_output),
            pages=StepFetches(run, self._gate),
            external=StepExternalCalls(run, self._gate, on_output),
            keys=run.plan_store.keys,
        )

    def reading(self, plan: Plan) -> ToolContext:
        """A context for tools that read: no commands, no fetches, and what is staged in it is never committed."""
        view = self._session.view
        return ToolContext(
            files=Overlay(self._staging.base(plan)),
            roots=view.roots,
            home=_home(plan, view),
            index=self._index.current,
            diagnostics=self._diagnostics,
            language=self._session.language,
            external=ReadingCalls(self._session),
            programs=self._session.programs,
            seen=_seen(plan),
            name_now=partial(name_now, plan),
        )

    def tools_of(self, run: StepRun) -> Registry:
        """The tools that a step may use, in a literal call as in a model's calls."""
        return self._permitted(allowed_effects(run.plan, run.step.agent))

    def offered_tools(self, plan: Plan) -> Registry:
        """The tools that some step of the plan may use. A shared conversation lists them all, so that it is cached."""
        agents = {allowed_effects(plan, agent) for agent in EFFECTS}
        return self._permitted(frozenset[Effect](effect for effects in agents for effect in effects))

    async def for_models(self, plan: Plan, tools: Registry) -> Registry:
        """The tools, of which the plan's models are shown those that can work in this workspace and editor."""
        lacking, of_servers = await self._lacking.of(plan.plan_id)
        return tools.where(lacking).with_more(of_servers)

    def checks(self, run: StepRun, context: ToolContext) -> StepChecks:
        """The checks of one run of a step, on the files that its tools see."""
        return StepChecks(run, context, self._tools)

    def revisions(
        self, run: StepRun, context: ToolContext, commit: Callable[[], Awaitable[str | None]]
    ) -> PlanRevisions:
        """The revisions of the steps still to come; `commit` makes what the run has staged."""
        work = Work(context, commit, lambda step: StepChecks(run, context, self._tools, of=step))
        return PlanRevisions(run, self._gate, self._rules, work)

    def call_cache(self) -> AbstractContextManager[CallCache]:
        """A cache for the repeated calls of one step."""
        seconds = self._session.settings.function_deduplication_window_seconds
        return open_call_cache(self._session.view.documents, seconds)

    def _permitted(self, effects: frozenset[Effect]) -> Registry:
        """The tools with one of these effects, without those that read if the settings deny reading."""
        reads_denied = self._session.settings.approvals.read == "deny"
        return self._tools.only(effects - READ_ONLY if reads_denied else effects)

    async def _diagnostics(self, uris: tuple[Uri, ...]) -> tuple[FileDiagnostics, ...] | None:
        if not self._session.editor.capabilities.diagnostics:
            return None
        try:
            return await self._session.editor.diagnostics(uris)
        except EditorSilent:
            return None


def _seen(plan: Plan) -> dict[Uri, Sha256]:
    """The files that whoever made the plan has seen, with the hashes of their whole texts then."""
    attached = {
        each.uri: each.sha256
        for each in plan.attachments
        if each.uri is not None
        and each.sha256 is not None
        and each.kind == "file"
        and each.range is None
        and not each.truncated
    }
    return {**attached, **{read.uri: read.sha256 for read in plan.files_read}}


def _home(plan: Plan, view: WorkspaceView) -> Root | None:
    """The folder that relative paths of the plan start from."""
    first = plan.workspace_folders[0] if plan.workspace_folders else None
    return next((root for root in view.roots.folders if root.uri == first), None)
