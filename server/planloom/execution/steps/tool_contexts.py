"""Builds the context of a step's tools: its files, the index, diagnostics, and a runner of commands."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Literal

from planloom.domain.changes import Changeset
from planloom.domain.plans.plan import Plan, Step
from planloom.domain.values import PlanId, StepId, Uri
from planloom.execution.effects.gate import Gate
from planloom.execution.effects.staging_area import StagingArea
from planloom.execution.effects.unsaved import UnsavedFileSaver
from planloom.execution.jobs import Jobs
from planloom.execution.plan_store import PlanStore
from planloom.execution.steps.call_cache import CallCache, open_call_cache
from planloom.execution.steps.checks import StepChecks
from planloom.execution.steps.commands import StepCommands
from planloom.settings import Settings
from planloom.tools.context import ToolContext
from planloom.tools.registry import Registry
from planloom.workspace.editor import Editor, EditorSilent, FileDiagnostics
from planloom.workspace.edits.overlay import Overlay
from planloom.workspace.index.file_index import Changed, FileIndex
from planloom.workspace.index.programs import Programs
from planloom.workspace.paths.roots import Root
from planloom.workspace.view import WorkspaceView

OutputStream = Callable[[PlanId, StepId, Literal["stdout", "stderr"], str], None]
INDEX_SECONDS = 5.0
"""How long a step waits for the index to be rebuilt after a command. After that it uses the old index until the
new one is complete."""


class ToolContextFactory:
    """Builds the tool context of each step, and updates the index with the changes of steps."""

    def __init__(
        self,
        plan_store: PlanStore,
        gate: Gate,
        staging: StagingArea,
        view: WorkspaceView,
        editor: Editor,
        settings: Callable[[], Settings],
        index: Callable[[], FileIndex | None],
        stream: OutputStream,
        tools: Registry,
        programs: Programs,
        rescan: Callable[[], asyncio.Task[None]],
        jobs: Jobs,
    ) -> None:
        self._plan_store = plan_store
        self._gate = gate
        self._staging = staging
        self._view = view
        self._editor = editor
        self._index = index
        self._stream = stream
        self._settings = settings
        self._tools = tools
        self._programs = programs
        self._rescan = rescan
        self._unsaved = UnsavedFileSaver(plan_store, view, editor, settings, jobs)
        self._terminal = asyncio.Lock()

    def context(self, plan: Plan, step: Step) -> ToolContext:
        """The context of a step's tools, with nothing staged."""
        plan_id, step_id = plan.plan_id, step.step_id
        commands = StepCommands(
            self._plan_store,
            self._gate,
            self._staging,
            self._unsaved,
            plan_id,
            step,
            on_output=lambda kind, text: self._stream(plan_id, step_id, kind, text),
            refresh=self._refresh,
            terminal=self._terminal,
        )
        return replace(self.reading(plan), commands=commands)

    def reading(self, plan: Plan) -> ToolContext:
        """A context for read-only tools: it runs no commands, and what is staged in it is never committed."""
        return ToolContext(
            files=Overlay(self._staging.base(plan)),
            roots=self._view.roots,
            home=_home(plan, self._view),
            index=self._index,
            diagnostics=self._diagnostics,
            programs=self._programs,
        )

    def checks(self, plan: Plan, step: Step, context: ToolContext) -> StepChecks:
        """The checks of one run of a step, on the files that its tools see."""
        return StepChecks(self._plan_store, plan.plan_id, step, context, self._tools, self._view.documents)

    def call_cache(self) -> AbstractContextManager[CallCache]:
        """A cache for the repeated calls of one step."""
        return open_call_cache(self._view.documents, self._settings().function_deduplication_window_seconds)

    async def made(self, plan_id: PlanId, changes: Changeset) -> None:
        """Update the index after changes were made, and have them saved if `edits.save` is `always`."""
        index = self._index()
        if index is not None:
            await index.update(_changed(changes))
        plan = self._plan_store.load(plan_id)
        if plan is not None:
            await self._unsaved.after_edit(plan)

    async def _refresh(self) -> None:
        """Rebuild the index, since it is unknown what a command has changed."""
        await asyncio.wait({self._rescan()}, timeout=INDEX_SECONDS)

    async def _diagnostics(self, uris: tuple[Uri, ...]) -> tuple[FileDiagnostics, ...] | None:
        if not self._editor.capabilities.diagnostics:
            return None
        try:
            return await self._editor.diagnostics(uris)
        except EditorSilent:
            return None


def _home(plan: Plan, view: WorkspaceView) -> Root | None:
    """The folder that relative paths of the plan start from."""
    first = plan.workspace_folders[0] if plan.workspace_folders else None
    return next((root for root in view.roots.folders if root.uri == first), None)


def _changed(changes: Changeset) -> tuple[Changed, ...]:
    found: list[Changed] = []
    for change in changes.changes:
        match change.kind:
            case "create" | "createFolder":
                found.append(Changed(change.uri, "created"))
            case "delete":
                found.append(Changed(change.uri, "deleted"))
            case "rename":
                found += (Changed(change.uri, "deleted"), Changed(change.new_uri, "created"))
            case "edit":
                found.append(Changed(change.uri, "changed"))
    return tuple(found)
