// Reads the outcome of a test run from what pytest, jest, vitest, cargo test and go test print; of other output nothing.

/** How many tests had each outcome, and the names of those that failed, in the order of the output. */
export interface TestResults {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  readonly failures: readonly string[];
}

interface Runner {
  /** The line with the counts; the last one of the output counts, or all of them where each package has its own. */
  readonly totals: RegExp;
  readonly each?: boolean;
  readonly passed: RegExp;
  readonly failed: RegExp;
  readonly skipped: RegExp;
  /** A line that names a failed test. */
  readonly failure: RegExp;
}

const RUNNERS: readonly Runner[] = [
  {
    // pytest: === 1 failed, 2 passed, 1 skipped in 0.12s ===
    totals:
      /^=* ?(?:\d+ (?:failed|passed|skipped|errors?|xfailed|xpassed|deselected|warnings?|rerun)(?:, )?)+ in [\d.]+s(?: \([\d:]+\))? ?=*$/,
    passed: /(\d+) passed/,
    failed: /(\d+) (?:failed|errors?)/,
    skipped: /(\d+) skipped/,
    failure: /^(?:FAILED|ERROR) (.+?)(?: - .*)?$/,
  },
  {
    // jest: Tests:  1 failed, 1 skipped, 2 passed, 4 total
    totals: /^Tests: +.*\d+ total$/,
    passed: /(\d+) passed/,
    failed: /(\d+) failed/,
    skipped: /(\d+) (?:skipped|todo)/,
    failure: /^ *● (.+ › .+)$/,
  },
  {
    // vitest: Tests  1 failed | 2 passed (3)
    totals: /^ *Tests +\d+ (?:failed|passed|skipped|todo).*\(\d+\)$/,
    passed: /(\d+) passed/,
    failed: /(\d+) failed/,
    skipped: /(\d+) (?:skipped|todo)/,
    failure: /^ *FAIL +(.+ > .+)$/,
  },
  {
    // cargo: test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out
    totals: /^test result: (?:ok|FAILED)\. \d+ passed; \d+ failed; \d+ ignored;/,
    each: true,
    passed: /(\d+) passed/,
    failed: /(\d+) failed/,
    skipped: /(\d+) ignored/,
    failure: /^test (\S+) \.\.\. FAILED$/,
  },
];
const GO_END = /^(?:ok|FAIL|---|\?) *\t\S+(?:\t.*)?$/;
const GO_TEST = /^ *--- (PASS|FAIL|SKIP): \S+ \([\d.]+s\)$/;

/** The results of a test run; undefined if the output is not surely one. */
export function testResults(output: string): TestResults | undefined {
  const lines = output.split("\n").map((line) => line.trimEnd());
  for (const runner of RUNNERS) {
    const totals = lines.filter((line) => runner.totals.test(line));
    const last = totals.at(-1);
    if (last === undefined) continue;
    const counted = runner.each === true ? totals : [last];
    return {
      passed: sum(counted, runner.passed),
      failed: sum(counted, runner.failed),
      skipped: sum(counted, runner.skipped),
      failures: named(lines, runner.failure),
    };
  }
  return ofGo(lines);
}

/** `go test` counts nothing; with `-v`, or where tests fail, it names each. Its last line identifies it. */
function ofGo(lines: readonly string[]): TestResults | undefined {
  const outcomes = lines.flatMap((line) => GO_TEST.exec(line)?.[1] ?? []);
  if (outcomes.length === 0 || !lines.some((line) => GO_END.test(line))) return undefined;
  const count = (outcome: string): number => outcomes.filter((each) => each === outcome).length;
  return {
    passed: count("PASS"),
    failed: count("FAIL"),
    skipped: count("SKIP"),
    failures: named(lines, /^ *--- FAIL: (\S+)/),
  };
}

function sum(lines: readonly string[], pattern: RegExp): number {
  const all = new RegExp(pattern.source, "g");
  return lines.flatMap((line) => [...line.matchAll(all)]).reduce((total, [, count]) => total + Number(count), 0);
}

function named(lines: readonly string[], pattern: RegExp): readonly string[] {
  return [...new Set(lines.flatMap((line) => pattern.exec(line)?.[1] ?? []))];
}
