"""The params of every request and notification from the client."""

from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import Field, JsonValue

from planloom.lsp.wire.base import Bool, Count, Maybe, Range, Time, Wire
from planloom.lsp.wire.edits import StepEdit
from planloom.lsp.wire.plan import Agent, Args, PlanStatus, RecoveryAction, Review, StepStatus
from planloom.lsp.wire.review import Confinement

Limit = Annotated[int, Field(strict=True, ge=1)]
Text = Annotated[str, Field(max_length=1_000_000)]
Moment = Annotated[Time, Field(ge=datetime(1970, 1, 1, tzinfo=UTC), lt=datetime(9999, 1, 1, tzinfo=UTC))]
"""A time that can be expressed in every time zone."""


class NoParams(Wire):
    """No params."""


class StatusParams(Wire):
    """`planloom/status`. With `commands` it is found out what commands can be held to, which takes a moment."""

    commands: Maybe[Bool] = None


class ListModelsParams(Wire):
    """`planloom/model/list`. `select` chooses the model now that would be used, and asks its server what it can do.

    Without it, no server is contacted before a person's first request that needs a model.
    """

    select: Maybe[Bool] = None


class Context(Wire):
    """Where the user is: the active document and what is selected in it.

    `terminal` is the text of a terminal that the user has chosen, to which `@terminal` refers.
    """

    uri: Maybe[str] = None
    selections: Maybe[tuple[Range, ...]] = None
    terminal: Maybe[Text] = None


class ExplicitAttachment(Wire):
    """An attachment added in the editor, not by a reference in the text."""

    uri: str
    range: Maybe[Range] = None
    label: Maybe[str] = None


class CreateParams(Wire):
    """`planloom/plan/create`."""

    text: Text
    mode: Maybe[Literal["auto", "plan", "direct", "perspectives"]] = None
    context: Maybe[Context] = None
    attachments: Maybe[tuple[ExplicitAttachment, ...]] = None
    confirmed: Maybe[tuple[str, ...]] = None
    session_id: Maybe[str] = None
    template_id: Maybe[str] = None
    parameters: Maybe[dict[str, str]] = None


class PlanParams(Wire):
    """The params of a request that needs only the id of a plan."""

    plan_id: str


class GetParams(Wire):
    """`planloom/plan/get`."""

    plan_id: Maybe[str] = None
    session_id: Maybe[str] = None
    at_seq: Maybe[Count] = None


class ListParams(Wire):
    """`planloom/plan/list`."""

    session_id: Maybe[str] = None
    status: Maybe[tuple[PlanStatus, ...]] = None
    limit: Maybe[Limit] = None
    all_workspaces: Bool = False


class StatsParams(Wire):
    """`planloom/stats`: of plans that were created from `since` on, and before `until`."""

    since: Maybe[Moment] = None
    until: Maybe[Moment] = None


class TasksParams(Wire):
    """`planloom/plan/tasks`."""

    plan_id: Maybe[str] = None
    session_id: Maybe[str] = None
    status: Maybe[tuple[StepStatus, ...]] = None
    agent: Maybe[Agent] = None


class EventsParams(Wire):
    """`planloom/plan/events`: the events with a `seq` above `after`."""

    plan_id: str
    after: Maybe[Count] = None
    limit: Maybe[Limit] = None


class EditParams(Wire):
    """`planloom/plan/edit`. `edits` may be empty where the plan gets another request or summary."""

    plan_id: str
    version: Count
    edits: Annotated[tuple[StepEdit, ...], Field(max_length=10_000)]
    request: Maybe[Text] = None
    summary: Maybe[Text] = None


class RegenerateParams(Wire):
    """`planloom/plan/regenerate`."""

    plan_id: str
    version: Count
    feedback: Maybe[Text] = None


class MessageParams(Wire):
    """`planloom/plan/message`. References of the text are resolved as those of a request."""

    plan_id: str
    text: Text
    context: Maybe[Context] = None
    attachments: Maybe[tuple[ExplicitAttachment, ...]] = None
    confirmed: Maybe[tuple[str, ...]] = None


class ApproveParams(Wire):
    """`planloom/plan/approve`."""

    plan_id: str
    version: Count
    review: Maybe[Review] = None


class RejectParams(Wire):
    """`planloom/plan/reject`."""

    plan_id: str
    reason: Maybe[Text] = None


class WaitParams(Wire):
    """`planloom/plan/wait`."""

    plan_id: str
    until: Literal["ready", "attention", "ended"] = "ended"
    timeout_seconds: Maybe[Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)]] = None


class UndoParams(Wire):
    """`planloom/plan/undo`."""

    plan_id: str
    step_id: Maybe[str] = None
    redo: Bool = False


class ExportParams(Wire):
    """`planloom/plan/export`."""

    plan_id: str
    format: Literal["markdown", "json", "full"]


