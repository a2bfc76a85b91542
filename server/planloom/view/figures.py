"""Figures and names of a plan in words: its risk, its task, its estimates, what it has used of models."""

from __future__ import annotations

from typing import NamedTuple

from planloom.domain.plans.agents import Agent
from planloom.domain.plans.outcome import Spent
from planloom.domain.plans.plan import DetectionRule, PauseReason, Plan, Usage
from planloom.view.words import Words


def agent_name(agent: Agent, t: Words) -> str:
    """The name of an agent; the wire has another."""
    return {"chapo": t("Strategy"), "koda": t("Code"), "devo": t("Operations")}[agent]


def risk(plan: Plan, t: Words) -> str:
    """The risk of a plan."""
    return {"low": t("low risk"), "medium": t("medium risk"), "high": t("high risk")}[plan.overall_risk]


def task(plan: Plan, t: Words) -> str | None:
    """The kind and size of a request's task; None of a question."""
    found = plan.qualification
    if found is None or found.task_type == "question":
        return None
    kinds = {"code": t("code"), "devops": t("operations"), "mixed": t("code and operations")}
    sizes = {
        "trivial": t("very small"),
        "simple": t("small"),
        "moderate": t("medium-sized"),
        "complex": t("large"),
    }
    return f"{kinds[found.task_type]} · {sizes[found.complexity]}"


def verdict(plan: Plan, t: Words) -> str | None:
    """Why a request is planned or runs at once, while it is drafted."""
    found = plan.detection
    if found is None or plan.status != "draft":
        return None
    reason = rule_words(found.rule, t)
    return t("Planned: {0}", reason) if found.planned else t("Direct: {0}", reason)


def rule_words(rule: DetectionRule, t: Words) -> str:
    """Why a request needs a plan or none, in a few words."""
    match rule:
        case "question":
            return t("a question")
        case "numbered_list":
            return t("a numbered list")
        case "verb_and_scope":
            return t("something to build or change")
        case "multiple_tasks":
            return t("several tasks")
        case "long_request":
            return t("a long request")
        case "none":
            return t("one small task")
        case "disabled":
            return t("planning is off")
        case "model":
            return t("judged by the model")
        case "qualification":
            return t("judged by risk and complexity")
        case "unsure":
            return t("maybe more than one small task")


def pause(plan: Plan, t: Words) -> str | None:
    """Why a plan is paused; None if it is not, or for its model, whose problem is shown with what mends it."""
    reason = plan.pause_reason
    if plan.status != "paused" or reason is None or reason == "model_unavailable":
        return None
    detail = plan.pause_detail or ""
    # That sentence names the files and what to do.
    words = "" if reason == "unsaved_files" and detail else pause_words(reason, t)
    return f"{words} {detail}".strip()


def pause_words(reason: PauseReason, t: Words) -> str:
    """Why a plan is paused, without what is particular to it."""
    match reason:
        case "user":
            return t("Paused by you.")
        case "clarification":
            return t("A step has a question for you.")
        case "recovery":
            return t("A step failed; choose how to continue.")
        case "conflict":
            return t("Your typing and an edit overlap; choose which stays.")
        case "budget":
            return t("The plan's budget is used up. Resume grants the same amount again.")
        case "model_unavailable":
            return t("The model cannot be reached. Resume tries again.")
        case "unsaved_files":
            return t("A command needs files on disk that have unsaved changes. Save them, or resume.")
        case "restart":
            return t("The server was restarted. Nothing runs until you resume.")
        case "error":
            return t("The plan could not continue.")
        case "storage":
            return t(
                "The plan ledger could not be written, so the plan was stopped. Nothing runs until you resume."
            )


def confidence(plan: Plan, t: Words) -> str | None:
    """How sure the model is of its answer."""
    if plan.confidence is None:
        return None
    words = {"low": t("low confidence"), "medium": t("medium confidence"), "high": t("high confidence")}
    return words[plan.confidence]


