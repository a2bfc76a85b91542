"""The outcomes of one run of a step."""

from __future__ import annotations

from typing import Literal, NamedTuple

from planloom.domain.errors import ModelProblem
from planloom.domain.plans.plan import PauseReason, SkipReason
from planloom.domain.plans.report import StepCaveat
from planloom.domain.values import Json


class Done(NamedTuple):
    """The step succeeded; `value` is what `$step` refers to in later steps' arguments."""

    summary: str
    value: Json = None
    caveat: StepCaveat | None = None
    kind: Literal["done"] = "done"


class Failed(NamedTuple):
    """The step failed; `error` is a sentence for the user."""

    error: str
    code: str | None = None
    kind: Literal["failed"] = "failed"


class CallFailed(NamedTuple):
    """A literal call ran, but its command or a check after it failed.

    `output` is for a model that takes the step over, `failure` the step's outcome without one. `value` is the call's.
    """

    output: str
    failure: Failed
    value: Json = None


class Skipped(NamedTuple):
    """The step is skipped."""

    reason: SkipReason
    detail: str | None = None
    kind: Literal["skipped"] = "skipped"


class Asked(NamedTuple):
    """The step cannot continue without the user's answer."""

    question: str
    options: tuple[str, ...] = ()
    kind: Literal["asked"] = "asked"


class Interrupted(NamedTuple):
    """The step becomes pending again and the plan pauses."""

    reason: PauseReason
    detail: str
    model_problem: ModelProblem | None = None
    kind: Literal["interrupted"] = "interrupted"


class Rerouted(NamedTuple):
    """The run has recorded itself what follows: a cancel, a new draft, or the steps that a loop waits for."""

    kind: Literal["rerouted"] = "rerouted"


Outcome = Done | Failed | Skipped | Asked | Interrupted | Rerouted
