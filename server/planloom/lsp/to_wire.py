"""Turns plans and steps into what stands on the wire; what is computed from a plan is computed here."""

from __future__ import annotations

from collections.abc import Iterable

from planloom.domain import graph
from planloom.domain import plan as plans
from planloom.domain.templates import Template
from planloom.domain.values import StepId
from planloom.lsp import wire_plan
from planloom.lsp.to_wire_review import approval, attachment, conflict, perspectives


def steps(plan: plans.Plan, chosen: Iterable[plans.Step] | None = None) -> tuple[wire_plan.Step, ...]:
    """The steps of a plan, all or those chosen, with what the plan makes of them."""
    places = {step.step_id: place for place, step in enumerate(plan.steps)}
    shown = graph.shown_statuses(plan)
    blocks = graph.all_blocks(plan.steps)
    return tuple(
        _step(item, place, shown[place], blocks.get(item.step_id, ()))
        if (place := places.get(item.step_id)) is not None
        else _step(item, len(places), item.status, ())
        for item in (plan.steps if chosen is None else chosen)
    )


def step(plan: plans.Plan, one: plans.Step) -> wire_plan.Step:
    """One step of a plan, without looking at the others: a draft tells of each step as it comes."""
    place = plan.place(one.step_id)
    if place is None:
        return _step(one, len(plan.steps), one.status, ())
    return _step(one, place, graph.shown_status(plan, one), graph.blocks(plan, one.step_id))


def _step(
    item: plans.Step, order: int, status: plans.StepStatus, blocks: tuple[StepId, ...]
) -> wire_plan.Step:
    return wire_plan.Step(
        step_id=item.step_id,
        order=order,
        description=item.description,
        instruction=item.instruction,
        active_form=item.active_form,
        kind=item.kind,
        agent=item.agent,
        tool=item.tool,
        args=item.args,
        depends_on=item.depends_on,
        blocks=blocks,
        priority=item.priority,
        critical=item.critical,
        requires_approval=item.requires_approval,
        status=status,
        progress=item.progress,
        attempts=item.attempts,
        result=item.result and result(item.result),
        question=item.question,
        options=item.options or None,
        checks=tuple(check(each) for each in item.checks),
        expected_files=item.expected_files,
        attachments=item.attachments,
        tools_to_execute=tuple(
            wire_plan.ExpectedTool(tool=each.tool, args=each.args) for each in item.tools_to_execute
        )
        or None,
        tools_executed=tuple(_executed(each) for each in item.tools_executed),
        reverted=item.reverted,
        when=item.when,
        for_each=item.for_each,
        created_at=item.created_at,
        started_at=item.started_at,
        completed_at=item.completed_at,
    )


def _executed(call: plans.ExecutedTool) -> wire_plan.ExecutedTool:
    return wire_plan.ExecutedTool(
        tool=call.tool,
        args=call.args,
        ok=call.ok,
        deduplicated=call.deduplicated,
        summary=call.summary,
        duration_ms=call.duration_ms,
    )


def result(ended: plans.StepResult) -> wire_plan.StepResult:
    """What a step ended with."""
    return wire_plan.StepResult(
        ok=ended.ok,
        value=ended.value,
        summary=ended.summary,
        error=ended.error,
        duration_ms=ended.duration_ms,
        timestamp=ended.timestamp,
    )


def check(proof: plans.Check) -> wire_plan.Check:
    """A check, and what came of it."""
    return wire_plan.Check(
        kind=proof.kind,
        path=proof.path,
        text=proof.text,
        command=proof.command,
        outcome=proof.outcome,
        detail=proof.detail,
    )


def plan(whole: plans.Plan) -> wire_plan.Plan:
    """A plan with everything that clients see of it."""
    if whole.created_at is None:
        raise ValueError("a plan without its first event")
    return wire_plan.Plan(
        plan_id=whole.plan_id,
        session_id=whole.session_id,
        version=whole.version,
        seq=whole.seq,
        status=whole.status,
        workspace_folders=whole.workspace_folders,
        request=whole.request,
        attachments=tuple(attachment(each) for each in whole.attachments),
        detection=whole.detection and detection(whole.detection),
        qualification=whole.qualification and qualification(whole.qualification),
        perspectives=perspectives(whole.perspectives),
        summary=whole.summary,
        steps=steps(whole),
        sequential=whole.sequential,
        estimated_duration=whole.estimated_duration,
        overall_risk=whole.overall_risk,
        route=whole.route,
        review=whole.review,
        author=whole.author,
        template_id=whole.template_id,
        execution_summary=whole.execution_summary,
        context_summary=whole.context_summary,
        usage=usage(whole.usage),
        error=whole.error and plan_error(whole.error),
        pending=pending(whole),
        pause_reason=whole.pause_reason,
        pause_detail=whole.pause_detail,
        created_at=whole.created_at,
        approved_at=whole.approved_at,
        rejected_at=whole.rejected_at,
        rejection_reason=whole.rejection_reason,
        completed_at=whole.completed_at,
    )


