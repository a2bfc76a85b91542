"""Turns what a person looks at beside the steps into what stands on the wire."""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from planloom.domain import approvals, attachments, changes, text
from planloom.domain import perspectives as views
from planloom.lsp import wire_base, wire_review


def range_(given: text.Range) -> wire_base.Range:
    """A range, in the client's units as it came."""
    return wire_base.Range(
        start=wire_base.Position(line=given.start.line, character=given.start.character),
        end=wire_base.Position(line=given.end.line, character=given.end.character),
    )


def attachment(given: attachments.Attachment) -> wire_review.Attachment:
    """Something that a request names."""
    return wire_review.Attachment(
        id=given.attachment_id,
        kind=given.kind,
        reference=given.reference,
        uri=given.uri,
        label=given.label,
        range=given.range and range_(given.range),
        language_id=given.language_id,
        bytes=given.bytes,
        truncated=given.truncated,
        note=given.note,
        secret=given.secret,
        version=given.version,
        sha256=given.sha256,
    )


def unresolved(given: attachments.Unresolved) -> wire_review.Unresolved:
    """A reference that names nothing which may be attached."""
    return wire_review.Unresolved(
        reference=given.reference,
        code=given.code,
        message=given.message,
        candidates=given.candidates or None,
    )


def approval(asked: approvals.Approval) -> wire_review.Approval:
    """A question for permission."""
    return wire_review.Approval(
        approval_id=asked.approval_id,
        plan_id=asked.plan_id,
        step_id=asked.step_id,
        tool=asked.tool,
        proposal=asked.proposal,
        effect=asked.effect,
        title=asked.title,
        warning=asked.warning,
        protected=asked.protected,
        files=tuple(
            wire_review.ApprovalFile(
                uri=file.uri,
                change=file.change,
                new_uri=file.new_uri,
                added=file.added,
                removed=file.removed,
                resolved_path=file.resolved_path,
            )
            for file in asked.files
        ),
        command=asked.command,
        cwd=asked.cwd,
    )


def edited_files(files: Iterable[changes.EditedFile]) -> tuple[wire_review.EditedFile, ...]:
    """The files of an edit, by hash."""
    return tuple(
        wire_review.EditedFile(
            uri=file.uri,
            change=file.change,
            new_uri=file.new_uri,
            before_sha256=file.before_sha256,
            after_sha256=file.after_sha256,
        )
        for file in files
    )


def conflict(met: changes.Conflict) -> wire_review.Conflict:
    """An edit that cannot be merged without asking."""
    return wire_review.Conflict(
        edit_id=met.edit_id,
        step_id=met.step_id,
        files=tuple(
            wire_review.ConflictFile(
                uri=file.uri,
                hunks=tuple(
                    wire_review.ConflictHunk(
                        range=range_(hunk.range), base=hunk.base, mine=hunk.mine, theirs=hunk.theirs
                    )
                    for hunk in file.hunks
                ),
            )
            for file in met.files
        ),
    )


def perspective(
    view: views.Perspective,
) -> wire_review.ChapoPerspective | wire_review.KodaPerspective | wire_review.DevoPerspective:
    """What one agent said of the request."""
    match view:
        case views.ChapoPerspective():
            return wire_review.ChapoPerspective(
                analysis=view.analysis,
                concerns=view.concerns,
                recommendations=view.recommendations,
                estimated_effort=view.estimated_effort,
                dependencies=view.dependencies or None,
                timestamp=view.timestamp,
                strategic_analysis=view.strategic_analysis,
                risk_assessment=view.risk_assessment,
                impact_areas=view.impact_areas,
                coordination_needs=view.coordination_needs,
            )
        case views.KodaPerspective():
            return wire_review.KodaPerspective(
                analysis=view.analysis,
                concerns=view.concerns,
                recommendations=view.recommendations,
                estimated_effort=view.estimated_effort,
                dependencies=view.dependencies or None,
                timestamp=view.timestamp,
                affected_files=view.affected_files,
                code_patterns=view.code_patterns,
                potential_breaking_changes=view.potential_breaking_changes,
                testing_requirements=view.testing_requirements,
            )
        case views.DevoPerspective():
            return wire_review.DevoPerspective(
                analysis=view.analysis,
                concerns=view.concerns,
                recommendations=view.recommendations,
                estimated_effort=view.estimated_effort,
                dependencies=view.dependencies or None,
                timestamp=view.timestamp,
                deployment_impact=view.deployment_impact,
                rollback_strategy=view.rollback_strategy,
                services_affected=view.services_affected,
                infrastructure_changes=view.infrastructure_changes,
            )
        case _:
            assert_never(view)


def perspectives(given: Iterable[views.Perspective]) -> wire_review.Perspectives:
    """What each agent said; of two words of one agent the later counts."""
    told = {view.agent: perspective(view) for view in given}
    return wire_review.Perspectives.model_validate(told)
