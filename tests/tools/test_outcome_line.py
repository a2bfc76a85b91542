"""The line of a command's output that a person wants to see."""

from __future__ import annotations

import pytest

from planloom.tools.processes.outcome_line import outcome_line

OUTPUTS = {
    "nothing": ("", ""),
    "blank lines": ("\n \n", ""),
    "pytest": ("..\n======= 81 passed, 2 warnings in 2.10s =======\n", "81 passed, 2 warnings in 2.10s"),
    "pytest, quiet": ("..F\nFAILED a.py::b\n3 failed, 78 passed in 1.2s\n", "3 failed, 78 passed in 1.2s"),
    "unittest": (
        "...\n-----\nRan 3 tests in 0.001s\n\nFAILED (failures=1)\n",
        "Ran 3 tests in 0.001s: FAILED (failures=1)",
    ),
    "vitest": (
        " Test Files  2 passed (2)\n      Tests  34 passed (34)\n   Start at  10:00\n   Duration  1s\n",
        "Tests  34 passed (34)",
    ),
    "jest": (
        "Tests:       1 failed, 3 passed, 4 total\nSnapshots:   0 total\nTime: 1 s\n",
        "Tests:       1 failed, 3 passed, 4 total",
    ),
    "cargo": (
        "test result: ok. 3 passed; 0 failed; 0 ignored\n\n   Doc-tests x\n",
        "test result: ok. 3 passed; 0 failed; 0 ignored",
    ),
    "mypy": (
        "a.py:1: error: no\nFound 1 error in 1 file (checked 3 source files)\n",
        "Found 1 error in 1 file (checked 3 source files)",
    ),
    "something else": ("building\nwrote dist/a.whl\n\n", "wrote dist/a.whl"),
    "a long line": ("x" * 300, "x" * 199 + "…"),
}


@pytest.mark.parametrize(("output", "line"), OUTPUTS.values(), ids=OUTPUTS)
def test_the_counts_of_tests_win_over_the_last_line(output: str, line: str) -> None:
    assert outcome_line(output) == line
