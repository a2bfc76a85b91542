"""What is asked in an approval, in words: its buttons, what is dangerous about it, what an answer covers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from planloom.domain.plans.plan import Plan
from planloom.domain.safety.approvals import Approval
from planloom.domain.values import ApprovalId, StepId
from planloom.view.changes import kind_words
from planloom.view.words import Words
from planloom.workspace.paths.uris import to_path


class Danger(NamedTuple):
    """What is dangerous about an approval."""

    tone: Literal["medium", "high"]
    words: str


class ApprovalView(NamedTuple):
    """An approval that waits. `allow` and `deny` are the words on its buttons, `refuse` leads to `deny`.

    `ahead` and `in_folder` say what it covers if it is allowed for the plan, or in its folder; None if it cannot be.
    `folder` is that of a command. `kinds` say what happens to each of its files, `lost` what a denial skips.
    """

    approval_id: ApprovalId
    allow: str
    refuse: str
    deny: str
    danger: Danger | None
    ahead: str | None
    in_folder: str | None
    folder: str | None
    kinds: tuple[str, ...]
    lost: str | None


def views(plan: Plan, lost: Mapping[StepId, str | None], t: Words) -> tuple[ApprovalView, ...]:
    """The approvals that a plan waits for; `lost` are the steps that are skipped with each step."""
    return tuple(_view(plan, approval, lost, t) for approval in plan.pending.approvals)


def _view(plan: Plan, approval: Approval, lost: Mapping[StepId, str | None], t: Words) -> ApprovalView:
    allow, refuse, deny = _buttons(approval, t)
    rules = ", ".join(approval.rules)
    # After these answers every step of the plan can still run.
    skips_none = approval.plan_changes or approval.goes_on or approval.puts_back
    return ApprovalView(
        approval.approval_id,
        allow,
        refuse,
        deny,
        _danger(approval, t),
        ahead=None if approval.only_once else _ahead(approval, rules, t),
        in_folder=_in_folder(approval, rules, t),
        folder=_folder(plan, approval, t),
        kinds=tuple(kind_words(file.change, t) for file in approval.files),
        lost=None if skips_none or approval.step_id is None else lost.get(approval.step_id),
    )


def _buttons(approval: Approval, t: Words) -> tuple[str, str, str]:
    if approval.goes_on:
        return t("Go on"), t("Not yet…"), t("Pause the plan here")
    if approval.puts_back:
        return t("Put back"), t("Leave it aside…"), t("Leave it aside")
    if approval.plan_changes:
        return t("Change the plan"), t("Keep the plan…"), t("Keep the plan")
    match approval.effect:
        case "execute":
            deny = t("Do not run it")
        case "fetch":
            deny = t("Do not fetch it")
        case _:
            deny = t("Skip these changes")
    return t("Allow once"), t("No…"), deny


def _danger(approval: Approval, t: Words) -> Danger | None:
    if approval.goes_on or approval.puts_back:
        return None
    if approval.plan_changes:
        return Danger("medium", t("goes beyond what you approved"))
    match approval.effect:
        case "destroy":
            return Danger("high", t("deletes or replaces files"))
        case "execute":
            return Danger("medium", t("runs a command"))
        case "fetch":
            return Danger("medium", t("sends a request to the web"))
        case _:
            return None


def _ahead(approval: Approval, rules: str, t: Words) -> str:
    if rules:
        return t("{0}, for this version of the plan", rules)
    match approval.effect:
        case "execute":
            return t("This command, for this version of the plan")
        case "fetch":
            return t("All pages of this host, for this version of the plan")
        case _:
            return t("All changes, for this version of the plan")


def _in_folder(approval: Approval, rules: str, t: Words) -> str | None:
    if not rules or (approval.confinement is not None and not approval.confinement.held):
        return None
    return t("{0}, in every plan of this folder, confined as here", rules)


def _folder(plan: Plan, approval: Approval, t: Words) -> str | None:
    """The folder of a command, which is named even if it is the only one."""
    if approval.command is None:
        return None
    if approval.cwd not in (None, "."):
        return approval.cwd
    if len(plan.workspace_folders) != 1:
        return approval.cwd or "."
    (only,) = plan.workspace_folders
    return t("the workspace folder {0}", str(to_path(only) or only))
