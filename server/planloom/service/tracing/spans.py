"""The trace of a plan in the form of OTLP JSON (OpenTelemetry protocol 1.x).

A trace holds a span for the plan, each step that has run and each tool call: names, times, outcomes and token counts,
with the attribute names of OpenTelemetry's conventions for generative AI where there are any. It holds no text of a
request, a file, a command or a model.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

from planloom.domain.events import catalog as ev
from planloom.domain.plans.plan import Plan, Step, Usage
from planloom.domain.values import Instant, Json, PlanId
from planloom.version import VERSION

_INTERNAL = 1
"""The kind of a span that is no request between processes."""
_OK, _ERROR = 1, 2
Span = dict[str, Json]


def document(spans: Iterable[Span]) -> dict[str, Json]:
    """The request of OTLP that exports these spans, of one plan or of several."""
    resource: Json = {"attributes": _attributes({"service.name": "planloom", "service.version": VERSION})}
    scope: Json = {"name": "planloom", "version": VERSION}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": scope, "spans": [*spans]}]}]}


def plan_spans(plan: Plan, ended: Instant, calls: Iterable[Span]) -> tuple[Span, ...]:
    """The spans of an ended plan: its own, those of its steps, and those of its calls, which `call_span` made."""
    return (_plan_span(plan, ended), *_step_spans(plan), *calls)


def _plan_span(plan: Plan, ended: Instant) -> Span:
    failed = plan.error.code if plan.status == "failed" and plan.error is not None else None
    return {
        **_named(plan.plan_id, "plan", None),
        **_timed("plan", plan.created_at or ended, ended, failed),
        "attributes": _attributes(
            {
                "gen_ai.operation.name": "invoke_agent",
                "gen_ai.request.model": ", ".join(use.model for use in plan.models) or None,
                "planloom.plan.id": plan.plan_id,
                "planloom.plan.status": plan.status,
                "planloom.plan.author": plan.author,
                "planloom.plan.route": plan.route,
                "planloom.plan.steps": len(plan.steps),
                **_usage(plan.usage),
            }
        ),
    }


def _step_spans(plan: Plan) -> list[Span]:
    return [
        {
            **_named(plan.plan_id, f"step {step.step_id}", "plan"),
            **_timed(f"step {number}", step.started_at, step.completed_at, _failure(step)),
            "attributes": _attributes(
                {
                    "gen_ai.agent.name": step.agent,
                    "planloom.step.id": step.step_id,
                    "planloom.step.kind": step.kind,
                    "planloom.step.status": step.status,
                    "planloom.step.attempts": step.attempts,
                    **_usage(step.usage or Usage()),
                }
            ),
        }
        for number, step in enumerate(plan.steps, start=1)
        if step.started_at is not None and step.completed_at is not None
    ]


def _failure(step: Step) -> str | None:
    if not step.has_failed:
        return None
    return (step.result.code if step.result is not None else None) or "step_failed"


def call_span(plan: Plan, call: ev.ToolCompleted, began: Instant, ended: Instant) -> Span:
    """The span of a call that has ended."""
    step = plan.step(call.step_id)
    made = (
        next((each for each in step.tools_executed if each.call_id == call.call_id), None) if step else None
    )
    tool = made.tool if made is not None else "unknown"
    return {
        **_named(plan.plan_id, f"call {call.call_id}", f"step {call.step_id}"),
        **_timed(f"execute_tool {tool}", began, ended, None if call.ok else "tool_failed"),
        "attributes": _attributes({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool}),
    }


def _named(plan_id: PlanId, name: str, parent: str | None) -> Span:
    """The ids of a span, which are the same whenever the plan is written."""
    ids: Span = {"traceId": _id(plan_id, "", 32), "spanId": _id(plan_id, name, 16)}
    return ids if parent is None else {**ids, "parentSpanId": _id(plan_id, parent, 16)}


def _id(plan_id: PlanId, name: str, digits: int) -> str:
    return hashlib.sha256(f"{plan_id} {name}".encode()).hexdigest()[:digits]


def _timed(name: str, began: Instant, ended: Instant, error: str | None) -> Span:
    status: Json = {"code": _OK} if error is None else {"code": _ERROR, "message": error}
    return {
        "name": name,
        "kind": _INTERNAL,
        "startTimeUnixNano": _nanoseconds(began),
        "endTimeUnixNano": _nanoseconds(max(began, ended)),
        "status": status,
    }


def _nanoseconds(at: Instant) -> str:
    """A time as OTLP JSON writes it: a whole number in a string."""
    return str(round(at.timestamp() * 1_000_000) * 1_000)


def _attributes(values: Mapping[str, str | int | None]) -> Json:
    """Attributes as OTLP JSON writes them, without those that are None."""
    return [
        {"key": key, "value": {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}}
        for key, value in values.items()
        if value is not None
    ]


def _usage(usage: Usage) -> dict[str, str | int | None]:
    if not usage.requests:
        return {}
    return {
        "planloom.model.requests": usage.requests,
        "gen_ai.usage.input_tokens": usage.prompt_tokens,
        "gen_ai.usage.output_tokens": usage.completion_tokens,
    }
