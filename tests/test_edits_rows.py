"""Every situation that an edit can meet has a test."""

from __future__ import annotations

from tests.edits_rows import ROWS, missing


def test_each_of_the_sixty_situations_has_a_test() -> None:
    assert list(ROWS) == list(range(1, 61))
    assert missing() == ()
