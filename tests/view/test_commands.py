"""The outcome of a test run is read from what its runner prints, and nothing is read into other output."""

from __future__ import annotations

import pytest

from planloom.view.step.commands import Counts, RanTests, counts, ran_tests
from planloom.view.words import Words


@pytest.mark.parametrize(
    ("output", "found"),
    [
        pytest.param(
            """..F.s                                                        [100%]
=========================== short test summary info ============================
FAILED tests/test_a.py::test_long[1 day, 2 hours] - AssertionError: no
ERROR tests/test_b.py::test_x
==================== 1 failed, 3 passed, 1 skipped, 1 error in 0.12s ====================""",
            Counts(3, 2, 1, ("tests/test_a.py::test_long[1 day, 2 hours]", "tests/test_b.py::test_x")),
            id="pytest",
        ),
        pytest.param("...\n3 passed in 71.20s (0:01:11)\n", Counts(3, 0, 0, ()), id="pytest -q"),
        pytest.param(
            """  ● sums › adds two numbers

Tests:       1 failed, 1 skipped, 2 passed, 4 total
Snapshots:   0 total""",
            Counts(2, 1, 1, ("sums › adds two numbers",)),
            id="jest",
        ),
        pytest.param(
            " FAIL  test/a.test.ts > adds\n Test Files  1 failed (1)\n      Tests  1 failed | 2 passed (3)",
            Counts(2, 1, 0, ("test/a.test.ts > adds",)),
            id="vitest",
        ),
        pytest.param(
            """test tests::adds ... ok
test tests::divides ... FAILED
test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
test result: ok. 4 passed; 0 failed; 2 ignored; 0 measured; 0 filtered out; finished in 0.00s""",
            Counts(5, 1, 2, ("tests::divides",)),
            id="cargo test, of two crates",
        ),
        pytest.param(
            "=== RUN   TestA\n--- PASS: TestA (0.00s)\n--- FAIL: TestB (0.01s)\n--- SKIP: TestC (0.00s)\nFAIL\n"
            "FAIL\texample.org/m\t0.010s\nFAIL",
            Counts(1, 1, 1, ("TestB",)),
            id="go test -v",
        ),
    ],
)
def test_the_results_of_a_runner_are_read(output: str, found: Counts) -> None:
    assert counts(output) == found


@pytest.mark.parametrize(
    "output",
    [
        "",
        "2 passed the exam in 3s of work",
        "ok  \texample.org/m\t0.010s",
        "--- FAIL: TestB (0.01s)",
        "Tests: 3",
        "Build succeeded in 3s",
        "1 passed",
    ],
)
def test_nothing_is_read_into_other_output(output: str) -> None:
    assert counts(output) is None


def test_the_outcome_is_told_in_words_with_the_first_failures() -> None:
    names = [f"tests/a.py::t{number}" for number in range(12)]
    output = "\n".join([*(f"FAILED {name}" for name in names), "12 failed, 1 skipped in 0.1s"])
    words = "Tests: 12 failed, 0 passed and 1 skipped"
    assert ran_tests(output, Words()) == RanTests(words, False, tuple(names[:10]), "and 2 more")
    assert ran_tests("3 passed in 0.1s", Words("de")) == RanTests("Tests: 3 bestanden", True, (), None)
