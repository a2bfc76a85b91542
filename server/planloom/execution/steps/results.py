"""How one run of a step can end."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from planloom.domain.plans.plan import PauseReason, SkipReason, Usage
from planloom.domain.values import Json, Value


class Done(Value):
    """The step did what it should; `value` is what later steps can name by `$step`."""

    kind: Literal["done"] = "done"
    summary: str
    value: Json = None
    usage: Usage | None = None


class Failed(Value):
    """The step could not; the sentence is for a person."""

    kind: Literal["failed"] = "failed"
    error: str
    code: str | None = None
    usage: Usage | None = None


class Skipped(Value):
    """The step is left out."""

    kind: Literal["skipped"] = "skipped"
    reason: SkipReason
    detail: str | None = None


class Asked(Value):
    """The step cannot go on without an answer."""

    kind: Literal["asked"] = "asked"
    question: str
    options: tuple[str, ...] = ()
    usage: Usage | None = None


class Interrupted(Value):
    """The step goes back to pending and the plan pauses."""

    kind: Literal["interrupted"] = "interrupted"
    reason: PauseReason
    detail: str
    usage: Usage | None = None


class Rerouted(Value):
    """The run of the step has already put the plan into another state (a cancel, a new draft)."""

    kind: Literal["rerouted"] = "rerouted"


Outcome = Annotated[Done | Failed | Skipped | Asked | Interrupted | Rerouted, Field(discriminator="kind")]
