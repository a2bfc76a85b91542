"""What the gate says of what it was asked to let through."""

from __future__ import annotations

from typing import Literal

from planloom.domain.values import Uri, Value


class Committed(Value):
    """The changes are made, or staged for the end of the plan; `denied` are files that a person left out."""

    kind: Literal["committed"] = "committed"
    denied: tuple[Uri, ...] = ()


class Denied(Value):
    """A person, or the policy, does not want it. `cancelled` tells that the whole plan is to end."""

    kind: Literal["denied"] = "denied"
    reason: str
    cancelled: bool = False


class NotMade(Value):
    """The changes were allowed but could not be made."""

    kind: Literal["not_made"] = "not_made"
    reason: str
    code: str | None = None


class Permitted(Value):
    """The command may run."""

    kind: Literal["permitted"] = "permitted"


CommitResult = Committed | Denied | NotMade
