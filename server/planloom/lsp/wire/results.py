"""The results of the client's requests, and the params and results of the server's requests."""

from typing import Annotated, Literal

from pydantic import Field, JsonValue

from planloom.lsp.wire.base import Bool, Int, Maybe, MaybeMany, Range, Time, Wire
from planloom.lsp.wire.plan import (
    Args,
    Detection,
    MessageOutcome,
    ModelCause,
    Plan,
    PlanStatus,
    PlanSummary,
    Progress,
    Step,
    Template,
    Usage,
)
from planloom.lsp.wire.review import Attachment, Unresolved

Event = Annotated[dict[str, JsonValue], Field()]
"""An event as plain JSON (see `events`). The empty `Field()` lets `codegen` tell it from any other object."""


class PlanResult(Wire):
    """The plan after the request."""

    plan: Plan


class CreateResult(Wire):
    """The new plan."""

    plan: Plan
    detection: Detection
    unresolved: tuple[Unresolved, ...]


class ModelUse(Wire):
    """What plans have used of a model, named `provider/name`; `seconds` is how long their steps have waited."""

    model: str
    usage: Usage
    seconds: float


class Spent(Wire):
    """What was used of models, in all and by model; some requests of older ledgers name no model.

    `costs` are those of the models that have a price in `model.prices`, by their names.
    """

    usage: Usage
    models: tuple[ModelUse, ...]
    costs: dict[str, float]


class GetResult(Wire):
    """A plan, or null if there is none; `spent` is left out if it has used no model."""

    plan: Plan | None
    progress: Progress
    spent: Maybe[Spent] = None


class ListResult(Wire):
    """Plans, newest first."""

    plans: tuple[PlanSummary, ...]


class TasksResult(Wire):
    """Steps in execution order."""

    tasks: tuple[Step, ...]
    progress: Progress


class CommandOutput(Wire):
    """What a command has printed, of a long output the beginning and the end; null if that was not stored.

    `command` is as a shell takes it, `cwd` relative to the workspace; without `exitCode` it did not end by itself.
    """

    call_id: str
    command: str
    cwd: Maybe[str] = None
    ok: Bool
    exit_code: Maybe[Int] = None
    output: str | None


class OutputResult(Wire):
    """The finished commands of a step, in the order of their calls."""

    commands: tuple[CommandOutput, ...]


class EventsResult(Wire):
    """Events in order of `seq`."""

    events: tuple[Event, ...]


class WaitResult(Wire):
    """The plan, and whether it reached the awaited state before the timeout."""

    plan: Plan
    reached: Bool


class MessageResult(Wire):
    """What becomes of the message. `planId` is the plan that has it now: for `continued`, the new one, which is `plan`.

    `waitsFor` says what must happen before a queued message is read, `unresolved` what could not be attached.
    """

    outcome: MessageOutcome
    plan_id: str
    plan: Plan
    waits_for: Maybe[str] = None
    unresolved: MaybeMany[Unresolved] = None


class UndoResult(Wire):
    """The plan, the reverted files, and the files that could not be reverted."""

    plan: Plan
    reverted: tuple[str, ...]
    conflicts: tuple[str, ...]


class DocumentResult(Wire):
    """The document of a plan."""

    uri: str


class ExportResult(Wire):
    """A plan as text."""

    text: str


class DiffResult(Wire):
    """The text of a file before and after the change; null if the file does not exist."""

    uri: str
    before: str | None
    after: str | None
    language_id: Maybe[str] = None


class PreviewResult(Wire):
    """The text of a file now, and as the change would leave it; null if the file does not exist.

    `overlaps`: the user has changed the same lines, and `proposed` is null.
    """

    uri: str
    now: str | None
    proposed: str | None
    overlaps: Bool


class ConflictTextsResult(Wire):
    """The whole texts of a conflicted file: the common `base`, the user's (`mine`) and the step's (`theirs`).

    The conflict names the hash of `mine`. `both` is their merge with conflict markers around the overlaps.
    """

    uri: str
    base: str
    mine: str
    theirs: str
    both: str


class ReferenceItem(Wire):
    """One completion of a reference; `replace` is the start and end of the text that it replaces, in UTF-16 units."""

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
    """The resolved and the unresolved references of a text."""

    attachments: tuple[Attachment, ...]
    unresolved: tuple[Unresolved, ...]


class DayStats(Spent):
    """The figures of the plans that were created on a day, as `2030-01-31` in the server's time zone."""

    day: str
    plans: Int
    completed: Int


class StatsResult(Wire):
    """The figures of ended plans. `success` and `undone` are percentages of them, left out if there are none.

    `costs` are those of the models that have a price in `model.prices`, by their names. `days` are those with plans,
    the earliest first.
    """

    plans: Int
    statuses: dict[str, Int]
    authors: dict[str, Int]
    steps: Int
    success: Maybe[Int] = None
    undone: Maybe[Int] = None
    usage: Usage
    models: tuple[ModelUse, ...]
    costs: dict[str, float]
    days: tuple[DayStats, ...]


