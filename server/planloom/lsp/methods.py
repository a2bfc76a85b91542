"""The catalogue: every method of the protocol beyond LSP. Read this first.

`params` and `result` name wire models, `handler` names a function in `lsp/handlers` as "module.function". The models of
a subject are in its module of `lsp/wire/methods`, or in `lsp/wire` if several subjects share them. They are names, not
imports, so that the answer to `initialize` need not wait for pydantic; tests check that they exist.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from planloom.lsp.announced import EVENT_TYPES

PROTOCOL_VERSION = 1

Kind = Literal["read", "change", "wait"]
"""How a request runs. A read or a wait can be cancelled at any moment; a change that has begun is finished."""


class ClientRequest(NamedTuple):
    """A request from the client."""

    name: str
    params: str
    result: str
    handler: str
    kind: Kind = "change"

    @property
    def subject(self) -> str:
        """What the request is about: the module of its handler."""
        return _module(self.handler)


class ClientNotification(NamedTuple):
    """A notification from the client."""

    name: str
    params: str
    handler: str

    @property
    def subject(self) -> str:
        """What the notification is about: the module of its handler."""
        return _module(self.handler)


class ServerRequest(NamedTuple):
    """A request from the server; it is sent only if the client declared the field `declared` of `planloomClient`."""

    name: str
    params: str
    result: str
    declared: str
    subject: str = "editor"


class ServerNotification(NamedTuple):
    """A notification from the server."""

    name: str
    params: str
    subject: str = "editor"


CLIENT_REQUESTS: tuple[ClientRequest, ...] = (
    ClientRequest("planloom/plan/create", "CreateParams", "CreateResult", "plans.create"),
    ClientRequest("planloom/plan/get", "GetParams", "GetResult", "plans.get", "read"),
    ClientRequest("planloom/plan/view", "GetParams", "ViewResult", "plans.view", "read"),
    ClientRequest("planloom/plan/list", "ListParams", "ListResult", "plans.list_plans", "read"),
    ClientRequest("planloom/plan/tasks", "TasksParams", "TasksResult", "plans.tasks", "read"),
    ClientRequest("planloom/plan/events", "EventsParams", "EventsResult", "plans.events", "read"),
    ClientRequest("planloom/plan/edit", "EditParams", "PlanResult", "plans.edit"),
    ClientRequest("planloom/plan/regenerate", "RegenerateParams", "PlanResult", "plans.regenerate"),
    ClientRequest("planloom/plan/message", "MessageParams", "MessageResult", "plans.message"),
    ClientRequest("planloom/plan/approve", "ApproveParams", "PlanResult", "plans.approve"),
    ClientRequest("planloom/plan/reject", "RejectParams", "PlanResult", "plans.reject"),
    ClientRequest("planloom/plan/direct", "PlanParams", "PlanResult", "plans.direct"),
    ClientRequest("planloom/plan/pause", "PlanParams", "PlanResult", "plans.pause"),
    ClientRequest("planloom/plan/resume", "PlanParams", "PlanResult", "plans.resume"),
    ClientRequest("planloom/plan/cancel", "PlanParams", "PlanResult", "plans.cancel"),
    ClientRequest("planloom/plan/wait", "WaitParams", "WaitResult", "plans.wait", "wait"),
    ClientRequest("planloom/plan/undo", "UndoParams", "UndoResult", "plans.undo"),
    ClientRequest("planloom/plan/diff", "PlanDiffParams", "DiffResult", "plans.diff", "read"),
    ClientRequest("planloom/plan/delete", "PlanParams", "Empty", "plans.delete"),
    ClientRequest("planloom/plan/export", "ExportParams", "ExportResult", "plans.export", "read"),
    ClientRequest("planloom/plan/import", "ImportParams", "PlanResult", "plans.import_plan"),
    ClientRequest("planloom/plan/adopt", "AdoptParams", "PlanResult", "plans.adopt"),
    ClientRequest("planloom/plan/document", "PlanParams", "DocumentResult", "plans.document"),
    ClientRequest(
        "planloom/conflict/resolve", "ResolveConflictParams", "PlanResult", "plans.resolve_conflict"
    ),
    ClientRequest("planloom/step/output", "StepParams", "OutputResult", "plans.output", "read"),
    ClientRequest(
        "planloom/conflict/texts",
        "ConflictTextsParams",
        "ConflictTextsResult",
        "decisions.conflict_texts",
        "read",
    ),
    ClientRequest("planloom/stats", "StatsParams", "StatsResult", "plans.stats", "read"),
    ClientRequest("planloom/memory/search", "SearchMemoryParams", "MemoryResult", "memory.search", "read"),
    ClientRequest("planloom/memory/forget", "ForgetMemoryParams", "ForgottenResult", "memory.forget"),
    ClientRequest("planloom/rules/list", "NoParams", "RulesResult", "rules.list_rules", "read"),
    ClientRequest("planloom/rules/revoke", "RevokeRulesParams", "RevokedResult", "rules.revoke"),
    ClientRequest("planloom/step/answer", "AnswerParams", "PlanResult", "decisions.answer"),
    ClientRequest("planloom/step/recover", "RecoverParams", "PlanResult", "decisions.recover"),
    ClientRequest("planloom/approval/respond", "RespondParams", "Empty", "decisions.respond"),
    ClientRequest("planloom/approval/preview", "PreviewParams", "PreviewResult", "decisions.preview", "read"),
    ClientRequest("planloom/approval/diff", "DiffParams", "DiffResult", "decisions.diff", "read"),
    ClientRequest(
        "planloom/reference/complete", "CompleteParams", "CompleteResult", "references.complete", "read"
    ),
    ClientRequest(
        "planloom/reference/resolve", "ResolveParams", "ResolveResult", "references.resolve", "read"
    ),
    ClientRequest("planloom/attachment/keep", "KeepImageParams", "KeptImage", "references.keep_image"),
    ClientRequest("planloom/detect", "DetectParams", "Detection", "references.detect", "read"),
    ClientRequest(
        "planloom/template/list", "NoParams", "TemplatesResult", "templates.list_templates", "read"
    ),
    ClientRequest(
        "planloom/template/preview",
        "PreviewTemplateParams",
        "TemplatePreviewResult",
        "templates.preview",
        "read",
    ),
    ClientRequest("planloom/template/save", "SaveTemplateParams", "TemplateResult", "templates.save"),
    ClientRequest("planloom/template/delete", "TemplateParams", "Empty", "templates.delete"),
    ClientRequest("planloom/model/list", "ListModelsParams", "ModelsResult", "server.list_models", "read"),
    ClientRequest("planloom/model/test", "NoParams", "ModelTestResult", "server.test_model", "read"),
    ClientRequest("planloom/secret/set", "SecretParams", "Empty", "server.set_secret"),
    ClientRequest("planloom/settings/user", "UserSettingsParams", "Empty", "server.set_user_settings"),
    ClientRequest("planloom/status", "StatusParams", "StatusResult", "server.status", "read"),
)

CLIENT_NOTIFICATIONS: tuple[ClientNotification, ...] = (
    ClientNotification("planloom/workspace/trust", "TrustParams", "server.trust"),
)

SERVER_REQUESTS: tuple[ServerRequest, ...] = (
    ServerRequest(
        "planloom/editor/diagnostics", "EditorDiagnosticsParams", "EditorDiagnosticsResult", "diagnostics"
    ),
    ServerRequest("planloom/editor/save", "EditorSaveParams", "EditorSaveResult", "save"),
    ServerRequest(
        "planloom/editor/createFolder",
        "EditorCreateFolderParams",
        "EditorCreateFolderResult",
        "createFolder",
    ),
    ServerRequest("planloom/editor/files", "EditorFilesParams", "EditorFilesResult", "files"),
    ServerRequest("planloom/editor/read", "EditorReadParams", "EditorReadResult", "files"),
    ServerRequest(
        "planloom/editor/complete", "EditorCompleteParams", "EditorCompleteResult", "languageModel"
    ),
)

SERVER_NOTIFICATIONS: tuple[ServerNotification, ...] = (
    ServerNotification("planloom/event", "Event"),
    ServerNotification("planloom/plan/view", "ViewParams"),
    ServerNotification("planloom/stream", "StreamParams"),
    ServerNotification("planloom/health", "HealthParams"),
    ServerNotification("planloom/waits", "WaitsParams"),
    ServerNotification("planloom/spent", "SpentParams"),
)

REQUESTS: tuple[ClientRequest | ServerRequest, ...] = (*CLIENT_REQUESTS, *SERVER_REQUESTS)
NOTIFICATIONS: tuple[ClientNotification | ServerNotification, ...] = (
    *CLIENT_NOTIFICATIONS,
    *SERVER_NOTIFICATIONS,
)


def _module(handler: str) -> str:
    return handler.partition(".")[0]


def experimental() -> dict[str, object]:
    """The value of `capabilities.experimental`."""
    return {
        "planloom": {
            "protocolVersion": PROTOCOL_VERSION,
            "methods": [
                *(request.name for request in CLIENT_REQUESTS),
                *(notification.name for notification in CLIENT_NOTIFICATIONS),
            ],
            "events": list(EVENT_TYPES),
        }
    }
