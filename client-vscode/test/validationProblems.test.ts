import { expect, test } from "vitest";

import { problemLines } from "../src/validationProblems";

const place = (stepId: string): number => ["a", "b"].indexOf(stepId) + 1;

test("problems name the step and the field", () => {
  expect(
    problemLines(
      [
        { stepId: "b", field: "args.path", problem: "it is required" },
        { field: "version", problem: "no number" },
        { problem: "odd" },
      ],
      place,
    ),
  ).toEqual(["Step 2, args.path: it is required", "version: no number", "odd"]);
});

test("a long list is cut and says so; anything else is no list", () => {
  const many = Array.from({ length: 9 }, () => ({ stepId: "a", field: "x", problem: "bad" }));
  expect(problemLines(many, place)).toHaveLength(7);
  expect(problemLines(many, place).at(-1)).toBe("and 3 more");
  expect([
    problemLines(undefined, place),
    problemLines({ status: "x" }, place),
    problemLines([1, null], place),
  ]).toEqual([[], [], []]);
});
