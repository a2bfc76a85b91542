"""The results of every request of the client, and what we ask of it in turn."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, JsonValue

from planloom.lsp.wire.base import Bool, Int, Maybe, Range, Wire
from planloom.lsp.wire.plan import Args, Detection, Plan, PlanSummary, Progress, Step, Template, Usage
from planloom.lsp.wire.review import Attachment, Unresolved

Event = Annotated[dict[str, JsonValue], Field()]


class PlanResult(Wire):
    """The plan as it is after what was asked."""

    plan: Plan


class CreateResult(Wire):
    """A plan that has begun."""

    plan: Plan
    detection: Detection
    unresolved: tuple[Unresolved, ...]


class GetResult(Wire):
    """A plan, null if there is none."""

    plan: Plan | None
    progress: Progress


class ListResult(Wire):
    """Plans, newest first."""

    plans: tuple[PlanSummary, ...]


class TasksResult(Wire):
    """Steps in execution order."""

    tasks: tuple[Step, ...]
    progress: Progress


class EventsResult(Wire):
    """Events by number."""

    events: tuple[Event, ...]


class WaitResult(Wire):
    """The plan, and whether what was waited for has come."""

    plan: Plan
    reached: Bool


class UndoResult(Wire):
    """The plan, the files taken back, and those that could not be."""

    plan: Plan
    reverted: tuple[str, ...]
    conflicts: tuple[str, ...]


class ExportResult(Wire):
    """A plan as text."""

    text: str


class DiffResult(Wire):
    """A file before and after; null where there is no file."""

    uri: str
    before: str | None
    after: str | None
    language_id: Maybe[str] = None


class ReferenceItem(Wire):
    """One completion of a reference; `replace` is where it goes, in UTF-16 units."""

    label: str
    insert_text: str
    detail: Maybe[str] = None
    kind: Literal["file", "folder", "symbol", "special"]
    replace: tuple[Int, Int]


class CompleteResult(Wire):
    """Completions of a reference."""

    items: tuple[ReferenceItem, ...]
    is_incomplete: Bool


class ResolveResult(Wire):
    """What the references of a text name."""

    attachments: tuple[Attachment, ...]
    unresolved: tuple[Unresolved, ...]


class TemplatesResult(Wire):
    """Every template."""

    templates: tuple[Template, ...]


class TemplateResult(Wire):
    """The template that was saved."""

    template: Template


class ModelEntry(Wire):
    """A model that could answer; `reason` says why it cannot be reached."""

    provider: str
    name: str
    context_tokens: Maybe[Int] = None
    reachable: Bool
    reason: Maybe[str] = None


class ActiveModel(Wire):
    """The model that answers, and why this one."""

    provider: str
    name: str
    reason: str


class ModelsResult(Wire):
    """Models; `active` is null if none answers."""

    models: tuple[ModelEntry, ...]
    active: ActiveModel | None


class StatusPlans(Wire):
    """Plans at work, and plans that could go on."""

    active: tuple[str, ...]
    resumable: tuple[str, ...]


class StatusResult(Wire):
    """What the server is, and how it fares."""

    version: str
    protocol_version: Int
    session_id: str
    model: ActiveModel
    workspace_folders: tuple[str, ...]
    trusted: Bool
    plans: StatusPlans
    health: Literal["ok", "degraded"]
    problems: tuple[str, ...]
    log_path: str
    storage_path: str


class StreamParams(Wire):
    """`planloom/stream`."""

    plan_id: Maybe[str] = None
    step_id: Maybe[str] = None
    call_id: Maybe[str] = None
    kind: Literal["text", "reasoning", "stdout", "stderr"]
    delta: str


class HealthParams(Wire):
    """`planloom/health`: what is wrong now, in the words of `planloom/status`."""

    health: Literal["ok", "degraded"]
    problems: tuple[str, ...]


class EditorDiagnosticsParams(Wire):
    """`planloom/editor/diagnostics`."""

    uris: tuple[str, ...]


class LspDiagnostic(Wire):
    """A diagnostic as LSP has it, as far as we read it; positions in the negotiated encoding."""

    range: Range
    severity: Maybe[Literal[1, 2, 3, 4]] = None
    code: Maybe[int | str] = None
    source: Maybe[str] = None
    message: str


class UriDiagnostics(Wire):
    """The diagnostics of one file."""

    uri: str
    items: tuple[LspDiagnostic, ...]
    version: Maybe[Int] = None


class EditorDiagnosticsResult(Wire):
    """What the editor's other tools say."""

    diagnostics: tuple[UriDiagnostics, ...]


class EditorSaveParams(Wire):
    """`planloom/editor/save`."""

    uris: tuple[str, ...]


class SaveFailure(Wire):
    """A document that could not be saved."""

    uri: str
    reason: str


class EditorSaveResult(Wire):
    """What the editor has saved."""

    saved: tuple[str, ...]
    failed: tuple[SaveFailure, ...]


class ChatMessage(Wire):
    """One turn of a conversation with the editor's model."""

    role: Literal["system", "user", "assistant", "tool"]
    text: str
    tool_calls: Maybe[tuple[ChatCall, ...]] = None
    tool_call_id: Maybe[str] = None


class ChatCall(Wire):
    """A tool call of the editor's model."""

    call_id: str
    name: str
    arguments: Args


class ChatTool(Wire):
    """A tool as a model sees it."""

    name: str
    description: str
    parameters: dict[str, JsonValue]


class EditorCompleteParams(Wire):
    """`planloom/editor/complete`."""

    request_id: str
    model: Maybe[str] = None
    messages: tuple[ChatMessage, ...]
    tools: Maybe[tuple[ChatTool, ...]] = None
    response_schema: Maybe[dict[str, JsonValue]] = None
    max_tokens: Maybe[Int] = None


class EditorCompleteResult(Wire):
    """What the editor's model answered."""

    text: str
    tool_calls: Maybe[tuple[ChatCall, ...]] = None
    usage: Maybe[Usage] = None


class ApplyEditResult(Wire):
    """The answer to `workspace/applyEdit`; a boolean that is none is no answer."""

    applied: Bool
    failure_reason: Maybe[str] = None
    failed_change: Maybe[Int] = None
