"""The head of a plan: its one line, its facts, and whether it is a talk rather than a plan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from planloom.domain.plans.covered_calls import asking
from planloom.domain.plans.plan import Plan, Progress
from planloom.view import figures
from planloom.view.words import Words


def line(plan: Plan, state: str, counts: Progress, t: Words) -> str:
    """The state of a plan in one line with the count that matters now."""
    if plan.status == "pending_approval" and counts.total:
        return t.plural(counts.total, "1 step", "{0} steps")
    if plan.status in ("executing", "paused") and counts.total > 1:
        return f"{state} · {t('{0} of {1}', counts.completed, counts.total)}"
    return state


def asks(plan: Plan, t: Words) -> str | None:
    """What is asked after the approval of a plan under review, where each step is reviewed."""
    if plan.status != "pending_approval":
        return None
    count = asking(plan)
    if count == len(plan.steps):
        return t("asks before each change")
    return (
        t.plural(count, "asks again for 1 step", "asks again for {0} steps") if count else t("asks no more")
    )


def revision(plan: Plan, t: Words) -> str | None:
    """How many steps the version under review adds, changes, moves and removes."""
    if plan.status != "pending_approval" or not plan.revised:
        return None
    kinds = Counter(each.kind for each in plan.revised)
    words = (
        (kinds["added"], t("{0} new", kinds["added"])),
        (kinds["changed"], t("{0} changed", kinds["changed"])),
        (kinds["moved"], t("{0} moved", kinds["moved"])),
        (kinds["dropped"], t("{0} removed", kinds["dropped"])),
    )
    return ", ".join(each for count, each in words if count)


def facts(plan: Plan, used: tuple[str, ...], t: Words) -> Iterator[str]:
    """What is known of a plan, a line each."""
    if plan.steps and plan.status != "draft":
        yield f"{figures.risk(plan, t)} · {t('Version {0} of the plan', plan.version)}"
    task = figures.task(plan, t)
    reasons = plan.qualification.reasons if plan.qualification is not None else ()
    if task is not None:
        yield " · ".join((task, *reasons))
    if plan.route == "direct":
        yield t("Runs without a plan of its own")
    if figures.estimate(plan, t) is not None:
        yield from figures.estimates(plan, t)
    yield from used


def is_talk(plan: Plan) -> bool:
    """Whether a plan is a question with its answer: a direct request that has changed and run nothing."""
    calls = any(step.tool is not None for step in plan.steps)
    made = calls or plan.edits or plan.pending.approvals or plan.pending.recoveries
    ran = any(call.tool == "run_command" for step in plan.steps for call in step.tools_executed)
    return plan.route == "direct" and len(plan.steps) <= 1 and not made and not ran
