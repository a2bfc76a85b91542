"""What clients ask of the application and what it answers, in the words of the domain."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from planloom.domain.plans.attachments import Unresolved
from planloom.domain.plans.plan import Detection, Plan
from planloom.domain.values import CallId, PlanId, SessionId, StepId, TemplateId, Uri, Value
from planloom.intake.reference_sources import Context, Requested

Mode = Literal["auto", "plan", "direct", "perspectives"]
Until = Literal["ready", "attention", "ended"]


class CreateRequest(Value):
    """A request as the user typed it; `confirmed` are secret references that may be attached."""

    text: str
    mode: Mode = "auto"
    context: Context | None = None
    attachments: tuple[Requested, ...] = ()
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


class StreamDelta(Value):
    """More text of something that runs; may be dropped."""

    plan_id: PlanId | None = None
    step_id: StepId | None = None
    call_id: CallId | None = None
    kind: Literal["text", "reasoning", "stdout", "stderr"] = "text"
    delta: str


class Health(Value):
    """What is wrong with the server, each problem a sentence that says what to do."""

    problems: tuple[str, ...] = ()

    @property
    def state(self) -> Literal["ok", "degraded"]:
        """The word for it."""
        return "degraded" if self.problems else "ok"


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
