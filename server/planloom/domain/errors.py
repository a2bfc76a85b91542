"""Every failure that a client may see.

PlanloomError
├── InvalidParams          a field of a request is missing or off
├── UnknownThing           no such plan, step, approval, template or edit
├── WrongState             the status does not allow it
│   └── StaleVersion       the plan has changed since
├── InvalidPlan            a cycle, an unknown tool, bad arguments …
├── OwnedElsewhere         another server runs this plan
├── LimitExceeded          a finite limit was met
├── StorageFailed          the ledger cannot take it
│   └── PlanUnreadable     what the ledger holds of one plan cannot be read
├── ModelFailed            the model cannot be had, refused, or wrote nothing usable
├── ReferenceUnresolved    no reference of the request resolved
├── WorkspaceRequired      no folder is open
├── UntrustedWorkspace     edits are refused until the folder is trusted
├── PathDenied             a path outside the workspace, or one that is never touched
├── BudgetExhausted        a cap on requests, tokens or minutes was reached
└── ContextOverflow        the prompt cannot fit even when compacted
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from planloom.domain.values import Json, PlanId

DEFECT = "Something inside Planloom broke; the log has the trace."
"""What is said of a failure that nobody foresaw."""


class PlanloomError(Exception):
    """A failure with a code for programs and a sentence that a user can act on."""

    code = "internal"

    def __init__(self, message: str, *, hint: str | None = None, details: Json = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.details = details


class InvalidParams(PlanloomError):
    """`details` lists `{field, problem}`."""

    code = "invalid_params"


class UnknownThing(PlanloomError):
    """No plan, step, approval, template or edit has this id."""

    def __init__(self, kind: Literal["plan", "step", "approval", "template", "edit"], ident: str) -> None:
        super().__init__(f"There is no {kind} {ident!r}.")
        self.code = f"unknown_{kind}"


class WrongState(PlanloomError):
    """The plan's or step's status does not allow what was asked."""

    code = "wrong_state"

    def __init__(self, message: str, *, status: str, allowed: Sequence[str] = (), **more: Json) -> None:
        super().__init__(message, details={"status": status, "allowed": list(allowed), **more})


class StaleVersion(PlanloomError):
    """The plan has moved on since the version that the request names."""

    code = "stale_version"

    def __init__(self, version: int, **more: Json) -> None:
        super().__init__(
            f"The plan has changed since: it is at version {version} now. Look at it again.",
            details={"version": version, **more},
        )


class InvalidPlan(PlanloomError):
    """`details` lists `{stepId, field, problem}`."""

    code = "invalid_plan"

    def __init__(self, message: str, problems: Sequence[Mapping[str, str]]) -> None:
        super().__init__(message, details=[dict(problem) for problem in problems])


class OwnedElsewhere(PlanloomError):
    """Another server process runs this plan."""

    code = "owned_elsewhere"


class LimitExceeded(PlanloomError):
    """A finite limit was met; `details` holds the limit's name and its value."""

    code = "limit_exceeded"


class StorageFailed(PlanloomError):
    """The ledger cannot take an event."""

    code = "storage_failed"


class PlanUnreadable(StorageFailed):
    """One plan's events cannot be read. That plan is set aside; other plans are unaffected."""

    def __init__(self, plan_id: PlanId, why: str) -> None:
        super().__init__(
            f"The plan {plan_id} cannot be read: {why}. It is set aside as it is: nothing is written to it, and its"
            " files are left alone.",
            hint="planloom/plan/export gives what the ledger holds of it, as text.",
            details={"planId": plan_id},
        )
        self.plan_id = plan_id


class ModelFailed(PlanloomError):
    """The model cannot be had, refused to answer, or wrote nothing usable."""

    def __init__(
        self,
        code: Literal["model_unavailable", "model_refused", "model_output_invalid"],
        message: str,
        *,
        hint: str | None = None,
        raw_text: str | None = None,
    ) -> None:
        super().__init__(message, hint=hint)
        self.code = code
        self.raw_text = raw_text


class ReferenceUnresolved(PlanloomError):
    """Every reference of the request failed to resolve."""

    code = "reference_unresolved"


class WorkspaceRequired(PlanloomError):
    """No folder is open."""

    code = "workspace_required"


class UntrustedWorkspace(PlanloomError):
    """The folder is not trusted: it is read-only."""

    code = "untrusted_workspace"


class PathDenied(PlanloomError):
    """The path is outside the workspace, or is one that Planloom never touches."""

    code = "path_denied"


class BudgetExhausted(PlanloomError):
    """A cap on requests, tokens or minutes was reached."""

    code = "budget_exhausted"


class ContextOverflow(PlanloomError):
    """The prompt cannot fit the model's context, even when compacted."""

    code = "context_overflow"
