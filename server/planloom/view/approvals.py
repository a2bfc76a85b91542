"""What is asked in an approval, in words: its buttons, what is dangerous about it, what an answer covers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal, NamedTuple

from planloom.domain.plans.plan import Plan
from planloom.domain.safety.approvals import Approval, ApprovalFile, PlanChange, UserDecision
from planloom.domain.values import ApprovalId, StepId, Uri
from planloom.view.changes import kind_words
from planloom.view.judged import JudgedView, judged_lines, judged_view
from planloom.view.words import Words
from planloom.workspace.paths.uris import shown_in, to_path

_LONG_COMMAND: Final = 600
_LONG_LIST: Final = 10
_LONG_DIFF: Final = 60
"""Characters of a command, files or changed steps, and changed lines, from which they are not seen at a glance."""


class Danger(NamedTuple):
    """What is dangerous about an approval."""

    tone: Literal["medium", "high"]
    words: str


class ApprovalView(NamedTuple):
    """An approval that waits. `allow` and `deny` are the words on its buttons, `refuse` leads to `deny`.

    `ahead` and `in_folder` say what it covers if it is allowed for the plan, or in its folder; None if it cannot be.
    `folder` is that of a command. `kinds` say what happens to each of its files, `lost` what a denial skips, `judged`
    what language servers say of the changes.
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
    judged: JudgedView | None


class Response(NamedTuple):
    """One answer to an approval: the words on its button, and what else they mean.

    `rights` is the label of those that a command gets instead of what is shown.
    """

    title: str
    decision: UserDecision
    hint: str | None = None
    rights: str | None = None


def responses(approval: Approval, t: Words) -> Iterator[Response]:
    """The answers to an approval; those with other rights come last."""
    allow, _, deny = _buttons(approval, t)
    rules = ", ".join(approval.rules)
    yield Response(allow, "allow")
    if ahead := _ahead(approval, rules, t):
        yield Response(t("Allow for this plan"), "allowForPlan", ahead)
    if in_folder := _in_folder(approval, rules, t):
        yield Response(t("Allow in this folder"), "allowInFolder", in_folder)
    yield Response(deny, "deny")
    for offer in approval.confinement.offers if approval.confinement is not None else ():
        yield Response(t("Run {0}", offer.label), "allow", offer.line, offer.label)


def lines(plan: Plan, approval: Approval, t: Words) -> Iterator[str]:
    """All that a person has to know before an answer, but for the changes inside files: first the title, then what is
    dangerous about it.
    """
    yield approval.title
    danger = _danger(approval, t)
    dangers = (danger and danger.words, t("protected file") if approval.protected else None)
    yield " · ".join(filter(None, dangers))
    yield approval.warning or ""
    if approval.command is not None:
        yield f"$ {approval.command}"
        yield t("in {0}", _folder(plan, approval, t) or "")
    if approval.confinement is not None:
        yield approval.confinement.line
    if approval.url is not None:
        yield approval.url
        yield t("from {0}", approval.host or "")
    yield from (_changed_step(change, t) for change in approval.plan_changes)
    for file in approval.files[:_LONG_LIST]:
        yield from _file_lines(file, plan.workspace_folders, t)
    if (more := len(approval.files) - _LONG_LIST) > 0:
        yield t("and {0} more", more)
    if approval.judged is not None:
        yield from judged_lines(approval.judged, plan.workspace_folders, t)


def unseen(approval: Approval, t: Words) -> str | None:
    """The parts of an approval that are too long to be seen at a glance, in words."""
    long = [
        each for each in approval.files if each.change != "rename" and each.added + each.removed > _LONG_DIFF
    ]
    changed = t.number(sum(each.added + each.removed for each in long))
    parts = [
        t("the end of the command") if len(approval.command or "") > _LONG_COMMAND else None,
        t("all {0} files", len(approval.files)) if len(approval.files) > _LONG_LIST else None,
        t("all {0} changes", len(approval.plan_changes)) if len(approval.plan_changes) > _LONG_LIST else None,
        t.plural(len(long), "{1} changed lines of 1 file", "{1} changed lines of {0} files", changed)
        if long
        else None,
    ]
    found = [*filter(None, parts)]
    return t.list(found) if found else None