def estimate(plan: Plan, t: Words) -> str | None:
    """How long a plan will take, before it has started."""
    if plan.estimated_duration is None or plan.status not in ("pending_approval", "rejected"):
        return None
    return f"≈ {t.duration(plan.estimated_duration * 1000)}"


def estimates(plan: Plan, t: Words) -> tuple[str, ...]:
    """The estimates of a plan's duration and cost, one line each: computed, the model's word, earlier plans."""
    if plan.estimated_duration is None:
        return ()
    lines = [t("Estimated duration: {0}", t.duration(plan.estimated_duration * 1000))]
    if plan.stated_duration is not None:
        lines.append(t("The model says: {0}", t.duration(plan.stated_duration * 1000)))
    found = plan.forecast
    if found is not None:
        usage = Usage(
            requests=found.requests,
            prompt_tokens=found.prompt_tokens,
            completion_tokens=found.completion_tokens,
        )
        lines.append(
            t.plural(
                found.plans,
                "Your earlier plan with this model: {1}, {2}",
                "Your {0} earlier plans with this model: {1}, {2}",
                t.duration(found.seconds * 1000),
                usage_words(usage, t),
            )
        )
        if found.cost is not None:
            lines.append(t("At your prices: {0}", t.money(found.cost)))
    return tuple(lines)


def usage_words(usage: Usage, t: Words) -> str:
    """The tokens and requests of a plan or a step; empty before the first."""
    if not usage.requests and not _tokens(usage):
        return ""
    requests = t.plural(usage.requests, "1 request", "{0} requests")
    return f"{t('{0} tokens', t.amount(_tokens(usage)))} · {requests}"


def used(plan: Plan, spent: Spent, t: Words) -> str:
    """`gpt · 13.2k tokens · 3 requests · 0.0231`; empty before the first request."""
    names = [use.model.partition("/")[2] or use.model for use in spent.models]
    name = t("{0} models", len(names)) if len(names) > 1 else "".join(names)
    cost = t.money(sum(spent.costs.values())) if spent.costs else ""
    return " · ".join(filter(None, (name, usage_words(plan.usage, t), cost)))


class Context(NamedTuple):
    """How full the model's context was in the last request, in percent and in words."""

    percent: int
    words: str


def context(plan: Plan, spent: Spent, t: Words) -> Context | None:
    """How full the model's context was in the last request; None if its size is not known."""
    last, most = plan.last_request, spent.context_tokens
    if last is None or not most:
        return None
    filled = min(_tokens(last), most)
    percent = round(100 * filled / most)
    words = t("{0} % of the model's {1} tokens", percent, t.amount(most))
    return Context(percent, words)


def used_lines(plan: Plan, spent: Spent, t: Words) -> tuple[str, ...]:
    """Lines that `used` leaves out: tokens read, written and cached, the cost, and of several models each."""
    if not plan.usage.requests:
        return ()
    usage = plan.usage
    read, written = t.amount(usage.prompt_tokens), t.amount(usage.completion_tokens)
    tokens = (
        t("{0} tokens read ({1} from the cache), {2} written", read, t.amount(usage.cached_tokens), written)
        if usage.cached_tokens
        else t("{0} tokens read, {1} written", read, written)
    )
    lines = [t("Tokens and model requests so far"), tokens]
    if spent.costs:
        lines.append(t("At your prices: {0}", t.money(sum(spent.costs.values()))))
    if len(spent.models) == 1:
        return (*lines, spent.models[0].model)
    whole = sum(_tokens(use.usage) for use in spent.models)
    for use in spent.models:
        share = "" if not whole else t("{0} %", round(100 * _tokens(use.usage) / whole))
        cost = t.money(spent.costs[use.model]) if use.model in spent.costs else ""
        requests = t.plural(use.usage.requests, "1 request", "{0} requests")
        lines.append(f"{use.model}: {' · '.join(filter(None, (requests, share, cost)))}")
    return tuple(lines)


def _tokens(usage: Usage) -> int:
    return usage.prompt_tokens + usage.completion_tokens
