import { expect, test } from "vitest";

import { testResults } from "../src/plan/testResults";

const RUNS: readonly (readonly [string, string, object])[] = [
  [
    "pytest",
    `..F.s                                                        [100%]
=========================== short test summary info ============================
FAILED tests/test_a.py::test_long[1 day, 2 hours] - AssertionError: no
ERROR tests/test_b.py::test_x
==================== 1 failed, 3 passed, 1 skipped, 1 error in 0.12s ====================`,
    {
      passed: 3,
      failed: 2,
      skipped: 1,
      failures: ["tests/test_a.py::test_long[1 day, 2 hours]", "tests/test_b.py::test_x"],
    },
  ],
  ["pytest -q", "...\n3 passed in 71.20s (0:01:11)\n", { passed: 3, failed: 0, skipped: 0, failures: [] }],
  [
    "jest",
    `  ● sums › adds two numbers

Tests:       1 failed, 1 skipped, 2 passed, 4 total
Snapshots:   0 total`,
    { passed: 2, failed: 1, skipped: 1, failures: ["sums › adds two numbers"] },
  ],
  [
    "vitest",
    " FAIL  test/a.test.ts > adds\n Test Files  1 failed (1)\n      Tests  1 failed | 2 passed (3)",
    { passed: 2, failed: 1, skipped: 0, failures: ["test/a.test.ts > adds"] },
  ],
  [
    "cargo test, of two crates",
    `test tests::adds ... ok
test tests::divides ... FAILED
test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
test result: ok. 4 passed; 0 failed; 2 ignored; 0 measured; 0 filtered out; finished in 0.00s`,
    { passed: 5, failed: 1, skipped: 2, failures: ["tests::divides"] },
  ],
  [
    "go test -v",
    "=== RUN   TestA\n--- PASS: TestA (0.00s)\n--- FAIL: TestB (0.01s)\n--- SKIP: TestC (0.00s)\nFAIL\nFAIL\texample.org/m\t0.010s\nFAIL",
    { passed: 1, failed: 1, skipped: 1, failures: ["TestB"] },
  ],
];

test.each(RUNS)("the results of %s are read", (_, output, results) => {
  expect(testResults(output)).toEqual(results);
});

test.each([
  "",
  "2 passed the exam in 3s of work",
  "ok  \texample.org/m\t0.010s",
  "--- FAIL: TestB (0.01s)",
  "Tests: 3",
  "Build succeeded in 3s",
  "1 passed",
])("nothing is read into %j", (output) => {
  expect(testResults(output)).toBeUndefined();
});
