import { expect, test } from "vitest";

import { problemLines } from "../src/validationProblems";

test("problems name the step and the field", () => {
  expect(
    problemLines([
      { stepId: "b", field: "args.path", problem: "Step 2, write_file: `path` is missing." },
      { field: "version", problem: "no number" },
      { problem: "odd" },
    ]),
  ).toEqual(["Step 2, write_file: `path` is missing.", "version: no number", "odd"]);
});

test("a long list is cut and says so; anything else is no list", () => {
  const many = Array.from({ length: 9 }, () => ({ stepId: "a", field: "x", problem: "bad" }));
  expect(problemLines(many)).toHaveLength(7);
  expect(problemLines(many).at(-1)).toBe("and 3 more");
  expect([problemLines(undefined), problemLines({ status: "x" }), problemLines([1, null])]).toEqual([[], [], []]);
});
