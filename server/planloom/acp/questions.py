"""What calls for the user as requests for permission: the words, changes and choices of each."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from acp import schema

from planloom.acp import shown
from planloom.domain.errors import PlanloomError
from planloom.domain.plans.plan import Question
from planloom.domain.safety.approvals import Approval
from planloom.domain.values import Uri
from planloom.view.pressing import ACTIONS
from planloom.view.questions import asked

if TYPE_CHECKING:
    from planloom.service.application import Application
    from planloom.view.actions import Button
    from planloom.view.plan_view import PlanView
    from planloom.view.states import Cause
    from planloom.view.words import Words

Other = Literal["document", "feedback", "written", "apart"]
"""Choices besides the actions on offer: change the plan as a document, say what should change, write an answer in
words, answer each command for itself."""
_MOST_DIFFS: Final = 20
_KINDS: Final[dict[str, schema.ToolKind]] = {
    "execute": "execute",
    "fetch": "fetch",
    "destroy": "delete",
    "write": "edit",
}
_POSITIVE: Final = frozenset(
    {"planloom.approve", "planloom.answer", "planloom.resume", "planloom.resolve", "planloom.direct"}
)


class Put(NamedTuple):
    """A question as it is put: its words, the call that it is about, and by the id of each option what it does."""

    text: str
    about: schema.ToolCallUpdate
    options: list[schema.PermissionOption]
    choices: dict[str, Button | Other]


async def question(app: Application, found: PlanView, cause: Cause, ident: str, t: Words) -> Put:
    """The question about a cause of a plan."""
    said = asked(found, cause, t)
    choices: list[tuple[str, schema.PermissionOptionKind, Button | Other]] = [
        (each.title if each.hint is None else f"{each.title}: {each.hint}", _kind(each), each)
        for each in said.choices
        # The changes are shown with the question; a merged text would have to be edited first.
        if each.command in ACTIONS and not (each.command == "planloom.resolve" and "merged" in each.arguments)
    ]
    text = said.text
    if cause.kind == "review":
        text = f"{text}\n\n{app.plans.markdown(found.plan.plan_id)}"
        # Rejected is what is thrown away; what only has to be better comes before.
        choices[1:1] = [
            (t("Edit as a document"), "reject_once", "document"),
            (t("Say what should change"), "reject_once", "feedback"),
        ]
    elif any(isinstance(each, Question) for each in cause.about):
        choices.append((t("Answer in words"), "reject_once", "written"))
    elif len(cause.about) > 1:
        choices.insert(2, (t("One by one"), "reject_once", "apart"))
    about = schema.ToolCallUpdate(
        tool_call_id=ident,
        title=shown.title(said.text.partition("\n")[0].removeprefix("Planloom: ")),
        kind=_tool_kind(cause),
        status="pending",
        content=[*shown.content(text), *[each async for each in _diffs(app, cause)]],
        locations=shown.locations(_files(cause)),
    )
    options = [
        schema.PermissionOption(option_id=str(number), name=shown.title(name), kind=kind)
        for number, (name, kind, _) in enumerate(choices)
    ]
    return Put(text, about, options, {str(number): choice for number, (_, _, choice) in enumerate(choices)})


async def _diffs(app: Application, cause: Cause) -> AsyncIterator[shown.ToolContent]:
    """The changes that approvals are about."""
    files = [(each, file) for each in cause.about if isinstance(each, Approval) for file in each.files]
    for approval, file in files[:_MOST_DIFFS]:
        if file.change in ("rename", "createFolder"):
            continue
        try:
            found = shown.diff(await app.approvals.diff(approval.approval_id, file.uri))
        except PlanloomError:
            # It has been withdrawn meanwhile; then the question is, too.
            return
        for each in found:
            yield each


def _files(cause: Cause) -> Iterator[Uri]:
    for each in cause.about:
        if not isinstance(each, Question) and hasattr(each, "files"):
            yield from (file.uri for file in each.files)


def _tool_kind(cause: Cause) -> schema.ToolKind:
    if cause.kind == "review":
        # Clients show the way out of a plan by this kind.
        return "switch_mode"
    effects = [each.effect for each in cause.about if isinstance(each, Approval)]
    return _KINDS.get(effects[0], "other") if effects else "other"


def _kind(button: Button) -> schema.PermissionOptionKind:
    said = [str(each) for each in button.arguments[1:]]
    if {"allowForPlan", "allowInFolder"} & set(said):
        return "allow_always"
    is_allowed = "allow" in said or button.command in _POSITIVE or {"retry", "accept", "model"} & set(said)
    return "allow_once" if is_allowed else "reject_once"
