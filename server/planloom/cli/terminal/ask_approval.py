"""Asks the person at the terminal for an approval: shown a screen at a time, and allowed when seen to its end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from rich.console import Group

from planloom.cli.client.messages import Approval, ConfinementOffer, DiffResult
from planloom.cli.plain import one_line, visible
from planloom.cli.terminal import chosen_text, show, show_approval
from planloom.cli.terminal.decisions import Verdict, chosen
from planloom.cli.terminal.pages import Pages
from planloom.domain.text.counted import counted

if TYPE_CHECKING:
    from planloom.cli.terminal.person import Terminal

_UNSEEN: Final = "unseen"
"""The word that allows what was not shown to its end."""


async def ask_approval(terminal: Terminal, approval: Approval, diffs: Sequence[DiffResult]) -> Verdict:
    """Show an approval and ask for the answer. Raises Leave."""
    texts: dict[str, str] = {}
    while True:
        now = [_with_text(diff, texts) for diff in diffs]
        if texts and all(diff.get("before") == diff.get("after") for diff in now):
            terminal.say("Nothing of the change is left, so it is denied.", "yellow")
            return Verdict("deny", "The user has left out all of it.")
        # What was judged is not what the person has written since.
        shown: Approval = {**approval, "judged": None} if texts else approval  # type: ignore[typeddict-item]
        panel, left_out = show_approval.whole_approval(shown, now, terminal.folders)
        pages = Pages(terminal.console, panel)
        terminal.console.print()
        pages.show_next()
        while (answer := await _asked_once(terminal, approval, now, pages, left_out, bool(texts))) is None:
            pass
        if isinstance(answer, Verdict):
            return answer._replace(edits=texts if answer.decision == "allow" else {})
        texts |= answer


def _with_text(diff: DiffResult, texts: Mapping[str, str]) -> DiffResult:
    """A diff with the text that the person has chosen, if they have."""
    return {**diff, "after": texts[diff["uri"]]} if diff["uri"] in texts else diff


async def ask_list(terminal: Terminal, listed: Sequence[Approval]) -> Sequence[Verdict] | None:
    """Show commands that are asked together, and ask once for all; None to be asked for each of them.

    Raises Leave.
    """
    panels = [show_approval.approval_panel(each, (), terminal.folders) for each in listed]
    pages = Pages(terminal.console, Group(*panels))
    terminal.console.print()
    terminal.say(f"{counted(len(listed), 'command')} of this step:", "bold")
    pages.show_next()
    while True:
        ways = {_UNSEEN: f"the rest unseen: allow all without {counted(pages.unseen, 'line')}"}
        more = {"v": f"view {counted(pages.unseen, 'more line')}"}
        choices = more | ways if pages.unseen else {"y": "allow all, as shown"}
        choices |= {"o": "one by one", "n": "deny all", "c": "cancel the plan"}
        match await terminal.choose_or_leave("Allow them?", choices):
            case "y" | "unseen":
                return [Verdict("allow")] * len(listed)
            case "o":
                return None
            case "n":
                reason = (await terminal.line("Why? (may be empty) ")).strip() or None
                return [Verdict("deny", reason)] * len(listed)
            case "v":
                pages.show_next()
            case _:
                return [Verdict("cancel")] * len(listed)


async def _asked_once(
    terminal: Terminal,
    approval: Approval,
    diffs: Sequence[DiffResult],
    pages: Pages,
    left_out: int,
    is_edited: bool,
) -> Verdict | Mapping[str, str] | None:
    """One question; other texts for files that the person has chosen, or None to ask again. Raises Leave."""
    choices = {"n": "no", "c": "cancel the plan"}
    proposed = chosen_text.with_texts(approval, diffs)
    if proposed:
        choices = {"e": "edit it first, in your editor"} | choices
    if chosen_text.has_several_hunks(proposed):
        choices = {"h": "hunk by hunk"} | choices
    unseen = pages.unseen + left_out
    if unseen:
        choices = {_UNSEEN: f"the rest unseen: allow it without {counted(unseen, 'line')}"} | choices
    else:
        ways_to_allow = {"y": "allow it as it is now"} if is_edited else _ways_to_allow(approval)
        choices = ways_to_allow | choices
    if pages.unseen:
        choices = {"v": f"view {counted(pages.unseen, 'more line')}"} | choices
    match await terminal.choose_or_leave("Allow?", choices):
        case "y" | "unseen":
            return Verdict("allow")
        case "p":
            return Verdict("allowForPlan")
        case "w":
            return Verdict("allowInFolder")
        case "e":
            return await chosen_text.edited(terminal, proposed) or None
        case "h":
            return await chosen_text.chosen(terminal, proposed) or None
        case "f":
            return await _file_by_file(terminal, approval)
        case "o":
            offer = await _offer(terminal, _offers(approval))
            return None if offer is None else Verdict("allow", confinement=chosen(offer))
        case "n":
            return Verdict("deny", (await terminal.line("Why? (may be empty) ")).strip() or None)
        case "v":
            pages.show_next()
            return None
        case _:
            return Verdict("cancel")


def _ways_to_allow(approval: Approval) -> dict[str, str]:
    choices = {"y": "allow once"}
    once_only = bool(approval.get("protected") or approval.get("planChanges") or approval.get("goesOn"))
    confinement, rules = approval.get("confinement"), _rules(approval)
    is_held = confinement is None or confinement.get("held", True)
    if approval.get("effect") != "destroy" and not once_only and is_held:
        choices["p"] = _for_plan(approval)
        if rules:
            choices["w"] = f"allow in this folder: {rules}, in every plan"
    if len(approval.get("files") or []) > 1:
        choices["f"] = "file by file"
    if _offers(approval):
        choices["o"] = "otherwise: with other rights"
    return choices


def _offers(approval: Approval) -> Sequence[ConfinementOffer]:
    return (approval.get("confinement") or {}).get("offers") or ()


async def _offer(terminal: Terminal, offers: Sequence[ConfinementOffer]) -> ConfinementOffer | None:
    """The confinement that the person chooses for a command; None to go back. Raises EndOfInput."""
    for number, offer in enumerate(offers, 1):
        terminal.say(f"  {number}  {offer['label']}: {offer['line']}")
    choices = {str(number): f"run it {offer['label']}" for number, offer in enumerate(offers, 1)}
    typed = await terminal.choose("How?", choices | {"b": "back"})
    return None if typed == "b" else offers[int(typed) - 1]


async def _file_by_file(terminal: Terminal, approval: Approval) -> Verdict:
    allowed = [
        file["uri"]
        for file in approval.get("files") or []
        if await terminal.choose(
            visible(show.relative(file["uri"], terminal.folders)), {"y": "allow", "n": "deny"}
        )
        == "y"
    ]
    return Verdict("allow", files=tuple(allowed)) if allowed else Verdict("deny")


def _for_plan(approval: Approval) -> str:
    """The scope of "allow for plan", in words."""
    if approval.get("server") or approval.get("package"):
        return "allow this tool for this plan"
    match approval.get("effect"):
        case "execute":
            return f"allow for this plan: {_rules(approval) or 'this command'}"
        case "fetch":
            return f"allow for this plan: {one_line(approval.get('host') or 'this host', 60)}"
        case _:
            return "allow for this plan"


def _rules(approval: Approval) -> str:
    """The rules by which more than this command is allowed."""
    return one_line(", ".join(approval.get("rules") or []), 60)
