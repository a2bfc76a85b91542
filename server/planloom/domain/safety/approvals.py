"""Effects of tools, the policy for them, approvals, and the grant that lets a plan write."""

from typing import Final, Literal, NamedTuple

from planloom.domain.changes import ChangeKind
from planloom.domain.problems import Judged
from planloom.domain.safety.confinement_choices import ConfinementRequest
from planloom.domain.values import ApprovalId, PlanId, Sha256, StepId, Uri, Value

Effect = Literal["read", "write", "destroy", "execute", "fetch"]
"""`fetch` sends an address to a host of the web, and brings its text in."""
Verdict = Literal["allow", "ask", "deny"]
ExecuteVerdict = Literal[Verdict, "confined"]
"""`confined` allows what gets no more than the settings give, and asks for the rest."""
PlanCovers = Literal["literal", "none"]
"""The calls that the approval of a plan covers: the literal calls that stand whole in it and only add, or nothing."""
UserDecision = Literal["allow", "allowForPlan", "allowInFolder", "deny", "cancel"]
ALLOWED: Final = ("allow", "allowForPlan", "allowInFolder")
Decision = Literal[UserDecision, "superseded"]


class ApprovalFile(Value):
    """One file that an approval would change; in the resolved paths all links are followed."""

    uri: Uri
    change: ChangeKind
    new_uri: Uri | None = None
    added: int
    removed: int
    resolved_path: str
    new_resolved_path: str | None = None

    @property
    def uris(self) -> tuple[Uri, ...]:
        """The URIs that it affects; a rename affects two."""
        return (self.uri,) if self.new_uri is None else (self.uri, self.new_uri)


class EditedProposal(Value):
    """A file of which the user has approved another text than the proposed one, with the hashes of both."""

    uri: Uri
    proposed_sha256: Sha256
    approved_sha256: Sha256


class PlanChange(Value):
    """The fate of one step when the rest of a running plan changes.

    `before` and `after` describe the step in plain lines, the first with its number; None where it is not in the plan.
    """

    kind: Literal["added", "changed", "dropped", "moved"]
    step_id: StepId
    before: str | None = None
    after: str | None = None


class ListPlace(Value):
    """The place, from 1, of an approval among `size` that are asked together and answered each for itself.

    Only the first is for a call that has started.
    """

    list_id: str
    position: int
    size: int


class Approval(Value):
    """A request for permission; the hash `proposal` binds it to the exact base and result of every file.

    `confinement` is what a command gets, and what the user may choose instead; `rules` are those by which it can be
    allowed for the plan or in its workspace folder. `listed`: it is asked with others.
    With `server`, the command is a call of that MCP server's tool, with `package` of that package's.
    `may_have_run`: a crash has cut the very same off, so that its effect may be there already.
    `url` is an address exactly as it is going to be used, `host` its host and how people write it. With
    `plan_changes` it is about the steps still to come, and has no files. `goes_on`: it is about nothing but whether the
    plan goes on. `judged` is what language servers say of the changes, as advice; None if nobody judges such files.
    """

    approval_id: ApprovalId
    plan_id: PlanId
    step_id: StepId | None = None
    tool: str | None = None
    proposal: Sha256
    effect: Effect
    title: str
    warning: str | None = None
    protected: bool = False
    files: tuple[ApprovalFile, ...] = ()
    command: str | None = None
    cwd: str | None = None
    confinement: ConfinementRequest | None = None
    rules: tuple[str, ...] = ()
    listed: ListPlace | None = None
    server: str | None = None
    package: str | None = None
    url: str | None = None
    host: str | None = None
    plan_changes: tuple[PlanChange, ...] = ()
    goes_on: bool | None = None
    may_have_run: bool | None = None
    judged: Judged | None = None

    @property
    def is_call(self) -> bool:
        """Whether its command is the call of a tool that is not ours."""
        return self.server is not None or self.package is not None

    @property
    def puts_back(self) -> bool:
        """Whether it asks what becomes of what a command has written in protected names: the command is over."""
        return self.tool == "run_command" and self.effect == "write"

    @property
    def only_once(self) -> bool:
        """Whether it cannot be allowed for the rest of the plan."""
        is_held = self.confinement is None or self.confinement.held
        return bool(
            self.protected or self.effect == "destroy" or self.plan_changes or self.goes_on or not is_held
        )


def same_question(one: Approval, other: Approval) -> bool:
    """Whether two approvals ask the very same."""
    return one.model_copy(update={"approval_id": other.approval_id, "listed": other.listed}) == other


class Grant(NamedTuple):
    """Permission to run the writing tools of exactly one version of one plan.

    It comes from the approval of that version or, in direct mode, from the request itself. `covers`: that approval
    permits the effect, too, without a question of its own.
    """

    plan_id: PlanId
    version: int
    source: Literal["approval", "request"]
    covers: bool = False


class Policy(NamedTuple):
    """The user's policy for each effect: allow it, ask first, or deny it."""

    read: Verdict = "allow"
    write: Verdict = "ask"
    destroy: Verdict = "ask"
    execute: ExecuteVerdict = "ask"
    fetch: Verdict = "ask"
    plan: PlanCovers = "literal"

    def verdict(
        self,
        effect: Effect,
        *,
        auto: bool = False,
        covered: bool = False,
        protected: bool = False,
        unseen: bool = False,
        asks_more: bool = False,
    ) -> Verdict:
        """The verdict for one effect: deny wins over ask, and ask over allow.

        `auto` (the review mode) turns only the ask of `write` into allow; `covered` (by the approval of the plan)
        also that of `execute`. A `protected` name is never allowed without asking, nor what `asks_more` where
        `confined` is set, nor is `destroy` in a call that is `unseen`: read from the request by rules and reviewed by
        nobody.
        """
        set_to: ExecuteVerdict = getattr(self, effect)
        verdict: Verdict = ("ask" if asks_more else "allow") if set_to == "confined" else set_to
        covered = covered and self.plan == "literal" and effect in ("write", "execute")
        if verdict == "ask" and (covered or (auto and effect == "write")):
            verdict = "allow"
        if verdict == "allow" and (protected or (unseen and effect == "destroy")):
            verdict = "ask"
        return verdict
