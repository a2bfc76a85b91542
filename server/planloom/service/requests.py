"""The requests and results of the application, in domain types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from planloom.domain.plans.attachments import Unresolved
from planloom.domain.plans.plan import Detection, MessageOutcome, Plan, Review
from planloom.domain.values import CallId, PlanId, SessionId, StepId, TemplateId, Uri, Value
from planloom.intake.reference_sources import Context, Requested
from planloom.intake.routing.qualification import Mode
from planloom.settings import ApprovalSettings

Until = Literal["ready", "attention", "ended"]


class Attached(Value):
    """The attachments of a message: `confirmed` are references to secret files that may be attached."""

    context: Context | None = None
    attachments: tuple[Requested, ...] = ()
    confirmed: tuple[str, ...] = ()


class CreateRequest(Attached):
    """A request as the user typed it, and what it attaches.

    `follows` is the ended plan whose conversation it continues. `source` is a sentence for the plan's log on whose
    words the text are, where they are not the user's.
    """

    text: str
    mode: Mode = "auto"
    session_id: SessionId | None = None
    follows: PlanId | None = None
    template_id: TemplateId | None = None
    parameters: Mapping[str, str] = {}
    source: str | None = None


class CreateResult(NamedTuple):
    """The plan as it was when the request was answered; events report its progress."""

    plan: Plan
    detection: Detection
    unresolved: tuple[Unresolved, ...] = ()


class MessageResult(NamedTuple):
    """The outcome of a message, and the plan that it went to: for `continued`, the new one.

    `waits_for` says what must happen before it is read, if something must; `unresolved` are references in it that
    could not be attached.
    """

    outcome: MessageOutcome
    plan: Plan
    waits_for: str | None = None
    unresolved: tuple[Unresolved, ...] = ()


class UndoResult(NamedTuple):
    """The URIs of the files that an undo has reverted, and of those that conflicted with the user's changes."""

    plan: Plan
    reverted: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()


class FileDiff(NamedTuple):
    """The text of one file before and after a change; None if there is no file."""

    uri: Uri
    before: str | None
    after: str | None
    language_id: str | None = None


class FilePreview(NamedTuple):
    """The text of one file `now`, and as a pending change would leave it; None if there is no file.

    `overlaps`: the user has changed the same lines, so that no text can be given.
    """

    uri: Uri
    now: str | None
    proposed: str | None
    overlaps: bool = False


class ConflictTexts(NamedTuple):
    """The whole texts of one conflicted file: `base` from which both sides came, the user's as the conflict showed it,
    the step's, and `both` with the overlaps between conflict markers.
    """

    uri: Uri
    base: str
    mine: str
    theirs: str
    both: str


class StreamDelta(NamedTuple):
    """Streamed text of a model or a command. Clients may miss some."""

    delta: str
    plan_id: PlanId | None = None
    step_id: StepId | None = None
    call_id: CallId | None = None
    kind: Literal["text", "reasoning", "stdout", "stderr"] = "text"


class Health(NamedTuple):
    """The server's problems, each as sentences that also say what to do."""

    problems: tuple[str, ...] = ()

    @property
    def state(self) -> Literal["ok", "degraded"]:
        """`degraded` if there is a problem."""
        return "degraded" if self.problems else "ok"


class Status(NamedTuple):
    """The state of the server, and what it works with."""

    version: str
    session_id: SessionId
    model_provider: str
    model_name: str
    model_reason: str
    workspace_folders: tuple[Uri, ...]
    trusted: bool
    active: tuple[PlanId, ...]
    resumable: tuple[PlanId, ...]
    health: Literal["ok", "degraded"]
    problems: tuple[str, ...]
    log_path: str
    storage_path: str
    storage_note: str | None = None
    approvals: ApprovalSettings = ApprovalSettings()
    review: Review = "each"
