"""Families of printed calls: bare JSON, python_tag and function tags."""

from __future__ import annotations

import pytest

from tests.agent.toolcalls.cases import LLAMA, Case
from tests.agent.toolcalls.checks import check


@pytest.mark.parametrize("case", LLAMA, ids=lambda case: f"{case.family}-{case.text[:40]}")
def test_the_calls_that_are_meant_are_read(case: Case) -> None:
    check(case)
