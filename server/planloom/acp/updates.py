"""Renders a plan as updates of a session: its entries, its calls and edits, the use of models, and how it ends."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from acp import schema

from planloom.acp import shown
from planloom.domain.changes import EditedFile
from planloom.domain.errors import PlanloomError
from planloom.domain.events import catalog as ev
from planloom.domain.plans.plan import ENDED, SETTLED, Plan
from planloom.domain.safety.approvals import Effect
from planloom.domain.values import EditId, Uri
from planloom.view.plan_view import PlanView, view
from planloom.view.questions import ended
from planloom.view.states import Around
from planloom.view.step.steps import StepView
from planloom.workspace.paths.uris import child, from_path, shown_in

if TYPE_CHECKING:
    from planloom.service.application import Application
    from planloom.service.requests import StreamDelta
    from planloom.view.words import Words

VIEW_SECONDS: Final = 1 / 10
"""The least time between two updates with the entries of a plan."""
_KINDS: Final[dict[Effect, schema.ToolKind]] = {
    "read": "read",
    "write": "edit",
    "destroy": "delete",
    "execute": "execute",
    "fetch": "fetch",
}
_SEARCHES: Final = frozenset(
    {"search_text", "find_files", "find_symbol", "find_references", "list_files", "git_log"}
)
_PRIORITIES: Final[dict[str, schema.PlanEntryPriority]] = {
    "critical": "high",
    "high": "high",
    "normal": "medium",
    "medium": "medium",
    "low": "low",
}
_SILENT_SIGNS: Final = frozenset({"pending", "blocked", "ready", "running", "completed"})
"""The signs of steps that the status of an entry says already."""
_MAIN_ARGUMENTS: Final = ("command", "path", "pattern", "query", "name", "url", "old_path")


class Updates:
    """The updates of one session. What is told twice in the same words is sent once."""

    def __init__(self, app: Application, send: Callable[[Any], None], t: Words) -> None:
        self._app = app
        self._send = send
        self._words = t
        self._entries: schema.AgentPlanUpdate | None = None
        self._usage: schema.UsageUpdate | None = None
        self._due: Plan | None = None
        self._timer: asyncio.TimerHandle | None = None

    def on_event(self, recorded: ev.Recorded, after: Plan) -> None:
        """Tell what an event has changed."""
        event = recorded.event
        match event:
            case ev.ToolStarted():
                self._send(self._call(event, after))
            case ev.ToolCompleted():
                text = event.output or event.summary
                self._send(
                    schema.ToolCallProgress(
                        session_update="tool_call_update",
                        tool_call_id=event.call_id,
                        status="completed" if event.ok else "failed",
                        content=shown.content(text),
                        locations=shown.locations(event.changes),
                    )
                )
            case ev.EditStarted():
                self._send(self._edit(event.edit_id, event.files, after))
            case ev.EditApplied():
                self._edited(event.edit_id, event.files, after)
            case ev.EditRejected():
                self._send(shown.settled(event.edit_id, "failed", shown.content(event.reason)))
            case ev.Log() if event.level in ("warning", "error"):
                self._send(shown.message(self._words(event.message)))
            case _:
                pass
        self._due = after
        if after.status in ENDED and after.completed_at == recorded.at:
            self.flush()
            self._send(shown.message(ended(self.view(after), self._words)[1]))
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(VIEW_SECONDS, self.flush)

    def on_text(self, delta: StreamDelta) -> None:
        """Tell what a model says while it works on a step."""
        if delta.step_id is not None and delta.kind in ("text", "reasoning"):
            self._send(shown.thought(delta.delta))

    def flush(self) -> None:
        """Send the entries and the use of models, where they have changed."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        plan, self._due = self._due, None
        if plan is None:
            return
        found = self.view(plan)
        entries = schema.AgentPlanUpdate(
            session_update="plan", entries=[_entry(step) for step in found.steps]
        )
        if entries != self._entries:
            self._entries = entries
            self._send(entries)
        usage = self._used(plan)
        if usage is not None and usage != self._usage:
            self._usage = usage
            self._send(usage)

    def view(self, plan: Plan) -> PlanView:
        """The plan as people see it."""
        return view(plan, Around(self._words, self._app.plans.spent(plan)))

    def forget(self) -> None:
        """Send nothing more by itself."""
        if self._timer is not None:
            self._timer.cancel()
        self._due = None

    def _call(self, event: ev.ToolStarted, plan: Plan) -> schema.ToolCallStart:
        kind: schema.ToolKind = "search" if event.tool in _SEARCHES else _KINDS[event.effect]
        main = next((event.args[name] for name in _MAIN_ARGUMENTS if event.args.get(name)), "")
        return schema.ToolCallStart(
            session_update="tool_call",
            tool_call_id=event.call_id,
            title=shown.title(f"{event.tool} {main}"),
            kind=kind,
            status="in_progress",
            locations=shown.locations(_named(event.args, plan)),
            raw_input=shown.raw(event.args),
        )

    def _edit(self, edit_id: EditId, files: tuple[EditedFile, ...], plan: Plan) -> schema.ToolCallStart:
        names = ", ".join(shown_in(file.new_uri or file.uri, plan.workspace_folders) for file in files)
        changes = {file.change for file in files}
        kind: schema.ToolKind = (
            "delete" if changes == {"delete"} else "move" if changes == {"rename"} else "edit"
        )
        return schema.ToolCallStart(
            session_update="tool_call",
            tool_call_id=edit_id,
            title=shown.title(self._words("Change {0}", names)),
            kind=kind,
            status="in_progress",
            locations=shown.locations(file.new_uri or file.uri for file in files),
        )

    def _edited(self, edit_id: EditId, files: tuple[EditedFile, ...], plan: Plan) -> None:
        diffs: list[shown.ToolContent] = []
        for file in files:
            if file.change in ("create", "edit", "delete"):
                try:
                    diffs += shown.diff(self._app.plans.diff(plan.plan_id, file.uri, edit_id))
                except PlanloomError:
                    # The texts of an old plan may be compacted.
                    continue
        self._send(shown.settled(edit_id, "completed", diffs))

    def _used(self, plan: Plan) -> schema.UsageUpdate | None:
        """How full the model's context is; None where its size is not known. The user's prices name no currency."""
        spent, last = self._app.plans.spent(plan), plan.last_request
        if last is None or not spent.context_tokens:
            return None
        return schema.UsageUpdate(
            session_update="usage_update",
            used=last.prompt_tokens + last.completion_tokens,
            size=spent.context_tokens,
        )


def _entry(step: StepView) -> schema.PlanEntry:
    """A step. The protocol knows three statuses: what is left open or has failed is said in words."""
    text = step.step.title if step.sign in _SILENT_SIGNS else f"{step.step.title} ({step.words})"
    status: schema.PlanEntryStatus = "pending"
    if step.status in SETTLED and step.status != "failed":
        status = "completed"
    elif step.status in ("running", "needs_clarification") or step.waits is not None:
        status = "in_progress"
    return schema.PlanEntry(
        content=shown.title(text), priority=_PRIORITIES.get(step.step.priority, "medium"), status=status
    )


def _named(args: Any, plan: Plan) -> list[Uri]:
    """The files that the arguments of a call name, in the first folder of the plan."""
    path = args.get("path")
    if not isinstance(path, str) or not plan.workspace_folders or ".." in path.split("/"):
        return []
    return [from_path(path) if path.startswith("/") else child(plan.workspace_folders[0], path)]
