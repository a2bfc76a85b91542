"""Types for the JSON of the server's messages, as far as the command line reads them; nothing is validated."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

Json = dict[str, Any]
"""A JSON object as it was received."""


class Detection(TypedDict, total=False):
    planned: bool
    rule: str
    score: int
    ambiguous: bool


class Unresolved(TypedDict, total=False):
    reference: str
    code: str
    message: str
    candidates: list[str]


class Attachment(TypedDict, total=False):
    id: str
    kind: str
    reference: str
    label: str | None
    uri: str | None
    bytes: int
    truncated: bool
    note: str | None


class StepResult(TypedDict, total=False):
    ok: bool
    summary: str | None
    error: str | None
    durationMs: int


class Step(TypedDict, total=False):
    stepId: str
    order: int
    description: str
    instruction: str
    activeForm: str
    kind: Literal["tool_call", "processing", "clarification"]
    agent: str
    tool: str | None
    args: Json | None
    dependsOn: list[str]
    status: str
    requiresApproval: bool
    critical: bool
    result: StepResult | None
    question: str | None


class ApprovalFile(TypedDict, total=False):
    uri: str
    change: Literal["create", "edit", "delete", "rename", "createFolder"]
    newUri: str | None
    added: int
    removed: int
    resolvedPath: str
    newResolvedPath: str | None


class Approval(TypedDict, total=False):
    approvalId: str
    planId: str
    stepId: str | None
    tool: str | None
    effect: Literal["read", "write", "destroy", "execute"]
    title: str
    warning: str | None
    protected: bool
    files: list[ApprovalFile]
    command: str | None
    cwd: str | None


class Diff(TypedDict, total=False):
    uri: str
    before: str | None
    after: str | None
    languageId: str | None


class Question(TypedDict, total=False):
    stepId: str
    question: str
    options: list[str]


class Proposal(TypedDict, total=False):
    action: str
    args: Json | None
    why: str


class Recovery(TypedDict, total=False):
    stepId: str
    error: str
    code: str | None
    options: list[str]
    proposal: Proposal | None


class ConflictHunk(TypedDict, total=False):
    range: Json
    base: str
    mine: str
    theirs: str


class ConflictFile(TypedDict, total=False):
    uri: str
    hunks: list[ConflictHunk]


class Conflict(TypedDict, total=False):
    editId: str
    stepId: str
    files: list[ConflictFile]


class Pending(TypedDict, total=False):
    approvals: list[Approval]
    questions: list[Question]
    recoveries: list[Recovery]
    conflicts: list[Conflict]


class PlanError(TypedDict, total=False):
    code: str
    message: str
    hint: str | None
    rawText: str | None


class Plan(TypedDict, total=False):
    planId: str
    sessionId: str
    version: int
    seq: int
    status: str
    request: str
    summary: str
    steps: list[Step]
    sequential: bool
    overallRisk: str
    route: str
    author: str
    attachments: list[Attachment]
    executionSummary: str | None
    error: PlanError | None
    pending: Pending


ENDED = frozenset({"completed", "failed", "cancelled", "rejected"})
"""The statuses of a plan that has ended."""
