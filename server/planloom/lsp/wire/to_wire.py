"""Builds the wire models of plans, steps and templates from the domain's values, with the computed fields."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence

from planloom.domain.plans import graph
from planloom.domain.plans import plan as plans
from planloom.domain.plans.covered_calls import asks_again
from planloom.domain.plans.templates import Template
from planloom.domain.values import PlanId, StepId
from planloom.execution.resources import StepWait
from planloom.lsp.wire import plan as wire
from planloom.lsp.wire.methods import editor
from planloom.lsp.wire.methods.plans import CommandOutput, RanTests
from planloom.service.running.resource_claims import described
from planloom.tools.tool import NO_OUTPUT
from planloom.view.step.commands import ran_tests
from planloom.view.words import Words


def plan(whole: plans.Plan, instead: tuple[wire.Step, ...] | None = None) -> wire.Plan:
    """The wire model of a plan, with other steps `instead` of its own if they are given."""
    return wire.Plan.of(
        whole,
        perspectives={view.agent: view for view in whole.perspectives},
        commands_run=tuple(each.line for each in whole.commands_run),
        steps=steps(whole) if instead is None else instead,
        pending=_pending(whole),
        asks_again=asks_again(whole) if whole.status == "pending_approval" else None,
    )


def progress(whole: plans.Plan | None) -> wire.Progress:
    """The number of steps by status; without a plan all counts are zero."""
    return wire.Progress.of(plans.progress(whole) if whole is not None else plans.Progress())


def steps(whole: plans.Plan, chosen: Iterable[plans.Step] | None = None) -> tuple[wire.Step, ...]:
    """All steps of a plan, or those in `chosen`, with their order, the steps they block, and the shown status."""
    indices = {step.step_id: index for index, step in enumerate(whole.steps)}
    shown = graph.shown_statuses(whole)
    blocks = graph.all_blocks(whole.steps)
    return tuple(
        shown_step(item, index, shown[index], blocks.get(item.step_id, ()))
        if (index := indices.get(item.step_id)) is not None
        else shown_step(item, len(indices), item.status, ())
        for item in (whole.steps if chosen is None else chosen)
    )


def step(whole: plans.Plan, one: plans.Step) -> wire.Step:
    """One step of a plan, in constant time."""
    index = whole.index_of(one.step_id)
    if index is None:
        return shown_step(one, len(whole.steps), one.status, ())
    return shown_step(one, index, graph.shown_status(whole, one), graph.blocks(whole, one.step_id))


def recovery_proposal(whole: plans.Plan, proposal: plans.RecoveryProposal) -> wire.Proposal:
    """The proposal for a failed step of this plan."""
    return wire.Proposal.of(proposal, steps=steps(whole, proposal.steps))


def command_output(call: plans.ExecutedTool, t: Words) -> CommandOutput:
    """The output of a command. The first line of what is stored says how it ended, which is a field here."""
    command, cwd = call.args.get("command"), call.args.get("cwd")
    output = None if call.output is None else call.output.partition("\n")[2]
    return CommandOutput(
        call_id=call.call_id,
        command=shlex.join(map(str, command)) if isinstance(command, list) else str(command),
        cwd=cwd if isinstance(cwd, str) else None,
        ok=call.ok,
        exit_code=None if call.outcome is None else call.outcome.exit_code,
        output="" if output == NO_OUTPUT else output,
        tests=None if (found := ran_tests(output or "", t)) is None else RanTests.of(found),
    )


def waits(plan_id: PlanId, found: Iterable[StepWait]) -> editor.WaitsParams:
    """The steps of a plan that wait for what another step uses."""
    return editor.WaitsParams(plan_id=plan_id, waits=tuple(_wait(each) for each in found))


def _wait(wait: StepWait) -> editor.StepWait:
    kind, path = described(wait.resource)
    return editor.StepWait(
        step_id=wait.step_id,
        resource=kind,
        path=path,
        used_by_plan=wait.used_by_plan,
        used_by_step=wait.used_by_step,
    )


def template(saved: Template) -> wire.Template:
    """A template with its steps."""
    return wire.Template.of(saved, steps=template_steps(saved.steps))


def template_steps(whole: Sequence[plans.Step]) -> tuple[wire.Step, ...]:
    """Steps that belong to no plan, so that their statuses are not computed."""
    blocks = graph.all_blocks(whole)
    return tuple(
        shown_step(item, index, item.status, blocks.get(item.step_id, ())) for index, item in enumerate(whole)
    )


def shown_step(
    item: plans.Step, order: int, status: plans.StepStatus, blocks: tuple[StepId, ...]
) -> wire.Step:
    """A step with its place, its computed status and the steps that wait for it."""
    titles = {"description": item.title, "active_form": item.active_title}
    if item.instruction == item.description:
        titles["instruction"] = item.title
    return wire.Step.of(item, order=order, status=status, blocks=blocks, **titles)


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
