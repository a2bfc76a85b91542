"""Families of printed calls: Functionary and Mistral."""

from __future__ import annotations

import pytest

from tests.agent.toolcalls.cases import MISTRAL, Case
from tests.agent.toolcalls.checks import check


@pytest.mark.parametrize("case", MISTRAL, ids=lambda case: f"{case.family}-{case.text[:40]}")
def test_the_calls_that_are_meant_are_read(case: Case) -> None:
    check(case)
