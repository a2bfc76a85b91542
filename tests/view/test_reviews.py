"""The choices of a review say what they ask under the user's settings, and what happens without a question."""

from __future__ import annotations

import pytest

from planloom.domain.plans.plan import Review
from planloom.settings import ApprovalSettings
from planloom.view.reviews import review_choices
from planloom.view.words import Words

ALL = ("write", "destroy", "execute", "fetch")
END = "Asks once, at the end, about changes and deletions"


@pytest.mark.parametrize(
    ("review", "allowed", "asks", "unasked"),
    [
        ("each", (), "Asks in every step, before each change, deletion, command and web page.", ""),
        (
            "each",
            ("write",),
            "Asks only about deletions, commands, web pages and protected files.",
            "writing",
        ),
        ("each", ALL, "Asks only about protected files.", "writing, deleting, commands, web pages"),
        ("end", (), f"{END}; about commands and web pages it asks first.", ""),
        ("end", ("execute",), f"{END}; about web pages it asks first.", "commands"),
        ("end", ("execute", "fetch"), f"{END}.", "commands, web pages"),
        (
            "end",
            ALL,
            "Asks once, at the end, about protected files.",
            "writing, deleting, commands, web pages",
        ),
        ("auto", (), "Asks only about deletions, commands, web pages and protected files.", "writing"),
        (
            "auto",
            ("execute", "fetch"),
            "Asks only about deletions and protected files.",
            "writing, commands, web pages",
        ),
    ],
)
def test_a_review_says_what_it_asks(
    review: Review, allowed: tuple[str, ...], asks: str, unasked: str
) -> None:
    approvals = ApprovalSettings(**dict.fromkeys(allowed, "allow"))
    choice = next(each for each in review_choices(approvals, Words()) if each.review == review)
    assert (choice.asks, choice.unasked) == (asks, unasked)


def test_a_command_that_is_allowed_only_confined_is_among_what_is_asked() -> None:
    each, *_ = review_choices(ApprovalSettings(execute="confined"), Words("de"))
    assert "Befehl" in each.asks
    assert (each.title, each.unasked) == ("Jeden Schritt prüfen", "")
