"""The line of a command's output that a person wants to see, and whether the command has succeeded by it."""

from __future__ import annotations

import pytest

from planloom.domain.plans.commands import CommandOutcome, outcome_line

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


STATED = {
    "pytest and a word after it": ("..F\n=== 1 failed, 218 passed in 3.20s ===\ndone\n", False),
    "an error while collecting": ("1 error in 0.12s\n", False),
    "two runs, of which the first failed": ("1 failed, 2 passed in 0.1s\n5 passed in 0.1s\n", False),
    "pytest, all expected": ("3 passed, 1 xfailed, 2 warnings in 0.5s\n", True),
    "unittest": ("Ran 3 tests in 0.001s\n\nFAILED (failures=1)\n", False),
    "unittest, expected": ("Ran 3 tests in 0.001s\n\nOK (expected failures=1)\n", True),
    "jest": ("Tests:       1 failed, 3 passed, 4 total\nSnapshots:   0 total\nTime: 1 s\n", False),
    "vitest": (" Test Files  1 failed (2)\n      Tests  1 failed | 33 passed (34)\n", False),
    "mocha": ("  218 passing (3s)\n  1 failing\n\n  1) sums\n", False),
    "node": ("ℹ tests 4\nℹ pass 3\nℹ fail 1\nℹ cancelled 0\n", False),
    "node, none": ("ℹ tests 4\nℹ pass 4\nℹ fail 0\n", True),
    "cargo": (
        "test result: FAILED. 3 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s\n\n"
        "error: test failed, to rerun pass `--lib`\n",
        False,
    ),
    "cargo, none": ("test result: ok. 3 passed; 0 failed; 0 ignored; finished in 0.01s\n", True),
    "go": ("--- FAIL: TestAdd (0.00s)\nFAIL\nFAIL\texample.com/a\t0.002s\nFAIL\n", False),
    "maven": ("[ERROR] Tests run: 5, Failures: 1, Errors: 0, Skipped: 0\n", False),
    "maven, none": ("[INFO] Tests run: 5, Failures: 0, Errors: 0, Skipped: 0\n", True),
    "rspec": ("10 examples, 2 failures\n", False),
    "a linter": ("Found 3 errors.\n", False),
    "a linter that mends": ("Found 3 errors (3 fixed, 0 remaining).\n", True),
    "eslint": (
        "✖ 3 problems (1 error, 2 warnings)\n  1 error potentially fixable with the `--fix` option.\n",
        False,
    ),
    "warnings": ("✖ 2 problems (0 errors, 2 warnings)\n", True),
    "a commit that names failures": ("abc1234 Fix 2 errors and 1 failed test in the parser\n", True),
    "a line of a log": ("notes.md:3: yesterday 3 failed\n", True),
    "a program of its own": ("Imported 5 rows, 2 errors\n", True),
    "a name in capitals": ("FAILED_JOBS=3\n", True),
}


@pytest.mark.parametrize(("output", "succeeded"), STATED.values(), ids=STATED)
def test_stated_failures_count_whatever_the_exit_code_says(output: str, succeeded: bool) -> None:
    assert CommandOutcome(exit_code=0, line=outcome_line(output)).succeeded is succeeded
    assert not CommandOutcome(exit_code=1, line=outcome_line(output)).succeeded