class MemoryEntry(Wire):
    """What a plan of this workspace found and did, kept for later plans.

    `files` are paths in the workspace, `findings` what models said of their work, `decisions` what the user has said.
    """

    plan_id: str
    at: Time
    status: PlanStatus
    request: str
    outcome: str
    files: tuple[str, ...]
    findings: tuple[str, ...]
    decisions: tuple[str, ...]


class MemoryResult(Wire):
    """Entries, the best or the newest first."""

    entries: tuple[MemoryEntry, ...]


class ForgottenResult(Wire):
    """Of how many plans the entries were deleted."""

    forgotten: Int


class TemplatesResult(Wire):
    """Every template."""

    templates: tuple[Template, ...]


class TemplateResult(Wire):
    """The template that was saved."""

    template: Template


class KeptImage(Wire):
    """Where an image was kept, to be attached by its URI."""

    uri: str


class ParameterProblem(Wire):
    """Why the value of a template's parameter cannot be taken."""

    name: str
    problem: str


class TemplatePreviewResult(Wire):
    """The steps of a template with the values that are known; it can be planned if there are no problems."""

    steps: tuple[Step, ...]
    problems: tuple[ParameterProblem, ...]


class ModelEntry(Wire):
    """A model that can be chosen; `reason` says why it cannot be used, and `cause` says it for programs."""

    provider: str
    name: str
    context_tokens: Maybe[Int] = None
    reachable: Bool
    reason: Maybe[str] = None
    cause: Maybe[ModelCause] = None


class ActiveModel(Wire):
    """The model in use, and why it was chosen."""

    provider: str
    name: str
    reason: str


class ModelsResult(Wire):
    """The models. `active` is of the provider `auto` as long as none was needed.

    Prompts to it are made for `contextTokens`, which are assumed if its server does not say what it takes.
    """

    models: tuple[ModelEntry, ...]
    active: ActiveModel | None
    context_tokens: Maybe[Int] = None
    context_assumed: Maybe[Bool] = None


class ModelTestResult(Wire):
    """The answer of the model that is used to a question for one word, and the milliseconds that it took."""

    provider: str
    name: str
    answer: str
    took_ms: Int


class StatusPlans(Wire):
    """The ids of the plans that run, and of those that can be resumed."""

    active: tuple[str, ...]
    resumable: tuple[str, ...]


class CommandAbilities(Wire):
    """By what means commands are confined here, and a sentence for each thing that they are not held to; `writable` are
    folders beyond the workspace that the user lets them change.
    """

    how: str
    missing: tuple[str, ...]
    writable: MaybeMany[str] = None


class StatusResult(Wire):
    """The version, model, folders, plans and health of the server."""

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
    commands: Maybe[CommandAbilities] = None
    storage_note: Maybe[str] = None


class StreamParams(Wire):
    """`planloom/stream`."""

    plan_id: Maybe[str] = None
    step_id: Maybe[str] = None
    call_id: Maybe[str] = None
    kind: Literal["text", "reasoning", "stdout", "stderr"]
    delta: str


class HealthParams(Wire):
    """`planloom/health`: the current problems, as in `planloom/status`."""

    health: Literal["ok", "degraded"]
    problems: tuple[str, ...]


class StepWait(Wire):
    """A step that waits for what another step uses, which may be one of another plan; `path` is that of a file.

    `usedByStep` is empty while a draft of that plan uses the model.
    """

    step_id: str
    resource: Literal["path", "model", "terminal"]
    path: Maybe[str] = None
    used_by_plan: str
    used_by_step: str


class WaitsParams(Wire):
    """`planloom/waits`: the steps of a plan that wait for what another step uses, of many the first."""

    plan_id: str
    waits: tuple[StepWait, ...]


class SpentParams(Wire):
    """`planloom/spent`: what a plan has used of models so far, after each request to one."""

    plan_id: str
    spent: Spent


class EditorDiagnosticsParams(Wire):
    """`planloom/editor/diagnostics`. No `uris` ask for every file that has diagnostics."""

    uris: tuple[str, ...]


class LspDiagnostic(Wire):
    """A diagnostic of LSP, with only the fields that are read here."""

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
    """The diagnostics of each file."""

    diagnostics: tuple[UriDiagnostics, ...]


class EditorSaveParams(Wire):
    """`planloom/editor/save`."""

    uris: tuple[str, ...]


class SaveFailure(Wire):
    """A document that could not be saved."""

    uri: str
    reason: str


class EditorSaveResult(Wire):
    """The documents that were saved, and those that were not."""

    saved: tuple[str, ...]
    failed: tuple[SaveFailure, ...]


class ChatCall(Wire):
    """A tool call of the editor's model."""

    call_id: str
    name: str
    arguments: Args


class ChatMessage(Wire):
    """One message of a conversation with the editor's model."""

    role: Literal["system", "user", "assistant", "tool"]
    text: str
    tool_calls: Maybe[tuple[ChatCall, ...]] = None
    tool_call_id: Maybe[str] = None


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
    """The answer of the editor's model."""

    text: str
    tool_calls: Maybe[tuple[ChatCall, ...]] = None
    usage: Maybe[Usage] = None


class ApplyEditResult(Wire):
    """The answer to `workspace/applyEdit`. `applied` must be a boolean: no other value is read as one."""

    applied: Bool
    failure_reason: Maybe[str] = None
    failed_change: Maybe[Int] = None
