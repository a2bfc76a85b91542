import { expect, test } from "vitest";

import { pieces, plain } from "../src/webview/text/hiddenCharacters";

const SEEN = ["plain", "tab\tand\nline", "windows\r\nline", "日本語", "é", "👍", "❤️", "a b", "→ ✓ …"];
const HIDDEN = [
  "\u0000",
  "\u0007",
  "\u001b",
  "\u007f",
  "\u0085",
  "\u00ad",
  "\u034f",
  "\u061c",
  "\u115f",
  "\u180e",
  "\u200b",
  "\u200c",
  "\u200d",
  "\u200e",
  "\u200f",
  "\u2028",
  "\u2029",
  "\u202a",
  "\u202b",
  "\u202c",
  "\u202d",
  "\u202e",
  "\u2060",
  "\u2064",
  "\u2066",
  "\u2067",
  "\u2068",
  "\u2069",
  "\u3164",
  "\ufeff",
  "\uffa0",
  "\ufe0f",
  "\u{e0041}",
  "\u{e0100}",
  "\u2800",
  "\u00a0",
  "\u3000",
  "\ud800",
];

test.each(SEEN)("%j is shown as it is", (text) => {
  expect(plain(text)).toBe(text);
});

test.each(HIDDEN)("%j is shown as a mark", (character) => {
  const found = pieces(`a${character}b`);
  expect(found.map((piece) => piece.kind)).toEqual(["text", "mark", "text"]);
  expect(plain(`a${character}b`)).toMatch(/^a⟦U\+[0-9A-F]{4,5}⟧b$/u);
});

test("a lone carriage return is shown, since it hides what stands before it", () => {
  expect(plain("rm -rf /\rls")).toBe("rm -rf /⟦U+000D⟧ls");
});

test("marking a million characters is linear", () => {
  expect(pieces("\u202e".repeat(100_000))).toHaveLength(100_000);
  expect(pieces("x".repeat(1_000_000))).toHaveLength(1);
});
