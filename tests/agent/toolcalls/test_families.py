"""Every family of printed calls, in any chunks: the cases are in cases.py, by family."""

from __future__ import annotations

import pytest

from tests.agent.toolcalls.cases import ALL, Case
from tests.agent.toolcalls.checks import check


@pytest.mark.parametrize("case", ALL, ids=lambda case: f"{case.family}-{case.text[:40]}")
def test_the_calls_that_are_meant_are_read(case: Case) -> None:
    check(case)
