"""What clients ask of the application and what it answers, in the words of the domain."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from planloom.domain.attachments import ResolvedAttachment, Unresolved
from planloom.domain.plan import Detection, Plan
from planloom.domain.text import Range
from planloom.domain.values import CallId, PlanId, SessionId, StepId, TemplateId, Uri, Value

Mode = Literal["auto", "plan", "direct", "perspectives"]
Until = Literal["ready", "attention", "ended"]


class RequestContext(Value):
    """Where the user was when asking: the active document and what is selected in it."""

    uri: Uri | None = None
    selections: tuple[Range, ...] = ()


class ExplicitAttachment(Value):
    """Something that the user attached without naming it in the text."""

    uri: Uri
    range: Range | None = None
    label: str | None = None


class CreateRequest(Value):
    """A request as the user typed it; `confirmed` are secret references that may be attached."""

    text: str
    mode: Mode = "auto"
    context: RequestContext | None = None
    attachments: tuple[ExplicitAttachment, ...] = ()
    confirmed: tuple[str, ...] = ()
    session_id: SessionId | None = None
    template_id: TemplateId | None = None
    parameters: Mapping[str, str] = {}


class Created(Value):
    """The plan as it was when it was answered; what becomes of it is told by events."""

    plan: Plan
    detection: Detection
    unresolved: tuple[Unresolved, ...] = ()


class Undone(Value):
    """Which files an undo has taken back, and in which it met what the user has typed since."""

    plan: Plan
    reverted: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()


class ApprovalDiff(Value):
    """One file of an approval, before and after; None stands for no file."""

    uri: Uri
    before: str | None
    after: str | None
    language_id: str | None = None


class Resolution(Value):
    """What the references of a text resolve to."""

    attachments: tuple[ResolvedAttachment, ...] = ()
    unresolved: tuple[Unresolved, ...] = ()


class StreamDelta(Value):
    """More text of something that runs; may be dropped."""

    plan_id: PlanId | None = None
    step_id: StepId | None = None
    call_id: CallId | None = None
    kind: Literal["text", "reasoning", "stdout", "stderr"] = "text"
    delta: str


class Status(Value):
    """How the server is."""

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
