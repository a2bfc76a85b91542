import { expect, test } from "vitest";
import { EMPTY } from "../src/plan/views";
import { linesOf, referenceTo, withReferences } from "../src/references";
import { freshUi, taken, written } from "../src/webview/uiState";

test.each<[string, string]>([
  ["src/a.py", "@src/a.py"],
  ["src/", "@src/"],
  ["a b/c.txt", '@"a b/c.txt"'],
  ["notes.", '@"notes."'],
  ["a(1).ts", '@"a(1).ts"'],
  ["grün/ünï.ts", "@grün/ünï.ts"],
  ["git", '@"git"'],
  ["selection.ts", '@"selection.ts"'],
  ['od"d.ts', '@od"d.ts'],
])("%s is written %s", (path, reference) => {
  expect(referenceTo(path)).toBe(reference);
});

test("lines and changes are named with the path", () => {
  expect(referenceTo("a.py", { first: 10, last: 20 })).toBe("@a.py:10-20");
  expect(referenceTo("a b.py", { first: 3, last: 3 })).toBe('@"a b.py":3');
  expect(referenceTo("git", undefined, "git")).toBe("@git:git");
  expect(linesOf({ line: 9 }, { line: 20, character: 0 })).toEqual({ first: 10, last: 20 });
  expect(linesOf({ line: 9 }, { line: 9, character: 0 })).toEqual({ first: 10, last: 10 });
});

test("references come after the draft, each once, with the caret behind them", () => {
  expect(withReferences("", ["@a", "@b"])).toBe("@a @b ");
  expect(withReferences("Fix @a", ["@a", "@b"])).toBe("Fix @a @b ");
  const ui = taken(written(freshUi(), "Fix", 1), { kind: "compose", references: ["@a.py:1-2"] }, EMPTY);
  expect([ui.draft, ui.caret, ui.asNew]).toEqual(["Fix @a.py:1-2 ", 14, true]);
  expect(taken(ui, { kind: "compose", references: ["@a.py:1-2"] }, EMPTY).draft).toBe(ui.draft);
});
