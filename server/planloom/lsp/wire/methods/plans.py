"""Params and results of the requests about plans."""

from datetime import UTC, datetime
from typing import Annotated, Literal

from pydantic import Field

from planloom.lsp.wire.base import Bool, Count, Event, Int, Limit, Maybe, MaybeMany, Text, Time, Wire
from planloom.lsp.wire.edits import StepEdit
from planloom.lsp.wire.plan import (
    Agent,
    Detection,
    MessageOutcome,
    ModelUse,
    Plan,
    PlanStatus,
    PlanSummary,
    Progress,
    Review,
    Spent,
    Step,
    StepStatus,
    Usage,
)
from planloom.lsp.wire.review import Context, ExplicitAttachment, Unresolved

Moment = Annotated[Time, Field(ge=datetime(1970, 1, 1, tzinfo=UTC), lt=datetime(9999, 1, 1, tzinfo=UTC))]
"""A time that can be expressed in every time zone."""


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


class GetViewParams(Wire):
    """The request `planloom/plan/view`."""

    plan_id: str
    all_workspaces: Bool = False


class GetParams(Wire):
    """`planloom/plan/get`."""

    plan_id: Maybe[str] = None
    session_id: Maybe[str] = None
    at_seq: Maybe[Count] = None
    all_workspaces: Bool = False


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
    all_workspaces: Bool = False


class EditParams(Wire):
    """`planloom/plan/edit`. `edits` may be empty where the plan gets another request or summary."""

    plan_id: str
    version: Count
    edits: Annotated[tuple[StepEdit, ...], Field(max_length=10_000)]
    request: Maybe[Text] = None
    summary: Maybe[Text] = None


class RewriteParams(Wire):
    """`planloom/plan/rewrite`; `text` is the document of the plan at `version`, as it was changed."""

    plan_id: str
    version: Count
    text: Text


class RestoreParams(Wire):
    """`planloom/plan/restore`; `to` is the earlier version."""

    plan_id: str
    version: Count
    to: Count


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
    format: Literal["markdown", "json", "full", "document"]
    all_workspaces: Bool = False


class ImportParams(Wire):
    """`planloom/plan/import`; `text` is what `planloom/plan/export` gave with the format `full`."""

    text: str


class AdoptParams(Wire):
    """`planloom/plan/adopt`; `text` is a plan as a document, as a `*.plan.md` holds it."""

    text: Text


class StepParams(Wire):
    """`planloom/step/output`."""

    plan_id: str
    step_id: str


class PlanDiffParams(Wire):
    """`planloom/plan/diff`; `uri` is that of a file of the plan's report, or with `editId` of that edit."""

    plan_id: str
    uri: str
    edit_id: Maybe[str] = None
    all_workspaces: Bool = False


class CreateResult(Wire):
    """The new plan."""

    plan: Plan
    detection: Detection
    unresolved: tuple[Unresolved, ...]


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


class RanTests(Wire):
    """How a test run went, in words. `failures` names the tests that failed, `more` says how many it leaves out."""

    words: str
    good: Bool
    failures: tuple[str, ...]
    more: Maybe[str] = None


class CommandOutput(Wire):
    """What a command has printed, of a long output the beginning and the end; null if that was not stored.

    `command` is as a shell takes it, `cwd` relative to the workspace; without `exitCode` it did not end by itself.
    `tests` is there if it has surely run tests.
    """

    call_id: str
    command: str
    cwd: Maybe[str] = None
    ok: Bool
    exit_code: Maybe[Int] = None
    output: str | None
    tests: Maybe[RanTests] = None


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


class DayStats(Spent):
    """The figures of the plans that were created on a day, as `2030-01-31` in the server's time zone."""

    day: str
    plans: Int
    completed: Int


class StatsResult(Wire):
    """The figures of ended plans. `success` and `undone` are percentages of them, left out if there are none.

    `costs` are those of the models that have a price in `model.prices`, by their names. `days` are those with plans,
    the earliest first. `text` is all of it as Markdown in the user's language.
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
    text: str