def pending(whole: plans.Plan) -> wire_plan.Pending:
    """Everything in a plan that waits for a person."""
    waiting = whole.pending
    return wire_plan.Pending(
        approvals=tuple(approval(each) for each in waiting.approvals),
        questions=tuple(
            wire_plan.Question(step_id=each.step_id, question=each.question, options=each.options or None)
            for each in waiting.questions
        ),
        recoveries=tuple(
            wire_plan.Recovery(
                step_id=each.step_id,
                error=each.error,
                code=each.code,
                options=each.options,
                proposal=each.proposal and proposal(whole, each.proposal),
            )
            for each in waiting.recoveries
        ),
        conflicts=tuple(conflict(each) for each in waiting.conflicts),
    )


def proposal(whole: plans.Plan, made: plans.Proposal) -> wire_plan.Proposal:
    """What the model proposes for a failed step."""
    return wire_plan.Proposal(
        action=made.action,
        args=made.args,
        steps=steps(whole, made.steps) if made.steps else None,
        why=made.why,
    )


def detection(found: plans.Detection) -> wire_plan.Detection:
    """Whether a request wants a plan."""
    return wire_plan.Detection(
        planned=found.planned, rule=found.rule, score=found.score, ambiguous=found.ambiguous
    )


def qualification(found: plans.Qualification) -> wire_plan.Qualification:
    """What kind of work a request is."""
    return wire_plan.Qualification(
        task_type=found.task_type,
        complexity=found.complexity,
        risk_level=found.risk_level,
        reasons=found.reasons,
        by=found.by,
    )


def usage(used: plans.Usage) -> wire_plan.Usage:
    """What the model was asked for."""
    return wire_plan.Usage(
        requests=used.requests, prompt_tokens=used.prompt_tokens, completion_tokens=used.completion_tokens
    )


def plan_error(error: plans.PlanError) -> wire_plan.PlanError:
    """Why a plan failed."""
    return wire_plan.PlanError(
        code=error.code, message=error.message, hint=error.hint, raw_text=error.raw_text
    )


def progress(whole: plans.Plan | None) -> wire_plan.Progress:
    """How many steps stand where; of no plan, none."""
    if whole is None:
        return wire_plan.Progress(
            total=0, pending=0, in_progress=0, completed=0, failed=0, skipped=0, percent_complete=0
        )
    counted = plans.progress(whole)
    return wire_plan.Progress(
        total=counted.total,
        pending=counted.pending,
        in_progress=counted.in_progress,
        completed=counted.completed,
        failed=counted.failed,
        skipped=counted.skipped,
        percent_complete=counted.percent_complete,
    )


def summary(whole: plans.Plan) -> wire_plan.PlanSummary:
    """A plan in a list."""
    if whole.created_at is None:
        raise ValueError("a plan without its first event")
    return wire_plan.PlanSummary(
        plan_id=whole.plan_id,
        session_id=whole.session_id,
        version=whole.version,
        seq=whole.seq,
        request=whole.request,
        status=whole.status,
        workspace_folders=whole.workspace_folders,
        created_at=whole.created_at,
        updated_at=whole.updated_at or whole.created_at,
        progress=progress(whole),
    )


def template(kept: Template) -> wire_plan.Template:
    """A plan to be used again; its steps are those of no plan, so nothing has become of them."""
    blocks = graph.all_blocks(kept.steps)
    return wire_plan.Template(
        template_id=kept.template_id,
        name=kept.name,
        description=kept.description,
        parameters=tuple(
            wire_plan.TemplateParameter(name=each.name, description=each.description, default=each.default)
            for each in kept.parameters
        ),
        steps=tuple(
            _step(item, place, item.status, blocks.get(item.step_id, ()))
            for place, item in enumerate(kept.steps)
        ),
        builtin=kept.builtin,
    )
