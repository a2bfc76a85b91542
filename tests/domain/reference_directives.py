"""The rule of what is due, written to be obviously right: it examines every step. The schedule must agree with it."""

from __future__ import annotations

from planloom.domain.plans import graph
from planloom.domain.plans.plan import Plan
from planloom.domain.scheduling import directives as do
from planloom.domain.values import StepId


def directives(plan: Plan, limits: do.Limits) -> tuple[do.Directive, ...]:
    """What should be done now."""
    if plan.status == "approved":
        return (do.Begin(),)
    if plan.status not in ("executing", "paused"):
        return ()
    urgent = tuple(do.after_failures(plan, plan.steps, limits))
    if urgent:
        return urgent
    if plan.status == "paused":
        return (do.Resume(),) if do.is_answered(plan) else ()
    return _next_steps(plan, limits)


def _next_steps(plan: Plan, limits: do.Limits) -> tuple[do.Directive, ...]:
    lost = unreachable(plan)
    if lost:
        return tuple(do.Skip(step_id=step_id, reason="dependency_failed") for step_id in lost)
    running = sum(step.status == "running" for step in plan.steps)
    found: list[do.Directive] = []
    for step_id in graph.ready(plan):
        step = plan.step(step_id)
        if step is not None and step.kind == "clarification" and step.begins_at_once:
            found.append(do.AskClarification(step_id=step_id))
        elif running < limits.max_parallel_steps:
            found.append(do.RunStep(step_id=step_id))
            running += 1
    if found or running:
        return tuple(found)
    return do.when_idle(plan)


def unreachable(plan: Plan) -> tuple[StepId, ...]:
    """The unsettled steps that can never run: a dependency failed, was skipped, or is itself unreachable.

    A failed step whose recovery is undecided makes nothing unreachable.
    """
    undecided = {recovery.step_id for recovery in plan.pending.recoveries}
    links = graph.dependency_graph(plan.steps)
    left = [
        index
        for index, step in enumerate(plan.steps)
        if step.status in ("failed", "skipped")
        and not step.frees_dependents
        and step.step_id not in undecided
    ]
    lost: set[int] = set()
    while left:
        for dependent in links.dependents[left.pop()]:
            if dependent not in lost and plan.steps[dependent].status in ("pending", "blocked", "ready"):
                lost.add(dependent)
                left.append(dependent)
    return tuple(plan.steps[index].step_id for index in sorted(lost))
