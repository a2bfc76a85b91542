import { expect, test } from "vitest";
import { changedLines, type LineChange } from "../src/text/changedLines";

const change = (startLine: number, endLine: number, text: string): LineChange => ({ startLine, endLine, text });

test.each([
  ["a word within a line", [change(3, 3, "BETA")], [[3, 3]]],
  ["whole lines in the place of others", [change(2, 4, "a\nb\nc\n")], [[2, 4]]],
  ["lines put in, with CRLF", [change(5, 5, "a\r\nb\r\n")], [[5, 6]]],
  ["whole lines that only went", [change(2, 4, "")], []],
  ["a part of a line that went", [change(2, 2, "")], [[2, 2]]],
  [
    "several changes at once, the last one first",
    [change(9, 9, "x"), change(1, 1, "a\nb\n")],
    [
      [1, 2],
      [11, 11],
    ],
  ],
  ["lines behind others that went", [change(0, 3, ""), change(6, 6, "x")], [[3, 3]]],
])("%s", (_, changes, lines) => {
  expect(changedLines(changes)).toEqual(lines);
});

test("what an earlier step has written stays marked, where it is now", () => {
  const earlier = [
    [1, 1],
    [4, 5],
    [9, 9],
  ] as const;
  expect(changedLines([change(4, 4, "again"), change(7, 7, "a\nb\n")], earlier)).toEqual([
    [1, 1],
    [11, 11],
    [4, 4],
    [7, 8],
  ]);
});
