import { expect, test } from "vitest";

import { COLLECTED_MS, DiagnosticVersions, SETTLED_MS } from "../src/connection/diagnosticVersions";

type Finding = { message: string };
type Act = ["text" | "said" | "ask", version: number, at: number, findings?: readonly Finding[]];

const OLD = { message: "old" };
const AGAIN = { message: "old" };
const OTHER = { message: "other" };
const LONG = 1000;

/** The versions told at each `ask`. */
function told(...acts: readonly Act[]): readonly (number | undefined)[] {
  const findings = new DiagnosticVersions<Finding>();
  return acts.flatMap(([what, version, at, standing = []]) => {
    const now = { version, at, findings: standing };
    if (what === "text") findings.changed("a", now);
    else if (what === "said") findings.announced("a", now);
    else return [findings.version("a", now)];
    return [];
  });
}

test.each<[string, readonly Act[], readonly (number | undefined)[]]>([
  [
    "nothing was ever said",
    [
      ["ask", 1, 0],
      ["ask", 1, LONG, [OLD]],
    ],
    [undefined, undefined],
  ],
  [
    "said of the first text, and not yet of the second",
    [
      ["said", 1, 0, [OLD]],
      ["ask", 1, LONG, [OLD]],
      ["text", 2, LONG, [OLD]],
      ["ask", 2, 9 * LONG, [OLD]],
    ],
    [1, 1],
  ],
  [
    "said anew",
    [
      ["said", 1, 0, [OLD]],
      ["text", 2, LONG, [OLD]],
      ["said", 2, 2 * LONG, [AGAIN]],
      ["ask", 2, 3 * LONG, [AGAIN]],
    ],
    [2],
  ],
  [
    "nothing found, before and after",
    [
      ["said", 1, 0],
      ["text", 2, LONG],
      ["said", 2, 2 * LONG],
      ["ask", 2, 3 * LONG],
    ],
    [2],
  ],
  [
    "not settled yet",
    [
      ["said", 2, 0],
      ["ask", 2, SETTLED_MS - 1],
      ["ask", 2, SETTLED_MS],
    ],
    [undefined, 2],
  ],
  [
    "one tool is quick, the other's finding still stands",
    [
      ["said", 1, 0, [OLD]],
      ["text", 2, LONG, [OLD]],
      ["said", 2, 2 * LONG, [OLD, OTHER]],
      ["ask", 2, 3 * LONG, [OLD, OTHER]],
      ["said", 2, 4 * LONG, [AGAIN, OTHER]],
      ["ask", 2, 5 * LONG, [AGAIN, OTHER]],
    ],
    [1, 2],
  ],
  [
    "said on the heels of a change",
    [
      ["said", 1, 0],
      ["text", 2, LONG],
      ["said", 2, LONG + COLLECTED_MS - 1],
      ["ask", 2, 3 * LONG],
    ],
    [1],
  ],
  [
    "made before a change, announced long after it",
    [
      ["said", 1, 0],
      ["text", 2, LONG, [OLD]],
      ["said", 2, 2 * LONG, [OLD]],
      ["ask", 2, 3 * LONG, [OLD]],
    ],
    [1],
  ],
  [
    "a save changes no text",
    [
      ["text", 2, 0],
      ["text", 2, LONG],
      ["said", 2, LONG + 1],
      ["ask", 2, 2 * LONG],
    ],
    [2],
  ],
  [
    "a finding that nobody announced",
    [
      ["said", 1, 0],
      ["ask", 1, LONG, [OLD]],
    ],
    [undefined],
  ],
])("%s", (_, acts, versions) => {
  expect(told(...acts)).toEqual(versions);
});

test("a file that was closed is unknown again", () => {
  const findings = new DiagnosticVersions<Finding>();
  findings.announced("a", { version: 7, at: 0, findings: [] });
  findings.forget("a");
  expect(findings.version("a", { version: 1, at: LONG, findings: [] })).toBeUndefined();
});
