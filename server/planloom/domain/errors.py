"""Every failure that a client may see.

PlanloomError
├── InvalidParams          a field of a request is missing or invalid
├── UnknownThing           no such plan, step, approval, template or edit
│   └── PlanElsewhere      the plan belongs to another workspace
├── WrongState             the status of the plan or step does not allow the action
│   ├── FilesRefused       the files, or the editor, did not take the edits of an undo
│   └── StaleVersion       the plan has changed since the version named in the request
├── InvalidPlan            a cycle, an unknown tool, bad arguments …
├── OwnedElsewhere         another server runs this plan
├── LimitExceeded          a fixed limit was reached
├── StorageFailed          the ledger cannot store an event
│   └── PlanUnreadable     the stored events of one plan cannot be read
├── ModelFailed            the model is unavailable, refused, or wrote nothing usable
│   └── ContextOverflow    the prompt cannot fit even when compacted
├── PlannerFailed          the planner of a package is not there, has failed, or wrote a plan with errors
├── ReferenceUnresolved    no reference of the request resolved
├── WorkspaceRequired      no folder is open
├── UntrustedWorkspace     edits are refused until the folder is trusted
├── PathDenied             a path outside the workspace, or one that is never accessed
└── BudgetExhausted        a cap on requests, tokens or minutes was reached
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from planloom.domain.values import Json, PlanId, Value

DEFECT = "Something inside Planloom broke; the log has the trace."
"""The message for an unexpected exception."""


ModelCause = Literal[
    "none",
    "unreachable",
    "unknown_host",
    "proxy",
    "slow",
    "key_missing",
    "key_refused",
    "forbidden",
    "payment",
    "model_missing",
    "no_models",
    "model_not_chosen",
    "wrong_address",
    "certificate",
    "busy",
    "server_failed",
]
"""Why a model cannot be used: none is set up; its server cannot be reached, has a name that leads to no address, is
behind a proxy that does not let it be reached, or is too slow; there is no key, or it was refused (401); the key may
not do this (403); the account is out of credit; the server lacks the model, has none at all, or has several; nothing
at the address is a model server; its certificate is not trusted; it takes no more requests now (429); it failed."""


class ModelProblem(Value):
    """The reason why a model cannot be used, for programs.

    `provider`, `address` (scheme, host and port) and `model` are those that were asked, "" if there are none. `said` is
    what the server answered, "" if nothing; `wait_seconds` is how long it wants to be left alone.
    """

    cause: ModelCause
    provider: str = ""
    address: str = ""
    model: str = ""
    said: str = ""
    wait_seconds: int | None = None


class PlanloomError(Exception):
    """An expected failure: `code` is for programs, `message` and `hint` are for the user."""

    code = "internal"

    def __init__(self, message: str, *, hint: str | None = None, details: Json = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.details = details


class InvalidParams(PlanloomError):
    """A field of a request is missing or invalid; `details` lists `{field, problem}`."""

    code = "invalid_params"


class UnknownThing(PlanloomError):
    """No plan, step, approval, template or edit has this id."""

    def __init__(self, kind: Literal["plan", "step", "approval", "template", "edit"], ident: str) -> None:
        super().__init__(f"There is no {kind} {ident!r}.")
        self.code = f"unknown_{kind}"


class PlanElsewhere(UnknownThing):
    """The plan belongs to a workspace with other folders, which are named as a person knows them."""

    code = "unknown_plan"

    def __init__(self, plan_id: PlanId, folders: Sequence[str]) -> None:
        super().__init__("plan", plan_id)
        self.message = f"This plan works in {', '.join(folders) or 'no folder'}."
        self.hint = "Open that folder, or name it with --workspace on the command line."


class WrongState(PlanloomError):
    """The status of the plan or step does not allow the action."""

    code = "wrong_state"

    def __init__(self, message: str, *, status: str, allowed: Sequence[str] = (), **more: Json) -> None:
        super().__init__(message, details={"status": status, "allowed": list(allowed), **more})


class FilesRefused(WrongState):
    """The files, or the editor, did not take the edits of an undo. The message is the reason, a sentence."""


class StaleVersion(PlanloomError):
    """The plan has changed since the version that the request names."""

    code = "stale_version"

    def __init__(self, version: int, **more: Json) -> None:
        super().__init__(
            f"The plan has changed since: it is at version {version} now. Look at it again.",
            details={"version": version, **more},
        )


class InvalidPlan(PlanloomError):
    """The steps are invalid; `details` lists `{stepId, field, problem}`."""

    code = "invalid_plan"

    def __init__(self, message: str, problems: Sequence[Mapping[str, str]]) -> None:
        super().__init__(message, details=[dict(problem) for problem in problems])


class OwnedElsewhere(PlanloomError):
    """Another server process runs this plan."""

    code = "owned_elsewhere"


class LimitExceeded(PlanloomError):
    """A fixed limit was reached; `details` holds its name and value."""

    code = "limit_exceeded"


class StorageFailed(PlanloomError):
    """The ledger cannot store an event."""

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
    """The model is unavailable, refused to answer, or wrote nothing usable; `problem` is why it is unavailable."""

    def __init__(
        self,
        code: Literal["model_unavailable", "model_refused", "model_output_invalid", "context_overflow"],
        message: str,
        *,
        hint: str | None = None,
        raw_text: str | None = None,
        problem: ModelProblem | None = None,
    ) -> None:
        super().__init__(message, hint=hint)
        self.code = code
        self.raw_text = raw_text
        self.problem = problem


class ContextOverflow(ModelFailed):
    """The prompt cannot fit the model's context, even when compacted."""

    code = "context_overflow"

    def __init__(self, message: str, *, hint: str | None = None, details: Json = None) -> None:
        super().__init__("context_overflow", message, hint=hint)
        self.details = details

    @property
    def context_tokens(self) -> int | None:
        """The size of the context, if the model's server named it."""
        limit = self.details.get("contextTokens") if isinstance(self.details, dict) else None
        return limit if isinstance(limit, int) else None


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
    """The path is outside the workspace, or is one that Planloom never accesses."""

    code = "path_denied"


class PlannerFailed(PlanloomError):
    """The planner of a package that the settings name is not there, has failed, or wrote a plan with errors."""

    code = "planner_failed"


class BudgetExhausted(PlanloomError):
    """A cap on requests, tokens or minutes was reached."""

    code = "budget_exhausted"