class ImportParams(Wire):
    """`planloom/plan/import`; `text` is what `planloom/plan/export` gave with the format `full`."""

    text: str


class AdoptParams(Wire):
    """`planloom/plan/adopt`; `text` is a plan as a document, as a `*.plan.md` holds it."""

    text: Text


class FileChoice(Wire):
    """Which text a conflicted file gets."""

    uri: str
    choice: Literal["mine", "theirs", "both", "text"]
    text: Maybe[str] = None
    sha256: Maybe[str] = None


class ResolveConflictParams(Wire):
    """`planloom/conflict/resolve`."""

    plan_id: str
    edit_id: str
    files: Annotated[tuple[FileChoice, ...], Field(min_length=1)]


class SearchMemoryParams(Wire):
    """`planloom/memory/search`. Without words the newest entries; at most `limit` of them, 20 by default."""

    words: Maybe[Text] = None
    limit: Maybe[Annotated[int, Field(strict=True, ge=1, le=200)]] = None


class ForgetMemoryParams(Wire):
    """`planloom/memory/forget`: of one plan, or of all plans of the workspace."""

    plan_id: Maybe[str] = None


class StepParams(Wire):
    """`planloom/step/output`."""

    plan_id: str
    step_id: str


class ConflictTextsParams(Wire):
    """`planloom/conflict/texts`."""

    edit_id: str
    uri: str


class AnswerParams(Wire):
    """`planloom/step/answer`."""

    plan_id: str
    step_id: str
    answer: Text


class RecoverParams(Wire):
    """`planloom/step/recover`."""

    plan_id: str
    step_id: str
    action: RecoveryAction
    args: Maybe[Args] = None


class ProposalEdit(Wire):
    """The text that a file is to get instead of the proposed one.

    `before` is the text of the file with which the user compared it; without it that of `planloom/approval/diff`.
    """

    uri: str
    text: str
    before: Maybe[str] = None


class RespondParams(Wire):
    """`planloom/approval/respond`."""

    approval_id: str
    decision: Literal["allow", "allowForPlan", "deny", "cancel"]
    reason: Maybe[Text] = None
    files: Maybe[tuple[str, ...]] = None
    confinement: Maybe[Confinement] = None
    edits: Maybe[tuple[ProposalEdit, ...]] = None


class PreviewParams(Wire):
    """`planloom/approval/preview`; with `edit` that of the user's text instead of the proposed one."""

    approval_id: str
    uri: str
    edit: Maybe[ProposalEdit] = None


class DiffParams(Wire):
    """`planloom/approval/diff`."""

    approval_id: str
    uri: str


class PlanDiffParams(Wire):
    """`planloom/plan/diff`; `uri` is that of a file of the plan's report, or with `editId` of that edit."""

    plan_id: str
    uri: str
    edit_id: Maybe[str] = None


class CompleteParams(Wire):
    """`planloom/reference/complete`; `offset` counts UTF-16 units."""

    text: Text
    offset: Count
    limit: Maybe[Limit] = None
    context: Maybe[Context] = None


class ResolveParams(Wire):
    """`planloom/reference/resolve`."""

    text: Text
    context: Maybe[Context] = None


class KeepImageParams(Wire):
    """`planloom/attachment/keep`: an image as base64, at most 5,000,000 bytes."""

    data: Annotated[str, Field(max_length=6_700_000)]


class DetectParams(Wire):
    """`planloom/detect`."""

    text: Text


class NamedValue(Wire):
    """A value of a plan that becomes a parameter of its template."""

    name: Annotated[str, Field(min_length=1, max_length=64)]
    value: Annotated[str, Field(min_length=1)]


class SaveTemplateParams(Wire):
    """`planloom/template/save`."""

    plan_id: str
    name: Annotated[str, Field(min_length=1, max_length=200)]
    description: Maybe[str] = None
    parameters: Maybe[tuple[NamedValue, ...]] = None


class TemplateParams(Wire):
    """`planloom/template/delete`."""

    template_id: str


class PreviewTemplateParams(Wire):
    """`planloom/template/preview`: the values that are known so far."""

    template_id: str
    parameters: Maybe[dict[str, str]] = None


class SecretParams(Wire):
    """`planloom/secret/set`; null removes the key. The value is left out of the model's repr and errors."""

    provider: Annotated[str, Field(min_length=1)]
    value: Annotated[str | None, Field(repr=False)]


class UserSettingsParams(Wire):
    """`planloom/settings/user`: values of user scope. Each is validated on its own later, so any JSON is accepted."""

    values: dict[str, JsonValue]


class TrustParams(Wire):
    """`planloom/workspace/trust`."""

    trusted: Bool


class CommandParams(Wire):
    """`workspace/executeCommand`."""

    command: str
    arguments: Maybe[tuple[Any, ...]] = None
