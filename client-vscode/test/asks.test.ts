import { expect, test } from "vitest";

import { whatIsAsked } from "../src/webview/text/format";

test.each([
  ["each", [], "Asks in every step, before each change, deletion, command and web page."],
  ["each", ["writing"], "Asks only about deletions, commands, web pages and protected files."],
  ["each", ["writing", "deleting", "commands", "web pages"], "Asks only about protected files."],
  ["end", [], "Asks once, at the end, about changes and deletions; about commands and web pages it asks first."],
  ["end", ["commands"], "Asks once, at the end, about changes and deletions; about web pages it asks first."],
  ["end", ["commands", "web pages"], "Asks once, at the end, about changes and deletions."],
  ["auto", [], "Asks only about deletions, commands, web pages and protected files."],
  ["auto", ["commands", "web pages"], "Asks only about deletions and protected files."],
] as const)("review %s with %j unasked", (review, unasked, words) => {
  expect(whatIsAsked(review, unasked)).toBe(words);
});
