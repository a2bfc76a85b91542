"""The catalogue: every method of the protocol beyond LSP. Read this first.

A request of the client is its handler, a function in `lsp/handlers`, whose signature names its params and its result.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_type_hints

from planloom.lsp.handlers import decisions, memory, plans, references, rules, server, templates
from planloom.lsp.wire import view
from planloom.lsp.wire.base import Wire
from planloom.lsp.wire.events import messages
from planloom.lsp.wire.methods import editor as wire
from planloom.version import PROTOCOL_VERSION

if TYPE_CHECKING:
    from planloom.lsp.connection import Connection

Kind = Literal["read", "change", "wait"]
"""How a request runs. A read or a wait can be cancelled at any moment; a change that has begun is finished."""
Handler = Callable[["Connection", Any], Coroutine[Any, Any, Any]]


class ClientRequest(NamedTuple):
    """A request from the client."""

    name: str
    handler: Handler
    kind: Kind = "change"

    @property
    def params(self) -> type[Wire]:
        """The model of its params."""
        return _models(self.handler)[0]

    @property
    def result(self) -> type[Wire]:
        """The model of its result."""
        return _models(self.handler)[1]


class ClientNotification(NamedTuple):
    """A notification from the client."""

    name: str
    handler: Handler

    @property
    def params(self) -> type[Wire]:
        """The model of its params."""
        return _models(self.handler)[0]


class ServerRequest(NamedTuple):
    """A request from the server; it is sent only if the client declared the field `declared` of `planloomClient`."""

    name: str
    params: type[Wire]
    result: type[Wire]
    declared: str


class ServerNotification(NamedTuple):
    """A notification from the server; the params of None are any event (`lsp/wire/events.py`)."""

    name: str
    params: type[Wire] | None


@cache
def _models(handler: Handler) -> tuple[type[Wire], type[Wire]]:
    """The params and the result of a handler, by its signature."""
    _, params, result = get_type_hints(handler, localns={"Connection": Any}).values()
    return params, result


CLIENT_REQUESTS: tuple[ClientRequest, ...] = (
    ClientRequest("planloom/plan/create", plans.create),
    ClientRequest("planloom/plan/get", plans.get, "read"),
    ClientRequest("planloom/plan/view", plans.view, "read"),
    ClientRequest("planloom/plan/list", plans.list_plans, "read"),
    ClientRequest("planloom/plan/tasks", plans.tasks, "read"),
    ClientRequest("planloom/plan/events", plans.events, "read"),
    ClientRequest("planloom/plan/edit", plans.edit),
    ClientRequest("planloom/plan/rewrite", plans.rewrite),
    ClientRequest("planloom/plan/restore", plans.restore),
    ClientRequest("planloom/plan/regenerate", plans.regenerate),
    ClientRequest("planloom/plan/message", plans.message),
    ClientRequest("planloom/plan/approve", plans.approve),
    ClientRequest("planloom/plan/reject", plans.reject),
    ClientRequest("planloom/plan/direct", plans.direct),
    ClientRequest("planloom/plan/pause", plans.pause),
    ClientRequest("planloom/plan/resume", plans.resume),
    ClientRequest("planloom/plan/review", plans.review),
    ClientRequest("planloom/plan/cancel", plans.cancel),
    ClientRequest("planloom/plan/wait", plans.wait, "wait"),
    ClientRequest("planloom/plan/undo", plans.undo),
    ClientRequest("planloom/plan/diff", plans.diff, "read"),
    ClientRequest("planloom/plan/delete", plans.delete),
    ClientRequest("planloom/plan/export", plans.export, "read"),
    ClientRequest("planloom/plan/import", plans.import_plan),
    ClientRequest("planloom/plan/adopt", plans.adopt),
    ClientRequest("planloom/plan/document", plans.document),
    ClientRequest("planloom/step/output", plans.output, "read"),
    ClientRequest("planloom/conflict/resolve", decisions.resolve_conflict),
    ClientRequest("planloom/conflict/texts", decisions.conflict_texts, "read"),
    ClientRequest("planloom/stats", plans.stats, "read"),
    ClientRequest("planloom/memory/search", memory.search, "read"),
    ClientRequest("planloom/memory/forget", memory.forget),
    ClientRequest("planloom/rules/list", rules.list_rules, "read"),
    ClientRequest("planloom/rules/revoke", rules.revoke),
    ClientRequest("planloom/step/answer", decisions.answer),
    ClientRequest("planloom/step/recover", decisions.recover),
    ClientRequest("planloom/approval/respond", decisions.respond),
    ClientRequest("planloom/approval/preview", decisions.preview, "read"),
    ClientRequest("planloom/approval/diff", decisions.diff, "read"),
    ClientRequest("planloom/reference/complete", references.complete, "read"),
    ClientRequest("planloom/reference/resolve", references.resolve, "read"),
    ClientRequest("planloom/attachment/keep", references.keep_image),
    ClientRequest("planloom/detect", references.detect, "read"),
    ClientRequest("planloom/template/list", templates.list_templates, "read"),
    ClientRequest("planloom/template/preview", templates.preview, "read"),
    ClientRequest("planloom/template/save", templates.save),
    ClientRequest("planloom/template/delete", templates.delete),
    ClientRequest("planloom/tool/list", templates.list_tools, "read"),
    ClientRequest("planloom/model/list", server.list_models, "read"),
    ClientRequest("planloom/model/test", server.test_model, "read"),
    ClientRequest("planloom/secret/set", server.set_secret),
    ClientRequest("planloom/settings/user", server.set_user_settings),
    ClientRequest("planloom/status", server.status, "read"),
)

CLIENT_NOTIFICATIONS: tuple[ClientNotification, ...] = (
    ClientNotification("planloom/workspace/trust", server.trust),
)

SERVER_REQUESTS: tuple[ServerRequest, ...] = (
    ServerRequest(
        "planloom/editor/diagnostics",
        wire.EditorDiagnosticsParams,
        wire.EditorDiagnosticsResult,
        "diagnostics",
    ),
    ServerRequest(
        "planloom/editor/language", wire.EditorLanguageParams, wire.EditorLanguageResult, "language"
    ),
    ServerRequest("planloom/editor/save", wire.EditorSaveParams, wire.EditorSaveResult, "save"),
    ServerRequest(
        "planloom/editor/createFolder",
        wire.EditorCreateFolderParams,
        wire.EditorCreateFolderResult,
        "createFolder",
    ),
    ServerRequest("planloom/editor/files", wire.EditorFilesParams, wire.EditorFilesResult, "files"),
    ServerRequest("planloom/editor/read", wire.EditorReadParams, wire.EditorReadResult, "files"),
    ServerRequest(
        "planloom/editor/complete", wire.EditorCompleteParams, wire.EditorCompleteResult, "languageModel"
    ),
)

SERVER_NOTIFICATIONS: tuple[ServerNotification, ...] = (
    ServerNotification("planloom/event", None),
    ServerNotification("planloom/plan/view", view.ViewParams),
    ServerNotification("planloom/stream", wire.StreamParams),
    ServerNotification("planloom/health", wire.HealthParams),
    ServerNotification("planloom/waits", wire.WaitsParams),
    ServerNotification("planloom/spent", wire.SpentParams),
)

REQUESTS: tuple[ClientRequest | ServerRequest, ...] = (*CLIENT_REQUESTS, *SERVER_REQUESTS)
NOTIFICATIONS: tuple[ClientNotification | ServerNotification, ...] = (
    *CLIENT_NOTIFICATIONS,
    *SERVER_NOTIFICATIONS,
)


def experimental() -> dict[str, object]:
    """The value of `capabilities.experimental`."""
    return {
        "planloom": {
            "protocolVersion": PROTOCOL_VERSION,
            "methods": [
                *(request.name for request in CLIENT_REQUESTS),
                *(notification.name for notification in CLIENT_NOTIFICATIONS),
            ],
            "events": list(messages()),
        }
    }
