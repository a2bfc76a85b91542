"""The parts of the application that the parts made later are put together from."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from planloom.execution.effects.applied_edits import AppliedEdits
    from planloom.execution.effects.unsaved import UnsavedFileSaver
    from planloom.execution.jobs import Jobs
    from planloom.execution.plan_store import PlanStore
    from planloom.execution.session import Session
    from planloom.execution.step_rules import StepRules
    from planloom.execution.workspace_index import WorkspaceIndex
    from planloom.service.feed import Feed
    from planloom.service.models import Models
    from planloom.service.references import WorkspaceReferences
    from planloom.service.templates import Templates
    from planloom.storage.ledger import Ledger
    from planloom.tools.registry import Registry


class Parts(NamedTuple):
    """The parts that every application has from its start."""

    session: Session
    plan_store: PlanStore
    ledger: Ledger
    jobs: Jobs
    feed: Feed
    models: Models
    tools: Registry
    rules: StepRules
    templates: Templates
    workspace_index: WorkspaceIndex
    references: WorkspaceReferences
    saver: UnsavedFileSaver
    applied_edits: AppliedEdits
