"""When the changes of a plan are reviewed: each choice in words, with what it asks under the user's settings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, get_args

from planloom.domain.plans.plan import Review
from planloom.settings import ApprovalSettings
from planloom.view.words import Words


class ReviewChoice(NamedTuple):
    """One choice: `asks` says what is asked, `line` so in a few words, `unasked` what else happens, or ""."""

    review: Review
    title: str
    line: str
    asks: str
    unasked: str


def review_choices(approvals: ApprovalSettings, t: Words) -> tuple[ReviewChoice, ...]:
    """All choices, the most careful first."""
    return tuple(
        ReviewChoice(
            each, _title(each, t), _line(each, t), _asks(each, approvals, t), _unasked(each, approvals, t)
        )
        for each in get_args(Review)
    )


def _title(review: Review, t: Words) -> str:
    match review:
        case "each":
            return t("Review each step")
        case "end":
            return t("Review all at the end")
        case "auto":
            return t("Review only risky changes")


def _line(review: Review, t: Words) -> str:
    match review:
        case "each":
            return t("asks before each change")
        case "end":
            return t("asks once, at the end")
        case "auto":
            return t("asks about risky changes")


def _asks(review: Review, approvals: ApprovalSettings, t: Words) -> str:
    write, destroy, execute, fetch = _allowed(review, approvals)
    files = [*([] if write else [t("changes")]), *([] if destroy else [t("deletions")])]
    first = [*([] if execute else [t("commands")]), *([] if fetch else [t("web pages")])]
    if review == "end":
        # A command or a page cannot wait for the end.
        once = t.list(files or [t("protected files")])
        if not first:
            return t("Asks once, at the end, about {0}.", once)
        return t("Asks once, at the end, about {0}; about {1} it asks first.", once, t.list(first))
    if review == "each" and len(files) + len(first) == len(_allowed(review, approvals)):
        return t("Asks in every step, before each change, deletion, command and web page.")
    return t("Asks only about {0}.", t.list([*files, *first, t("protected files")]))


def _unasked(review: Review, approvals: ApprovalSettings, t: Words) -> str:
    names = (t("writing"), t("deleting"), t("commands"), t("web pages"))
    return ", ".join(
        name for name, allowed in zip(names, _allowed(review, approvals), strict=True) if allowed
    )


def _allowed(review: Review, approvals: ApprovalSettings) -> Sequence[bool]:
    """Whether writing, deleting, commands and web pages happen without a question."""
    write = review == "auto" or approvals.write == "allow"
    others = (approvals.destroy, approvals.execute, approvals.fetch)
    return (write, *(each == "allow" for each in others))


def before_trust(choices: Sequence[ReviewChoice], t: Words) -> tuple[ReviewChoice, ...]:
    """The same choices for a folder that is not trusted yet."""
    nothing = t("Nothing is changed or run before you trust this folder.")
    return tuple(each._replace(asks=nothing, unasked="") for each in choices)
