"""Params and results of the requests by which a person decides: answers, approvals, conflicts."""

from typing import Annotated, Literal

from pydantic import Field

from planloom.lsp.wire.base import Bool, Maybe, Text, Wire
from planloom.lsp.wire.plan import Args, RecoveryAction
from planloom.lsp.wire.review import Confinement


class ConflictTextsParams(Wire):
    """`planloom/conflict/texts`."""

    edit_id: str
    uri: str


class AnswerParams(Wire):
    """`planloom/step/answer`."""

    plan_id: str
    step_id: str
    answer: Text


class RecoverParams(Wire):
    """`planloom/step/recover`."""

    plan_id: str
    step_id: str
    action: RecoveryAction
    args: Maybe[Args] = None


class ProposalEdit(Wire):
    """The text that a file is to get instead of the proposed one.

    `before` is the text of the file with which the user compared it; without it that of `planloom/approval/diff`.
    """

    uri: str
    text: str
    before: Maybe[str] = None


class RespondParams(Wire):
    """`planloom/approval/respond`."""

    approval_id: str
    decision: Literal["allow", "allowForPlan", "allowInFolder", "deny", "cancel"]
    reason: Maybe[Text] = None
    files: Maybe[tuple[str, ...]] = None
    confinement: Maybe[Confinement] = None
    edits: Maybe[tuple[ProposalEdit, ...]] = None


class PreviewParams(Wire):
    """`planloom/approval/preview`; with `edit` that of the user's text instead of the proposed one."""

    approval_id: str
    uri: str
    edit: Maybe[ProposalEdit] = None


class DiffParams(Wire):
    """`planloom/approval/diff`."""

    approval_id: str
    uri: str


class PreviewResult(Wire):
    """The text of a file now, and as the change would leave it; null if the file does not exist.

    `overlaps`: the user has changed the same lines, and `proposed` is null.
    """

    uri: str
    now: str | None
    proposed: str | None
    overlaps: Bool


class ConflictTextsResult(Wire):
    """The whole texts of a conflicted file: the common `base`, the user's (`mine`) and the step's (`theirs`).

    The conflict names the hash of `mine`. `both` is their merge with conflict markers around the overlaps.
    """

    uri: str
    base: str
    mine: str
    theirs: str
    both: str


class FileChoice(Wire):
    """Which text a conflicted file gets."""

    uri: str
    choice: Literal["mine", "theirs", "both", "text"]
    text: Maybe[str] = None
    sha256: Maybe[str] = None


class ResolveConflictParams(Wire):
    """`planloom/conflict/resolve`."""

    plan_id: str
    edit_id: str
    files: Annotated[tuple[FileChoice, ...], Field(min_length=1)]
