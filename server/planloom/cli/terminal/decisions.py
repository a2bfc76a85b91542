"""Who decides: the flags, else the person at the terminal, else `NonInteractive` with the safe answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Literal, NamedTuple, Protocol

from planloom.cli.client.messages import (
    Approval,
    Confinement,
    ConfinementOffer,
    ConfinementRequest,
    Conflict,
    DiffResult,
    Json,
    PlanView,
    Question,
    Recovery,
    Step,
)

ASSUME = "Nobody is there to answer. Take your own best assumption, go on, and say in your summary what you assumed."
"""The answer of `--yes` to a question of the model."""
MOST_ACCEPTED = 3
"""How often `--yes` takes the model's proposals for one step, or answers its questions."""
MOST_RESUMED = 5
"""How often `--yes` lets a plan go on that has reached a limit of its steps."""
_UNCONFINED = "Only a person can let a command run without confinement."
_UNSEEN = "Only a person can keep what a command wrote in protected names."
_SPENT = ("budget.maxRequests", "budget.maxTokens")
"""The settings that limit what a plan may cost; `--yes` does not exceed them."""
ReviewChoice = Literal["execute", "revise", "direct", "edit", "cancel"]
PauseChoice = Literal["resume", "review", "skip", "cancel"]


class Leave(Exception):
    """Whoever decides leaves the plan for later."""


class Flags(NamedTuple):
    """The decisions of the command line; `terminal` says whether a person can be asked."""

    yes: bool = False
    yes_commands: bool = False
    terminal: bool = False


class Reviewed(NamedTuple):
    """The answer to a plan under review; `sentence` is what should change, if it was said at once."""

    choice: ReviewChoice
    sentence: str = ""


class Verdict(NamedTuple):
    """The answer to an approval; `files` limits an allow to these URIs, `confinement` is chosen for a command, `edits`
    are the texts by URI that are allowed in place of the proposed ones.
    """

    decision: Literal["allow", "allowForPlan", "allowInFolder", "deny", "cancel"]
    reason: str | None = None
    files: tuple[str, ...] | None = None
    confinement: Confinement | None = None
    edits: Mapping[str, str] = {}


class RecoveryChoice(NamedTuple):
    """A decision on a failed step."""

    action: str
    args: dict[str, object] | None = None


class Decider(Protocol):
    """Answers what the flags leave open: `person.Terminal` or `NonInteractive`. Each method may raise Leave."""

    async def review(self, view: PlanView, changes: Sequence[Json], /) -> Reviewed:
        """The answer to a plan; `changes` are those since the version that was shown last, if one was."""
        ...

    async def edited(self, text: str, suffix: str, send: Callable[[str], Awaitable[object]], /) -> bool: ...

    async def revision(self) -> str:
        """The changes wanted in the plan under review; empty for none."""
        ...

    async def typed(self) -> str:
        """The next line that is typed while nothing is asked."""
        ...

    async def approval(self, approval: Approval, diffs: Sequence[DiffResult], /) -> Verdict: ...

    async def approvals(self, listed: Sequence[Approval], /) -> Sequence[Verdict] | None:
        """The answers to commands that are asked as a list; None asks for each of them."""
        ...

    async def question(self, question: Question, /) -> str: ...

    async def recovery(self, step: Step, recovery: Recovery, /) -> RecoveryChoice: ...

    async def conflict(self, conflict: Conflict, /) -> dict[str, str] | None:
        """URI → "mine", "theirs" or "both"; None cancels the plan."""
        ...

    async def pause(self, view: PlanView, /) -> PauseChoice:
        """How a plan goes on that is paused."""
        ...

    async def attach_secret(self, reference: str, message: str, /) -> bool: ...


def needs_more_than_yes(approval: Approval) -> bool:
    """Whether an approval needs `--yes-commands`: for commands, fetches, deletes, protected names, new effects."""
    return (
        approval.get("effect") != "write"
        or bool(approval.get("protected"))
        or any(file.get("change") == "delete" for file in approval.get("files") or [])
    )


def _asks_more(confinement: ConfinementRequest) -> bool:
    """Whether a command would get what only a person gives: the network, or what is outside of the workspace."""
    outside = (
        confinement.get("git", "").startswith("/") or confinement.get("writes") or confinement.get("reads")
    )
    return bool(confinement.get("asksNetwork") or outside)


