"""Unrolls a sub-plan that is due into the steps of its template, once a person has seen and allowed them."""

from __future__ import annotations

import json
import uuid

from planloom.domain.changes import sha256
from planloom.domain.events import catalog as ev
from planloom.domain.plans.plan import Step
from planloom.domain.plans.revision import plan_changes
from planloom.domain.plans.templates import Template, TemplateRefused
from planloom.domain.plans.unrolling import TemplateOf, filled, same_steps, sub_plan
from planloom.domain.safety.approvals import Approval
from planloom.domain.text.counted import counted
from planloom.domain.values import ApprovalId, TemplateId
from planloom.execution.effects.gate import Gate
from planloom.execution.effects.proposals import Denied
from planloom.execution.nodes.loops import children_of
from planloom.execution.step_outcomes import Done, Failed, Outcome, Rerouted, Skipped
from planloom.execution.step_run import StepRun


async def run_sub_plan(run: StepRun, gate: Gate, template_of: TemplateOf) -> Outcome:
    """Unroll the sub-plan, or end it if its steps have ended: it fails if one of them has."""
    step = run.now
    if step.children:
        children = children_of(run, step)
        lost = [each.description for each in children if each.status == "failed"]
        if lost:
            return Failed(error=f"This failed: {', '.join(lost)}", code="step_failed")
        last = children[-1].result if children else None
        return Done(
            summary=f"{counted(len(children), 'step')} done", value=None if last is None else last.value
        )
    # It was found when the plan was approved, and can have been deleted since.
    template = template_of(step.template_id or TemplateId(""))
    if template is None:
        return Failed(error=f"There is no template {step.template_id!r}.", code="invalid_plan")
    written = filled(step, template)
    if isinstance(written, TemplateRefused):
        wrong = "; ".join(": ".join(filter(None, problem)) for problem in written.problems)
        return Failed(error=f"The template “{template.name}” cannot be applied: {wrong}", code="invalid_plan")
    steps = sub_plan(run.plan, step, written, sequential=template.sequential)
    if not _was_allowed(run, steps):
        verdict = await gate.permit_revision(_approval(run, template, steps))
        if isinstance(verdict, Denied):
            if verdict.cancelled:
                return Rerouted()
            return Skipped(reason="approval_denied", detail=verdict.reason)
    run.record(ev.StepsUnrolled(step_id=step.step_id, steps=steps))
    return Rerouted()


def _was_allowed(run: StepRun, steps: tuple[Step, ...]) -> bool:
    """Whether an earlier round of the same loop had these very steps: they are allowed once for all rounds."""
    loop = None if run.step.parent is None else run.plan.step(run.step.parent)
    for earlier in children_of(run, loop) if loop is not None else ():
        if earlier.kind != "sub_plan" or not earlier.children:
            continue
        if same_steps(children_of(run, earlier), steps):
            return True
    return False


def _approval(run: StepRun, template: Template, steps: tuple[Step, ...]) -> Approval:
    before = tuple(run.plan.steps)
    changes = plan_changes(before, (*before, *steps), ())
    rows = json.dumps([each.model_dump(mode="json") for each in changes])
    return Approval(
        approval_id=ApprovalId(uuid.uuid4().hex),
        plan_id=run.plan_id,
        step_id=run.step_id,
        proposal=sha256(rows),
        effect="write",
        title=f"Run the template “{template.name}” ({counted(len(steps), 'step')})",
        plan_changes=changes,
    )
