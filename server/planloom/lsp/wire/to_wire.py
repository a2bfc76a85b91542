"""Builds what clients see of a plan: the wire's values from the domain's, and what is computed from the plan."""

from __future__ import annotations

from collections.abc import Iterable

from planloom.domain.plans import graph
from planloom.domain.plans import plan as plans
from planloom.domain.plans.templates import Template
from planloom.domain.values import StepId
from planloom.lsp.wire import plan as wire


def plan(whole: plans.Plan) -> wire.Plan:
    """A plan with everything that clients see of it."""
    return wire.Plan.of(
        whole,
        perspectives={view.agent: view for view in whole.perspectives},
        steps=steps(whole),
        pending=_pending(whole),
    )


def progress(whole: plans.Plan | None) -> wire.Progress:
    """How many steps have each status; all counts are zero without a plan."""
    return wire.Progress.of(plans.progress(whole) if whole is not None else plans.Progress())


def steps(whole: plans.Plan, chosen: Iterable[plans.Step] | None = None) -> tuple[wire.Step, ...]:
    """The steps of a plan, all or those chosen, with order, blocked steps and the statuses blocked and ready."""
    places = {step.step_id: index for index, step in enumerate(whole.steps)}
    shown = graph.shown_statuses(whole)
    blocks = graph.all_blocks(whole.steps)
    return tuple(
        _step(item, index, shown[index], blocks.get(item.step_id, ()))
        if (index := places.get(item.step_id)) is not None
        else _step(item, len(places), item.status, ())
        for item in (whole.steps if chosen is None else chosen)
    )


def step(whole: plans.Plan, one: plans.Step) -> wire.Step:
    """One step of a plan, in time that does not grow with the number of steps."""
    index = whole.index_of(one.step_id)
    if index is None:
        return _step(one, len(whole.steps), one.status, ())
    return _step(one, index, graph.shown_status(whole, one), graph.blocks(whole, one.step_id))


def recovery_proposal(whole: plans.Plan, made: plans.RecoveryProposal) -> wire.Proposal:
    """What the model proposes for a failed step of this plan."""
    return wire.Proposal.of(made, steps=steps(whole, made.steps))


def template(kept: Template) -> wire.Template:
    """A plan to be used again; its steps belong to no plan, so their statuses are as they were written."""
    blocks = graph.all_blocks(kept.steps)
    return wire.Template.of(
        kept,
        steps=tuple(
            _step(item, index, item.status, blocks.get(item.step_id, ()))
            for index, item in enumerate(kept.steps)
        ),
    )


def _step(item: plans.Step, order: int, status: plans.StepStatus, blocks: tuple[StepId, ...]) -> wire.Step:
    return wire.Step.of(item, order=order, status=status, blocks=blocks)


def _pending(whole: plans.Plan) -> wire.Pending:
    return wire.Pending.of(
        whole.pending,
        recoveries=tuple(
            wire.Recovery.of(
                waiting, proposal=waiting.proposal and recovery_proposal(whole, waiting.proposal)
            )
            for waiting in whole.pending.recoveries
        ),
    )