def verdict_by_flags(approval: Approval, flags: Flags) -> Verdict | None:
    """The answer of the flags to an approval; None leaves it to the person at the terminal.

    A command gets no more than the settings and the workspace's git folder: no network that it asks for, nothing
    outside. No flag lets one run without confinement, or keeps what one wrote in protected names, or makes a call again
    that a crash has cut off: nobody knew of that when the flag was given.
    """
    if approval.get("mayHaveRun"):
        return None
    if approval.get("tool") == "run_command" and approval.get("effect") == "write":
        return None if flags.terminal else Verdict("deny", _UNSEEN)
    confinement = approval.get("confinement")
    if confinement is not None and not confinement["confined"]:
        return None if flags.terminal else Verdict("deny", _UNCONFINED)
    if needs_more_than_yes(approval):
        if flags.yes_commands:
            asks = confinement is not None and _asks_more(confinement) and confinement.get("offers")
            return Verdict("allow", confinement=chosen(asks[0]) if asks else None)
        return None if flags.terminal else Verdict("deny", _why_denied(approval))
    if flags.yes:
        return Verdict("allow")
    if flags.terminal:
        return None
    what = _what(approval)
    return Verdict("deny", f"There is no terminal to ask at: --yes allows {what}.")


def _what(approval: Approval) -> str:
    if approval.get("goesOn"):
        return "the plan to go on"
    return "changes of the plan" if approval.get("planChanges") else "writes"


def _why_denied(approval: Approval) -> str:
    match approval.get("effect"):
        case "execute":
            subject = "Commands"
        case "fetch":
            subject = "Web pages"
        case "destroy":
            subject = "Deleting and overwriting"
        case _:
            subject = "Protected names" if approval.get("protected") else "Deletes"
    return f"{subject} need --yes-commands when there is no terminal to ask at."


def chosen(offer: ConfinementOffer) -> Confinement:
    """The confinement of an offer, as an answer names it."""
    found: Confinement = {"confined": offer["confined"], "network": offer.get("network", "none")}
    if offer.get("git"):
        found["git"] = offer["git"]
    if offer.get("writes"):
        found["writes"] = offer["writes"]
    if offer.get("reads"):
        found["reads"] = offer["reads"]
    return found


class NonInteractive:
    """Answers for a run without a terminal: a plan that needs a person is left for later, and nothing is changed.

    With `yes` the model decides where it can: it answers its own questions by assumptions, its proposals for failed
    steps are accepted, and a plan that reached a limit goes on. Each of these has a limit, since no person watches
    the run.
    """

    def __init__(self, *, yes: bool = False) -> None:
        self._yes = yes
        self._accepted: Counter[str] = Counter()
        self._resumed = 0

    def _accepts(self, key: str) -> bool:
        self._accepted[key] += 1
        return self._yes and self._accepted[key] <= MOST_ACCEPTED

    async def review(self, _view: PlanView, _changes: Sequence[Json], /) -> Reviewed:
        raise Leave

    async def edited(self, _text: str, _suffix: str, _send: Callable[[str], Awaitable[object]], /) -> bool:
        raise Leave

    async def revision(self) -> str:
        return ""

    async def typed(self) -> str:
        raise Leave

    async def approval(self, approval: Approval, _diffs: Sequence[DiffResult], /) -> Verdict:
        if approval.get("mayHaveRun"):
            # Whoever comes can look whether its effect is there; a denial would leave the step out for ever.
            raise Leave
        return Verdict("deny", "There is no terminal to ask at.")

    async def approvals(self, _listed: Sequence[Approval], /) -> Sequence[Verdict] | None:
        return None

    async def question(self, question: Question, /) -> str:
        if not self._accepts(f"question {question.get('stepId')}"):
            raise Leave
        return ASSUME

    async def recovery(self, step: Step, recovery: Recovery, /) -> RecoveryChoice:
        is_proposed = recovery.get("proposal") and "accept" in (recovery.get("options") or ())
        if not (is_proposed and self._accepts(f"recovery {step.get('stepId')}")):
            raise Leave
        return RecoveryChoice("accept")

    async def conflict(self, conflict: Conflict, /) -> dict[str, str] | None:
        # Only the plan's text can be produced again, so the text on disk is kept.
        return {file["uri"]: "mine" for file in conflict.get("files") or []}

    async def pause(self, view: PlanView, /) -> PauseChoice:
        plan = view["plan"]
        spent = any(setting in (plan.get("pauseDetail") or "") for setting in _SPENT)
        self._resumed += 1
        if not self._yes or plan.get("pauseReason") != "budget" or spent or self._resumed > MOST_RESUMED:
            raise Leave
        return "resume"

    async def attach_secret(self, _reference: str, _message: str, /) -> bool:
        return False
