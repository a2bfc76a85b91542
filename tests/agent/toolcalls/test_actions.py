"""Families of printed calls: actions, channels, fences and shapes of JSON."""

from __future__ import annotations

import pytest

from tests.agent.toolcalls.cases import ACTIONS, Case
from tests.agent.toolcalls.checks import check


@pytest.mark.parametrize("case", ACTIONS, ids=lambda case: f"{case.family}-{case.text[:40]}")
def test_the_calls_that_are_meant_are_read(case: Case) -> None:
    check(case)
