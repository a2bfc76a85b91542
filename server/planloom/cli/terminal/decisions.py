"""Who decides: flags first, then the person at the terminal, and without either the careful answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, Protocol

from planloom.cli.client.messages import Approval, Conflict, Diff, Question, Recovery, Step

ReviewChoice = Literal["execute", "direct", "edit", "cancel"]


class Flags(NamedTuple):
    """What the person has decided beforehand, and whether there is one to ask."""

    yes: bool = False
    yes_commands: bool = False
    terminal: bool = False


class Verdict(NamedTuple):
    """The answer to an approval; `files` narrows an allow to these URIs."""

    decision: Literal["allow", "allowForPlan", "deny", "cancel"]
    reason: str | None = None
    files: tuple[str, ...] | None = None


class RecoveryChoice(NamedTuple):
    """What to do about a failed step."""

    action: str
    args: dict[str, object] | None = None


class Decider(Protocol):
    """Whoever answers what flags leave open. `terminal.Terminal` is one."""

    async def review(self) -> ReviewChoice: ...

    async def approval(self, approval: Approval, diffs: Sequence[Diff], /) -> Verdict: ...

    async def question(self, question: Question, /) -> str | None:
        """The answer; None cancels the plan."""
        ...

    async def recovery(self, step: Step, recovery: Recovery, /) -> RecoveryChoice: ...

    async def conflict(self, conflict: Conflict, /) -> dict[str, str] | None:
        """For each URI "mine" or "theirs"; None cancels the plan."""
        ...

    async def go_on(self, sentence: str, /) -> bool:
        """Whether to go on with a paused plan."""
        ...

    async def attach_secret(self, reference: str, message: str, /) -> bool: ...


def needs_more_than_yes(approval: Approval) -> bool:
    """Whether `--yes` alone does not cover it: commands, deletes, protected names, and effects not known here."""
    return (
        approval.get("effect") != "write"
        or bool(approval.get("protected"))
        or any(file.get("change") == "delete" for file in approval.get("files") or [])
    )


def verdict_by_flags(approval: Approval, flags: Flags) -> Verdict | None:
    """What the flags say of an approval; None leaves it to the person at the terminal."""
    if needs_more_than_yes(approval):
        if flags.yes_commands:
            return Verdict("allow")
        return None if flags.terminal else Verdict("deny", _why_denied(approval))
    if flags.yes:
        return Verdict("allow")
    return None if flags.terminal else Verdict("deny", "Nobody is there to allow it: --yes allows writes.")


def _why_denied(approval: Approval) -> str:
    match approval.get("effect"):
        case "execute":
            what = "Commands"
        case "destroy":
            what = "Deleting and overwriting"
        case _:
            what = "Protected names" if approval.get("protected") else "Deletes"
    return f"{what} need --yes-commands when nobody is there to ask."


class NonInteractive:
    """Answers for a run without a terminal: what only a person can decide ends the plan, unharmed."""

    async def review(self) -> ReviewChoice:
        return "cancel"

    async def approval(self, _approval: Approval, _diffs: Sequence[Diff], /) -> Verdict:
        return Verdict("deny", "Nobody is there to allow it.")

    async def question(self, _question: Question, /) -> str | None:
        return None

    async def recovery(self, _step: Step, _recovery: Recovery, /) -> RecoveryChoice:
        return RecoveryChoice("abort")

    async def conflict(self, conflict: Conflict, /) -> dict[str, str] | None:
        # The text that the plan did not write is the one that nobody could bring back.
        return {file["uri"]: "mine" for file in conflict.get("files") or []}

    async def go_on(self, _sentence: str, /) -> bool:
        return False

    async def attach_secret(self, _reference: str, _message: str, /) -> bool:
        return False
