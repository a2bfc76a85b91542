"""The catalogue: every method, event and command of the protocol beyond LSP. Read this first.

`params` and `result` name wire models (`lsp/wire`), `handler` names a function in `lsp/handlers` as "module.function".
They are names, not imports, so that the answer to `initialize` need not wait for pydantic; tests check that they exist.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

PROTOCOL_VERSION = 1

Kind = Literal["read", "change", "wait"]
"""How a request runs. A read or a wait can be cancelled at any moment; a change that has begun is finished."""


class Method(NamedTuple):
    """A request from the client."""

    name: str
    params: str
    result: str
    handler: str
    kind: Kind = "change"


class Note(NamedTuple):
    """A notification, in either direction."""

    name: str
    params: str
    handler: str = ""


class Ask(NamedTuple):
    """A request from the server; it is sent only if the client declared the field `declared` of `planloomClient`."""

    name: str
    params: str
    result: str
    declared: str


REQUESTS: tuple[Method, ...] = (
    Method("planloom/plan/create", "CreateParams", "CreateResult", "plans.create"),
    Method("planloom/plan/get", "GetParams", "GetResult", "plans.get", "read"),
    Method("planloom/plan/list", "ListParams", "ListResult", "plans.list_plans", "read"),
    Method("planloom/plan/tasks", "TasksParams", "TasksResult", "plans.tasks", "read"),
    Method("planloom/plan/events", "EventsParams", "EventsResult", "plans.events", "read"),
    Method("planloom/plan/edit", "EditParams", "PlanResult", "plans.edit"),
    Method("planloom/plan/regenerate", "RegenerateParams", "PlanResult", "plans.regenerate"),
    Method("planloom/plan/approve", "ApproveParams", "PlanResult", "plans.approve"),
    Method("planloom/plan/reject", "RejectParams", "PlanResult", "plans.reject"),
    Method("planloom/plan/direct", "PlanParams", "PlanResult", "plans.direct"),
    Method("planloom/plan/pause", "PlanParams", "PlanResult", "plans.pause"),
    Method("planloom/plan/resume", "PlanParams", "PlanResult", "plans.resume"),
    Method("planloom/plan/cancel", "PlanParams", "PlanResult", "plans.cancel"),
    Method("planloom/plan/wait", "WaitParams", "WaitResult", "plans.wait", "wait"),
    Method("planloom/plan/undo", "UndoParams", "UndoResult", "plans.undo"),
    Method("planloom/plan/delete", "PlanParams", "Empty", "plans.delete"),
    Method("planloom/plan/export", "ExportParams", "ExportResult", "plans.export", "read"),
    Method("planloom/conflict/resolve", "ResolveConflictParams", "PlanResult", "plans.resolve_conflict"),
    Method("planloom/step/answer", "AnswerParams", "PlanResult", "decisions.answer"),
    Method("planloom/step/recover", "RecoverParams", "PlanResult", "decisions.recover"),
    Method("planloom/approval/respond", "RespondParams", "Empty", "decisions.respond"),
    Method("planloom/approval/diff", "DiffParams", "DiffResult", "decisions.diff", "read"),
    Method("planloom/reference/complete", "CompleteParams", "CompleteResult", "references.complete", "read"),
    Method("planloom/reference/resolve", "ResolveParams", "ResolveResult", "references.resolve", "read"),
    Method("planloom/detect", "DetectParams", "Detection", "references.detect", "read"),
    Method("planloom/template/list", "NoParams", "TemplatesResult", "templates.list_templates", "read"),
    Method("planloom/template/save", "SaveTemplateParams", "TemplateResult", "templates.save"),
    Method("planloom/template/delete", "TemplateParams", "Empty", "templates.delete"),
    Method("planloom/model/list", "NoParams", "ModelsResult", "server.list_models", "read"),
    Method("planloom/secret/set", "SecretParams", "Empty", "server.set_secret"),
    Method("planloom/settings/user", "UserSettingsParams", "Empty", "server.set_user_settings"),
    Method("planloom/status", "NoParams", "StatusResult", "server.status", "read"),
)

NOTES_IN: tuple[Note, ...] = (Note("planloom/workspace/trust", "TrustParams", "server.trust"),)

NOTES_OUT: tuple[Note, ...] = (
    Note("planloom/event", "Event"),
    Note("planloom/stream", "StreamParams"),
    Note("planloom/health", "HealthParams"),
)

ASKS: tuple[Ask, ...] = (
    Ask("planloom/editor/diagnostics", "EditorDiagnosticsParams", "EditorDiagnosticsResult", "diagnostics"),
    Ask("planloom/editor/save", "EditorSaveParams", "EditorSaveResult", "save"),
    Ask("planloom/editor/complete", "EditorCompleteParams", "EditorCompleteResult", "languageModel"),
)

EVENTS: tuple[str, ...] = (
    "plan_start",
    "plan_routed",
    "plan_drafting",
    "plan_direct",
    "perspective_start",
    "perspective_complete",
    "task_created",
    "plan_ready",
    "plan_approval_request",
    "plan_edited",
    "plan_approved",
    "plan_rejected",
    "plan_executing",
    "task_started",
    "task_update",
    "task_completed",
    "task_failed",
    "task_skipped",
    "tool_started",
    "tool_completed",
    "approval_request",
    "approval_resolved",
    "edit_started",
    "edit_applied",
    "edit_rejected",
    "edit_reverted",
    "edit_conflict",
    "conflict_resolved",
    "check_completed",
    "clarification_request",
    "clarification_provided",
    "recovery_request",
    "recovery_chosen",
    "context_compacted",
    "tasks_list",
    "plan_paused",
    "plan_resumed",
    "answer",
    "plan_completed",
    "plan_failed",
    "plan_cancelled",
    "log",
)

COMMANDS: tuple[str, ...] = (
    "planloom.plan",
    "planloom.approve",
    "planloom.direct",
    "planloom.respond",
    "planloom.recover",
    "planloom.reject",
    "planloom.cancel",
    "planloom.pause",
    "planloom.resume",
    "planloom.undo",
    "planloom.skipStep",
    "planloom.retryStep",
    "planloom.answer",
    "planloom.regenerate",
    "planloom.showPlan",
    "planloom.status",
)


def experimental() -> dict[str, object]:
    """The value of `capabilities.experimental`."""
    return {
        "planloom": {
            "protocolVersion": PROTOCOL_VERSION,
            "methods": [method.name for method in REQUESTS] + [note.name for note in NOTES_IN],
            "events": list(EVENTS),
        }
    }
