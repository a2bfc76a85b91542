"""Attachments, approvals, conflicts and perspectives on the wire."""

from typing import Annotated, Literal

from pydantic import Field

from planloom.lsp.wire.base import Bool, Int, Maybe, MaybeMany, Range, Text, Time, Wire

Effort = Literal["trivial", "small", "medium", "large"]
ChangeKind = Literal["create", "edit", "delete", "rename", "createFolder"]


class Attachment(Wire):
    """A resolved reference of a request, as it was when the request was resolved."""

    id: str
    kind: Literal[
        "file", "folder", "link", "image", "selection", "diagnostics", "terminal", "changes", "resource"
    ]
    reference: str
    uri: Maybe[str] = None
    label: Maybe[str] = None
    range: Maybe[Range] = None
    language_id: Maybe[str] = None
    bytes: Int
    truncated: Bool
    note: Maybe[str] = None
    secret: Maybe[Bool] = None
    version: Maybe[Int] = None
    sha256: Maybe[str] = None


class Unresolved(Wire):
    """A reference that could not be attached, and why."""

    reference: str
    code: Literal[
        "not_found", "ambiguous", "outside", "secret", "too_large", "binary", "undecodable", "no_context"
    ]
    message: str
    candidates: MaybeMany[str] = None


class EditedProposal(Wire):
    """A file of which the user has approved another text than the proposed one."""

    uri: str
    proposed_sha256: str
    approved_sha256: str


class ApprovalFile(Wire):
    """One file that the proposed change affects."""

    uri: str
    change: ChangeKind
    new_uri: Maybe[str] = None
    added: Int
    removed: Int
    resolved_path: str
    new_resolved_path: Maybe[str] = None


class PlanChange(Wire):
    """A change of a step still to come: plain lines of it before and after, the first with its number in the plan."""

    kind: Literal["added", "changed", "dropped", "moved"]
    step_id: str
    before: Maybe[str] = None
    after: Maybe[str] = None


class Confinement(Wire):
    """In what confinement a command runs; not `confined`, it has all rights. It may change `git` and `writes`."""

    confined: Bool
    network: Literal["none", "loopback", "all"] = "none"
    git: Maybe[str] = None
    writes: MaybeMany[str] = None
    reads: MaybeMany[str] = None


class ConfinementOffer(Confinement):
    """A confinement that may be chosen instead: a label for its button, and a line that says what it means."""

    label: str
    line: str


class ConfinementRequest(Confinement):
    """The rights that a command asks for, and those to choose from. Without `held` the machine cannot enforce them."""

    line: str
    asks_network: Bool
    held: Bool = True
    offers: tuple[ConfinementOffer, ...]


class ListPlace(Wire):
    """The place, from 1, of an approval among those that are asked together; each is answered for itself."""

    list_id: str
    position: Int
    size: Int


class NewProblem(Wire):
    """A problem that a change would bring, at a zero-based line of the text as it would be."""

    uri: str
    line: Int
    severity: Literal["error", "warning"]
    message: str
    source: Maybe[str] = None
    code: Maybe[str] = None


class Judged(Wire):
    """What language servers say of a change before it is made: advice, which allows and forbids nothing.

    `by` names who judged, `total` counts the new problems, of which `problems` are the first, errors before warnings.
    With `unknown`, a sentence, something is not known, or not yet. `headline` says it in a few words.
    """

    by: str
    headline: str
    problems: MaybeMany[NewProblem] = None
    total: Int
    unknown: Maybe[str] = None


class Approval(Wire):
    """What waits for permission. By its `rules`, such as `git add …`, a command can be allowed in plan or folder.

    With `server`, the command is a call of that MCP server's tool, with its arguments; with `package` of the tool of a
    package that the user has enabled. `mayHaveRun`: the very same was cut off by a crash, so only a person says yes.
    """

    approval_id: str
    plan_id: str
    step_id: Maybe[str] = None
    tool: Maybe[str] = None
    proposal: str
    effect: Literal["read", "write", "destroy", "execute", "fetch"]
    title: str
    warning: Maybe[str] = None
    protected: Bool
    files: tuple[ApprovalFile, ...]
    command: Maybe[str] = None
    cwd: Maybe[str] = None
    confinement: Maybe[ConfinementRequest] = None
    rules: MaybeMany[str] = None
    listed: Maybe[ListPlace] = None
    server: Maybe[str] = None
    package: Maybe[str] = None
    url: Maybe[str] = None
    host: Maybe[str] = None
    plan_changes: MaybeMany[PlanChange] = None
    goes_on: Maybe[Bool] = None
    may_have_run: Maybe[Bool] = None
    judged: Maybe[Judged] = None


class EditedFile(Wire):
    """One file of an edit, with the hashes of its texts."""

    uri: str
    change: ChangeKind
    new_uri: Maybe[str] = None
    before_sha256: Maybe[str] = None
    after_sha256: Maybe[str] = None


class ConflictHunk(Wire):
    """One overlap: `base` is the common text, `mine` the user's, `theirs` the step's."""

    range: Range
    base: str
    mine: str
    theirs: str


class ConflictFile(Wire):
    """A file in which the user and a step changed the same lines."""

    uri: str
    hunks: tuple[ConflictHunk, ...]
    sha256: Maybe[str] = None


class Conflict(Wire):
    """An edit that cannot be merged without a decision of the user."""

    edit_id: str
    step_id: str
    files: tuple[ConflictFile, ...]


class _Perspective(Wire):
    analysis: str
    concerns: tuple[str, ...]
    recommendations: tuple[str, ...]
    estimated_effort: Effort
    dependencies: MaybeMany[str] = None
    timestamp: Time


class ChapoPerspective(_Perspective):
    """The perspective of strategy."""

    agent: Literal["chapo"] = "chapo"
    strategic_analysis: str
    risk_assessment: str
    impact_areas: tuple[str, ...]
    coordination_needs: tuple[str, ...]


class KodaPerspective(_Perspective):
    """The perspective of code."""

    agent: Literal["koda"] = "koda"
    affected_files: tuple[str, ...]
    code_patterns: tuple[str, ...]
    potential_breaking_changes: tuple[str, ...]
    testing_requirements: tuple[str, ...]


class DevoPerspective(_Perspective):
    """The perspective of operations."""

    agent: Literal["devo"] = "devo"
    deployment_impact: tuple[str, ...]
    rollback_strategy: str
    services_affected: tuple[str, ...]
    infrastructure_changes: tuple[str, ...]


AnyPerspective = Annotated[ChapoPerspective | KodaPerspective | DevoPerspective, Field(discriminator="agent")]


class Perspectives(Wire):
    """The agents' perspectives on the request."""

    chapo: Maybe[ChapoPerspective] = None
    koda: Maybe[KodaPerspective] = None
    devo: Maybe[DevoPerspective] = None


class Context(Wire):
    """Where the user is: the active document and what is selected in it.

    `terminal` is the text of a terminal that the user has chosen, to which `@terminal` refers.
    """

    uri: Maybe[str] = None
    selections: Maybe[tuple[Range, ...]] = None
    terminal: Maybe[Text] = None


class ExplicitAttachment(Wire):
    """An attachment added in the editor, not by a reference in the text."""

    uri: str
    range: Maybe[Range] = None
    label: Maybe[str] = None


class DiffResult(Wire):
    """The text of a file before and after the change; null if the file does not exist."""

    uri: str
    before: str | None
    after: str | None
    language_id: Maybe[str] = None
