import { expect, test } from "vitest";

import { hunksOf, linesOf, withHunks } from "../src/text/lineDiff";

const CASES: readonly (readonly [string, string, string, number])[] = [
  ["equal", "a\nb\n", "a\nb\n", 0],
  ["from nothing", "", "a\nb\n", 1],
  ["to nothing", "a\nb\n", "", 1],
  ["one line in the middle", "a\nb\nc\n", "a\nB\nc\n", 1],
  ["two places", "a\nb\nc\nd\ne\n", "a\nB\nc\nd\nE\n", 2],
  ["added and removed", "a\nb\nc\nd\n", "x\na\nb\nd\n", 2],
  ["the last line loses its end", "a\nb\n", "a\nb", 1],
  ["line ends alone", "a\r\nb\r\n", "a\nb\n", 1],
  ["repeated lines", "}\n\n}\n\n}\n", "}\n\n}\n\n}\n\n}\n", 1],
  ["a carriage return alone", "a\rb\rc", "a\rX\rc", 1],
];

test.each(CASES)("hunks turn one text into the other: %s", (_, before, after, count) => {
  const hunks = hunksOf(before, after);
  expect(hunks).toHaveLength(count);
  expect(withHunks(before, hunks, () => true)).toBe(after);
  expect(withHunks(before, hunks, () => false)).toBe(before);
});

test("the hunks of random texts give either text, and each of them alone gives a part", () => {
  let seed = 7;
  const random = (below: number): number => {
    seed = (seed * 48271) % 2147483647;
    return seed % below;
  };
  for (let round = 0; round < 300; round++) {
    const text = (): string => Array.from({ length: random(12) }, () => `${"abc"[random(3)]}\n`).join("");
    const [before, after] = [text(), text()];
    const hunks = hunksOf(before, after);
    expect(withHunks(before, hunks, () => true)).toBe(after);
    for (const [place, { afterStart, added, beforeStart, removed }] of hunks.entries()) {
      expect(linesOf(after).slice(afterStart, afterStart + added.length)).toEqual(added);
      expect(linesOf(before).slice(beforeStart, beforeStart + removed.length)).toEqual(removed);
      expect(
        hunksOf(
          before,
          withHunks(before, hunks, (each) => each === place),
        ).length,
      ).toBeGreaterThan(0);
    }
  }
});

test("texts with no line in common are one hunk, however long they are", () => {
  const text = (letter: string): string => Array.from({ length: 3000 }, (_, line) => `${letter}${line}\n`).join("");
  const [hunk, ...others] = hunksOf(text("a"), text("b"));
  expect(others).toEqual([]);
  expect([hunk!.removed.length, hunk!.added.length]).toEqual([3000, 3000]);
});