def _changed_step(change: PlanChange, t: Words) -> str:
    before, after = change.before or "", change.after or ""
    match change.kind:
        case "added":
            return t("New: {0}", after)
        case "dropped":
            return t("Dropped: {0}", before)
        case "moved":
            return t("Moved: {0} → {1}", before, after)
        case "changed":
            return t("Changed: {0}\nto: {1}", before, after)


def _file_lines(file: ApprovalFile, folders: Sequence[Uri], t: Words) -> Iterator[str]:
    """A file with what happens to it, and where it is if links lead elsewhere."""
    counts = f" (+{file.added} −{file.removed})" if file.added or file.removed else ""
    to = f" → {shown_in(file.new_uri, folders)}" if file.new_uri is not None else ""
    yield f"{shown_in(file.uri, folders)}{to}: {kind_words(file.change, t)}{counts}"
    for uri, path in ((file.uri, file.resolved_path), (file.new_uri, file.new_resolved_path)):
        if uri is not None and path is not None and str(to_path(uri)) != path:
            yield t("is really {0}", path)


def views(plan: Plan, lost: Mapping[StepId, str | None], t: Words) -> tuple[ApprovalView, ...]:
    """The approvals that a plan waits for; `lost` are the steps that are skipped with each step."""
    return tuple(_view(plan, approval, lost, t) for approval in plan.pending.approvals)


def _view(plan: Plan, approval: Approval, lost: Mapping[StepId, str | None], t: Words) -> ApprovalView:
    allow, refuse, deny = _buttons(approval, t)
    rules, judged = ", ".join(approval.rules), approval.judged
    # After these answers every step of the plan can still run.
    skips_none = approval.plan_changes or approval.goes_on or approval.puts_back
    return ApprovalView(
        approval.approval_id,
        allow,
        refuse,
        deny,
        _danger(approval, t),
        ahead=_ahead(approval, rules, t),
        in_folder=_in_folder(approval, rules, t),
        folder=_folder(plan, approval, t),
        kinds=tuple(kind_words(file.change, t) for file in approval.files),
        lost=None if skips_none or approval.step_id is None else lost.get(approval.step_id),
        judged=None if judged is None else judged_view(judged, plan.workspace_folders, t),
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
            deny = t("Do not call it") if approval.is_call else t("Do not run it")
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
        case "execute" if approval.server is not None:
            return Danger("medium", t("calls a tool of a server"))
        case "execute" if approval.package is not None:
            return Danger("medium", t("calls a tool of a package"))
        case "execute":
            return Danger("medium", t("runs a command"))
        case "fetch":
            return Danger("medium", t("sends a request to the web"))
        case _:
            return None


def _ahead(approval: Approval, rules: str, t: Words) -> str | None:
    if approval.only_once:
        return None
    if rules:
        return t("{0}, for this version of the plan", rules)
    match approval.effect:
        case "execute" if approval.is_call:
            return t("All calls of this tool, for this version of the plan")
        case "execute":
            return t("This command, for this version of the plan")
        case "fetch":
            return t("All pages of this host, for this version of the plan")
        case _:
            return t("All changes, for this version of the plan")


def _in_folder(approval: Approval, rules: str, t: Words) -> str | None:
    if not rules or approval.only_once:
        return None
    return t("{0}, in every plan of this folder, confined as here", rules)


def _folder(plan: Plan, approval: Approval, t: Words) -> str | None:
    """The folder of a command, which is named even if it is the only one."""
    if approval.command is None:
        return None
    if approval.server is not None:
        return t("the MCP server {0}", approval.server)
    if approval.package is not None:
        return t("the package {0}", approval.package)
    if approval.cwd not in (None, "."):
        return approval.cwd
    if len(plan.workspace_folders) != 1:
        return approval.cwd or "."
    (only,) = plan.workspace_folders
    return t("the workspace folder {0}", str(to_path(only) or only))
