"""The questions and the end of a plan as messages can show them: text, level, and the actions that answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal, NamedTuple

from planloom.domain.changes import Conflict
from planloom.domain.plans.covered_calls import asks_again
from planloom.domain.plans.plan import Plan, Question, Recovery
from planloom.domain.safety.approvals import Approval
from planloom.domain.text.counted import cut
from planloom.domain.values import StepId
from planloom.view import approvals
from planloom.view.actions import CANCEL, RESPOND_ALL, Button
from planloom.view.plan_view import PlanView
from planloom.view.states import Cause
from planloom.view.step.steps import StepView
from planloom.view.words import Words
from planloom.workspace.paths.uris import shown_in

Level = Literal["error", "warning", "info"]
_LEVELS: Final[Mapping[str, Level]] = {
    "review": "info",
    "approval": "info",
    "answer": "info",
    "pause": "warning",
    "conflict": "warning",
    "recovery": "error",
}
_TITLE: Final = 80


class Asked(NamedTuple):
    """A question: its text in lines, and the buttons that answer it, without any if the answer has to be written.

    `unseen` are the parts that are too long for a message, in words.
    """

    level: Level
    text: str
    choices: tuple[Button, ...]
    unseen: str | None = None


def asked(shown: PlanView, cause: Cause, t: Words) -> Asked:
    """The question about a cause of a plan."""
    listed = [each for each in cause.about if isinstance(each, Approval)]
    unseen = [approvals.unseen(each, t) for each in listed]
    return Asked(
        "warning" if any(map(_is_urgent, listed)) else _LEVELS[cause.kind],
        "\n".join(filter(None, _lines(shown, cause, t))),
        tuple(_choices(shown, cause)),
        ", ".join(filter(None, unseen)) or None,
    )


def ended(shown: PlanView, t: Words) -> tuple[Level, str]:
    """How a plan has ended: its answer, or where it stands, what it has changed and what is left of it."""
    plan, done = shown.plan, shown.progress
    level: Level = "error" if plan.status == "failed" else "info"
    if plan.answer is not None and plan.status == "completed":
        return level, plan.answer if shown.sign == "completed" else f"{shown.state}.\n{plan.answer}"
    report, folders = plan.report, plan.workspace_folders
    changed = sum(file.state == "applied" and file.change != "createFolder" for file in shown.files)
    caveats = "; ".join(report.caveats) if report is not None else ""
    denied = ", ".join(shown_in(uri, folders) for uri in report.not_allowed) if report is not None else ""
    parts = [
        f"{shown.state}.",
        shown.problem.words if shown.problem is not None else "",
        t.plural(done.total, "{1} of 1 step done.", "{1} of {0} steps done.", done.completed)
        if done.total and not shown.partly
        else "",
        t.plural(changed, "1 file changed.", "{0} files changed.") if changed else "",
        (f"{caveats}." if shown.sign == "partly" else t("But: {0}.", caveats)) if caveats else "",
        t("Not allowed: {0}.", denied) if denied else "",
    ]
    left = [f"{each.number}. {each.description}: {each.why}" for each in shown.left]
    help_page = [shown.problem.help] if shown.problem is not None and shown.problem.help else []
    return level, "\n".join([" ".join(filter(None, parts)), *left, *help_page])


def one_by_one(cause: Cause) -> Sequence[Cause]:
    """Approvals that are asked together, each for itself."""
    return [
        Cause(f"{cause.key} {each.approval_id}", "approval", (each,))
        for each in cause.about
        if isinstance(each, Approval)
    ]


def title(plan: Plan) -> str:
    """The request in one line."""
    return cut(plan.request.strip().partition("\n")[0], _TITLE)


def _choices(shown: PlanView, cause: Cause) -> Iterator[Button]:
    """The actions that answer a cause; a plan that asks for permission or is paused can be cancelled too."""
    offered = (*shown.actions, *(button for step in shown.steps for button in step.actions))
    if cause.kind != "approval":
        yield from (each for each in offered if each.cause == cause.key)
    elif len(cause.about) > 1:
        yield from (each for each in offered if each.cause == cause.key and each.command == RESPOND_ALL)
    else:
        ids = [each.approval_id for each in cause.about if isinstance(each, Approval)]
        yield from (each for each in offered if each.arguments[:1] == ids[:1] and each.command != RESPOND_ALL)
    if cause.kind in ("approval", "pause"):
        yield from (each for each in offered if each.command == CANCEL)


def _is_urgent(approval: Approval) -> bool:
    return bool(approval.warning) or approval.protected or approval.effect == "destroy"


def _lines(shown: PlanView, cause: Cause, t: Words) -> Iterator[str | None]:
    match cause.about:
        case (Approval() as approval,):
            yield from _approval(shown, approval, t)
        case (Approval(), *_) as listed:
            yield from _list(shown, [each for each in listed if isinstance(each, Approval)], t)
        case (Conflict() as conflict,):
            yield from _conflict(shown, conflict, t)
        case (Recovery() as recovery,):
            yield from _recovery(shown, recovery, t)
        case (Question() as question,):
            yield t("Planloom asks: {0}", question.question)
        case _ if cause.kind == "review":
            yield from _review(shown, t)
        case _:
            yield t("Planloom has paused “{0}”.", title(shown.plan))
            yield shown.pause if shown.problem is None else shown.problem.words
            yield shown.pause_help if shown.problem is None else shown.problem.help


def _review(shown: PlanView, t: Words) -> Iterator[str]:
    count, request = len(shown.steps), title(shown.plan)
    planned = t.plural(
        count,
        "Planloom has planned 1 step for “{1}”.",
        "Planloom has planned {0} steps for “{1}”.",
        request,
    )
    yield f"{planned} {asks_again(shown.plan)}".rstrip()
    yield " · ".join(filter(None, (shown.risk, shown.estimate)))
    yield from shown.draft.warnings if shown.draft is not None else ()


def _approval(shown: PlanView, approval: Approval, t: Words) -> Iterator[str]:
    first, *rest = approvals.lines(shown.plan, approval, t)
    yield f"Planloom: {first}"
    yield from rest
    words = next(each for each in shown.approvals if each.approval_id == approval.approval_id)
    yield t("If you do not allow it: {0}", words.lost) if words.lost is not None else ""


def _list(shown: PlanView, listed: Sequence[Approval], t: Words) -> Iterator[str]:
    step = _step(shown, listed[0].step_id)
    of_step = step.number if step is not None else ""
    count = t.plural(len(listed), "1 command of step {1}", "{0} commands of step {1}", of_step)
    yield f"Planloom: {count}"
    for number, approval in enumerate(listed, start=1):
        _, _, *lines = approvals.lines(shown.plan, approval, t)
        yield f"{number}. " + "\n".join(filter(None, lines))


def _conflict(shown: PlanView, conflict: Conflict, t: Words) -> Iterator[str]:
    plan, step = shown.plan, _step(shown, conflict.step_id)
    files = ", ".join(shown_in(each.uri, plan.workspace_folders) for each in conflict.files)
    # Changes that are reviewed at the end are those of all steps.
    if plan.review == "end" or step is None:
        yield f"Planloom: {t('Your typing and the plan overlap')}: {files}"
    else:
        yield f"Planloom: {t('Your typing and step {0} overlap', step.number)}: {files}"
    yield t("Nothing was written. Choose which text stays.")
    if step is not None and step.lost is not None:
        yield t("If you keep only yours, step {0} loses its change.", step.number)
        yield step.lost


def _recovery(shown: PlanView, recovery: Recovery, t: Words) -> Iterator[str | None]:
    step, proposal = _step(shown, recovery.step_id), recovery.proposal
    if step is not None:
        yield t("Planloom: step {0} has failed: {1}", step.number, step.step.title)
    yield recovery.error
    if step is not None and proposal is not None:
        yield " ".join(filter(None, (step.proposal, proposal.why)))
    if step is not None and step.lost is not None:
        yield t("If you skip it: {0}", step.lost)


def _step(shown: PlanView, step_id: StepId | None) -> StepView | None:
    return next((each for each in shown.steps if each.step.step_id == step_id), None)
