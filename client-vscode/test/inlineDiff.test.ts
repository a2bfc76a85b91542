// @vitest-environment happy-dom
import { html, render } from "lit";
import { expect, test } from "vitest";

import { type InlineDiffOptions, inlineDiff } from "../src/webview/text/inlineDiff";

/** The lines as they are read: number, sign, text. */
function rows(before: string | null, after: string | null, options?: InlineDiffOptions): readonly string[] {
  return [...drawn(before, after, options).querySelectorAll(".diff-line")].map((line) => line.textContent ?? "");
}

function drawn(before: string | null, after: string | null, options?: InlineDiffOptions): HTMLElement {
  const place = document.createElement("div");
  render(html`${inlineDiff(before, after, options)}`, place);
  return place;
}

const numbered = (...lines: number[]): string => lines.map((line) => `l${line}\n`).join("");

test("removed and added lines have signs, numbers and lines around them", () => {
  expect(rows(numbered(1, 2, 3, 4, 5, 6), "l1\nl2\nl3\nnew\nl5\nl6\n")).toEqual([
    "22 l2",
    "33 l3",
    "4−l4",
    "4+new",
    "55 l5",
    "66 l6",
  ]);
});

test("the numbers of the old text and of the new one have a column each", () => {
  const place = drawn("a\nb\n", "new\na\nb\n");
  const columns = [...place.querySelectorAll(".diff-line")].map((line) =>
    [...line.querySelectorAll(".diff-number")].map((each) => each.textContent),
  );
  expect(columns).toEqual([
    ["", "1"],
    ["1", "2"],
    ["2", "3"],
  ]);
});

test("a line between two hunks stands once", () => {
  const lines = rows(numbered(1, 2, 3, 4, 5), "a\nl2\nl3\nl4\nb\n");
  expect(lines).toEqual(["1−l1", "1+a", "22 l2", "33 l3", "44 l4", "5−l5", "5+b"]);
});

test("a new file is all added, a deleted one all removed", () => {
  expect(rows(null, "a\nb\n")).toEqual(["1+a", "2+b"]);
  expect(rows("a\nb\n", null)).toEqual(["1−a", "2−b"]);
});

test("a long difference is cut, with the number of lines left out", () => {
  const place = drawn(null, Array.from({ length: 100 }, (_, line) => `l${line}\n`).join(""), { limit: 30 });
  expect(place.querySelectorAll(".diff-line")).toHaveLength(30);
  expect(place.querySelector(".more")?.textContent).toBe("70 more lines");
});

test("hidden characters, line ends and markup are visible", () => {
  const place = drawn("a\n", "a\u202e<b>x</b>\n", { numbers: false });
  expect(place.querySelector(".added-line .mark")?.textContent).toBe("U+202E");
  expect(place.querySelector("b")).toBeNull();
  expect(rows("a\r\n", "a\n")).toEqual(["1−aCRLF", "1+aLF"]);
  expect(rows("a\n", "a")).toEqual(["1−aLF", "1+ano line end"]);
});

test("the changed part of a line is marked, unless all of it is changed", () => {
  const parts = [...drawn("let a = 1;\nx\n", "let b = 1;\ny\n").querySelectorAll(".changed-part")];
  expect(parts.map((part) => part.textContent)).toEqual(["a", "b"]);
});

test("each hunk can have a heading, also if its lines are cut", () => {
  const place = drawn(numbered(1, 2, 3, 4, 5, 6, 7, 8), "a\nl2\nl3\nl4\nl5\nl6\nl7\nb\n", {
    limit: 2,
    heading: (_, index) => html`<h4>${index}</h4>`,
  });
  expect([...place.querySelectorAll("h4")].map((each) => each.textContent)).toEqual(["0", "1"]);
});
