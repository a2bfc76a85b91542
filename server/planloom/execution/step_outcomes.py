"""The outcomes of one run of a step."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from planloom.domain.errors import ModelProblem
from planloom.domain.plans.plan import PauseReason, SkipReason
from planloom.domain.values import Json, Value


class Done(Value):
    """The step succeeded; `value` is what `$step` refers to in later steps' arguments."""

    kind: Literal["done"] = "done"
    summary: str
    value: Json = None


class Failed(Value):
    """The step failed; `error` is a sentence for the user."""

    kind: Literal["failed"] = "failed"
    error: str
    code: str | None = None


class CallFailed(Value):
    """A literal call ran, but its command or a check after it failed.

    `output` is for a model that takes the step over, `failure` the step's outcome without one. `value` is the call's.
    """

    output: str
    failure: Failed
    value: Json = None


class Skipped(Value):
    """The step is skipped."""

    kind: Literal["skipped"] = "skipped"
    reason: SkipReason
    detail: str | None = None


class Asked(Value):
    """The step cannot continue without the user's answer."""

    kind: Literal["asked"] = "asked"
    question: str
    options: tuple[str, ...] = ()


class Interrupted(Value):
    """The step becomes pending again and the plan pauses."""

    kind: Literal["interrupted"] = "interrupted"
    reason: PauseReason
    detail: str
    model_problem: ModelProblem | None = None


class Rerouted(Value):
    """The run has recorded itself what follows: a cancel, a new draft, or the steps that a loop waits for."""

    kind: Literal["rerouted"] = "rerouted"


Outcome = Annotated[Done | Failed | Skipped | Asked | Interrupted | Rerouted, Field(discriminator="kind")]
